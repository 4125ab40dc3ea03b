// tt.scan. By default bit by bit of the index along the axis, lowest first: each place keeps the total of its segment
// and what has been folded up to its element; in a step the upper segment takes in the lower one's total. Where the
// defined order counts, one thread per line goes along it in shared memory.
#include "compiler/gpu/to_thread/reduction.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/gpu/to_thread/exchange.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

using Element = SmallVector<Value, 2>;

class Scan {
 public:
  Scan(Emitter& emitter, tt::ScanOp scan) : emitter_(emitter), scan_(scan), plan_(plan_scan(scan)) {
    auto type = cast<RankedTensorType>(scan.getSrcs().front().getType());
    layout_ = tile::layout_of(type);
    places_ = row_major(layout_);
    extent_ = int32_t(type.getDimSize(scan.getAxis()));
    elements_ = int32_t(type.getNumElements());
    for (int64_t inner : type.getShape().drop_front(scan.getAxis() + 1)) stride_ *= int32_t(inner);
  }

  LogicalResult emit();

 private:
  FailureOr<Element> combine(const Element& left, const Element& right);
  void store_all();
  LogicalResult take_in(const ReductionStep& step);
  std::vector<Element> totals_of_others(const ReductionStep& step);
  Element select(Value condition, const Element& yes, const Element& no);
  LogicalResult walk_lines();
  Value load(Value array, Value index, Value mask, Type scalar);

  Emitter& emitter_;
  tt::ScanOp scan_;
  LinearLayout layout_, places_;
  int32_t extent_ = 1, elements_ = 1, stride_ = 1;
  ReductionPlan plan_;
  std::vector<Element> values_, totals_;  // one per register
  bool exchanged_ = false;
  Element arrays_;
};

FailureOr<Element> Scan::combine(const Element& left, const Element& right) {
  Block& body = scan_.getCombineOp().front();
  for (size_t k = 0; k < left.size(); ++k) {
    emitter_.bind(body.getArgument(k), {left[k]});
    emitter_.bind(body.getArgument(left.size() + k), {right[k]});
  }
  LogicalResult emitted = emitter_.emit_block(body);
  emitter_.location = scan_.getLoc();
  if (failed(emitted)) return failure();
  Element result;
  for (Value value : body.getTerminator()->getOperands()) result.push_back(emitter_.scalar(value));
  return result;
}

Value Scan::load(Value array, Value index, Value mask, Type scalar) {
  OpBuilder& builder = emitter_.builder;
  Type stored = cast<thread::SharedType>(array.getType()).getElement();
  Value value = thread::SharedLoadOp::create(builder, emitter_.location, stored, array, index, mask, 0).getResult(0);
  if (stored == scalar) return value;
  return arith::CmpIOp::create(builder, emitter_.location, arith::CmpIPredicate::ne, value,
                               emitter_.constant(builder.getIntegerAttr(stored, 0)));
}

void Scan::store_all() {
  int32_t copies = places_.free_bits(Axis::reg);
  Value owns = emitter_.owns(places_);
  for (size_t number = 0; number < values_.size(); ++number)
    for (size_t k = 0; (int32_t(number) & copies) == 0 && k < arrays_.size(); ++k)
      store_shared(emitter_, arrays_[k], emitter_.index_of(places_, int(number), Axis::index0), values_[number][k],
                   owns);
}

// The totals of the places whose index differs in the step's bit.
std::vector<Element> Scan::totals_of_others(const ReductionStep& step) {
  OpBuilder& builder = emitter_.builder;
  std::vector<Element> others(totals_.size());
  if (step.way != ReductionStep::Way::scratch) {
    llvm::DenseMap<Value, Value> moved;
    for (size_t number = 0; number < totals_.size(); ++number)
      for (Value value : totals_[number ^ size_t(step.reg)]) {
        Value& there = moved[value];
        if (!there && step.lane == 0) there = value;
        if (!there)
          there = thread::ShuffleOp::create(builder, emitter_.location, thread::ShuffleKind::XOR, value,
                                            emitter_.constant(step.lane));
        others[number].push_back(there);
      }
    return others;
  }
  if (exchanged_) shared_barrier(emitter_, scan_);  // the step before has been read
  exchanged_ = true;
  LinearLayout segments = plan_.partial_results(step);
  int32_t copies = segments.free_bits(Axis::reg);
  Value owns = emitter_.owns(segments);
  for (size_t number = 0; number < totals_.size(); ++number)
    for (size_t k = 0; (int32_t(number) & copies) == 0 && k < arrays_.size(); ++k)
      store_shared(emitter_, arrays_[k], emitter_.index_of(segments, int(number), Axis::index0), totals_[number][k],
                   owns);
  shared_barrier(emitter_, scan_);
  for (size_t number = 0; number < totals_.size(); ++number) {
    Value index = emitter_.index_of(segments, int(number), Axis::index0);
    index = emitter_.exclusive_or(index, emitter_.constant(1));  // the step's bit is the lowest
    for (auto [array, value] : llvm::zip_equal(arrays_, totals_[number]))
      others[number].push_back(load(array, index, {}, value.getType()));
  }
  return others;
}

Element Scan::select(Value condition, const Element& yes, const Element& no) {
  Element result;
  for (auto [left, right] : llvm::zip_equal(yes, no))
    result.push_back(left == right ? left : emitter_.make<arith::SelectOp>({condition, left, right}, left.getType()));
  return result;
}

LogicalResult Scan::take_in(const ReductionStep& step) {
  Axis axis = index_axis(scan_.getAxis());
  int bit = step.bits.front();
  std::vector<Element> others = totals_of_others(step), totals(totals_.size());
  for (size_t number = 0; number < totals_.size(); ++number) {
    const Element &own = totals_[number], &other = others[number];
    Value upper = in_upper_half(emitter_, layout_, int(number), axis, bit);
    bool upper_register = layout_.apply({{Axis::reg, int32_t(number)}}, axis) >> bit & 1;
    // In reverse the lower segment comes behind the upper one.
    auto where_behind = [&](const Element& yes, const Element& no) {
      if (upper) return scan_.getReverse() ? select(upper, no, yes) : select(upper, yes, no);
      return upper_register != scan_.getReverse() ? yes : no;
    };
    FailureOr<Element> total = combine(where_behind(other, own), where_behind(own, other));
    if (failed(total)) return failure();
    totals[number] = *total;
    if (!upper && upper_register == scan_.getReverse()) continue;
    FailureOr<Element> taken = combine(other, values_[number]);
    if (failed(taken)) return failure();
    values_[number] = where_behind(*taken, values_[number]);
  }
  totals_ = std::move(totals);
  return success();
}

LogicalResult Scan::walk_lines() {
  OpBuilder& builder = emitter_.builder;
  Location location = emitter_.location;
  store_all();
  shared_barrier(emitter_, scan_);
  tile::Executors executors = tile::executors(scan_);
  int32_t threads = executors.warps * emitter_.capability.lanes, lines = elements_ / extent_;
  Value thread = emitter_.add(emitter_.multiply(emitter_.add(emitter_.warp(), emitter_.constant(-executors.first_warp)),
                                                emitter_.capability.lanes),
                              emitter_.lane());
  OpBuilder::InsertionGuard guard(builder);
  auto over_lines = scf::ForOp::create(builder, location, thread, emitter_.constant(lines), emitter_.constant(threads));
  Block& body = *over_lines.getBody();
  builder.setInsertionPointToStart(&body);
  // line = outer * stride + inner; its elements: (outer * extent + k) * stride + inner.
  auto make = [&]<typename Op>(std::type_identity<Op>, Value left, int64_t right) -> Value {
    return Op::create(builder, location, left, emitter_.constant(right));
  };
  Value line = over_lines.getInductionVar();
  Value outer = make(std::type_identity<arith::DivUIOp>(), line, stride_);
  Value inner = make(std::type_identity<arith::RemUIOp>(), line, stride_);
  Value first = arith::AddIOp::create(builder, location,
                                      make(std::type_identity<arith::MulIOp>(), outer, extent_ * stride_), inner);
  if (scan_.getReverse()) first = make(std::type_identity<arith::AddIOp>(), first, int64_t(extent_ - 1) * stride_);
  SmallVector<Value> initial{first};
  for (auto [array, value] : llvm::zip_equal(arrays_, values_.front()))
    initial.push_back(load(array, first, {}, value.getType()));
  auto along = scf::ForOp::create(builder, location, emitter_.constant(1), emitter_.constant(extent_),
                                  emitter_.constant(1), initial);
  builder.setInsertionPointToStart(along.getBody());
  int64_t step = scan_.getReverse() ? -stride_ : stride_;
  Value here = make(std::type_identity<arith::AddIOp>(), along.getRegionIterArgs().front(), step);
  Element left(along.getRegionIterArgs().drop_front()), right;
  for (auto [array, value] : llvm::zip_equal(arrays_, left)) right.push_back(load(array, here, {}, value.getType()));
  Block& region = scan_.getCombineOp().front();
  for (size_t k = 0; k < left.size(); ++k) {
    emitter_.bind(region.getArgument(k), {left[k]});
    emitter_.bind(region.getArgument(left.size() + k), {right[k]});
  }
  if (failed(emitter_.emit_region(region))) return failure();
  emitter_.location = scan_.getLoc();
  SmallVector<Value> next{here};
  for (Value value : region.getTerminator()->getOperands()) next.push_back(emitter_.scalar(value));
  for (auto [array, value] : llvm::zip_equal(arrays_, ArrayRef(next).drop_front()))
    store_shared(emitter_, array, here, value, {});
  scf::YieldOp::create(builder, location, next);
  return success();
}

LogicalResult Scan::emit() {
  for (Value result : scan_.getResults())
    if (tile::layout_of(result.getType()) != layout_) {
      InFlightDiagnostic error = scan_.emitOpError("must have its source's layout; got ") << result.getType();
      error.attachNote() << "help: a tile.convert_layout belongs behind it";
      return error;
    }
  values_.resize(layout_.input_size(Axis::reg));
  for (auto [k, source] : llvm::enumerate(scan_.getSrcs())) {
    for (auto [element, value] : llvm::zip_equal(values_, emitter_.scalars(source))) element.push_back(value);
    if (plan_.scratch_elements() == 0) continue;
    arrays_.push_back(scratch_array(emitter_, scan_, unsigned(k)));
    if (!arrays_.back()) return failure();
  }
  if (plan_.in_turn) {
    if (failed(walk_lines())) return failure();
    shared_barrier(emitter_, scan_);
    for (size_t number = 0; number < values_.size(); ++number)
      for (auto [array, value] : llvm::zip_equal(arrays_, values_[number]))
        value = load(array, emitter_.index_of(places_, int(number), Axis::index0), {}, value.getType());
  } else {
    totals_ = values_;
    for (const ReductionStep& step : plan_.steps)
      if (failed(take_in(step))) return failure();
  }
  for (auto [k, result] : llvm::enumerate(scan_.getResults())) {
    Scalars scalars;
    for (const Element& element : values_) scalars.push_back(element[k]);
    emitter_.bind(result, std::move(scalars));
  }
  return success();
}

}  // namespace

LogicalResult emit_scan(Emitter& emitter, tt::ScanOp scan) { return Scan(emitter, scan).emit(); }

}  // namespace teeny::compiler::gpu
