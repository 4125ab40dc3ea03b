// arith.remf of f64, which no GPU has: exact, with the dividend's sign, by long division of the significands. Narrower
// floats have been written out in f64 arithmetic before (expand_exact.hpp).
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

using Integers = arith::CmpIPredicate;

constexpr int fraction_bits = 52, step_bits = 11;  // a rest of 53 bits moved up by a step has 64

class Remainder {
 public:
  Remainder(Emitter &emitter) : builder_(emitter.location, emitter.builder) {}

  Value of(Value dividend, Value divisor) {
    const auto magnitude_mask = std::uint64_t(INT64_MAX);
    Value x = make<arith::AndIOp>(bits(dividend), number(magnitude_mask));
    Value y = make<arith::AndIOp>(bits(divisor), number(magnitude_mask));
    auto [significand, exponent] = parts(x);
    auto [unit, lowest] = parts(y);
    // 0 / 0 of integers is nothing; such a divisor's result is replaced below.
    unit = select(compare(Integers::eq, unit, number(0)), number(1), unit);
    Value rest = make<arith::RemUIOp>(significand, unit);
    rest = divide_on(rest, unit, make<arith::SubIOp>(exponent, lowest));
    Value result = select(compare(Integers::ult, x, y), x, composed(rest, lowest));
    Value sign = make<arith::AndIOp>(bits(dividend), number(std::uint64_t(1) << 63));
    result = make<arith::OrIOp>(result, sign);
    const std::uint64_t infinity = std::uint64_t(0x7ff) << fraction_bits;
    Value none = make<arith::OrIOp>(compare(Integers::uge, x, number(infinity)), compare(Integers::eq, y, number(0)));
    none = make<arith::OrIOp>(none, compare(Integers::ugt, y, number(infinity)));
    result = select(none, number(std::uint64_t(0x7ff8) << 48), result);
    return arith::BitcastOp::create(builder_, builder_.getF64Type(), result);
  }

 private:
  template <typename Op>
  Value make(Value left, Value right) {
    return Op::create(builder_, left, right);
  }
  Value number(std::uint64_t value) {
    return arith::ConstantOp::create(builder_, builder_.getI64IntegerAttr(std::int64_t(value)));
  }
  Value bits(Value value) { return arith::BitcastOp::create(builder_, builder_.getI64Type(), value); }
  Value compare(Integers predicate, Value left, Value right) {
    return arith::CmpIOp::create(builder_, predicate, left, right);
  }
  Value select(Value condition, Value yes, Value no) { return arith::SelectOp::create(builder_, condition, yes, no); }
  Value smaller(Value left, Value right) { return select(compare(Integers::slt, left, right), left, right); }

  // value = significand * 2^(exponent - 1075); subnormal numbers have the exponent 1 and no leading bit.
  std::pair<Value, Value> parts(Value magnitude) {
    const std::uint64_t leading = std::uint64_t(1) << fraction_bits;
    Value fraction = make<arith::AndIOp>(magnitude, number(leading - 1));
    Value exponent = make<arith::ShRUIOp>(magnitude, number(fraction_bits));
    Value subnormal = compare(Integers::eq, exponent, number(0));
    return {select(subnormal, fraction, make<arith::OrIOp>(fraction, number(leading))),
            select(subnormal, number(1), exponent)};
  }

  // rest * 2^distance modulo unit.
  Value divide_on(Value rest, Value unit, Value distance) {
    const SmallVector<Type> types(2, builder_.getI64Type());
    const SmallVector<Location> locations(2, builder_.getLoc());
    auto loop = scf::WhileOp::create(builder_, types, ValueRange{rest, distance});
    OpBuilder::InsertionGuard guard(builder_);
    Block *before = builder_.createBlock(&loop.getBefore(), {}, types, locations);
    Value more = compare(Integers::sgt, before->getArgument(1), number(0));
    scf::ConditionOp::create(builder_, more, before->getArguments());
    Block *after = builder_.createBlock(&loop.getAfter(), {}, types, locations);
    Value step = smaller(after->getArgument(1), number(step_bits));
    Value next = make<arith::RemUIOp>(make<arith::ShLIOp>(after->getArgument(0), step), unit);
    scf::YieldOp::create(builder_, ValueRange{next, make<arith::SubIOp>(after->getArgument(1), step)});
    return loop.getResult(0);
  }

  // The bits of rest * 2^(exponent - 1075), which is exact: rest has at most 53 bits.
  Value composed(Value rest, Value exponent) {
    Value leading = arith::UIToFPOp::create(builder_, builder_.getF64Type(), rest);
    Value place = make<arith::ShRUIOp>(bits(leading), number(fraction_bits));  // 1023 + that of the highest bit
    Value distance = make<arith::SubIOp>(number(1023 + fraction_bits), place);
    distance = smaller(smaller(distance, number(fraction_bits)), make<arith::SubIOp>(exponent, number(1)));
    Value field = make<arith::SubIOp>(make<arith::SubIOp>(exponent, number(1)), distance);
    Value result = make<arith::AddIOp>(make<arith::ShLIOp>(field, number(fraction_bits)),
                                       make<arith::ShLIOp>(rest, distance));
    return select(compare(Integers::eq, rest, number(0)), rest, result);
  }

  ImplicitLocOpBuilder builder_;
};

}  // namespace

void emit_f64_remainder(Emitter &emitter, arith::RemFOp remainder) {
  Scalars dividends(emitter.scalars(remainder.getLhs())), divisors(emitter.scalars(remainder.getRhs())), results;
  Remainder exact(emitter);
  for (auto [dividend, divisor] : llvm::zip_equal(dividends, divisors)) results.push_back(exact.of(dividend, divisor));
  emitter.bind(remainder.getResult(), std::move(results));
}

}  // namespace teeny::compiler::gpu
