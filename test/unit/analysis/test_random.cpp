// Random programs: what block recovery, mask bounds and axis info say must agree, lane by lane, with what the program
// computes.
#include <random>

#include "evaluator.hpp"
#include <mlir/IR/Verifier.h>

namespace teeny::compiler::test {
namespace {

using namespace mlir;

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed);
  // What was compared, over all programs.
  struct Tally {
    int accesses = 0, affine = 0, partly_affine = 0, wrapped = 0, closed_forms = 0, bounded = 0, factors = 0, runs = 0;
  };
  void check(Tally &tally);

 private:
  template <class Op, class... Args>
  auto make(Args &&...args) {
    return Op::create(builder_, builder_.getUnknownLoc(), std::forward<Args>(args)...);
  }
  int pick(int count) { return int(random_() % count); }
  Value pick(ArrayRef<Value> values) { return values[pick(int(values.size()))]; }

  // Prefers tensors that vary and fit.
  Value pick_for(ArrayRef<int64_t> shape) {
    for (int i = 0; i < 8; ++i) {
      Value value = pick(integers_);
      auto from = tt::shape_of(value.getType());
      if (from == shape || (from.size() == 1 && llvm::is_contained(shape, from[0]))) return value;
    }
    return pick(integers_);
  }

  Value constant(Type type, int64_t number) {
    Attribute attribute = builder_.getIntegerAttr(tt::element_type(type), number);
    if (auto tensor = dyn_cast<RankedTensorType>(type)) attribute = DenseElementsAttr::get(tensor, attribute);
    return make<arith::ConstantOp>(cast<TypedAttr>(attribute));
  }
  Value in_shape(Value value, ArrayRef<int64_t> shape);
  void add_integer();
  void access(Value base);
  Value mask(ArrayRef<int64_t> shape);
  void loop(int depth);
  void compare(BlockRecovery &blocks, const AxisInfoAnalysis &axis_info, Evaluator &evaluator, Operation *access,
               Tally &tally);
  void check_axis_info(const AxisInfo &info, Value value, const Lanes &lanes, int64_t unit);

  std::mt19937 random_;
  MLIRContext context_{MLIRContext::Threading::DISABLED};
  OpBuilder builder_{&context_};
  OwningOpRef<ModuleOp> module_;
  tt::FuncOp function_;
  SmallVector<Value> integers_;  // scalars and tensors of i32 that may be used here
};

RandomProgram::RandomProgram(unsigned seed) : random_(seed) {
  context_.loadDialect<tt::TTDialect, arith::ArithDialect, scf::SCFDialect>();
  module_ = ModuleOp::create(UnknownLoc::get(&context_));
  OpBuilder &builder = builder_;
  Type i32 = builder.getI32Type(), pointer = tt::PointerType::get(builder.getF32Type());
  builder.setInsertionPointToEnd(module_->getBody());
  function_ = make<tt::FuncOp>("f", builder.getFunctionType({pointer, i32, i32, i32}, {}));
  Block *entry = builder.createBlock(&function_.getBody(), {}, {pointer, i32, i32, i32},
                                     SmallVector<Location>(4, builder.getUnknownLoc()));
  integers_.assign(entry->args_begin() + 1, entry->args_end());
  integers_.push_back(make<tt::GetProgramIdOp>(i32, tt::ProgramIDDim::X));
  for (int64_t extent : {4, 6, 24, 4, 6, 24})
    integers_.push_back(make<tt::MakeRangeOp>(RankedTensorType::get({extent}, i32), 0, int32_t(extent)));
  for (int64_t number : {0, 1, 2, 3, 8}) integers_.push_back(constant(i32, number));
  // Any function argument of the analysis tests may have divisibility; one does here.
  function_.setArgAttr(3, "tt.divisibility", builder.getI32IntegerAttr(8));
  for (int i = 0; i < 14; ++i) add_integer();
  access(function_.getArgument(0));
  loop(2);
  make<tt::ReturnOp>(ValueRange());
  EXPECT_TRUE(succeeded(verify(*module_)));
}

// A scalar is splatted; a range of the shape's first or last extent expanded and broadcast; anything else not fitting
// is replaced by a constant.
Value RandomProgram::in_shape(Value value, ArrayRef<int64_t> shape) {
  Type type = RankedTensorType::get(shape, tt::element_type(value.getType()));
  auto from = tt::shape_of(value.getType());
  if (value.getType() == type) return value;
  if (!isa<RankedTensorType>(value.getType())) return make<tt::SplatOp>(type, value);
  if (from.size() == 1 && shape.size() == 2 && llvm::is_contained(shape, from[0])) {
    bool first = shape[0] == from[0];
    SmallVector<int64_t> expanded{first ? from[0] : 1, first ? 1 : from[0]};
    Value wide =
        make<tt::ExpandDimsOp>(RankedTensorType::get(expanded, tt::element_type(value.getType())), value, first);
    return wide.getType() == type ? wide : make<tt::BroadcastOp>(type, wide);
  }
  if (from.size() == shape.size() && llvm::all_of(llvm::zip(from, shape), [](auto p) {
        return std::get<0>(p) == 1 || std::get<0>(p) == std::get<1>(p);
      }))
    return make<tt::BroadcastOp>(type, value);
  if (from.size() == 2 && shape.size() == 2 && from[0] == shape[1] && from[1] == shape[0])
    return make<tt::TransOp>(type, value, ArrayRef<int32_t>{1, 0});
  int64_t count = 1, wanted = 1;
  for (int64_t extent : from) count *= extent;
  for (int64_t extent : shape) wanted *= extent;
  if (count == wanted) return make<tt::ReshapeOp>(type, value);
  return constant(type, 5);
}

void RandomProgram::add_integer() {
  static const SmallVector<SmallVector<int64_t>> shapes = {{}, {}, {4}, {6}, {4, 6}, {6, 4}, {24}, {1, 4}, {6, 1}};
  const auto &shape = shapes[pick(shapes.size())];
  auto operand = [&] {
    if (!shape.empty()) return in_shape(pick_for(shape), shape);
    Value value = pick(integers_);
    while (isa<RankedTensorType>(value.getType())) value = pick(integers_);
    return value;
  };
  Type type = shape.empty() ? Type(builder_.getI32Type()) : RankedTensorType::get(shape, builder_.getI32Type());
  Value a = operand(), b = operand();
  // A divisor that is at least 1.
  auto positive = [&](Value value) -> Value { return make<arith::MaxSIOp>(value, constant(type, 1)); };
  Value result;
  switch (pick(13)) {
    case 0: case 1: case 2: result = make<arith::AddIOp>(a, b); break;
    case 3: result = make<arith::SubIOp>(a, b); break;
    case 4: case 5: result = make<arith::MulIOp>(a, constant(type, pick(6) - 2)); break;
    case 6: {
      // Bounded, so that products of products stay within 32 bits.
      Value bounded = make<arith::RemSIOp>(b, constant(type, 11));
      Value left = make<arith::RemSIOp>(a, constant(type, 97));
      result = make<arith::MulIOp>(pick(2) ? left : a, bounded);
      if (!pick(2)) result = make<arith::RemSIOp>(result, constant(type, 1009));
      break;
    }
    case 7: result = make<arith::DivSIOp>(a, positive(b)); break;
    case 8: result = make<arith::RemSIOp>(a, positive(b)); break;
    case 9: result = make<arith::RemSIOp>(a, constant(type, 1 << pick(4))); break;
    case 10: result = pick(2) ? Value(make<arith::MinSIOp>(a, b)) : Value(make<arith::MaxSIOp>(a, b)); break;
    case 11:
      result = make<arith::SelectOp>(make<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b), a, pick(2) ? a : b);
      break;
    default:
      if (shape.size() != 1) return;
      int start = pick(3) * 4 - 4;
      result = make<tt::MakeRangeOp>(type, start, start + shape[0]);
  }
  integers_.push_back(result);
}

Value RandomProgram::mask(ArrayRef<int64_t> shape) {
  Value result;
  for (int i = 0, count = 1 + pick(3); i < count; ++i) {
    Value a = in_shape(pick_for(shape), shape), b = in_shape(pick_for(shape), shape);
    auto predicate = static_cast<arith::CmpIPredicate>(pick(10));
    Value factor = make<arith::CmpIOp>(predicate, a, b);
    if (!pick(4)) factor = make<arith::XOrIOp>(factor, constant(factor.getType(), 1));
    if (!result) result = factor;
    else if (pick(4)) result = make<arith::AndIOp>(result, factor);
    else if (pick(2)) result = make<arith::SelectOp>(result, factor, constant(factor.getType(), 0));
    else result = make<arith::OrIOp>(result, factor);
  }
  return pick(3) ? result : make<arith::XOrIOp>(result, constant(result.getType(), 1)).getResult();
}

// A store to base + a random offset under a random mask; base may be a scalar or a tensor of pointers.
void RandomProgram::access(Value base) {
  static const SmallVector<SmallVector<int64_t>> shapes = {{4}, {6}, {24}, {4, 6}, {6, 4}};
  SmallVector<int64_t> shape(tt::shape_of(base.getType()));
  if (shape.empty()) shape = shapes[pick(shapes.size())];
  Value offset = in_shape(pick_for(shape), shape);
  if (pick(2)) offset = make<arith::AddIOp>(offset, in_shape(pick_for(shape), shape));
  if (!pick(3)) offset = make<arith::ExtSIOp>(RankedTensorType::get(shape, builder_.getI64Type()), offset);
  else if (!pick(4)) offset = make<arith::ExtUIOp>(RankedTensorType::get(shape, builder_.getI64Type()), offset);
  Value pointers = make<tt::AddPtrOp>(in_shape(base, shape), offset);
  Value number = make<arith::ConstantOp>(
      DenseElementsAttr::get(RankedTensorType::get(shape, builder_.getF32Type()), builder_.getF32FloatAttr(0)));
  make<tt::StoreOp>(pointers, number, pick(4) ? mask(shape) : Value());
}

void RandomProgram::loop(int depth) {
  auto scalar = [&] {
    Value value = pick(integers_);
    while (isa<RankedTensorType>(value.getType())) value = pick(integers_);
    return value;
  };
  Type i32 = builder_.getI32Type();
  Value lower = make<arith::RemSIOp>(scalar(), constant(i32, 5));
  Value length = make<arith::RemSIOp>(scalar(), constant(i32, 7));
  Value step = pick(2) ? constant(i32, 1 + pick(3))
                       : make<arith::MaxSIOp>(make<arith::RemSIOp>(scalar(), constant(i32, 3)), constant(i32, 1));
  Value upper = make<arith::AddIOp>(lower, length);
  // Two integers and a tensor of pointers go round.
  Value pointers = make<tt::AddPtrOp>(in_shape(function_.getArgument(0), {4, 6}), in_shape(pick_for({4, 6}), {4, 6}));
  SmallVector<Value> inits{pick(integers_), scalar(), pointers};
  auto loop = make<scf::ForOp>(lower, upper, step, inits);
  auto outer = integers_;
  {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(loop.getBody());
    integers_.append({loop.getInductionVar(), loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
    for (int i = 0; i < 6; ++i) add_integer();
    access(function_.getArgument(0));
    access(loop.getRegionIterArg(2));
    if (depth > 1) this->loop(depth - 1);
    auto next = [&](Value carried) -> Value {
      auto shape = tt::shape_of(carried.getType());
      Value added = pick(2) ? pick(outer) : pick(integers_);
      if (shape.empty()) {
        added = pick(2) ? outer[pick(4)] : scalar();
        return make<arith::RemSIOp>(make<arith::AddIOp>(carried, added), constant(i32, 100000));
      }
      return make<arith::AddIOp>(carried, in_shape(added, shape));
    };
    Value third =
        make<tt::AddPtrOp>(loop.getRegionIterArg(2), in_shape(pick(2) ? pick(outer) : pick(integers_), {4, 6}));
    Value first = pick(3) ? next(loop.getRegionIterArg(0)) : loop.getRegionIterArg(0);
    Value second =
        pick(3) ? Value(make<arith::AddIOp>(loop.getRegionIterArg(1), outer[pick(4)])) : next(loop.getRegionIterArg(1));
    make<scf::YieldOp>(ValueRange{first, second, third});
  }
  integers_ = outer;
  integers_.append({loop.getResult(0), loop.getResult(1)});
  access(loop.getResult(2));
  access(function_.getArgument(0));
}

// Evaluates expressions with the numbers that the evaluator has now.
struct Numbers : ScalarExpressionBuilder<int64_t> {
  Evaluator &evaluator;
  explicit Numbers(Evaluator &evaluator) : evaluator(evaluator) {}
  int64_t constant(int64_t number) override { return number; }
  int64_t value(Value scalar) override {
    auto found = evaluator.values.find(scalar);
    EXPECT_TRUE(found != evaluator.values.end()) << "an expression needs a value that is not there";
    return found == evaluator.values.end() ? 0 : found->second[0];
  }
  int64_t binary(ScalarOperation operation, int64_t a, int64_t b) override {
    switch (operation) {
      case ScalarOperation::add: return a + b;
      case ScalarOperation::multiply: return a * b;
      case ScalarOperation::divide_signed: return a / b;
      case ScalarOperation::remainder_signed: return a % b;
      case ScalarOperation::minimum_signed: return std::min(a, b);
      case ScalarOperation::maximum_signed: return std::max(a, b);
      case ScalarOperation::bitwise_and: return a & b;
    }
    return 0;
  }
};

int64_t element(Evaluator &evaluator, Value tensor, ArrayRef<int> dimensions, ArrayRef<int64_t> index) {
  SmallVector<int64_t> at;
  for (int dimension : dimensions) at.push_back(dimension < 0 ? 0 : index[dimension]);
  return evaluator.values[tensor][linear_index(tt::shape_of(tensor.getType()), at)];
}

int64_t address(const LaneExpression &lanes, Evaluator &evaluator, ArrayRef<int64_t> index) {
  Numbers numbers(evaluator);
  int64_t sum = materialise(lanes.offset, numbers);
  if (lanes.base) sum += evaluator.values[lanes.base][0];
  if (lanes.lane_base) sum += element(evaluator, lanes.lane_base->tensor, lanes.lane_base->dimensions, index);
  for (auto [stride, i] : llvm::zip_equal(lanes.strides, index)) sum += materialise(stride, numbers) * i;
  for (const LaneTerm &term : lanes.terms) {
    int64_t number = element(evaluator, term.tensor, term.dimensions, index);
    if (term.wrap) {
      EXPECT_EQ(number, (materialise(term.wrap->start, numbers) + index[term.wrap->dimension]) %
                            materialise(term.wrap->modulus, numbers));
    }
    sum += materialise(term.scale, numbers) * number;
  }
  return sum;
}

bool holds(const UniformCondition &condition, Evaluator &evaluator) {
  if (condition.value) return (evaluator.values[condition.value][0] != 0) != condition.negated;
  Numbers numbers(evaluator);
  int64_t number = materialise(condition.expression, numbers);
  return arith::applyCmpPredicate(condition.predicate, APInt(64, uint64_t(number)), APInt(64, 0));
}

bool is_on(const MaskBounds &bounds, Evaluator &evaluator, ArrayRef<int64_t> index) {
  if (bounds.never) return false;
  Numbers numbers(evaluator);
  for (auto [dimension, i] : llvm::zip_equal(bounds.dimensions, index)) {
    auto [low, high] = materialise(dimension, numbers);
    if (i < low || i >= high) return false;
  }
  for (const UniformCondition &condition : bounds.conditions)
    if (!holds(condition, evaluator)) return false;
  return llvm::all_of(bounds.factors, [&](const MaskFactor &factor) {
    return (element(evaluator, factor.mask, factor.dimensions, index) != 0) != factor.negated;
  });
}

void RandomProgram::check_axis_info(const AxisInfo &info, Value value, const Lanes &lanes, int64_t unit) {
  SmallVector<int64_t> shape(tt::shape_of(value.getType()));
  if (shape.empty()) shape = {1};
  for_each_index(shape, [&](size_t lane, ArrayRef<int64_t> index) {
    ASSERT_EQ(lanes[lane], info.constant.value_or(lanes[lane]));
    ASSERT_TRUE(!info.non_negative || lanes[lane] >= 0);
    for (unsigned d = 0; d < shape.size(); ++d) {
      auto first_of = [&](int64_t period) {
        SmallVector<int64_t> first(index);
        first[d] -= first[d] % period;
        return lanes[linear_index(shape, first)];
      };
      int64_t run_start = first_of(info.contiguity[d]);
      ASSERT_EQ(lanes[lane] - run_start, index[d] % info.contiguity[d]) << info.to_string();
      ASSERT_EQ(run_start * unit % info.divisibility[d], 0) << info.to_string();
      ASSERT_EQ(lanes[lane], first_of(info.constancy[d])) << info.to_string();
    }
  });
}

void RandomProgram::compare(BlockRecovery &blocks, const AxisInfoAnalysis &axis_info, Evaluator &evaluator,
                            Operation *access, Tally &tally) {
  auto block = *blocks.recover(access);
  auto bounds = *MaskBoundsAnalysis(blocks).of_access(access);
  auto store = cast<tt::StoreOp>(access);
  const Lanes &pointers = evaluator.values[store.getPtr()];
  for_each_index(block.shape, [&](size_t lane, ArrayRef<int64_t> index) {
    ASSERT_EQ(address(block, evaluator, index), pointers[lane]) << block.to_string();
    bool on = !store.getMask() || evaluator.values[store.getMask()][lane];
    ASSERT_EQ(is_on(bounds, evaluator, index), on) << bounds.to_string();
  });
  AxisInfo info = axis_info.of(store.getPtr());
  check_axis_info(info, store.getPtr(), pointers, 4);
  ++tally.accesses;
  tally.affine += block.is_affine();
  tally.partly_affine +=
      !block.is_affine() && llvm::any_of(llvm::seq(block.rank()), [&](unsigned d) { return block.is_affine(d); });
  tally.wrapped += llvm::any_of(block.terms, [](const LaneTerm &term) { return term.wrap.has_value(); });
  std::string text = block.to_string();
  tally.closed_forms += StringRef(text).contains("iteration") || StringRef(text).contains("trips");
  tally.bounded +=
      llvm::any_of(bounds.dimensions, [](const DimensionBounds &dimension) { return !dimension.is_full(); });
  tally.factors += !bounds.factors.empty();
  tally.runs += llvm::any_of(info.contiguity, [](int64_t run) { return run > 1; });
  if (store.getMask())
    check_axis_info(axis_info.of(store.getMask()), store.getMask(), evaluator.values[store.getMask()], 1);
}

void RandomProgram::check(Tally &tally) {
  BlockRecovery blocks(function_);
  AxisInfoAnalysis axis_info(function_);
  for (int run = 0; run < 4; ++run) {
    Evaluator evaluator;
    evaluator.program_id = pick(5);
    evaluator.values[function_.getArgument(0)] = {int64_t(1) << 20};
    for (unsigned i = 1; i < 4; ++i) evaluator.values[function_.getArgument(i)] = {(pick(24) - 6) * (i == 3 ? 8 : 1)};
    evaluator.at_access = [&](Operation *access) { compare(blocks, axis_info, evaluator, access, tally); };
    evaluator.run(function_.getBody().front());
    if (testing::Test::HasFailure()) {
      module_->dump();
      return;
    }
    for (auto &[value, lanes] : evaluator.values) {
      if (!tt::element_type(value.getType()).isInteger(32)) continue;
      check_axis_info(axis_info.of(value), value, lanes, 1);
    }
  }
}

TEST(Random, ProgramsAgreeWithTheirEvaluation) {
  RandomProgram::Tally tally;
  for (unsigned seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram(seed).check(tally);
  }
  // The comparison means something only where much was recovered.
  EXPECT_GT(tally.accesses, 5000);
  EXPECT_GT(tally.affine, 2000);
  EXPECT_GT(tally.partly_affine, 1000);
  EXPECT_GT(tally.wrapped, 200);
  EXPECT_GT(tally.closed_forms, 1000);
  EXPECT_GT(tally.bounded, 1000);
  EXPECT_GT(tally.factors, 1000);
  EXPECT_GT(tally.runs, 1000);
}

}  // namespace
}  // namespace teeny::compiler::test
