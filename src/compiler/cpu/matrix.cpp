// Matrix products: operands are evaluated straight into packed panels, the accumulator is updated where it lies.
#include <llvm/IR/Constants.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/cpu/dot.hpp"
#include "compiler/cpu/emitter.hpp"
#include "teeny/error.hpp"

namespace teeny::compiler::cpu {

namespace {

DType dtype_of(mlir::Type element) {
  if (element.isF16()) return DType::f16;
  if (element.isBF16()) return DType::bf16;
  if (element.isF32()) return DType::f32;
  if (element.isF64()) return DType::f64;
  switch (element.getIntOrFloatBitWidth()) {
    case 8:
      return DType::i8;
    case 16:
      return DType::i16;
    case 32:
      return DType::i32;
    default:
      return DType::i64;
  }
}

DotPrecision precision_of(tt::InputPrecision precision) {
  switch (precision) {
    case tt::InputPrecision::TF32:
      return DotPrecision::fast;
    case tt::InputPrecision::TF32x3:
      return DotPrecision::fast_x3;
    case tt::InputPrecision::IEEE:
      return DotPrecision::ieee;
  }
  return DotPrecision::ieee;
}

// Whether everything that reads `value` does so inside the evaluation of `reader`.
bool only_reader(const Plan& plan, mlir::Value value, mlir::Operation* reader) {
  for (mlir::Operation* user : value.getUsers()) {
    if (user == reader) continue;
    if (!is_expression(user) || plan.is_stored(user->getResult(0))) return false;
    for (mlir::Operation* further : plan.consumers(user->getResult(0)))
      if (further != reader) return false;
  }
  return true;
}

}  // namespace

// The loop's own buffer where the product replaces what the loop carries and nobody else reads the old value.
std::optional<Buffer> Emitter::carried_accumulator(tt::DotOp dot) {
  auto loop = mlir::dyn_cast<mlir::scf::ForOp>(dot->getParentOp());
  if (!loop) return {};
  for (auto [yielded, carried] : llvm::zip(loop.getYieldedValues(), loop.getRegionIterArgs())) {
    if (yielded != dot.getD() || !only_reader(plan_, carried, dot)) continue;
    bool in_place = !plan_.is_stored(dot.getC()) || dot.getC() == carried;
    if (in_place && dot.getC() != carried)
      plan_.leaves(dot.getC(), [&](mlir::Value leaf, bool identity) { in_place &= leaf != carried || identity; });
    for (mlir::Value operand : {dot.getA(), dot.getB()})
      plan_.leaves(operand, [&](mlir::Value leaf, bool) { in_place &= leaf != carried; });
    if (in_place) return buffers_.at(carried);
  }
  return {};
}

// A vector of an operand's elements; chunks that end inside the block are evaluated in pieces of powers of two.
llvm::Value* Emitter::operand_elements(mlir::Value operand, Coordinates at, unsigned inner, llvm::Value* start,
                                       unsigned lanes, unsigned valid) {
  mlir::Type element = tt::element_type(operand.getType());
  llvm::Type* type = value_type(element, context_);
  if (element.isF16()) type = builder_.getHalfTy();
  if (element.isBF16()) type = builder_.getBFloatTy();
  unsigned level = static_cast<unsigned>(levels_.size() - 1);
  auto evaluated = [&](unsigned first, unsigned width) {
    at.width = width;
    llvm::Value* place = first ? builder_.CreateAdd(start, index(first)) : start;
    at.dimensions[inner] = {place, width == 1 ? Coordinate::uniform : Coordinate::lane, level};
    llvm::Value* value = splat(builder_, evaluate(operand, at), width);
    return type == value->getType()->getScalarType() ? value : builder_.CreateBitCast(value, lanes_type(type, width));
  };
  bool whole = valid == lanes && (lanes & (lanes - 1)) == 0;
  if (whole && lanes > 1) return evaluated(0, lanes);
  llvm::Value* result = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, lanes));
  for (unsigned first = 0; first < valid;) {
    unsigned width = 1;
    while (width * 2 <= valid - first) width *= 2;
    llvm::Value* piece = evaluated(first, width);
    for (unsigned lane = 0; lane < width; ++lane)
      result = builder_.CreateInsertElement(result, width == 1 ? piece : builder_.CreateExtractElement(piece, lane),
                                            first + lane);
    first += width;
  }
  return result;
}

void Emitter::pack_operand(const DotPlan& plan, mlir::Value operand, const Coordinates& batch, llvm::Value* destination,
                           bool is_a) {
  auto shape = tt::shape_of(operand.getType());
  unsigned rank = static_cast<unsigned>(shape.size());
  int lane = choose_lane(shape, {operand});
  unsigned inner = lane >= static_cast<int>(rank) - 2 ? static_cast<unsigned>(lane) : rank - 1;
  bool along_k = is_a ? inner == rank - 1 : inner == rank - 2;
  // A level of its own: what does not depend on the packing loops goes before them.
  llvm::BasicBlock *before = builder_.GetInsertBlock(), *inside = block("pack");
  builder_.CreateBr(inside);
  builder_.SetInsertPoint(inside);
  levels_.emplace_back().preheader = before;
  unsigned level = static_cast<unsigned>(levels_.size() - 1);
  auto elements = [&](llvm::IRBuilderBase&, llvm::Value* row, llvm::Value* column, unsigned lanes, unsigned valid) {
    levels_.back().values.clear(), levels_.back().affine.clear();
    Coordinates at = batch;
    at.dimensions.push_back({row, Coordinate::uniform, level});
    at.dimensions.push_back({column, Coordinate::uniform, level});
    llvm::Value* result = operand_elements(operand, at, inner, inner == rank - 1 ? column : row, lanes, valid);
    levels_.back().values.clear(), levels_.back().affine.clear();
    return result;
  };
  DotInner direction = along_k ? DotInner::k : DotInner::other;
  if (is_a)
    emit_pack_a(builder_, plan, destination, direction, elements, index(plan.shape.m), index(plan.shape.k));
  else
    emit_pack_b(builder_, plan, destination, direction, elements, index(plan.shape.n), index(plan.shape.k));
  levels_.pop_back();
}

void Emitter::emit_dot(tt::DotOp dot) {
  auto a = tt::shape_of(dot.getA().getType()), c = tt::shape_of(dot.getC().getType());
  size_t rank = a.size();
  mlir::Type element = tt::element_type(dot.getC().getType());
  bool narrow = element.isF16() || element.isBF16();
  DotShape shape;
  shape.m = a[rank - 2], shape.k = a[rank - 1], shape.n = c[rank - 1];
  shape.a = dtype_of(tt::element_type(dot.getA().getType())),
  shape.b = dtype_of(tt::element_type(dot.getB().getType()));
  shape.accumulator = narrow ? DType::f32 : dtype_of(element);
  shape.precision = precision_of(dot.getInputPrecision());
  shape.reproducible = options_.reproducible;
  auto kernel = make_dot_kernel(module_, shape, target_);
  if (!kernel) refuse(dot, llvm::toString(kernel.takeError()), "use element types that the CPU multiplies");
  const DotPlan& plan = kernel->plan;

  Buffer accumulator;
  if (auto carried = narrow ? std::nullopt : carried_accumulator(dot)) {
    accumulator = buffers_[dot.getD()] = *carried;
    borrowed_.insert(dot.getD());
  } else if (narrow) {
    accumulator = allocate(mlir::Float32Type::get(dot.getContext()), c);
  } else {
    accumulator = allocate(dot.getD());
  }
  if (narrow)
    convert_accumulator(dot.getC(), accumulator);
  else
    materialise(dot.getC(), accumulator);

  std::uint64_t a_place = allocate_bytes(plan.a_bytes), b_place = allocate_bytes(plan.b_bytes);
  auto pointer = [&](llvm::Value* offset) { return builder_.CreateGEP(builder_.getInt8Ty(), arena_, offset); };
  levels_.assign(1, {});
  auto product = [&](llvm::Value* number) {
    Coordinates batch;
    llvm::Value* result = pointer(index(accumulator.offset));
    if (rank == 3) {
      batch.dimensions.push_back({number, Coordinate::uniform, static_cast<unsigned>(levels_.size() - 1)});
      result = builder_.CreateGEP(memory_type(accumulator.element, context_), result,
                                  builder_.CreateMul(number, index(shape.m * shape.n)));
    }
    llvm::Value *packed_a = pointer(index(a_place)), *packed_b = pointer(index(b_place));
    pack_operand(plan, dot.getA(), batch, packed_a, true);
    pack_operand(plan, dot.getB(), batch, packed_b, false);
    builder_.CreateCall(kernel->function, {packed_a, index(plan.a_row_bytes), packed_b, result, index(shape.n),
                                           index(shape.m), index(shape.n), index(shape.k)});
  };
  if (rank == 3)
    loop(index(0), index(a[0]), 1, product);
  else
    product(index(0));
  levels_.assign(1, {});
  release_bytes(a_place, plan.a_bytes), release_bytes(b_place, plan.b_bytes);
  if (!narrow) return;
  convert_buffer(accumulator, allocate(dot.getD()));
  release(accumulator);
}

namespace {

struct ConvertBody : NestBody {
  std::function<void(const Coordinates&)> convert;
  void chunk(const Coordinates& at, unsigned) override { convert(at); }
};

}  // namespace

// A 16-bit accumulator is widened to f32 for the product and rounded once behind it.
void Emitter::convert_accumulator(mlir::Value value, const Buffer& wide) {
  ConvertBody body;
  mlir::Type element = tt::element_type(value.getType());
  body.convert = [&](const Coordinates& at) {
    write_buffer(wide, widen_float(builder_, evaluate(value, at), element), at);
  };
  emit_nest(make_nest(wide.shape, {value}), {&body});
}

void Emitter::convert_buffer(const Buffer& wide, const Buffer& narrow) {
  ConvertBody body;
  body.convert = [&](const Coordinates& at) {
    write_buffer(narrow, narrow_float(builder_, read_buffer(wide, at), narrow.element), at);
  };
  Nest nest;
  nest.shape = wide.shape;
  nest.lane = static_cast<int>(wide.shape.size()) - 1;
  nest.width = static_cast<unsigned>(target_.vector_bytes) / 4;
  while (nest.width > wide.shape.back()) nest.width /= 2;
  emit_nest(nest, {&body});
}

}  // namespace teeny::compiler::cpu
