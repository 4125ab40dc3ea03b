// Correctly rounded floats from integers of 64 bits: for devices without a fused multiply-add, without f64, or whose
// divisions and square roots are off by some ulp.
//
// A finite number other than 0 is taken apart into a significand of 53 bits, whose highest is 1, and an exponent; results are
// put together from a significand of 64 bits, whose highest is 1 and whose lowest is also set where anything was lost.
#include <limits>

#include <mlir/Dialect/Math/IR/Math.h>

#include "exact_emitter.hpp"

namespace teeny::compiler {

using mlir::Value;
namespace arith = mlir::arith;

namespace {

constexpr int significand_bits = 53;

class SoftFloat {
 public:
  using Predicate = arith::CmpIPredicate;

  // `like`: a value of the format and shape that is computed.
  SoftFloat(ExactEmitter& e, Value like)
      : e_(e), element_(ExactEmitter::element_of(like)), width_(ExactEmitter::width_of(like)),
        fraction_(static_cast<int>(llvm::cast<mlir::FloatType>(element_).getFPMantissaWidth()) - 1),
        bias_((1 << (width_ - fraction_ - 2)) - 1), infinity_(std::uint64_t(2 * bias_ + 1) << fraction_),
        type_(with_element_type(like.getType(), e.builder().getI64Type())) {}

  Value fused_multiply_add(Value x, Value y, Value z);
  Value divide(Value x, Value y);
  Value square_root(Value x);

 private:
  struct Parts {
    Value bits, magnitude, significand, exponent;  // the number is significand * 2^exponent
  };
  struct Wide {
    Value high, low;  // 128 bits
  };

  Value number(std::int64_t value) { return e_.integer(type_, std::uint64_t(value)); }
  Value add(Value n, Value m) { return e_.make<arith::AddIOp>(n, m); }
  Value sub(Value n, Value m) { return e_.make<arith::SubIOp>(n, m); }
  Value bit_and(Value n, Value m) { return e_.make<arith::AndIOp>(n, m); }
  Value bit_or(Value n, Value m) { return e_.make<arith::OrIOp>(n, m); }
  Value bit_xor(Value n, Value m) { return e_.make<arith::XOrIOp>(n, m); }
  Value left(Value n, Value distance) { return e_.make_marked<arith::ShLIOp>(n, distance); }
  Value right(Value n, Value distance) { return e_.make_marked<arith::ShRUIOp>(n, distance); }
  Value compare(Predicate predicate, Value n, Value m) { return e_.compare(predicate, n, m); }
  Value one_where(Value condition) { return e_.convert<arith::ExtUIOp>(e_.builder().getI64Type(), condition); }
  Value nonzero(Value n) { return one_where(compare(Predicate::ne, n, number(0))); }
  Value leading_zeros(Value n) { return mlir::math::CountLeadingZerosOp::create(e_.builder(), n); }
  Value at_most(Value n, std::int64_t limit) {
    return e_.select(compare(Predicate::slt, n, number(limit)), n, number(limit));
  }
  // n >> distance, of 0 to 63, with the lowest bit set where bits were lost.
  Value right_keeping(Value n, Value distance) {
    Value moved = right(n, distance);
    return bit_or(moved, one_where(compare(Predicate::ne, left(moved, distance), n)));
  }
  Wide right_keeping(Wide n, Value distance);
  Parts take_apart(Value x);
  Value put_together(Value significand, Value exponent, Value sign);
  Value is_ordinary(const Parts& x) {  // neither 0 nor infinite nor NaN
    return e_.make<arith::AndIOp>(compare(Predicate::ne, x.magnitude, number(0)), is_finite(x));
  }
  Value is_finite(const Parts& x) { return compare(Predicate::ult, x.magnitude, number(std::int64_t(infinity_))); }

  ExactEmitter& e_;
  const mlir::Type element_;
  const int width_, fraction_, bias_;
  const std::uint64_t infinity_;
  const mlir::Type type_;  // i64 of the shape
};

SoftFloat::Parts SoftFloat::take_apart(Value x) {
  Parts parts;
  Value bits = e_.bits(x);
  parts.bits = width_ == 64 ? bits : e_.convert<arith::ExtUIOp>(e_.builder().getI64Type(), bits);
  parts.magnitude = bit_and(parts.bits, number(std::int64_t((std::uint64_t(1) << (width_ - 1)) - 1)));
  Value field = right(parts.magnitude, number(fraction_));
  Value hidden = number(std::int64_t(1) << fraction_);
  Value fraction = bit_and(parts.magnitude, sub(hidden, number(1)));
  Value is_subnormal = compare(Predicate::eq, field, number(0));
  Value whole = e_.select(is_subnormal, fraction, bit_or(fraction, hidden));
  // The significand's highest bit goes to place 52; of 0 anything will do.
  Value distance = sub(leading_zeros(bit_or(whole, number(1))), number(64 - significand_bits));
  parts.significand = left(whole, distance);
  Value scale = e_.select(is_subnormal, number(1), field);
  parts.exponent = sub(sub(scale, number(bias_ + fraction_)), distance);
  return parts;
}

// The number significand * 2^exponent, rounded once; `sign` is 0 or 1.
Value SoftFloat::put_together(Value significand, Value exponent, Value sign) {
  Value leading = add(exponent, number(63));  // the exponent of the highest bit
  const std::int64_t lowest = 1 - bias_;
  Value below = sub(number(lowest), leading);
  below = e_.select(compare(Predicate::sgt, below, number(0)), below, number(0));
  // Two bits more than the fraction has, of which the last says whether anything follows.
  Value kept = right_keeping(significand, at_most(add(below, number(63 - fraction_ - 2)), 63));
  Value quotient = right(kept, number(2)), rest = bit_and(kept, number(3));
  Value odd = bit_and(quotient, number(1));
  Value up = one_where(compare(Predicate::ugt, add(rest, odd), number(2)));
  Value scale = e_.select(compare(Predicate::sgt, leading, number(lowest)), leading, number(lowest));
  Value bits = add(add(quotient, up), left(sub(scale, number(lowest)), number(fraction_)));
  bits = e_.select(compare(Predicate::sgt, leading, number(bias_)), number(std::int64_t(infinity_)), bits);
  bits = bit_or(bits, left(sign, number(width_ - 1)));
  if (width_ < 64) bits = e_.convert<arith::TruncIOp>(e_.builder().getIntegerType(width_), bits);
  return e_.from_bits(element_, bits);
}

SoftFloat::Wide SoftFloat::right_keeping(Wide n, Value distance) {
  for (int step = 0; step < 2; ++step) {  // by 64 where it is as far
    Value far = compare(Predicate::sge, distance, number(64));
    n.low = e_.select(far, bit_or(n.high, nonzero(n.low)), n.low);
    n.high = e_.select(far, number(0), n.high);
    distance = e_.select(far, sub(distance, number(64)), distance);
  }
  distance = at_most(distance, 63);  // all that is left is whether anything was there
  Value crossing = left(left(n.high, number(1)), sub(number(63), distance));
  Value lost = left(left(n.low, number(1)), sub(number(63), distance));
  return {right(n.high, distance), bit_or(bit_or(right(n.low, distance), crossing), nonzero(lost))};
}

Value SoftFloat::fused_multiply_add(Value x, Value y, Value z) {
  const Parts a = take_apart(x), b = take_apart(y), c = take_apart(z);
  // The product's highest bit stands at place 125 or 126 of 128, the addend's at 125.
  auto product = arith::MulUIExtendedOp::create(e_.builder(), left(a.significand, number(10)), left(b.significand, number(11)));
  Value product_exponent = sub(add(a.exponent, b.exponent), number(21)), addend_exponent = sub(c.exponent, number(73));
  Value product_sign = bit_and(right(bit_xor(a.bits, b.bits), number(width_ - 1)), number(1));
  Value addend_sign = bit_and(right(c.bits, number(width_ - 1)), number(1));
  Value first = compare(Predicate::sge, product_exponent, addend_exponent);
  const Wide p{product.getHigh(), product.getLow()}, q{left(c.significand, number(9)), number(0)};
  const Wide large{e_.select(first, p.high, q.high), e_.select(first, p.low, q.low)};
  Wide small{e_.select(first, q.high, p.high), e_.select(first, q.low, p.low)};
  Value difference = sub(product_exponent, addend_exponent);
  small = right_keeping(small, e_.select(first, difference, sub(number(0), difference)));
  Value exponent = e_.select(first, product_exponent, addend_exponent);
  Value sign = e_.select(first, product_sign, addend_sign);
  Value opposed = compare(Predicate::ne, product_sign, addend_sign);
  // large + small, or large - small as large + ~small + 1.
  Value flip = sub(number(0), one_where(opposed));
  Value low = add(large.low, bit_xor(small.low, flip));
  Value carry = one_where(compare(Predicate::ult, low, large.low));
  Value stepped = add(low, one_where(opposed));
  carry = add(carry, one_where(compare(Predicate::ult, stepped, low)));
  Value high = add(add(large.high, bit_xor(small.high, flip)), carry);
  low = stepped;
  // A negative difference changes the sign.
  Value negative = e_.make<arith::AndIOp>(opposed, compare(Predicate::slt, high, number(0)));
  Value negated_low = sub(number(0), low);
  Value negated_high = sub(sub(number(0), high), nonzero(low));
  low = e_.select(negative, negated_low, low), high = e_.select(negative, negated_high, high);
  sign = bit_xor(sign, one_where(negative));
  // The highest bit to place 127.
  Value is_zero = compare(Predicate::eq, bit_or(high, low), number(0));
  Value short_sum = compare(Predicate::eq, high, number(0));
  high = e_.select(short_sum, low, high), low = e_.select(short_sum, number(0), low);
  exponent = e_.select(short_sum, sub(exponent, number(64)), exponent);
  Value distance = bit_and(leading_zeros(high), number(63));
  Value top = bit_or(left(high, distance), right(right(low, number(1)), sub(number(63), distance)));
  top = bit_or(top, nonzero(left(low, distance)));
  Value result = put_together(top, sub(add(exponent, number(64)), distance), sign);
  result = e_.select(is_zero, e_.real(x.getType(), 0.0), result);
  // Where an operand is 0 or no number, two roundings give what one does; but an addend that is no number stays beside any
  // product of numbers, and one that is 0 changes nothing, not even the sign of a product that is rounded to 0.
  Value product_alone = e_.make<arith::MulFOp>(x, y);
  Value plain = e_.make<arith::AddFOp>(product_alone, z);
  Value addend_is_zero = compare(Predicate::eq, c.magnitude, number(0));
  Value ordinary = e_.make<arith::AndIOp>(is_ordinary(a), is_ordinary(b));
  plain = e_.select(e_.make<arith::AndIOp>(ordinary, addend_is_zero), product_alone, plain);
  Value addend_wins = compare(Predicate::uge, c.magnitude, number(std::int64_t(infinity_)));
  plain = e_.select(e_.make<arith::AndIOp>(e_.make<arith::AndIOp>(is_finite(a), is_finite(b)), addend_wins), z, plain);
  return e_.select(e_.make<arith::AndIOp>(ordinary, is_ordinary(c)), result, plain);
}

// Of numbers of up to 24 bits.
Value SoftFloat::divide(Value x, Value y) {
  const Parts a = take_apart(x), b = take_apart(y);
  // Of the 53 places the lowest 29 are 0: the quotient of 63 by 24 bits has 39 or 40.
  Value dividend = left(a.significand, number(10)), divisor = right(b.significand, number(29));
  Value safe = e_.select(compare(Predicate::eq, divisor, number(0)), number(1), divisor);
  Value quotient = e_.make_marked<arith::DivUIOp>(dividend, safe);
  Value rest = sub(dividend, e_.make<arith::MulIOp>(quotient, safe));
  Value distance = bit_and(leading_zeros(quotient), number(63));
  Value significand = bit_or(left(quotient, distance), nonzero(rest));
  Value exponent = sub(sub(sub(a.exponent, number(10)), add(b.exponent, number(29))), distance);
  Value sign = bit_and(right(bit_xor(a.bits, b.bits), number(width_ - 1)), number(1));
  Value result = put_together(significand, exponent, sign);
  Value ordinary = e_.make<arith::AndIOp>(is_ordinary(a), is_ordinary(b));
  return e_.select(ordinary, result, e_.make_marked<arith::DivFOp>(x, y));
}

// Of numbers of up to 24 bits: the integer root of a significand of 50 or 51 bits, from the device's own of the same number by a step of Newton's.
Value SoftFloat::square_root(Value x) {
  const Parts a = take_apart(x);
  Value odd = bit_and(a.exponent, number(1));
  // significand * 2^exponent = radicand * 2^(2 half), with all bits of the significand's 24 kept.
  Value radicand = right(left(a.significand, odd), number(2));
  Value even = add(sub(a.exponent, odd), number(2));
  Value half = e_.make_marked<arith::ShRSIOp>(even, number(1));
  mlir::Type f32 = e_.builder().getF32Type();
  Value estimate = mlir::math::SqrtOp::create(e_.builder(), e_.convert_marked<arith::UIToFPOp>(f32, radicand));
  estimate.getDefiningOp()->setAttr(exact_mark, e_.builder().getUnitAttr());
  Value root = e_.convert_marked<arith::FPToUIOp>(e_.builder().getI64Type(), estimate);
  root = e_.select(compare(Predicate::eq, root, number(0)), number(1), root);
  root = right(add(root, e_.make_marked<arith::DivUIOp>(radicand, root)), number(1));
  Value square = e_.make<arith::MulIOp>(root, root);
  root = sub(root, one_where(compare(Predicate::ugt, square, radicand)));
  Value rest = sub(radicand, e_.make<arith::MulIOp>(root, root));
  Value distance = bit_and(leading_zeros(root), number(63));
  Value result = put_together(bit_or(left(root, distance), nonzero(rest)), sub(half, distance), number(0));
  Value positive = e_.make<arith::AndIOp>(is_ordinary(a), compare(Predicate::eq, a.bits, a.magnitude));
  // What is left: zeros and +infinity stay, all else is NaN.
  Value stays = e_.make<arith::OrIOp>(compare(Predicate::eq, a.magnitude, number(0)),
                                      compare(Predicate::eq, a.bits, number(std::int64_t(infinity_))));
  Value special = e_.select(stays, x, e_.real(x.getType(), std::numeric_limits<double>::quiet_NaN()));
  return e_.select(positive, result, special);
}

}  // namespace

Value ExactEmitter::fused_from_integers(Value x, Value y, Value z) { return SoftFloat(*this, x).fused_multiply_add(x, y, z); }
Value ExactEmitter::divide_from_integers(Value x, Value y) { return SoftFloat(*this, x).divide(x, y); }
Value ExactEmitter::square_root_from_integers(Value x) { return SoftFloat(*this, x).square_root(x); }

}  // namespace teeny::compiler
