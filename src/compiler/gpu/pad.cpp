#include "compiler/gpu/pad.hpp"

#include <map>

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/Matchers.h>

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

using Shape = SmallVector<int64_t, 4>;

Shape padded(ArrayRef<int64_t> shape) {
  Shape result;
  for (int64_t extent : shape) result.push_back(int64_t(llvm::PowerOf2Ceil(uint64_t(extent))));
  return result;
}

Shape without_ones(ArrayRef<int64_t> shape) {
  Shape result;
  for (int64_t extent : shape)
    if (extent != 1) result.push_back(extent);
  return result;
}

// x such that combining with it changes nothing, for one operation of two operands; null: none is known.
TypedAttr neutral_element(Block& combine) {
  if (combine.getNumArguments() != 2 || !llvm::hasSingleElement(combine.without_terminator())) return {};
  Operation& only = combine.front();
  const bool of_both = only.getNumOperands() == 2 && only.getOperand(0) != only.getOperand(1) &&
                       llvm::is_contained(combine.getArguments(), only.getOperand(0)) &&
                       llvm::is_contained(combine.getArguments(), only.getOperand(1)) &&
                       combine.getTerminator()->getOperand(0) == only.getResult(0);
  if (!of_both || !isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp, arith::MaximumFOp, arith::MinimumFOp,
                       arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp,
                       arith::XOrIOp>(only))
    return {};
  Type type = only.getResult(0).getType();
  Builder builder(type.getContext());
  if (isa<arith::AddFOp>(only)) return builder.getFloatAttr(type, -0.0);  // 0 would make +0 of -0
  return arith::getNeutralElement(&only).value_or(TypedAttr());
}

class Padder {
 public:
  explicit Padder(tt::FuncOp function) : function_(function), builder_(function.getContext()) {}

  LogicalResult run() {
    collect();
    if (written_.empty()) return success();
    for (Operation* operation : operations_)
      if (failed(check(operation))) return failure();
    for (auto& [value, shape] : written_) {
      auto type = cast<RankedTensorType>(value.getType());
      value.setType(RankedTensorType::get(padded(shape), type.getElementType(), type.getEncoding()));
    }
    for (Operation* operation : operations_) rewrite(operation);
    return success();
  }

 private:
  void collect() {
    const auto note = [&](Value value) {
      ArrayRef<int64_t> shape = tt::shape_of(value.getType());
      if (!llvm::all_of(shape, [](int64_t extent) { return llvm::isPowerOf2_64(uint64_t(extent)); }))
        written_[value] = Shape(shape);
    };
    function_.walk([&](Operation* operation) {
      operations_.push_back(operation);
      llvm::for_each(operation->getResults(), note);
      for (Region& region : operation->getRegions()) llvm::for_each(region.getArguments(), note);
    });
  }

  bool is_padded(Value value) const { return written_.contains(value); }
  bool is_padded(Value value, int64_t axis) const {
    auto found = written_.find(value);
    return found != written_.end() && !llvm::isPowerOf2_64(uint64_t(found->second[axis]));
  }

  LogicalResult check(Operation* operation) {
    const auto refuse = [&](const char* rule, const char* help) {
      InFlightDiagnostic error = operation->emitOpError("rule: on a GPU ")
                                 << rule << "; got " << operation->getOperandTypes() << " and "
                                 << operation->getResultTypes();
      error.attachNote() << "help: " << help;
      return failure();
    };
    if (auto reshape = dyn_cast<tt::ReshapeOp>(operation);
        reshape && (is_padded(reshape.getSrc()) || is_padded(reshape.getResult())) &&
        without_ones(tt::shape_of(reshape.getSrc().getType())) != without_ones(tt::shape_of(reshape.getType())))
      return refuse("a reshape that joins or parts dimensions has extents that are powers of two",
                    "use the next power of two and a mask, or run it on the CPU");
    auto constant = dyn_cast<arith::ConstantOp>(operation);
    if (constant && is_padded(constant.getResult()) && !cast<DenseElementsAttr>(constant.getValue()).isSplat())
      return refuse("a block's constant holds one value", "load the table from memory");
    if (isa<tt::AtomicCASOp>(operation) && is_padded(operation->getResult(0)))
      return refuse("the extents of an atomic_cas are powers of two", "exchange elements one by one");
    return success();
  }

  // i1, at the function's entry: whether an element of a block of `shape`, padded, stands within it.
  Value within(ArrayRef<int64_t> shape) {
    Value& known = within_[Shape(shape)];
    if (known) return known;
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(&function_.getBody().front());
    const Location location = function_.getLoc();
    const Shape full = padded(shape);
    auto type = RankedTensorType::get(full, builder_.getI1Type());
    for (auto [d, extent] : llvm::enumerate(shape)) {
      if (extent == full[d]) continue;
      auto line = RankedTensorType::get({full[d]}, builder_.getI32Type());
      Value index = tt::MakeRangeOp::create(builder_, location, line, 0, int32_t(full[d]));
      Value end = arith::ConstantOp::create(builder_, location, DenseElementsAttr::get(line, APInt(32, uint64_t(extent))));
      Value inside = arith::CmpIOp::create(builder_, location, arith::CmpIPredicate::slt, index, end);
      Shape extents{full[d]};
      for (size_t other = 0; other < full.size(); ++other) {
        if (other == d) continue;
        extents.insert(extents.begin() + other, 1);
        auto expanded = RankedTensorType::get(extents, builder_.getI1Type());
        inside = tt::ExpandDimsOp::create(builder_, location, expanded, inside, int32_t(other));
      }
      if (inside.getType() != type) inside = tt::BroadcastOp::create(builder_, location, type, inside);
      known = known ? arith::AndIOp::create(builder_, location, known, inside).getResult() : inside;
    }
    return known;
  }

  // That along one dimension alone.
  Value within(Value value, int64_t axis) {
    Shape shape = padded(written_.find(value)->second);
    shape[axis] = written_.find(value)->second[axis];
    return within(shape);
  }

  void limit(MutableOperandRange mask, Value pointers) {
    if (!is_padded(pointers)) return;
    Value inside = within(written_.find(pointers)->second);
    if (!mask.empty()) {
      builder_.setInsertionPoint(mask.getOwner());
      inside = arith::AndIOp::create(builder_, mask.getOwner()->getLoc(), mask[0].get(), inside);
    }
    mask.assign(inside);
  }

  Value splat(Location location, Type type, TypedAttr value) {
    return arith::ConstantOp::create(builder_, location, DenseElementsAttr::get(cast<RankedTensorType>(type), Attribute(value)));
  }

  // Loads that leave elements out and give 0 there need no more for a product.
  static bool is_zero_outside(Value value) {
    auto load = value.getDefiningOp<tt::LoadOp>();
    return load && gives_zero_outside(load);
  }

  void clear_outside(OpOperand& operand, int64_t axis) {
    if (!is_padded(operand.get(), axis) || is_zero_outside(operand.get())) return;
    Operation* dot = operand.getOwner();
    builder_.setInsertionPoint(dot);
    Type type = operand.get().getType();
    Value zero = splat(dot->getLoc(), type, builder_.getZeroAttr(tt::element_type(type)));
    operand.set(arith::SelectOp::create(builder_, dot->getLoc(), within(operand.get(), axis), operand.get(), zero));
  }

  // Elements outside become neutral, or come with a flag: where one side lacks it, the other is taken.
  template <typename Op, typename Return>
  void pass_over_outside(Op operation) {
    const int64_t axis = operation.getAxis();
    Value source = operation.getSrcs().front();
    if (!is_padded(source, axis)) return;
    Value inside = within(source, axis);
    Block& combine = operation.getCombineOp().front();
    builder_.setInsertionPoint(operation);
    if (TypedAttr neutral = neutral_element(combine)) {
      Value filler = splat(operation.getLoc(), source.getType(), neutral);
      return operation->setOperand(0, arith::SelectOp::create(builder_, operation.getLoc(), inside, source, filler));
    }
    const unsigned count = operation.getSrcs().size();
    SmallVector<Type> types(operation->getResultTypes());
    types.push_back(tt::same_shape(types.front(), builder_.getI1Type()));
    SmallVector<Value> sources(operation.getSrcs());
    sources.push_back(inside);
    OperationState state(operation.getLoc(), Op::getOperationName(), sources, types, operation->getAttrs());
    state.addRegion()->takeBody(operation.getCombineOp());
    Operation* flagged = builder_.create(state);
    Block& body = flagged->getRegion(0).front();
    Value left = body.insertArgument(count, builder_.getI1Type(), operation.getLoc());
    Value right = body.addArgument(builder_.getI1Type(), operation.getLoc());
    auto yield = cast<Return>(body.getTerminator());
    builder_.setInsertionPoint(yield);
    SmallVector<Value> results;
    for (unsigned k = 0; k < count; ++k) {
      Value both = arith::SelectOp::create(builder_, yield.getLoc(), right, yield.getOperand(k), body.getArgument(k));
      results.push_back(arith::SelectOp::create(builder_, yield.getLoc(), left, both, body.getArgument(count + 1 + k)));
    }
    results.push_back(arith::OrIOp::create(builder_, yield.getLoc(), left, right));
    yield->setOperands(results);
    for (unsigned k = 0; k < count; ++k) {
      operation->getResult(k).replaceAllUsesWith(flagged->getResult(k));
      if (auto found = written_.find(operation->getResult(k)); found != written_.end())
        written_[flagged->getResult(k)] = Shape(found->second);
    }
    operation->erase();
  }

  void keep_extents(Operation* message) {
    if (llvm::none_of(message->getOperands(), [&](Value value) { return is_padded(value); })) return;
    SmallVector<Attribute> extents;
    for (Value value : message->getOperands()) {
      auto found = written_.find(value);
      ArrayRef<int64_t> shape = found == written_.end() ? tt::shape_of(value.getType()) : ArrayRef<int64_t>(found->second);
      extents.push_back(builder_.getDenseI64ArrayAttr(shape));
    }
    message->setAttr(block_attribute, builder_.getArrayAttr(extents));
  }

  void rewrite(Operation* operation) {
    if (auto range = dyn_cast<tt::MakeRangeOp>(operation))
      range.setEnd(range.getStart() + uint32_t(tt::shape_of(range.getType()).front()));
    else if (auto constant = dyn_cast<arith::ConstantOp>(operation); constant && is_padded(constant.getResult()))
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue()).resizeSplat(cast<RankedTensorType>(constant.getType())));
    else if (auto load = dyn_cast<tt::LoadOp>(operation))
      limit(load.getMaskMutable(), load.getPtr());
    else if (auto store = dyn_cast<tt::StoreOp>(operation))
      limit(store.getMaskMutable(), store.getPtr());
    else if (auto atomic = dyn_cast<tt::AtomicRMWOp>(operation))
      limit(atomic.getMaskMutable(), atomic.getPtr());
    else if (auto dot = dyn_cast<tt::DotOp>(operation)) {
      const int64_t rank = int64_t(tt::shape_of(dot.getA().getType()).size());
      clear_outside(dot.getAMutable(), rank - 1);
      clear_outside(dot.getBMutable(), rank - 2);
    } else if (auto reduce = dyn_cast<tt::ReduceOp>(operation))
      pass_over_outside<tt::ReduceOp, tt::ReduceReturnOp>(reduce);
    else if (auto scan = dyn_cast<tt::ScanOp>(operation); scan && scan.getReverse())
      pass_over_outside<tt::ScanOp, tt::ScanReturnOp>(scan);  // the other way the block's own elements come first
    else if (isa<tt::PrintOp, tt::AssertOp>(operation))
      keep_extents(operation);
  }

  tt::FuncOp function_;
  OpBuilder builder_;
  std::vector<Operation*> operations_;
  llvm::DenseMap<Value, Shape> written_;  // the extents of values that are padded
  std::map<Shape, Value> within_;
};

}  // namespace

bool gives_zero_outside(tt::LoadOp load) {
  Value other = load.getOther();
  if (!other) return true;
  while (auto splat = other.getDefiningOp<tt::SplatOp>()) other = splat.getSrc();
  return matchPattern(other, m_Zero()) || matchPattern(other, m_AnyZeroFloat());
}

LogicalResult pad_blocks(tt::FuncOp function) { return Padder(function).run(); }

}  // namespace teeny::compiler::gpu
