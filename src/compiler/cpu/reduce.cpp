// Roots as bodies of nests: stores, stored tensors, reductions; and what needs nests of its own: trees and scans.
#include <llvm/IR/Constants.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/cpu/emitter.hpp"

namespace teeny::compiler::cpu {

namespace arith = mlir::arith;

struct StoreBody : NestBody {
  StoreBody(Emitter& e, tt::StoreOp store) : e_(e), store_(store) {}
  void chunk(const Coordinates& at, unsigned) override {
    e_.emit_store(store_, at, e_.streaming_ && e_.streams(store_));
  }
  Emitter& e_;
  tt::StoreOp store_;
};

// The value is found in its buffer once the nest is over; within the nest it is at hand.
struct MaterialiseBody : NestBody {
  MaterialiseBody(Emitter& e, mlir::Value value, const Buffer& buffer, bool bind)
      : e_(e), value_(value), buffer_(buffer), bind_(bind) {}
  void chunk(const Coordinates& at, unsigned) override { e_.write_buffer(buffer_, e_.evaluate(value_, at), at); }
  void after() override {
    if (bind_) e_.buffers_[value_] = buffer_;
  }
  Emitter& e_;
  mlir::Value value_;
  Buffer buffer_;
  bool bind_;
};

struct CopyBody : NestBody {
  CopyBody(Emitter& e, const Buffer& from, const Buffer& to) : e_(e), from_(from), to_(to) {}
  void chunk(const Coordinates& at, unsigned) override { e_.write_buffer(to_, e_.read_buffer(from_, at), at); }
  Emitter& e_;
  Buffer from_, to_;
};

namespace {

// The value that leaves the other operand of a one-operation fold unchanged, bit for bit.
llvm::Constant* identity_of(tt::ReduceOp reduce, llvm::LLVMContext& context) {
  mlir::Block& region = reduce.getCombineOp().front();
  if (reduce.getSrcs().size() != 1 || !llvm::hasNItems(region, 2)) return nullptr;
  mlir::Operation& fold = region.front();
  if (fold.getNumOperands() != 2 || fold.getOperand(0) == fold.getOperand(1) || fold.getNumResults() != 1)
    return nullptr;
  if (region.getTerminator()->getOperand(0) != fold.getResult(0)) return nullptr;
  for (mlir::Value operand : fold.getOperands())
    if (!mlir::isa<mlir::BlockArgument>(operand)) return nullptr;
  mlir::Type type = fold.getResult(0).getType();
  if (auto floating = mlir::dyn_cast<mlir::FloatType>(type)) {
    const auto& semantics = floating.getFloatSemantics();
    auto make = [&](llvm::APFloat number) { return constant_of(mlir::FloatAttr::get(type, number), type, context); };
    if (mlir::isa<arith::AddFOp>(fold)) return make(llvm::APFloat::getZero(semantics, true));
    if (mlir::isa<arith::MulFOp>(fold)) return make(llvm::APFloat(semantics, 1));
    if (mlir::isa<arith::MaxNumFOp, arith::MinNumFOp>(fold)) return make(llvm::APFloat::getQNaN(semantics));
    if (mlir::isa<arith::MaximumFOp>(fold)) return make(llvm::APFloat::getInf(semantics, true));
    if (mlir::isa<arith::MinimumFOp>(fold)) return make(llvm::APFloat::getInf(semantics, false));
    return nullptr;
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  auto make = [&](llvm::APInt number) { return llvm::ConstantInt::get(context, number); };
  if (mlir::isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(fold)) return make(llvm::APInt(bits, 0));
  if (mlir::isa<arith::MulIOp>(fold)) return make(llvm::APInt(bits, 1));
  if (mlir::isa<arith::AndIOp, arith::MinUIOp>(fold)) return make(llvm::APInt::getAllOnes(bits));
  if (mlir::isa<arith::MaxSIOp>(fold)) return make(llvm::APInt::getSignedMinValue(bits));
  if (mlir::isa<arith::MinSIOp>(fold)) return make(llvm::APInt::getSignedMaxValue(bits));
  return nullptr;
}

Coordinates without(const Coordinates& at, unsigned axis) {
  Coordinates result = at;
  result.dimensions.erase(result.dimensions.begin() + axis);
  return result;
}

}  // namespace

// Folds along the lane dimension: one vector accumulator a slot, joined and folded across lanes at a row's end; chunks
// narrower than a vector fold into a scalar.
struct LaneReduceBody : NestBody {
  struct Accumulator {
    llvm::SmallVector<llvm::Value*, 2> variables;  // one an operand
    unsigned lanes = 1;
  };
  LaneReduceBody(Emitter& e, tt::ReduceOp reduce, const Nest& nest) : e_(e), reduce_(reduce), width_(nest.width) {
    identity_ = identity_of(reduce, e.context_);
    for (unsigned slot = 0; slot <= nest.unroll; ++slot) {
      Accumulator accumulator;
      accumulator.lanes = slot == nest.unroll ? 1 : nest.width;
      for (mlir::Value source : reduce.getSrcs())
        accumulator.variables.push_back(e.variable(
            lanes_type(value_type(tt::element_type(source.getType()), e.context_), accumulator.lanes), "fold"));
      accumulators_.push_back(accumulator);
    }
  }

  void begin_row(const Coordinates&) override {
    for (Accumulator& accumulator : accumulators_) {
      llvm::Value* start = splat(e_.builder_, identity_, accumulator.lanes);
      for (llvm::Value* variable : accumulator.variables) e_.builder_.CreateStore(start, variable);
    }
  }

  llvm::SmallVector<llvm::Value*, 2> load(const Accumulator& accumulator) {
    llvm::SmallVector<llvm::Value*, 2> values;
    for (llvm::Value* variable : accumulator.variables)
      values.push_back(e_.builder_.CreateLoad(llvm::cast<llvm::AllocaInst>(variable)->getAllocatedType(), variable));
    return values;
  }

  void fold(Accumulator& into, llvm::ArrayRef<llvm::Value*> values) {
    auto folded = e_.combine(reduce_.getCombineOp().front(), load(into), values);
    for (auto [variable, value] : llvm::zip(into.variables, folded)) e_.builder_.CreateStore(value, variable);
  }

  llvm::SmallVector<llvm::Value*, 2> across(llvm::SmallVector<llvm::Value*, 2> values) {
    for (unsigned lanes = lanes_of(values[0]); lanes > 1; lanes /= 2) {
      llvm::SmallVector<int> low, high;
      for (unsigned lane = 0; lane < lanes / 2; ++lane) low.push_back(lane), high.push_back(lane + lanes / 2);
      llvm::SmallVector<llvm::Value*, 2> left, right;
      for (llvm::Value* value : values) {
        bool last = lanes == 2;
        left.push_back(last ? e_.builder_.CreateExtractElement(value, std::uint64_t{0})
                            : e_.builder_.CreateShuffleVector(value, low));
        right.push_back(last ? e_.builder_.CreateExtractElement(value, std::uint64_t{1})
                             : e_.builder_.CreateShuffleVector(value, high));
      }
      values = e_.combine(reduce_.getCombineOp().front(), left, right);
    }
    return values;
  }

  void chunk(const Coordinates& at, unsigned slot) override {
    llvm::SmallVector<llvm::Value*, 2> values;
    for (mlir::Value source : reduce_.getSrcs())
      values.push_back(splat(e_.builder_, e_.evaluate(source, at), at.width));
    if (at.width == width_) return fold(accumulators_[slot], values);
    fold(accumulators_.back(), across(values));
  }

  void end_row(const Coordinates& row) override {
    Accumulator& first = accumulators_.front();
    for (Accumulator& other : llvm::MutableArrayRef<Accumulator>(accumulators_).drop_front().drop_back())
      fold(first, load(other));
    Accumulator& rest = accumulators_.back();
    auto result = across(load(first));
    auto joined = e_.combine(reduce_.getCombineOp().front(), result, load(rest));
    e_.bind_reduced(reduce_, row, joined);
  }

  void after() override { e_.load_variables(reduce_.getResults()); }

  Emitter& e_;
  tt::ReduceOp reduce_;
  unsigned width_;
  llvm::Constant* identity_;
  llvm::SmallVector<Accumulator, 5> accumulators_;
};

// Folds along another dimension: the result's buffer is the accumulator, lane by lane.
struct CrossReduceBody : NestBody {
  CrossReduceBody(Emitter& e, tt::ReduceOp reduce) : e_(e), reduce_(reduce) {}
  void chunk(const Coordinates& at, unsigned) override {
    Coordinates place = without(at, reduce_.getAxis());
    llvm::Value* is_first = e_.builder_.CreateICmpEQ(at.dimensions[reduce_.getAxis()].value, e_.index(0));
    llvm::SmallVector<llvm::Value*, 2> old, values;
    for (auto [source, result] : llvm::zip(reduce_.getSrcs(), reduce_.getResults())) {
      values.push_back(splat(e_.builder_, e_.evaluate(source, at), at.has_lanes() ? at.width : 1));
      old.push_back(e_.read_buffer(e_.buffers_[result], place));
    }
    auto folded = e_.combine(reduce_.getCombineOp().front(), old, values);
    for (auto [number, result] : llvm::enumerate(reduce_.getResults()))
      e_.write_buffer(e_.buffers_[result], e_.builder_.CreateSelect(is_first, values[number], folded[number]), place);
  }
  Emitter& e_;
  tt::ReduceOp reduce_;
};

// t[i] = f(t[from(i)], t[to(i)]) along an axis of buffers, element by element: a step of a tree or a scan.
struct FoldBody : NestBody {
  FoldBody(Emitter& e, mlir::Block& region, llvm::ArrayRef<Buffer> buffers, unsigned axis)
      : e_(e), region_(region), buffers_(buffers), axis_(axis) {}
  Coordinates moved(const Coordinates& at, bool target) {
    Coordinates result = at;
    Coordinate& place = result.dimensions[axis_];
    if (reverse_extent_) place.value = e_.builder_.CreateSub(e_.index(reverse_extent_ - 1), place.value);
    std::int64_t offset = target ? target_offset_ : source_offset_;
    if (offset) place.value = e_.builder_.CreateAdd(place.value, e_.index(offset));
    place.level = static_cast<unsigned>(e_.levels_.size() - 1);
    return result;
  }
  // f(t[i + source_offset], t[i + target_offset]) goes to the target, or with `into_source` to the source.
  void chunk(const Coordinates& at, unsigned) override {
    llvm::SmallVector<llvm::Value*, 2> left, right;
    Coordinates from = moved(at, false), to = moved(at, true);
    for (const Buffer& buffer : buffers_)
      left.push_back(e_.read_buffer(buffer, from)), right.push_back(e_.read_buffer(buffer, to));
    for (auto [buffer, value] : llvm::zip(buffers_, e_.combine(region_, left, right)))
      e_.write_buffer(buffer, value, into_source_ ? from : to);
  }
  Emitter& e_;
  mlir::Block& region_;
  llvm::SmallVector<Buffer, 2> buffers_;
  unsigned axis_;
  std::int64_t source_offset_ = 0, target_offset_ = 0, reverse_extent_ = 0;
  bool into_source_ = false;
};

std::unique_ptr<NestBody> Emitter::reduce_body(tt::ReduceOp reduce, const Nest& nest) {
  for (mlir::Value result : reduce.getResults()) {
    if (mlir::isa<mlir::RankedTensorType>(result.getType()))
      allocate(result);
    else
      variables_[result] = variable(value_type_of(result), "reduced");
  }
  if (nest.lane < 0 || nest.lane == static_cast<int>(reduce.getAxis()))
    return std::make_unique<LaneReduceBody>(*this, reduce, nest);
  return std::make_unique<CrossReduceBody>(*this, reduce);
}

void Emitter::bind_reduced(tt::ReduceOp reduce, const Coordinates& row, llvm::ArrayRef<llvm::Value*> values) {
  Coordinates place = without(row, reduce.getAxis());
  place.width = 1;
  for (auto [result, value] : llvm::zip(reduce.getResults(), values)) {
    if (auto found = variables_.find(result); found != variables_.end())
      builder_.CreateStore(value, found->second);
    else
      write_buffer(buffers_[result], value, place);
  }
}

std::unique_ptr<NestBody> Emitter::make_body(const Root& root, const Nest& nest) {
  if (root.stored) {
    auto type = mlir::cast<mlir::RankedTensorType>(root.stored.getType());
    return std::make_unique<MaterialiseBody>(*this, root.stored, allocate(type.getElementType(), type.getShape()),
                                             true);
  }
  if (auto reduce = mlir::dyn_cast<tt::ReduceOp>(root.operation)) return reduce_body(reduce, nest);
  return std::make_unique<StoreBody>(*this, mlir::cast<tt::StoreOp>(root.operation));
}

void Emitter::run_group(const Group& group) {
  llvm::SmallVector<mlir::Value, 8> expressions, masks;
  for (const Root& root : group) {
    if (root.stored)
      expressions.push_back(root.stored);
    else if (auto store = mlir::dyn_cast<tt::StoreOp>(root.operation)) {
      expressions.append({store.getPtr(), store.getValue()});
      if (store.getMask()) masks.push_back(store.getMask());
    } else
      llvm::append_range(expressions, root.operation->getOperands());
  }
  llvm::SmallVector<mlir::Value, 8> distinct;
  for (mlir::Value value : expressions)
    if (!llvm::is_contained(distinct, value)) distinct.push_back(value);
  Nest nest = make_nest(iteration_shape(group.front()), distinct);
  nest.masks.assign(masks.begin(), masks.end());
  for (const Root& root : group)
    if (auto store = mlir::dyn_cast<tt::StoreOp>(root.operation); store && streams(store))
      nest.streams.push_back(store);
  llvm::SmallVector<std::unique_ptr<NestBody>, 2> bodies;
  llvm::SmallVector<NestBody*, 2> pointers;
  for (const Root& root : group) {
    bodies.push_back(make_body(root, nest));
    pointers.push_back(bodies.back().get());
  }
  emit_nest(nest, pointers);
}

void Emitter::emit_group(const Group& group) {
  set_location(group.front().operation);
  Group rest;
  auto flush = [&] {
    for (size_t begin = 0; begin < rest.size();) {
      size_t end = begin + 1;
      while (end < rest.size() && iteration_shape(rest[end]) == iteration_shape(rest[begin])) ++end;
      run_group(Group(rest.begin() + begin, rest.begin() + end));
      begin = end;
    }
    rest.clear();
  };
  for (const Root& root : group) {
    auto reduce = mlir::dyn_cast<tt::ReduceOp>(root.operation);
    // A fold that is not known to be associative (argmax beside a NaN) means the tree, in every mode.
    bool tree = reduce && !root.stored && (options_.reproducible || !identity_of(reduce, context_));
    if (!tree) {
      rest.push_back(root);
      continue;
    }
    flush();
    emit_tree_reduce(reduce);
  }
  flush();
}

void Emitter::materialise(mlir::Value value, const Buffer& destination) {
  if (auto found = buffers_.find(value); found != buffers_.end() && found->second.offset == destination.offset) return;
  Nest nest = make_nest(destination.shape, {value});
  MaterialiseBody body(*this, value, destination, false);
  emit_nest(nest, {&body});
}

void Emitter::copy_buffer(const Buffer& from, const Buffer& to) {
  CopyBody body(*this, from, to);
  Nest nest;
  nest.shape = to.shape;
  for (int d = static_cast<int>(to.shape.size()) - 1; d >= 0 && nest.lane < 0; --d)
    if (to.shape[d] > 1) nest.lane = d;
  if (nest.lane >= 0) {
    nest.width = static_cast<unsigned>(target_.vector_bytes) / memory_bytes(to.element);
    while (nest.width > to.shape[nest.lane]) nest.width /= 2;
  }
  emit_nest(nest, {&body});
}

void Emitter::emit_tree_reduce(tt::ReduceOp reduce) {
  unsigned axis = reduce.getAxis();
  llvm::SmallVector<std::int64_t, 4> shape(tt::shape_of(reduce.getSrcs()[0].getType()));
  llvm::SmallVector<Buffer, 2> buffers;
  for (mlir::Value source : reduce.getSrcs()) {
    buffers.push_back(allocate(tt::element_type(source.getType()), shape));
    materialise(source, buffers.back());
  }
  std::int64_t live = shape[axis];
  for (std::int64_t half = static_cast<std::int64_t>(llvm::PowerOf2Ceil(live)) / 2; half >= 1; half /= 2) {
    if (live <= half) continue;
    llvm::SmallVector<std::int64_t, 4> pairs(shape);
    pairs[axis] = live - half;
    FoldBody body(*this, reduce.getCombineOp().front(), buffers, axis);
    body.target_offset_ = half, body.into_source_ = true;
    emit_nest(make_nest(pairs, llvm::to_vector(reduce.getSrcs())), {&body});
    live = half;
  }
  Coordinates origin;
  for (size_t d = 0; d < shape.size(); ++d) origin.dimensions.push_back({index(0)});
  for (auto [result, buffer] : llvm::zip(reduce.getResults(), buffers)) {
    if (!mlir::isa<mlir::RankedTensorType>(result.getType())) {
      values_[result] = read_buffer(buffer, origin);
      continue;
    }
    Buffer target = allocate(result);
    struct TakeFirst : NestBody {
      std::function<void(const Coordinates&)> copy;
      void chunk(const Coordinates& at, unsigned) override { copy(at); }
    } body;
    body.copy = [&, from = buffer](const Coordinates& at) {
      Coordinates place = at;
      place.dimensions.insert(place.dimensions.begin() + axis, {index(0)});
      write_buffer(target, read_buffer(from, place), at);
    };
    emit_nest(make_nest(target.shape, {result}), {&body});
  }
  for (const Buffer& buffer : buffers) release(buffer);
}

void Emitter::emit_scan(tt::ScanOp scan) {
  unsigned axis = scan.getAxis();
  llvm::SmallVector<std::int64_t, 4> steps(tt::shape_of(scan.getSrcs()[0].getType()));
  llvm::SmallVector<Buffer, 2> buffers;
  for (auto [source, result] : llvm::zip(scan.getSrcs(), scan.getResults())) {
    buffers.push_back(allocate(result));
    materialise(source, buffers.back());
  }
  std::int64_t extent = steps[axis];
  if (extent == 1) return;
  steps[axis] = extent - 1;
  FoldBody body(*this, scan.getCombineOp().front(), buffers, axis);
  if (scan.getReverse())
    body.reverse_extent_ = extent - 1, body.source_offset_ = 1;
  else
    body.target_offset_ = 1;
  Nest nest;
  nest.shape = steps;
  for (int d = static_cast<int>(steps.size()) - 1; d >= 0 && nest.lane < 0; --d)
    if (d != static_cast<int>(axis) && steps[d] > 1) nest.lane = d;
  if (nest.lane >= 0) {
    nest.width = lanes_for(llvm::to_vector(scan.getSrcs()));
    while (nest.width > steps[nest.lane]) nest.width /= 2;
  }
  emit_nest(nest, {&body});
}

}  // namespace teeny::compiler::cpu
