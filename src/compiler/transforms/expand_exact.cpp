#include "expand_exact.hpp"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/IR/Matchers.h>

#include "compiler/dialect/tt/tt.hpp"
#include "exact_emitter.hpp"

namespace teeny::compiler {

using mlir::Value;
namespace arith = mlir::arith;

namespace {

// Whether `value` is a constant all of whose elements satisfy `test`.
bool all_constant(Value value, llvm::function_ref<bool(const llvm::APInt&)> test) {
  mlir::Attribute attribute;
  if (!mlir::matchPattern(value, mlir::m_Constant(&attribute))) return false;
  if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) return test(integer.getValue());
  auto elements = llvm::dyn_cast<mlir::DenseIntElementsAttr>(attribute);
  if (!elements) return false;
  if (elements.isSplat()) return test(elements.getSplatValue<llvm::APInt>());
  return llvm::all_of(elements.getValues<llvm::APInt>(), test);
}

bool is_harmless_divisor(Value divisor, bool is_signed) {
  return all_constant(divisor, [&](const llvm::APInt& n) { return !n.isZero() && !(is_signed && n.isAllOnes()); });
}

bool is_harmless_distance(Value distance) {
  return all_constant(distance, [](const llvm::APInt& n) { return n.ult(n.getBitWidth()); });
}

// A divisor with which the division is defined, and the places where the divisor was 0.
struct SafeDivisor {
  Value divisor;
  Value was_zero;
};

SafeDivisor make_safe_divisor(ExactEmitter& e, Value dividend, Value divisor, bool is_signed) {
  mlir::Type type = divisor.getType();
  Value was_zero = e.compare(arith::CmpIPredicate::eq, divisor, e.integer(type, 0));
  Value replaced = was_zero;
  if (is_signed) {
    // lowest / -1 becomes lowest / 1, which has the quotient and the remainder wanted.
    Value is_lowest = e.compare(arith::CmpIPredicate::eq, dividend,
                                e.integer(type, llvm::APInt::getSignedMinValue(e.width_of(divisor))));
    Value is_minus_one = e.compare(arith::CmpIPredicate::eq, divisor, e.integer(type, ~std::uint64_t{0}));
    replaced = e.make<arith::OrIOp>(was_zero, e.make<arith::AndIOp>(is_lowest, is_minus_one));
  }
  return {e.select(replaced, e.integer(type, 1), divisor), was_zero};
}

template <typename Divide>
Value divide(ExactEmitter& e, Value x, Value y, bool is_signed) {
  if (is_harmless_divisor(y, is_signed)) return {};
  SafeDivisor safe = make_safe_divisor(e, x, y, is_signed);
  return e.select(safe.was_zero, e.integer(x.getType(), 0), e.make_marked<Divide>(x, safe.divisor));
}

template <typename Divide, typename Remainder>
Value remainder(ExactEmitter& e, Value x, Value y, bool is_signed) {
  const bool from_quotient = is_signed && !e.facts().signed_remainder;
  if (is_harmless_divisor(y, is_signed) && !from_quotient) return {};
  // x % 1 is the 0 that a division by 0 is to have.
  Value divisor = is_harmless_divisor(y, is_signed) ? y : make_safe_divisor(e, x, y, is_signed).divisor;
  if (!from_quotient) return e.make_marked<Remainder>(x, divisor);
  Value quotient = e.make_marked<Divide>(x, divisor);
  return e.make<arith::SubIOp>(x, e.make<arith::MulIOp>(quotient, divisor));
}

template <typename Shift>
Value shift(ExactEmitter& e, Value x, Value distance) {
  if (is_harmless_distance(distance)) return {};
  mlir::Type type = x.getType();
  const int width = e.width_of(x);
  Value fits = e.compare(arith::CmpIPredicate::ult, distance, e.integer(type, width));
  if constexpr (std::is_same_v<Shift, arith::ShRSIOp>)
    return e.make_marked<Shift>(x, e.select(fits, distance, e.integer(type, width - 1)));
  // A distance that does not fit is replaced before the shift too: targets may do anything with it.
  Value shifted = e.make_marked<Shift>(x, e.select(fits, distance, e.integer(type, 0)));
  return e.select(fits, shifted, e.integer(type, 0));
}

Value truncate(ExactEmitter& e, arith::TruncFOp op) {
  if (op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) != arith::RoundingMode::to_nearest_even)
    return {};
  return e.truncate_float(mlir::getElementTypeOrSelf(op.getType()), op.getIn());
}

Value convert_float(ExactEmitter& e, tt::FpToFpOp op) {
  if (op.getRounding().value_or(tt::RoundingMode::RTNE) != tt::RoundingMode::RTNE) return {};
  mlir::Type element = mlir::getElementTypeOrSelf(op.getType());
  const int from = e.width_of(op.getSrc()), to = static_cast<int>(element.getIntOrFloatBitWidth());
  if (op.getSrc().getType() == op.getType()) return op.getSrc();
  if (from < to) return e.convert<arith::ExtFOp>(element, op.getSrc());
  if (from > to) return e.truncate_float(element, op.getSrc());
  return e.truncate_float(element, e.convert<arith::ExtFOp>(e.builder().getF32Type(), op.getSrc()));
}

template <typename Op>
Value extremum(ExactEmitter& e, Op op, bool is_maximum, bool propagates_nan) {
  if (e.facts().orders_min_max) return {};
  return e.extremum(op.getLhs(), op.getRhs(), is_maximum, propagates_nan);
}

// What replaces `op`; nothing where it is right as it is.
Value replacement_of(ExactEmitter& e, mlir::Operation* op) {
  auto element = [](auto o) { return mlir::getElementTypeOrSelf(o.getType()); };
  return llvm::TypeSwitch<mlir::Operation*, Value>(op)
      .Case([&](arith::DivSIOp o) { return divide<arith::DivSIOp>(e, o.getLhs(), o.getRhs(), true); })
      .Case([&](arith::DivUIOp o) { return divide<arith::DivUIOp>(e, o.getLhs(), o.getRhs(), false); })
      .Case(
          [&](arith::RemSIOp o) { return remainder<arith::DivSIOp, arith::RemSIOp>(e, o.getLhs(), o.getRhs(), true); })
      .Case(
          [&](arith::RemUIOp o) { return remainder<arith::DivUIOp, arith::RemUIOp>(e, o.getLhs(), o.getRhs(), false); })
      .Case([&](arith::ShLIOp o) { return shift<arith::ShLIOp>(e, o.getLhs(), o.getRhs()); })
      .Case([&](arith::ShRSIOp o) { return shift<arith::ShRSIOp>(e, o.getLhs(), o.getRhs()); })
      .Case([&](arith::ShRUIOp o) { return shift<arith::ShRUIOp>(e, o.getLhs(), o.getRhs()); })
      .Case([&](arith::FPToSIOp o) { return e.float_to_integer(element(o), o.getIn(), true); })
      .Case([&](arith::FPToUIOp o) { return e.float_to_integer(element(o), o.getIn(), false); })
      .Case([&](arith::SIToFPOp o) { return e.integer_to_float(element(o), o.getIn(), true); })
      .Case([&](arith::UIToFPOp o) { return e.integer_to_float(element(o), o.getIn(), false); })
      .Case([&](arith::TruncFOp o) { return truncate(e, o); })
      .Case([&](arith::MaxNumFOp o) { return extremum(e, o, true, false); })
      .Case([&](arith::MinNumFOp o) { return extremum(e, o, false, false); })
      .Case([&](arith::MaximumFOp o) { return extremum(e, o, true, true); })
      .Case([&](arith::MinimumFOp o) { return extremum(e, o, false, true); })
      .Case([&](arith::DivFOp o) { return e.divide_float(o.getLhs(), o.getRhs()); })
      .Case([&](arith::RemFOp o) { return e.float_remainder(o.getLhs(), o.getRhs()); })
      .Case([&](mlir::math::SqrtOp o) { return e.square_root(o.getOperand()); })
      .Case([&](mlir::math::FmaOp o) {
        return e.facts().fma_fused ? Value() : e.fused_multiply_add(o.getA(), o.getB(), o.getC());
      })
      .Case([&](tt::ClampFOp o) {
        return e.clamp(o.getX(), o.getMin(), o.getMax(), o.getPropagateNan() == tt::PropagateNan::ALL);
      })
      .Case([&](tt::MulhiUIOp o) -> Value {
        return arith::MulUIExtendedOp::create(e.builder(), o.getX(), o.getY()).getHigh();
      })
      .Case([&](tt::PreciseDivFOp o) { return e.make<arith::DivFOp>(o.getX(), o.getY()); })
      .Case([&](tt::PreciseSqrtOp o) -> Value { return mlir::math::SqrtOp::create(e.builder(), o.getX()); })
      .Case([&](tt::FpToFpOp o) { return convert_float(e, o); })
      .Default([](mlir::Operation*) { return Value(); });
}

bool is_candidate(mlir::Operation* op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 || op->hasAttr(exact_mark)) return false;
  llvm::StringRef dialect = op->getName().getDialectNamespace();
  if (dialect != "arith" && dialect != "math" && dialect != "tt") return false;
  return !mlir::getElementTypeOrSelf(op->getResult(0).getType()).isIndex();
}

class ExpandExactPass : public mlir::PassWrapper<ExpandExactPass, mlir::OperationPass<>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandExactPass)

  ExpandExactPass() = default;
  explicit ExpandExactPass(ExactFacts facts) { set(facts); }
  ExpandExactPass(const ExpandExactPass& other) : PassWrapper(other) { set(other.facts()); }

  llvm::StringRef getArgument() const override { return "teeny-expand-exact"; }
  llvm::StringRef getDescription() const override { return "write out arithmetic that machines leave undefined"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, mlir::math::MathDialect>();
  }
  void runOnOperation() override {
    if (failed(expand_exact(getOperation(), facts()))) signalPassFailure();
  }

 private:
  ExactFacts facts() const {
    return {.fma_fused = fma_fused,
            .division_rounds = division_rounds,
            .sqrt_rounds = sqrt_rounds,
            .signed_remainder = signed_remainder,
            .truncates_to_f16 = truncates_to_f16,
            .truncates_to_bf16 = truncates_to_bf16,
            .orders_min_max = orders_min_max,
            .has_f64 = has_f64};
  }
  void set(ExactFacts facts) {
    fma_fused = facts.fma_fused;
    division_rounds = facts.division_rounds;
    sqrt_rounds = facts.sqrt_rounds;
    signed_remainder = facts.signed_remainder;
    truncates_to_f16 = facts.truncates_to_f16;
    truncates_to_bf16 = facts.truncates_to_bf16;
    orders_min_max = facts.orders_min_max;
    has_f64 = facts.has_f64;
  }

  Option<bool> fma_fused{*this, "fma-fused", llvm::cl::desc("math.fma rounds once"), llvm::cl::init(true)};
  Option<bool> division_rounds{*this, "division-rounds", llvm::cl::desc("f32 division is correctly rounded"),
                               llvm::cl::init(true)};
  Option<bool> sqrt_rounds{*this, "sqrt-rounds", llvm::cl::desc("the f32 square root is correctly rounded"),
                           llvm::cl::init(true)};
  Option<bool> signed_remainder{*this, "signed-remainder",
                                llvm::cl::desc("remainders of negative operands are defined"), llvm::cl::init(true)};
  Option<bool> truncates_to_f16{*this, "truncates-to-f16", llvm::cl::desc("f32 to f16 rounds to nearest even"),
                                llvm::cl::init(true)};
  Option<bool> truncates_to_bf16{*this, "truncates-to-bf16", llvm::cl::desc("f32 to bf16 rounds to nearest even"),
                                 llvm::cl::init(false)};
  Option<bool> orders_min_max{*this, "orders-min-max", llvm::cl::desc("min and max treat zeros and NaN as arith says"),
                              llvm::cl::init(true)};
  Option<bool> has_f64{*this, "has-f64", llvm::cl::desc("there is arithmetic of f64"), llvm::cl::init(true)};
};

}  // namespace

mlir::LogicalResult expand_exact(mlir::Operation* root, ExactFacts facts) {
  llvm::SmallVector<mlir::Operation*> found;
  root->walk([&](mlir::Operation* op) {
    if (is_candidate(op)) found.push_back(op);
  });
  for (mlir::Operation* op : found) {
    mlir::ImplicitLocOpBuilder builder(op->getLoc(), op);
    ExactEmitter emitter(builder, facts);
    if (Value replacement = replacement_of(emitter, op)) {
      op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
    }
  }
  return mlir::success();
}

std::unique_ptr<mlir::Pass> create_expand_exact_pass(ExactFacts facts) {
  return std::make_unique<ExpandExactPass>(facts);
}

void register_expand_exact_pass() { mlir::PassRegistration<ExpandExactPass>(); }

}  // namespace teeny::compiler
