// tt.scan through shared memory: all elements stand there in row-major order.
//
// By default in rounds of distance 1, 2, 4, …: an element takes in what stands at that distance before it, so that it
// covers twice as many. Where the defined order counts, one thread per line goes along it.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/gpu/to_thread/exchange.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

using Element = SmallVector<Value, 2>;

class Scan {
 public:
  Scan(Emitter& emitter, tt::ScanOp scan) : emitter_(emitter), scan_(scan) {
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
  LogicalResult take_in(int32_t distance);
  LogicalResult walk_lines();
  Value compare(arith::CmpIPredicate predicate, Value left, int64_t right) {
    return arith::CmpIOp::create(emitter_.builder, emitter_.location, predicate, left, emitter_.constant(right));
  }
  Value load(Value array, Value index, Value mask, Type scalar);

  Emitter& emitter_;
  tt::ScanOp scan_;
  LinearLayout layout_, places_;
  int32_t extent_ = 1, elements_ = 1, stride_ = 1;
  std::vector<Element> values_;  // one per register
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

LogicalResult Scan::take_in(int32_t distance) {
  store_all();
  shared_barrier(emitter_, scan_);
  for (size_t number = 0; number < values_.size(); ++number) {
    Value along = emitter_.index_of(layout_, int(number), index_axis(scan_.getAxis()));
    Value has = scan_.getReverse() ? compare(arith::CmpIPredicate::slt, along, extent_ - distance)
                                   : compare(arith::CmpIPredicate::sge, along, distance);
    Value before = emitter_.add(emitter_.index_of(places_, int(number), Axis::index0),
                                emitter_.constant((scan_.getReverse() ? distance : -distance) * int64_t(stride_)));
    Element& own = values_[number];
    Element other;
    for (auto [array, value] : llvm::zip_equal(arrays_, own))
      other.push_back(load(array, before, has, value.getType()));
    FailureOr<Element> combined = combine(other, own);
    if (failed(combined)) return failure();
    for (auto [value, result] : llvm::zip_equal(own, *combined))
      value = arith::SelectOp::create(emitter_.builder, emitter_.location, has, result, value);
  }
  if (2 * distance < extent_) shared_barrier(emitter_, scan_);  // before the next round stores
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
    arrays_.push_back(scratch_array(emitter_, scan_, unsigned(k)));
    if (!arrays_.back()) return failure();
  }
  if (scan_->getParentOfType<tt::FuncOp>()->hasAttr(reproducible_attribute)) {
    if (failed(walk_lines())) return failure();
    shared_barrier(emitter_, scan_);
    for (size_t number = 0; number < values_.size(); ++number)
      for (auto [array, value] : llvm::zip_equal(arrays_, values_[number]))
        value = load(array, emitter_.index_of(places_, int(number), Axis::index0), {}, value.getType());
  } else {
    for (int32_t distance = 1; distance < extent_; distance *= 2)
      if (failed(take_in(distance))) return failure();
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
