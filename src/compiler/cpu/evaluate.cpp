// Expressions at coordinates.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/IR/BuiltinAttributes.h>

#include "compiler/cpu/emitter.hpp"

namespace teeny::compiler::cpu {

unsigned Coordinates::level() const {
  unsigned result = 0;
  for (const Coordinate& coordinate : dimensions) result = std::max(result, coordinate.level);
  return result;
}

int Coordinates::lane() const {
  for (auto [dimension, coordinate] : llvm::enumerate(dimensions))
    if (coordinate.kind == Coordinate::lane) return static_cast<int>(dimension);
  return -1;
}

bool Coordinates::has_lanes() const {
  return llvm::any_of(dimensions, [](const Coordinate& coordinate) { return coordinate.kind != Coordinate::uniform; });
}

Coordinates Emitter::canonical(const Coordinates& at, llvm::ArrayRef<std::int64_t> shape) {
  Coordinates result = at;
  for (auto [coordinate, extent] : llvm::zip(result.dimensions, shape))
    if (extent == 1) coordinate = {index(0), Coordinate::uniform, 0};
  return result;
}

unsigned Emitter::intern(const Coordinates& at, bool without_lane) {
  std::vector<std::uintptr_t> key{at.width};
  for (const Coordinate& coordinate : at.dimensions) {
    bool hidden = without_lane && coordinate.kind == Coordinate::lane;
    key.push_back(hidden ? 0 : reinterpret_cast<std::uintptr_t>(coordinate.value));
    key.push_back(coordinate.kind);
  }
  return coordinate_ids_.try_emplace(std::move(key), coordinate_ids_.size()).first->second;
}

llvm::Value* Emitter::evaluate(mlir::Value value, const Coordinates& place) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type) return scalar(value);
  Coordinates at = canonical(place, type.getShape());
  unsigned level = at.level();
  Key key{value.getAsOpaquePointer(), intern(at, false)};
  if (auto found = levels_[level].values.find(key); found != levels_[level].values.end()) return found->second;
  AtLevel guard(*this, level);
  llvm::Value* result = compute(value, at);
  levels_[level].values[key] = result;
  return result;
}

llvm::Value* Emitter::compute(mlir::Value value, const Coordinates& at) {
  if (auto found = buffers_.find(value); found != buffers_.end()) return read_buffer(found->second, at);
  mlir::Operation* operation = value.getDefiningOp();
  if (!operation) llvm::report_fatal_error("a tensor block argument without storage");
  if (auto range = mlir::dyn_cast<tt::MakeRangeOp>(operation)) return compute_range(range, at);
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(operation)) return compute_constant(constant, at);
  if (auto load = mlir::dyn_cast<tt::LoadOp>(operation)) return emit_load(load, at);
  if (mlir::isa<tt::SplatOp>(operation)) return evaluate(operation->getOperand(0), Coordinates{{}, at.width});
  if (mlir::isa<tt::HintOp>(operation)) return evaluate(operation->getOperand(0), at);
  if (mlir::isa<mlir::ub::PoisonOp>(operation))
    return llvm::Constant::getNullValue(value_type(tt::element_type(value.getType()), context_));
  if (mlir::isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::ReshapeOp, tt::TransOp>(operation))
    return evaluate(operation->getOperand(0), source_coordinates(operation, at));
  if (is_elementwise(operation)) return compute_elementwise(mlir::cast<mlir::OpResult>(value), at);
  refuse(operation, "must be an operation that the CPU knows", "write it with other operations");
}

llvm::Value* Emitter::lane_indices(const Coordinate& coordinate, unsigned width) {
  if (coordinate.kind != Coordinate::lane) return coordinate.value;
  llvm::SmallVector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < width; ++lane) steps.push_back(index(lane));
  return builder_.CreateAdd(splat(builder_, coordinate.value, width), llvm::ConstantVector::get(steps));
}

llvm::Value* Emitter::compute_range(tt::MakeRangeOp range, const Coordinates& at) {
  const Coordinate& coordinate = at.dimensions[0];
  auto* type = builder_.getInt32Ty();
  llvm::Value* start = llvm::ConstantInt::get(type, static_cast<std::int32_t>(range.getStart()), true);
  if (coordinate.kind != Coordinate::lane) {
    llvm::Value* narrow = builder_.CreateTrunc(coordinate.value, lanes_type(type, lanes_of(coordinate.value)));
    return builder_.CreateAdd(narrow, splat(builder_, start, lanes_of(narrow)));
  }
  llvm::SmallVector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < at.width; ++lane) steps.push_back(llvm::ConstantInt::get(type, lane));
  llvm::Value* first = builder_.CreateAdd(builder_.CreateTrunc(coordinate.value, type), start);
  return builder_.CreateAdd(splat(builder_, first, at.width), llvm::ConstantVector::get(steps));
}

llvm::Value* Emitter::compute_constant(mlir::arith::ConstantOp constant, const Coordinates& at) {
  auto elements = mlir::cast<mlir::DenseElementsAttr>(constant.getValue());
  mlir::Type element = elements.getElementType();
  if (elements.isSplat()) return constant_of(elements.getSplatValue<mlir::Attribute>(), element, context_);
  llvm::SmallVector<llvm::Constant*> numbers;
  llvm::Type* type = memory_type(element, context_);
  for (mlir::Attribute attribute : elements.getValues<mlir::Attribute>()) {
    llvm::Constant* number = constant_of(attribute, element, context_);
    numbers.push_back(element.isInteger(1) ? llvm::ConstantInt::get(type, number->isOneValue()) : number);
  }
  auto* data = llvm::ConstantArray::get(llvm::ArrayType::get(type, numbers.size()), numbers);
  auto* global =
      new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "table");
  Coordinates linear = reshape_coordinates({elements.getNumElements()}, elements.getType().getShape(), at);
  llvm::Value* offsets = lane_indices(linear.dimensions[0], at.width);
  llvm::Value* pointers = builder_.CreateGEP(type, global, offsets);
  if (!pointers->getType()->isVectorTy()) return load_scalar(element, pointers, nullptr, nullptr);
  return from_memory(gather(type, pointers, nullptr, nullptr), element);
}

namespace {

// x / s for a vector and one divisor: a reciprocal and two corrections, whose last rounding is the quotient's
// (Markstein, Computation of elementary functions on the IBM RISC System/6000, 1990), while no step leaves the normal
// range: 2^-20 <= |s| < 2^20 and every x is +0 or 2^-100 <= |x| < 2^100. Otherwise the machine's division, which takes
// several times as long.
llvm::Value* divide_by_one(Builder& b, llvm::Value* x, llvm::Value* s) {
  unsigned lanes = lanes_of(x);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b.getContext();
  auto in_range = [&](llvm::Value* value, int low, int high) {
    llvm::Type* bits = value->getType()->getWithNewType(b.getInt32Ty());
    llvm::Value* magnitude = b.CreateAnd(b.CreateBitCast(value, bits), llvm::ConstantInt::get(bits, 0x7fffffff));
    llvm::Value* offset =
        b.CreateSub(magnitude, llvm::ConstantInt::get(bits, static_cast<std::uint64_t>(127 + low) << 23));
    return b.CreateICmpULT(offset, llvm::ConstantInt::get(bits, static_cast<std::uint64_t>(high - low) << 23));
  };
  llvm::Value* bits = b.CreateBitCast(x, lanes_type(b.getInt32Ty(), lanes));
  llvm::Value* fits =
      b.CreateOr(in_range(x, -100, 100), b.CreateICmpEQ(bits, llvm::Constant::getNullValue(bits->getType())));
  llvm::Value* misfits = b.CreateNot(b.CreateBitCast(fits, b.getIntNTy(lanes)));
  llvm::Value* all =
      b.CreateAnd(b.CreateICmpEQ(misfits, llvm::Constant::getNullValue(misfits->getType())), in_range(s, -20, 20));
  auto *fast = llvm::BasicBlock::Create(context, "by_reciprocal", function),
       *slow = llvm::BasicBlock::Create(context, "by_division", function);
  auto* done = llvm::BasicBlock::Create(context, "divided", function);
  b.CreateCondBr(all, fast, slow);
  b.SetInsertPoint(fast);
  llvm::Value* divisor = splat(b, s, lanes);
  llvm::Value* reciprocal = splat(b, b.CreateFDiv(llvm::ConstantFP::get(s->getType(), 1), s), lanes);
  llvm::Value* quotient = b.CreateFMul(x, reciprocal);
  for (int step = 0; step < 2; ++step) {
    llvm::Value* rest = b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {b.CreateFNeg(quotient), divisor, x});
    quotient = b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {rest, reciprocal, quotient});
  }
  b.CreateBr(done);
  b.SetInsertPoint(slow);
  llvm::Value* exact = b.CreateFDiv(x, splat(b, s, lanes));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(quotient, fast);
  result->addIncoming(exact, slow);
  return result;
}

}  // namespace

llvm::Value* Emitter::compute_elementwise(mlir::OpResult result, const Coordinates& at) {
  mlir::Operation* operation = result.getOwner();
  // A value that moves evenly along the lanes: one scalar and constant steps.
  if (at.lane() >= 0 && mlir::isa<mlir::IntegerType>(tt::element_type(result.getType())) &&
      mlir::isa<mlir::arith::AddIOp, mlir::arith::SubIOp, mlir::arith::MulIOp>(operation)) {
    unsigned bits = tt::element_type(result.getType()).getIntOrFloatBitWidth();
    if (auto even = affine(result, at); even && bits >= 32 && llvm::isa<llvm::ConstantInt>(even->stride)) {
      std::int64_t stride = llvm::cast<llvm::ConstantInt>(even->stride)->getSExtValue();
      llvm::Type* type = even->origin->getType();
      llvm::Value* position = builder_.CreateSExtOrTrunc(at.dimensions[at.lane()].value, type);
      llvm::Value* first =
          builder_.CreateAdd(even->origin, builder_.CreateMul(position, llvm::ConstantInt::get(type, stride, true)));
      if (stride == 0) return even->origin;
      llvm::SmallVector<llvm::Constant*> steps;
      for (unsigned lane = 0; lane < at.width; ++lane)
        steps.push_back(llvm::ConstantInt::get(type, lane * stride, true));
      return builder_.CreateAdd(splat(builder_, first, at.width), llvm::ConstantVector::get(steps));
    }
  }
  llvm::SmallVector<llvm::Value*, 3> operands;
  unsigned lanes = 1;
  for (mlir::Value operand : operation->getOperands()) {
    operands.push_back(evaluate(operand, at));
    lanes = std::max(lanes, lanes_of(operands.back()));
  }
  set_location(operation);
  bool innermost = at.level() + 1 == levels_.size();
  if (innermost && lanes >= 4 && target_.fma && mlir::isa<mlir::arith::DivFOp, tt::PreciseDivFOp>(operation) &&
      lanes_of(operands[0]) == lanes && operands[1]->getType()->isFloatTy() && !llvm::isa<llvm::Constant>(operands[1]))
    return divide_by_one(builder_, operands[0], operands[1]);
  for (llvm::Value*& operand : operands) operand = splat(builder_, operand, lanes);
  auto results = apply(builder_, operation, operands, options_);
  return results[result.getResultNumber()];
}

llvm::Value* Emitter::read_buffer(const Buffer& buffer, const Coordinates& at) {
  std::optional<Affine> address;
  if (!llvm::any_of(at.dimensions, [](const Coordinate& c) { return c.kind == Coordinate::spread; }))
    address = buffer_address(buffer, at);
  auto pointers = [&]() -> llvm::Value* {
    llvm::Value* offset = index(0);
    std::int64_t stride = 1;
    for (int d = static_cast<int>(at.dimensions.size()) - 1; d >= 0; stride *= buffer.shape[d--]) {
      llvm::Value* place = splat(builder_, lane_indices(at.dimensions[d], at.width), at.width);
      offset = builder_.CreateAdd(splat(builder_, offset, at.width),
                                  builder_.CreateMul(place, splat(builder_, index(stride), at.width)));
    }
    llvm::Value* base = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), arena_, buffer.offset);
    return builder_.CreateGEP(memory_type(buffer.element, context_), base, offset);
  };
  return load_memory(buffer.element, address, pointers, nullptr, nullptr, at);
}

void Emitter::write_buffer(const Buffer& buffer, llvm::Value* value, const Coordinates& at) {
  store_memory(buffer.element, buffer_address(buffer, at), nullptr, value, nullptr, at, false);
}

Coordinates Emitter::source_coordinates(mlir::Operation* operation, const Coordinates& at) {
  Coordinates result{{}, at.width};
  auto from = tt::shape_of(operation->getOperand(0).getType());
  if (auto expand = mlir::dyn_cast<tt::ExpandDimsOp>(operation)) {
    result = at;
    result.dimensions.erase(result.dimensions.begin() + expand.getAxis());
  } else if (mlir::isa<tt::BroadcastOp>(operation)) {
    result = canonical(at, from);
  } else if (auto trans = mlir::dyn_cast<tt::TransOp>(operation)) {
    result.dimensions.resize(from.size());
    for (auto [target, source] : llvm::enumerate(trans.getOrder())) result.dimensions[source] = at.dimensions[target];
  } else {
    result = reshape_coordinates(from, tt::shape_of(operation->getResult(0).getType()), at);
  }
  return result;
}

// Groups of dimensions with equal products are converted on their own, so that most indices pass unchanged.
Coordinates Emitter::reshape_coordinates(llvm::ArrayRef<std::int64_t> from, llvm::ArrayRef<std::int64_t> to,
                                         const Coordinates& at) {
  Coordinates result{{}, at.width};
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i_begin = i, j_begin = j;
    std::int64_t from_product = i < from.size() ? from[i++] : 1, to_product = j < to.size() ? to[j++] : 1;
    while (from_product != to_product)
      if (from_product < to_product)
        from_product *= from[i++];
      else
        to_product *= to[j++];
    if (i - i_begin == 1 && j - j_begin == 1) {
      result.dimensions.push_back(at.dimensions[j_begin]);
      continue;
    }
    // The linear index within the group; a lane index keeps its meaning while chunks stay inside the last dimension.
    Coordinate linear{index(0), Coordinate::uniform, 0};
    for (size_t d = j_begin; d < j; ++d) {
      Coordinate part = at.dimensions[d];
      unsigned level = std::max(linear.level, part.level);
      AtLevel guard(*this, level);
      bool last = d + 1 == j ||
                  std::all_of(to.begin() + d + 1, to.begin() + j, [](std::int64_t extent) { return extent == 1; });
      if (part.kind == Coordinate::lane && !last) part = {lane_indices(part, at.width), Coordinate::spread, part.level};
      if (part.kind != Coordinate::uniform && linear.kind == Coordinate::uniform) {
        llvm::Value* scaled = builder_.CreateMul(linear.value, index(to[d]));
        linear = {
            builder_.CreateAdd(part.kind == Coordinate::lane ? scaled : splat(builder_, scaled, at.width), part.value),
            part.kind, level};
        continue;
      }
      if (linear.kind == Coordinate::lane && to[d] == 1) continue;
      llvm::Value* scaled = builder_.CreateMul(linear.value, splat(builder_, index(to[d]), lanes_of(linear.value)));
      llvm::Value* addend = splat(builder_, part.value, lanes_of(scaled));
      linear = {builder_.CreateAdd(scaled, addend), linear.kind, level};
    }
    std::int64_t inner = from_product;
    AtLevel guard(*this, linear.level);
    int lane_dimension = -1;
    for (size_t d = i_begin; d < i; ++d)
      if (from[d] != 1) lane_dimension = static_cast<int>(d);
    if (linear.kind == Coordinate::lane && (lane_dimension < 0 || from[lane_dimension] % at.width != 0))
      linear = {lane_indices(linear, at.width), Coordinate::spread, linear.level};
    unsigned lanes = lanes_of(linear.value);
    for (size_t d = i_begin; d < i; ++d) {
      inner /= from[d];
      llvm::Value* part = builder_.CreateUDiv(linear.value, splat(builder_, index(inner), lanes));
      part = builder_.CreateURem(part, splat(builder_, index(from[d]), lanes));
      Coordinate::Kind kind =
          linear.kind == Coordinate::lane && static_cast<int>(d) != lane_dimension ? Coordinate::uniform : linear.kind;
      result.dimensions.push_back({part, kind, linear.level, kind == Coordinate::lane});
    }
  }
  return result;
}

llvm::SmallVector<llvm::Value*, 2> Emitter::combine(mlir::Block& region, llvm::ArrayRef<llvm::Value*> left,
                                                    llvm::ArrayRef<llvm::Value*> right) {
  llvm::DenseMap<mlir::Value, llvm::Value*> local;
  unsigned lanes = lanes_of(left[0]);
  for (auto [argument, value] : llvm::zip(region.getArguments().take_front(left.size()), left)) local[argument] = value;
  for (auto [argument, value] : llvm::zip(region.getArguments().drop_front(left.size()), right))
    local[argument] = value;
  auto look_up = [&](mlir::Value value) {
    auto found = local.find(value);
    return splat(builder_, found != local.end() ? found->second : scalar(value), lanes);
  };
  for (mlir::Operation& operation : region.without_terminator()) {
    if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(operation)) {
      local[constant] = constant_of(constant.getValue(), constant.getType(), context_);
      continue;
    }
    if (!is_elementwise(&operation))
      refuse(&operation, "must be element-wise inside a combine function", "use arithmetic and select there");
    llvm::SmallVector<llvm::Value*, 3> operands;
    for (mlir::Value operand : operation.getOperands()) operands.push_back(look_up(operand));
    set_location(&operation);
    // Which zero a maximum gives is only promised with `reproducible`: the looser form is half the instructions.
    if (!options_.reproducible && mlir::isa<mlir::arith::MaxNumFOp, mlir::arith::MinNumFOp>(operation) &&
        operands[0]->getType()->isFPOrFPVectorTy()) {
      auto id = mlir::isa<mlir::arith::MaxNumFOp>(operation) ? llvm::Intrinsic::maxnum : llvm::Intrinsic::minnum;
      local[operation.getResult(0)] = builder_.CreateBinaryIntrinsic(id, operands[0], operands[1]);
      continue;
    }
    for (auto [result, value] : llvm::zip(operation.getResults(), apply(builder_, &operation, operands, options_)))
      local[result] = value;
  }
  llvm::SmallVector<llvm::Value*, 2> results;
  for (mlir::Value value : region.getTerminator()->getOperands()) results.push_back(look_up(value));
  return results;
}

}  // namespace teeny::compiler::cpu
