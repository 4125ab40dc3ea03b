// Conversions from and to floats, fma, minimum and maximum, in exact arithmetic.
#include <cmath>
#include <limits>

#include <mlir/Dialect/Math/IR/Math.h>

#include "exact_emitter.hpp"

namespace teeny::compiler {

using mlir::Value;
namespace arith = mlir::arith;

Value ExactEmitter::real(mlir::Type like, llvm::APFloat value) {
  bool loses = false;
  auto element = llvm::cast<mlir::FloatType>(mlir::getElementTypeOrSelf(like));
  value.convert(element.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return make_constant(builder_, like, value);
}

Value ExactEmitter::real(mlir::Type like, double value) { return real(like, llvm::APFloat(value)); }

// ---- to narrower floats

// f64 -> f32 towards zero, with the last bit set where that was inexact: a later rounding to fewer bits is then as if
// from the f64 itself (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
Value ExactEmitter::round_to_odd_f32(Value x) {
  Value near = convert_marked<arith::TruncFOp>(builder_.getF32Type(), x);
  Value back = convert<arith::ExtFOp>(builder_.getF64Type(), near);
  Value near_bits = bits(near);
  Value magnitude_mask = integer(bits(x).getType(), std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  Value above = compare(IntegerPredicate::ugt, make<arith::AndIOp>(bits(back), magnitude_mask),
                        make<arith::AndIOp>(bits(x), magnitude_mask));
  Value inexact = compare(FloatPredicate::ONE, back, x);
  mlir::Type i32 = builder_.getI32Type();
  Value toward_zero = make<arith::SubIOp>(near_bits, convert<arith::ExtUIOp>(i32, make<arith::AndIOp>(above, inexact)));
  return from_bits(builder_.getF32Type(), make<arith::OrIOp>(toward_zero, convert<arith::ExtUIOp>(i32, inexact)));
}

Value ExactEmitter::f32_to_bf16(mlir::Type element, Value x) {
  Value n = bits(x);
  Value odd = make<arith::AndIOp>(shift_right(n, 16), integer(n.getType(), 1));
  Value rounded = make<arith::AddIOp>(n, make<arith::AddIOp>(odd, integer(n.getType(), 0x7fff)));
  // The addition could carry a NaN's payload into an infinity or the sign: a NaN is cut off and made quiet.
  Value quiet = make<arith::OrIOp>(n, integer(n.getType(), 0x400000));
  Value chosen = select(compare(FloatPredicate::UNO, x, x), quiet, rounded);
  return from_bits(element, convert<arith::TruncIOp>(builder_.getI16Type(), shift_right(chosen, 16)));
}

Value ExactEmitter::f32_to_f16(mlir::Type element, Value x) {
  mlir::Type f32 = builder_.getF32Type();
  Value n = bits(x);
  auto number = [&](std::uint64_t value) { return integer(n.getType(), value); };
  Value magnitude = make<arith::AndIOp>(n, number(0x7fffffff));
  Value sign = make<arith::AndIOp>(shift_right(n, 16), number(0x8000));
  // From 2^-14 on: the exponent's bias changed from 127 to 15 and 13 bits rounded off; beyond 65520 that is infinity.
  Value odd = make<arith::AndIOp>(shift_right(magnitude, 13), number(1));
  Value rebased = make<arith::SubIOp>(make<arith::AddIOp>(magnitude, number(0xfff)), number((127 - 15) << 23));
  Value normal = shift_right(make<arith::AddIOp>(rebased, odd), 13);
  normal = select(compare(IntegerPredicate::uge, magnitude, number(0x477ff000)), number(0x7c00), normal);
  // Below: beside 1/2, f32 has the spacing of f16's subnormals, 2^-24.
  Value half = real(x.getType(), 0.5);
  Value subnormal = make<arith::SubIOp>(bits(make<arith::AddFOp>(from_bits(f32, magnitude), half)), bits(half));
  Value result = select(compare(IntegerPredicate::ult, magnitude, number(0x38800000)), subnormal, normal);
  Value quiet = make<arith::OrIOp>(number(0x7e00), make<arith::AndIOp>(shift_right(magnitude, 13), number(0x3ff)));
  result = select(compare(IntegerPredicate::ugt, magnitude, number(0x7f800000)), quiet, result);
  result = make<arith::OrIOp>(result, sign);
  return from_bits(element, convert<arith::TruncIOp>(builder_.getI16Type(), result));
}

Value ExactEmitter::truncate_float(mlir::Type element, Value x) {
  if (element.isF32()) return convert_marked<arith::TruncFOp>(element, x);
  if (element_of(x).isF64()) x = round_to_odd_f32(x);
  if (element.isBF16() && !facts_.truncates_to_bf16) return f32_to_bf16(element, x);
  if (element.isF16() && !facts_.truncates_to_f16) return f32_to_f16(element, x);
  return convert_marked<arith::TruncFOp>(element, x);
}

// ---- between floats and integers

Value ExactEmitter::float_to_integer(mlir::Type element, Value x, bool is_signed) {
  if (width_of(x) < 32) x = convert<arith::ExtFOp>(builder_.getF32Type(), x);
  const int width = static_cast<int>(element.getIntOrFloatBitWidth()), value_bits = width - (is_signed ? 1 : 0);
  const int significant = element_of(x).isF64() ? 53 : 24;
  mlir::Type type = x.getType();
  const double beyond = std::ldexp(1.0, value_bits);
  Value low = real(type, is_signed ? -beyond : 0.0);
  mlir::Type computed = width < 32 ? builder_.getI32Type() : element;
  auto to_integer = [&](Value value) {
    // 32 bits hold all narrower results, of either sign.
    return is_signed || width < 32 ? convert_marked<arith::FPToSIOp>(computed, value)
                                   : convert_marked<arith::FPToUIOp>(computed, value);
  };
  if (value_bits <= significant) {
    Value high = real(type, beyond - 1);
    Value limited = select(compare(FloatPredicate::OLT, x, low), low, x);
    limited = select(compare(FloatPredicate::OGT, limited, high), high, limited);
    limited = select(compare(FloatPredicate::UNO, x, x), real(type, 0.0), limited);
    Value result = to_integer(limited);
    return width < 32 ? convert<arith::TruncIOp>(element, result) : result;
  }
  // The highest integer is no float here: convert what is in range, then choose.
  Value too_high = compare(FloatPredicate::OGE, x, real(type, beyond)), too_low = compare(FloatPredicate::OLT, x, low);
  Value in_range =
      make<arith::AndIOp>(compare(FloatPredicate::OGE, x, low), compare(FloatPredicate::OLT, x, real(type, beyond)));
  Value result = to_integer(select(in_range, x, real(type, 0.0)));
  auto lowest = is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getZero(width);
  auto highest = is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
  result = select(too_high, integer(result.getType(), highest), result);
  return select(too_low, integer(result.getType(), lowest), result);
}

Value ExactEmitter::integer_to_float(mlir::Type element, Value n, bool is_signed) {
  auto to_float = [&](mlir::Type type, Value value) {
    return is_signed ? convert_marked<arith::SIToFPOp>(type, value) : convert_marked<arith::UIToFPOp>(type, value);
  };
  if (!element.isF16() && !element.isBF16()) return to_float(element, n);
  // Integers that f16 can hold are exact in f32. For bf16, larger ones are first cut to 24 bits of which the last keeps
  // whether anything was lost, so that the conversion to f32 is exact and only the one to bf16 rounds.
  const int width = width_of(n);
  if (element.isBF16() && width > 24) {
    mlir::Type type = n.getType();
    Value negative = is_signed ? compare(IntegerPredicate::slt, n, integer(type, 0)) : Value();
    Value magnitude = is_signed ? select(negative, make<arith::SubIOp>(integer(type, 0), n), n) : n;
    Value keep = integer(type, ~std::uint64_t{0});
    for (int first = 24; first < width; first += 10) {
      Value reaches = compare(IntegerPredicate::uge, magnitude, integer(type, std::uint64_t{1} << first));
      keep = select(reaches, integer(type, ~std::uint64_t{0} << (first - 14)), keep);
    }
    Value lost = make<arith::AndIOp>(n, make<arith::XOrIOp>(keep, integer(type, ~std::uint64_t{0})));
    Value unit = make<arith::AndIOp>(keep, make<arith::SubIOp>(integer(type, 0), keep));
    Value last = select(compare(IntegerPredicate::ne, lost, integer(type, 0)), unit, integer(type, 0));
    n = make<arith::OrIOp>(make<arith::AndIOp>(n, keep), last);
  }
  return truncate_float(element, to_float(builder_.getF32Type(), n));
}

// ---- division, square root, fma, minimum, maximum

Value ExactEmitter::divide_float(Value x, Value y) {
  if (facts_.division_rounds || element_of(x).isF64()) return {};
  if (!facts_.has_f64) return divide_from_integers(x, y);
  mlir::Type f64 = builder_.getF64Type();
  return truncate_float(element_of(x),
                        make_marked<arith::DivFOp>(convert<arith::ExtFOp>(f64, x), convert<arith::ExtFOp>(f64, y)));
}

Value ExactEmitter::square_root(Value x) {
  if (facts_.sqrt_rounds || element_of(x).isF64()) return {};
  if (!facts_.has_f64) return square_root_from_integers(x);
  Value wide = convert<arith::ExtFOp>(builder_.getF64Type(), x);
  return truncate_float(element_of(x), mlir::math::SqrtOp::create(builder_, wide));
}

Value ExactEmitter::float_remainder(Value x, Value y) {
  if (element_of(x).isF64()) return {};
  mlir::Type f64 = builder_.getF64Type();
  auto widen = [&](Value value) { return convert<arith::ExtFOp>(f64, value); };
  Value dividend = widen(x), divisor = widen(y);
  mlir::Type type = dividend.getType();
  Value rest = mlir::math::AbsFOp::create(builder_, dividend), unit = mlir::math::AbsFOp::create(builder_, divisor);
  Value zero = real(type, 0.0), inverse = make_marked<arith::DivFOp>(real(type, 1.0), unit);
  // Long division by 28 bits of the quotient a step: |x| / |y| is below 2^277. A digit has at most 29 bits and y 24, so
  // that their product is exact, the digit is off by at most 1, and every rest has at most 24 bits.
  for (int step = 9; step >= 0; --step) {
    Value multiple = make<arith::MulFOp>(unit, real(type, std::ldexp(1.0, 28 * step)));
    Value digit = make<arith::MulFOp>(rest, make<arith::MulFOp>(inverse, real(type, std::ldexp(1.0, -28 * step))));
    digit = mlir::math::FloorOp::create(builder_, digit);
    rest = make<arith::SubFOp>(rest, make<arith::MulFOp>(digit, multiple));
    rest = select(compare(FloatPredicate::OLT, rest, zero), make<arith::AddFOp>(rest, multiple), rest);
    rest = select(compare(FloatPredicate::OGE, rest, multiple), make<arith::SubFOp>(rest, multiple), rest);
  }
  Value sign = make<arith::AndIOp>(bits(dividend), integer(bits(dividend).getType(), std::uint64_t{1} << 63));
  rest = from_bits(f64, make<arith::OrIOp>(bits(rest), sign));
  // Zero divisors and infinite dividends have become NaN on the way; an infinite divisor leaves a finite dividend.
  Value infinity = real(type, std::numeric_limits<double>::infinity());
  Value finite = compare(FloatPredicate::OLT, mlir::math::AbsFOp::create(builder_, dividend), infinity);
  Value keeps = make<arith::AndIOp>(finite, compare(FloatPredicate::OEQ, unit, infinity));
  return truncate_float(element_of(x), select(keeps, dividend, rest));
}

Value ExactEmitter::fused_multiply_add(Value x, Value y, Value z) {
  mlir::Type element = element_of(x), f64 = builder_.getF64Type();
  if (element.isF64() || !facts_.has_f64) return fused_from_integers(x, y, z);
  auto widen = [&](Value value) { return convert<arith::ExtFOp>(f64, value); };
  // The product is exact in f64; the sum is rounded to odd there, so that the rounding to the narrower type is the only
  // one.
  Value product = make<arith::MulFOp>(widen(x), widen(y)), addend = widen(z);
  Value sum = make<arith::AddFOp>(product, addend);
  Value addend_part = make<arith::SubFOp>(sum, product);
  Value product_part = make<arith::SubFOp>(sum, addend_part);
  Value error =
      make<arith::AddFOp>(make<arith::SubFOp>(product, product_part), make<arith::SubFOp>(addend, addend_part));
  Value n = bits(sum), one = integer(n.getType(), 1), zero = real(sum.getType(), 0.0);
  Value is_even = compare(IntegerPredicate::eq, make<arith::AndIOp>(n, one), integer(n.getType(), 0));
  Value outward = compare(IntegerPredicate::sge, make<arith::XOrIOp>(n, bits(error)), integer(n.getType(), 0));
  Value odd = make<arith::AddIOp>(n, select(outward, one, integer(n.getType(), ~std::uint64_t{0})));
  Value adjusts = make<arith::AndIOp>(is_even, compare(FloatPredicate::ONE, error, zero));
  return truncate_float(element, from_bits(f64, select(adjusts, odd, n)));
}

Value ExactEmitter::extremum(Value x, Value y, bool is_maximum, bool propagates_nan) {
  Value chosen = select(compare(is_maximum ? FloatPredicate::OGT : FloatPredicate::OLT, x, y), x, y);
  // Equal numbers differ at most in a zero's sign.
  Value both = is_maximum ? make<arith::AndIOp>(bits(x), bits(y)) : make<arith::OrIOp>(bits(x), bits(y));
  chosen = select(compare(FloatPredicate::OEQ, x, y), from_bits(element_of(x), both), chosen);
  // Without a comparison that holds, y was chosen: wrong when just y is NaN, or just x and NaN is to win.
  Value nan = propagates_nan ? x : y;
  return select(compare(FloatPredicate::UNO, nan, nan), x, chosen);
}

Value ExactEmitter::clamp(Value x, Value low, Value high, bool propagates_nan) {
  Value raised = propagates_nan ? select(compare(FloatPredicate::OLT, x, low), low, x)
                                : select(compare(FloatPredicate::OGT, x, low), x, low);
  return select(compare(FloatPredicate::OGT, raised, high), high, raised);
}

}  // namespace teeny::compiler
