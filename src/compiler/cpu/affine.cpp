// How values move along the lane dimension, and how far masks are true along it.
//
// An offset is taken to be free of overflow within a row: a 32-bit offset that wraps has left every buffer (the checker
// reports it), so extensions commute with adding lanes.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Matchers.h>

#include "compiler/cpu/emitter.hpp"

namespace teeny::compiler::cpu {

namespace arith = mlir::arith;

std::optional<Affine> Emitter::affine(mlir::Value value, const Coordinates& place) {
  if (!mlir::isa<mlir::RankedTensorType>(value.getType())) return Affine{scalar(value), index(0)};
  Coordinates at = canonical(place, tt::shape_of(value.getType()));
  if (llvm::any_of(at.dimensions, [](const Coordinate& c) { return c.kind == Coordinate::spread; })) return {};
  if (at.lane() < 0) return Affine{evaluate(value, at), index(0)};
  unsigned level = 0;
  for (const Coordinate& coordinate : at.dimensions)
    if (coordinate.kind != Coordinate::lane) level = std::max(level, coordinate.level);
  Key key{value.getAsOpaquePointer(), intern(at, true)};
  if (auto found = levels_[level].affine.find(key); found != levels_[level].affine.end()) return found->second;
  AtLevel guard(*this, level);
  std::optional<Affine> result = buffers_.contains(value) ? std::nullopt : compute_affine(value, at);
  levels_[level].affine[key] = result;
  return result;
}

std::optional<Affine> Emitter::compute_affine(mlir::Value value, const Coordinates& at) {
  mlir::Operation* operation = value.getDefiningOp();
  if (!operation) return {};
  if (auto range = mlir::dyn_cast<tt::MakeRangeOp>(operation))
    return Affine{builder_.getInt32(range.getStart()), index(1)};
  if (auto constant = mlir::dyn_cast<arith::ConstantOp>(operation)) {
    auto elements = mlir::dyn_cast<mlir::SplatElementsAttr>(constant.getValue());
    if (!elements) return {};
    return Affine{constant_of(elements.getSplatValue<mlir::Attribute>(), elements.getElementType(), context_),
                  index(0)};
  }
  if (mlir::isa<tt::SplatOp>(operation))
    return Affine{evaluate(operation->getOperand(0), Coordinates{{}, at.width}), index(0)};
  if (auto hint = mlir::dyn_cast<tt::HintOp>(operation)) {
    if (auto source = affine(hint.getSrc(), at)) return source;
    int lane = at.lane();
    auto runs = hint.getContiguity();
    if (!runs || (*runs)[lane] < tt::shape_of(value.getType())[lane]) return {};
    Coordinates first = at;
    first.dimensions[lane] = {index(0), Coordinate::uniform, 0};
    return Affine{evaluate(hint.getSrc(), first), index(1)};
  }
  if (mlir::isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp>(operation)) {
    Coordinates still = at;
    still.dimensions[at.lane()].moved = false;
    Coordinates source = source_coordinates(operation, still);
    // A reshape that counts lanes anew inside the row has another origin in every chunk.
    if (source.lane() >= 0 && source.dimensions[source.lane()].moved) return {};
    return affine(operation->getOperand(0), source);
  }
  return affine_arithmetic(operation, at);
}

std::optional<Affine> Emitter::affine_arithmetic(mlir::Operation* operation, const Coordinates& at) {
  Builder& b = builder_;
  auto operand = [&](unsigned number) { return affine(operation->getOperand(number), at); };
  auto is_zero = [](llvm::Value* stride) {
    auto* number = llvm::dyn_cast<llvm::ConstantInt>(stride);
    return number && number->isZero();
  };
  if (auto move = mlir::dyn_cast<tt::AddPtrOp>(operation)) {
    auto pointer = operand(0), offset = operand(1);
    if (!pointer || !offset) return {};
    mlir::Type element = tt::pointee_type(move.getType());
    llvm::Value* origin = b.CreateGEP(memory_type(element, context_), pointer->origin,
                                      b.CreateSExtOrTrunc(offset->origin, b.getInt64Ty()));
    return Affine{origin, b.CreateAdd(pointer->stride, b.CreateMul(offset->stride, index(memory_bytes(element))))};
  }
  if (mlir::isa<tt::BitcastOp>(operation) &&
      mlir::isa<tt::PointerType>(tt::element_type(operation->getResult(0).getType())))
    return operand(0);
  if (mlir::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(operation)) {
    auto left = operand(0), right = operand(1);
    if (!left || !right) return {};
    if (mlir::isa<arith::AddIOp>(operation))
      return Affine{b.CreateAdd(left->origin, right->origin), b.CreateAdd(left->stride, right->stride)};
    if (mlir::isa<arith::SubIOp>(operation))
      return Affine{b.CreateSub(left->origin, right->origin), b.CreateSub(left->stride, right->stride)};
    if (!is_zero(right->stride)) std::swap(left, right);
    if (!is_zero(right->stride)) return {};
    return Affine{b.CreateMul(left->origin, right->origin),
                  b.CreateMul(left->stride, b.CreateSExtOrTrunc(right->origin, b.getInt64Ty()))};
  }
  if (mlir::isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(operation)) {
    auto source = operand(0);
    if (!source || source->origin->getType()->isIntegerTy(1)) return {};
    llvm::Type* type = value_type(tt::element_type(operation->getResult(0).getType()), context_);
    if (mlir::isa<arith::ExtUIOp>(operation)) return Affine{b.CreateZExt(source->origin, type), source->stride};
    return Affine{b.CreateSExtOrTrunc(source->origin, type), source->stride};
  }
  return {};
}

// ---- strides as the operations say them

namespace {

std::optional<std::int64_t> constant_number(mlir::Value value) {
  llvm::APInt number;
  if (mlir::matchPattern(value, mlir::m_ConstantInt(&number))) return number.getSExtValue();
  if (auto splat = value.getDefiningOp<tt::SplatOp>()) return constant_number(splat.getSrc());
  if (auto spread = value.getDefiningOp<tt::BroadcastOp>()) return constant_number(spread.getSrc());
  return {};
}

std::optional<std::int64_t> stride_along(mlir::Value value, unsigned d, unsigned depth) {
  auto shape = tt::shape_of(value.getType());
  mlir::Operation* operation = value.getDefiningOp();
  if (shape.empty() || shape[d] == 1 || mlir::isa_and_nonnull<tt::SplatOp>(operation)) return 0;
  if (!operation || depth > 32) return {};
  auto of = [&](unsigned number, unsigned dimension) {
    return stride_along(operation->getOperand(number), dimension, depth + 1);
  };
  if (mlir::isa<tt::MakeRangeOp>(operation)) return 1;
  if (mlir::isa<arith::ConstantOp>(operation))
    return constant_number(value) ? std::optional<std::int64_t>(0) : std::nullopt;
  if (auto expand = mlir::dyn_cast<tt::ExpandDimsOp>(operation)) return of(0, d - (d > expand.getAxis()));
  if (mlir::isa<tt::BroadcastOp>(operation)) return of(0, d);
  if (auto trans = mlir::dyn_cast<tt::TransOp>(operation)) return of(0, static_cast<unsigned>(trans.getOrder()[d]));
  if (auto hint = mlir::dyn_cast<tt::HintOp>(operation)) {
    if (auto runs = hint.getContiguity(); runs && (*runs)[d] >= shape[d]) return 1;
    return of(0, d);
  }
  if (mlir::isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, tt::BitcastOp>(operation))
    return of(0, d);
  if (mlir::isa<arith::AddIOp, tt::AddPtrOp, arith::SubIOp>(operation)) {
    auto left = of(0, d), right = of(1, d);
    if (!left || !right) return {};
    return mlir::isa<arith::SubIOp>(operation) ? *left - *right : *left + *right;
  }
  if (mlir::isa<arith::MulIOp>(operation)) {
    auto left = of(0, d), right = of(1, d);
    if (left && right && *left == 0 && *right == 0) return 0;
    if (auto factor = constant_number(operation->getOperand(1)); factor && left) return *left * *factor;
    if (auto factor = constant_number(operation->getOperand(0)); factor && right) return *right * *factor;
    return {};
  }
  if (!is_elementwise(operation)) return {};
  for (unsigned number = 0; number < operation->getNumOperands(); ++number)
    if (of(number, d) != 0) return {};
  return 0;
}

}  // namespace

bool unit_stride(mlir::Value value, unsigned dimension) { return stride_along(value, dimension, 0) == 1; }

// ---- masks

llvm::Value* Emitter::true_prefix(mlir::Value mask, const Coordinates& place, std::int64_t extent) {
  Coordinates row =
      mlir::isa<mlir::RankedTensorType>(mask.getType()) ? canonical(place, tt::shape_of(mask.getType())) : place;
  Builder& b = builder_;
  if (!mlir::isa<mlir::RankedTensorType>(mask.getType()) || row.lane() < 0) {
    if (row.has_lanes() && mlir::isa<mlir::RankedTensorType>(mask.getType())) return nullptr;
    llvm::Value* all = evaluate(mask, row);
    return b.CreateSelect(all, index(extent), index(0));
  }
  mlir::Operation* operation = mask.getDefiningOp();
  if (!operation || buffers_.contains(mask)) return nullptr;
  if (auto constant = mlir::dyn_cast<arith::ConstantOp>(operation)) {
    auto elements = mlir::dyn_cast<mlir::SplatElementsAttr>(constant.getValue());
    return elements ? index(elements.getSplatValue<bool>() ? extent : 0) : nullptr;
  }
  if (mlir::isa<tt::SplatOp>(operation)) return true_prefix(operation->getOperand(0), Coordinates{}, extent);
  if (mlir::isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp>(operation)) {
    if (mlir::isa<tt::ReshapeOp>(operation)) return nullptr;
    Coordinates source = source_coordinates(operation, row);
    return true_prefix(operation->getOperand(0), source, extent);
  }
  if (mlir::isa<arith::AndIOp, arith::OrIOp>(operation)) {
    llvm::Value* left = true_prefix(operation->getOperand(0), row, extent);
    llvm::Value* right = true_prefix(operation->getOperand(1), row, extent);
    if (mlir::isa<arith::OrIOp>(operation) && (!left || !right)) return left ? left : right;
    if (!left || !right) return nullptr;
    return b.CreateBinaryIntrinsic(mlir::isa<arith::AndIOp>(operation) ? llvm::Intrinsic::smin : llvm::Intrinsic::smax,
                                   left, right);
  }
  if (auto compare = mlir::dyn_cast<arith::CmpIOp>(operation)) return comparison_prefix(compare, row, extent);
  return nullptr;
}

llvm::Value* Emitter::comparison_prefix(arith::CmpIOp compare, const Coordinates& row, std::int64_t extent) {
  using P = arith::CmpIPredicate;
  auto left = affine(compare.getLhs(), row), right = affine(compare.getRhs(), row);
  if (!left || !right || !left->origin->getType()->isIntegerTy() || left->origin->getType()->isIntegerTy(1))
    return nullptr;
  P predicate = compare.getPredicate();
  auto stride_is = [](const Affine& value, std::int64_t number) {
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value.stride);
    return constant && constant->getSExtValue() == number;
  };
  if (stride_is(*left, 0) && stride_is(*right, 1)) {
    std::swap(left, right);
    static constexpr P swapped[] = {P::eq, P::ne, P::sgt, P::sge, P::slt, P::sle, P::ugt, P::uge, P::ult, P::ule};
    predicate = swapped[static_cast<int>(predicate)];
  }
  if (!stride_is(*left, 1) || !stride_is(*right, 0)) return nullptr;
  Builder& b = builder_;
  llvm::Value *first = b.CreateSExt(left->origin, b.getInt64Ty()), *bound = b.CreateSExt(right->origin, b.getInt64Ty());
  llvm::Value *all = index(extent), *none = index(0);
  if (predicate == P::sge || predicate == P::sgt)
    return b.CreateSelect(predicate == P::sge ? b.CreateICmpSGE(first, bound) : b.CreateICmpSGT(first, bound), all,
                          none);
  bool is_unsigned = predicate == P::ult || predicate == P::ule;
  if (!is_unsigned && predicate != P::slt && predicate != P::sle) return nullptr;
  llvm::Value* count = b.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, bound, first);
  if (predicate == P::sle || predicate == P::ule)
    count = b.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, count, index(1));
  count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, none);
  count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, all);
  if (is_unsigned) count = b.CreateSelect(b.CreateICmpSGE(b.CreateAnd(first, bound), none), count, none);
  return count;
}

}  // namespace teeny::compiler::cpu
