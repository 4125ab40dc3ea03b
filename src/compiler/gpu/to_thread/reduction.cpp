#include "compiler/gpu/to_thread/reduction.hpp"

#include <algorithm>
#include <map>

#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/gpu/to_thread/exchange.hpp"
#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

// ---- the plan

static bool commutes(tt::ReduceOp reduction) {
  Block& body = reduction.getCombineOp().front();
  if (body.getNumArguments() != 2 || !llvm::hasSingleElement(body.without_terminator())) return false;
  Operation* combine = &body.front();
  return isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp>(combine) &&
         combine->getOperand(0) != combine->getOperand(1) &&
         llvm::all_of(combine->getOperands(), [&](Value operand) { return operand.getParentBlock() == &body; }) &&
         body.getTerminator()->getOperand(0) == combine->getResult(0);
}

LinearLayout ReductionPlan::partial_results(const ReductionStep& step) const {
  std::vector<std::pair<Axis, int>> bits;  // of the source's indices, in the order of the result's bits
  for (int bit : step.bits) bits.emplace_back(index_axis(axis), bit);
  for (int bit = 0; bit < source.output_bits(index_axis(axis)); ++bit)
    if (step.rest >> bit & 1) bits.emplace_back(index_axis(axis), bit);
  for (unsigned d = source.outputs().size(); d-- > 0;)
    for (int bit = 0; d != axis && bit < source.output_bits(index_axis(d)); ++bit)
      bits.emplace_back(index_axis(d), bit);
  std::vector<LinearLayout::Input> inputs = source.inputs();
  for (LinearLayout::Input& input : inputs)
    for (size_t k = 0; k < input.bases.size(); ++k) {
      int32_t image = 0;
      for (size_t place = 0; place < bits.size(); ++place)
        image |= (source.basis(input.axis, int(k), bits[place].first) >> bits[place].second & 1) << place;
      input.bases[k] = {image};
    }
  return LinearLayout(std::move(inputs), {{Axis::index0, int32_t(1) << bits.size()}});
}

// A step for each bit of the index along the axis, the highest first.
static std::vector<ReductionStep> steps_of(const LinearLayout& source, Axis axis) {
  using Way = ReductionStep::Way;
  LinearLayout indices;
  for (const LinearLayout::Output& output : source.outputs())
    indices = indices * LinearLayout::identity(output.size, output.axis, output.axis);
  LinearLayout places = indices.invert_and_compose(source);
  std::vector<ReductionStep> steps;
  for (int bit = source.output_bits(axis); bit-- > 0;) {
    ReductionStep step;
    step.reg = places.basis(axis, bit, Axis::reg);
    step.lane = places.basis(axis, bit, Axis::lane);
    step.way = places.basis(axis, bit, Axis::warp) ? Way::scratch : step.lane ? Way::lanes : Way::registers;
    step.bits = {bit};
    steps.push_back(step);
  }
  return steps;
}

static void set_rests(ReductionPlan& plan) {
  int32_t rest = plan.source.output_size(index_axis(plan.axis)) - 1;
  for (ReductionStep& step : plan.steps) {
    for (int bit : step.bits) rest &= ~(int32_t(1) << bit);
    step.rest = rest;
  }
}

static bool is_reproducible(Operation* operation) {
  auto function = operation->getParentOfType<tt::FuncOp>();
  return function && function->hasAttr(reproducible_attribute);
}

ReductionPlan plan_reduction(tt::ReduceOp reduction) {
  ReductionPlan plan{tile::layout_of(reduction.getSrcs().front().getType()), unsigned(reduction.getAxis())};
  plan.ordered = !commutes(reduction) || is_reproducible(reduction);
  std::vector<ReductionStep> ways[3];
  for (ReductionStep& step : steps_of(plan.source, index_axis(plan.axis))) {
    std::vector<ReductionStep>& steps = plan.ordered ? plan.steps : ways[int(step.way)];
    if (step.way == ReductionStep::Way::scratch && !steps.empty() && steps.back().way == step.way)
      steps.back().bits.insert(steps.back().bits.begin(), step.bits.front());
    else
      steps.push_back(step);
  }
  for (std::vector<ReductionStep>& steps : ways) llvm::append_range(plan.steps, steps);
  set_rests(plan);
  return plan;
}

ReductionPlan plan_scan(tt::ScanOp scan) {
  ReductionPlan plan{tile::layout_of(scan.getSrcs().front().getType()), unsigned(scan.getAxis()), true};
  plan.in_turn = is_reproducible(scan);
  if (plan.in_turn) return plan;
  plan.steps = steps_of(plan.source, index_axis(plan.axis));
  std::reverse(plan.steps.begin(), plan.steps.end());
  set_rests(plan);
  return plan;
}

int64_t ReductionPlan::scratch_elements() const {
  int64_t elements = 0;
  if (in_turn) return row_major(source).output_size(Axis::index0);
  for (const ReductionStep& step : steps)
    if (step.way == ReductionStep::Way::scratch)
      elements = std::max<int64_t>(elements, partial_results(step).output_size(Axis::index0));
  return elements;
}

Value in_upper_half(Emitter& emitter, const LinearLayout& layout, int number, Axis axis, int bit) {
  bool varies = false;
  for (Axis input : {Axis::lane, Axis::warp})
    for (int k = 0; k < layout.input_bits(input); ++k) varies |= layout.basis(input, k, axis) >> bit & 1;
  if (!varies) return {};
  OpBuilder& builder = emitter.builder;
  Value index = emitter.index_of(layout, number, axis);
  auto predicate =
      builder.getNamedAttr("predicate", arith::CmpIPredicateAttr::get(builder.getContext(), arith::CmpIPredicate::ne));
  return emitter.number(OperationName("arith.cmpi", builder.getContext()),
                        {emitter.and_constant(index, int64_t(1) << bit), emitter.constant(0)}, builder.getI1Type(),
                        builder.getDictionaryAttr(predicate));
}

// ---- emission

namespace {

// The values of one element, one for each operand of the reduction; the same as others if all are the same.
using Element = SmallVector<Value, 2>;

class Reduction {
 public:
  Reduction(Emitter& emitter, tt::ReduceOp reduction)
      : emitter_(emitter), reduction_(reduction), plan_(plan_reduction(reduction)) {}

  LogicalResult emit();

 private:
  FailureOr<Element> combine(const Element& left, const Element& right);
  LogicalResult combine_registers(const ReductionStep& step);
  LogicalResult combine_lanes(const ReductionStep& step);
  LogicalResult combine_partial_results(const ReductionStep& step);
  Element select(Value condition, const Element& yes, const Element& no);
  LogicalResult bind_results();
  int registers() const { return plan_.source.input_size(Axis::reg); }

  Emitter& emitter_;
  tt::ReduceOp reduction_;
  ReductionPlan plan_;
  std::vector<Element> elements_;  // one per register of the source
  SmallVector<Value, 2> arrays_;
  bool exchanged_ = false;
};

FailureOr<Element> Reduction::combine(const Element& left, const Element& right) {
  Block& body = reduction_.getCombineOp().front();
  for (size_t k = 0; k < left.size(); ++k) {
    emitter_.bind(body.getArgument(k), {left[k]});
    emitter_.bind(body.getArgument(left.size() + k), {right[k]});
  }
  LogicalResult emitted = emitter_.emit_block(body);
  emitter_.location = reduction_.getLoc();
  if (failed(emitted)) return failure();
  Element result;
  for (Value value : body.getTerminator()->getOperands()) result.push_back(emitter_.scalar(value));
  return result;
}

Element Reduction::select(Value condition, const Element& yes, const Element& no) {
  Element result;
  for (auto [left, right] : llvm::zip_equal(yes, no))
    result.push_back(left == right ? left : emitter_.make<arith::SelectOp>({condition, left, right}, left.getType()));
  return result;
}

LogicalResult Reduction::combine_registers(const ReductionStep& step) {
  int bit = step.bits.front();
  std::vector<Element> results(elements_.size());
  for (int number = 0; number < registers(); ++number) {
    int other = number ^ step.reg;
    bool upper = plan_.source.apply({{Axis::reg, number}}, index_axis(plan_.axis)) >> bit & 1;
    if (upper) continue;  // the other register of the pair gives the result of both
    Element left = elements_[number], right = elements_[other];
    if (Value swapped =
            plan_.ordered ? in_upper_half(emitter_, plan_.source, number, index_axis(plan_.axis), bit) : Value())
      std::tie(left, right) = std::pair(select(swapped, right, left), select(swapped, left, right));
    FailureOr<Element> result = combine(left, right);
    if (failed(result)) return failure();
    results[number] = results[other] = *result;
  }
  elements_ = std::move(results);
  return success();
}

LogicalResult Reduction::combine_lanes(const ReductionStep& step) {
  OpBuilder& builder = emitter_.builder;
  llvm::DenseMap<Value, Value> moved;
  Value distance = emitter_.constant(step.lane);
  std::vector<Element> results;
  for (int number = 0; number < registers(); ++number) {
    Element right;
    for (Value value : elements_[number ^ step.reg]) {
      Value& there = moved[value];
      if (!there)
        there = thread::ShuffleOp::create(builder, emitter_.location, thread::ShuffleKind::XOR, value, distance);
      right.push_back(there);
    }
    Element left = elements_[number];
    if (plan_.ordered) {
      Value swapped = in_upper_half(emitter_, plan_.source, number, index_axis(plan_.axis), step.bits.front());
      std::tie(left, right) = std::pair(select(swapped, right, left), select(swapped, left, right));
    }
    FailureOr<Element> result = combine(left, right);
    if (failed(result)) return failure();
    results.push_back(*result);
  }
  elements_ = std::move(results);
  return success();
}

LogicalResult Reduction::combine_partial_results(const ReductionStep& step) {
  if (exchanged_) shared_barrier(emitter_, reduction_);  // the round before has been read
  exchanged_ = true;
  LinearLayout places = plan_.partial_results(step);
  int32_t parts = int32_t(1) << step.bits.size(), copies = places.free_bits(Axis::reg);
  Value owns = emitter_.owns(places);
  for (int number = 0; number < registers(); ++number)
    for (size_t k = 0; (number & copies) == 0 && k < arrays_.size(); ++k)
      store_shared(emitter_, arrays_[k], emitter_.index_of(places, number, Axis::index0), elements_[number][k], owns);
  shared_barrier(emitter_, reduction_);
  std::vector<LinearLayout::Input> inputs = places.inputs();
  for (LinearLayout::Input& input : inputs)
    for (LinearLayout::Basis& basis : input.bases) basis.front() &= ~(parts - 1);
  LinearLayout groups(std::move(inputs), places.outputs());
  std::map<int32_t, Element> made;
  for (int number = 0; number < registers(); ++number) {
    Element& result = made[groups.apply({{Axis::reg, number}}, Axis::index0)];
    if (result.empty()) {
      std::vector<Element> group(parts);
      for (auto [k, array] : llvm::enumerate(arrays_)) {
        Scalars loaded;
        load_shared(emitter_, array, emitter_.index_of(groups, number, Axis::index0), parts,
                    widest(emitter_, cast<thread::SharedType>(array.getType()).getElement()),
                    elements_[number][k].getType(), loaded);
        for (auto [element, value] : llvm::zip_equal(group, loaded)) element.push_back(value);
      }
      for (int32_t half = parts / 2; half != 0; half /= 2)
        for (int32_t part = 0; part < half; ++part) {
          FailureOr<Element> combined = combine(group[part], group[part + half]);
          if (failed(combined)) return failure();
          group[part] = *combined;
        }
      result = group.front();
    }
  }
  for (int number = 0; number < registers(); ++number)
    elements_[number] = made[groups.apply({{Axis::reg, number}}, Axis::index0)];
  return success();
}

LogicalResult Reduction::bind_results() {
  LinearLayout sliced = slice_layout(plan_.source, plan_.axis);
  std::vector<int> held(sliced.input_size(Axis::reg), 0);  // the source's register that has each result
  auto image = [](const LinearLayout& layout, int number, int without) {
    Point point = layout.apply({{Axis::reg, number}});
    std::vector<int32_t> place;
    for (size_t d = 0; d < point.size(); ++d)
      if (int(d) != without) place.push_back(point[d].second);
    return place;
  };
  std::map<std::vector<int32_t>, int> found;
  for (int number = 0; number < registers(); ++number)
    found.emplace(image(plan_.source, number, int(plan_.axis)), number);
  for (size_t number = 0; number < held.size(); ++number) held[number] = found.at(image(sliced, int(number), -1));
  for (auto [k, result] : llvm::enumerate(reduction_.getResult())) {
    Scalars scalars;
    if (isa<RankedTensorType>(result.getType()) && tile::layout_of(result.getType()) != sliced) {
      InFlightDiagnostic error = reduction_.emitOpError("must have its source's layout without the axis; got ")
                                 << tile::layout_of(result.getType()).to_string() << ", expected "
                                 << sliced.to_string();
      error.attachNote() << "help: a tile.convert_layout belongs behind it";
      return error;
    }
    for (int number : held) scalars.push_back(elements_[number][k]);
    emitter_.bind(result, std::move(scalars));
  }
  return success();
}

LogicalResult Reduction::emit() {
  using Way = ReductionStep::Way;
  elements_.resize(registers());
  for (Value source : reduction_.getSrcs())
    for (auto [element, value] : llvm::zip_equal(elements_, emitter_.scalars(source))) element.push_back(value);
  bool exchanges = plan_.scratch_elements() != 0;
  for (unsigned k = 0; exchanges && k < reduction_.getSrcs().size(); ++k) {
    arrays_.push_back(scratch_array(emitter_, reduction_, k));
    if (!arrays_.back()) return failure();
  }
  for (const ReductionStep& step : plan_.steps) {
    LogicalResult result = step.way == Way::registers ? combine_registers(step)
                           : step.way == Way::lanes   ? combine_lanes(step)
                                                      : combine_partial_results(step);
    if (failed(result)) return failure();
  }
  return bind_results();
}

}  // namespace

LogicalResult emit_reduction(Emitter& emitter, tt::ReduceOp reduction) { return Reduction(emitter, reduction).emit(); }

}  // namespace teeny::compiler::gpu
