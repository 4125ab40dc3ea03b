// exp, exp2, and what is made from them: tanh, erf, sigmoid. log, log2 and rsqrt.
#include <limits>

#include "expand_math_coefficients.hpp"
#include "math_emitter.hpp"

namespace teeny::compiler {

using mlir::Value;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;
namespace table = coefficients;

namespace {

// x = n * ln(2) + remainder, |remainder| <= ln(2) / 2. `encoded` has n in its low bits.
struct Reduced {
  Value encoded;
  Value remainder;
};

Reduced reduce_by_ln2(MathEmitter& e, Value x) {
  const double* ln2 = e.is_double() ? table::ln2_f64 : table::ln2_f32;
  Value magic = e.real(e.rounding_constant());
  Value rounded = e.fma(x, e.real(table::log2e_f64[0]), magic);
  Value n = e.sub(rounded, magic);
  // n * ln2[0] has few enough bits to be exact, and the difference cancels, so that neither form rounds here.
  Value remainder = e.fma(n, e.real(-ln2[0]), x);
  return {e.bits(rounded), e.fma(n, e.real(-ln2[1]), remainder)};
}

// exp(r) - 1 = r + r^2 q(r).
Value small_expm1(MathEmitter& e, Value r) {
  Value q = e.is_double() ? e.polynomial(r, table::expm1_f64) : e.polynomial(r, table::expm1_f32);
  return e.fma(e.mul(r, r), q, r);
}

// 2^n for an n, in the low bits of `encoded`, whose power is a normal number.
Value power_of_two(MathEmitter& e, Value encoded) {
  Value exponent = e.shift_left(encoded, e.integer(e.mantissa_bits()));
  return e.from_bits(e.iadd(exponent, e.integer(e.one_bits())));
}

// x * 2^n in two steps, the first of them exact: n may lie a little beyond both ends of the exponent's range, and a
// result below the normal range is rounded once more, as it has to be.
Value scale(MathEmitter& e, Value x, Value encoded) {
  Value half = e.bit_and(e.shift_left(encoded, e.integer(e.mantissa_bits() - 1)), e.integer(~e.mantissa_mask()));
  Value rest = e.isub(e.shift_left(encoded, e.integer(e.mantissa_bits())), half);
  Value one = e.integer(e.one_bits());
  return e.mul(e.mul(x, e.from_bits(e.iadd(half, one))), e.from_bits(e.iadd(rest, one)));
}

// exp(x) - 1 for -80 <= x <= 0, with a relative error even near 0.
Value negative_expm1(MathEmitter& e, Value x) {
  Reduced reduced = reduce_by_ln2(e, x);
  Value power = power_of_two(e, reduced.encoded);
  return e.fma(power, small_expm1(e, reduced.remainder), e.sub(power, e.real(1)));
}

// log(1 + f) - f for |f| <= 1/3.
Value log1p_tail(MathEmitter& e, Value f) {
  if (!e.is_double()) return e.mul(e.mul(f, f), e.polynomial(f, table::log_f32));
  // With s = f / (2 + f): log(1 + f) = 2 s + s^3 R(s^2) and 2 s = f - s f.
  Value s = e.div(f, e.add(f, e.real(2)));
  Value square = e.mul(s, s);
  return e.mul(s, e.fma(square, e.polynomial(square, table::log_f64), e.negate(f)));
}

// x = 2^exponent * (1 + fraction) for positive finite x, 2/3 <= 1 + fraction < 4/3.
struct Split {
  Value exponent;
  Value fraction;
};

Split split_exponent(MathEmitter& e, Value x) {
  Value is_small = e.compare(CmpFPredicate::OLT, x, e.real(e.choose(0x1p-126, 0x1p-1022)));
  Value normal = e.select(is_small, e.mul(x, e.real(e.choose(0x1p24, 0x1p54))), x);
  Value shift = e.select(is_small, e.real(e.choose(-24, -54)), e.real(0));
  Value bits = e.bits(normal);
  const std::uint64_t two_thirds = e.is_double() ? 0x3fe5555555555555 : 0x3f2aaaab;
  Value offset = e.isub(bits, e.integer(two_thirds));
  Value whole = e.bit_and(offset, e.integer(~e.mantissa_mask()));
  Value count = e.shift_right_signed(offset, e.integer(e.mantissa_bits()));
  Value exponent = mlir::arith::SIToFPOp::create(e.builder(), e.float_type(), count);
  return {e.add(exponent, shift), e.sub(e.from_bits(e.isub(bits, whole)), e.real(1))};
}

// `result` for positive finite x; the logarithm's limits elsewhere.
Value with_log_edges(MathEmitter& e, Value x, Value result) {
  const double infinity = std::numeric_limits<double>::infinity();
  Value zero = e.real(0);
  Value edge = e.select(e.compare(CmpFPredicate::OGT, x, zero), x, e.real(std::numeric_limits<double>::quiet_NaN()));
  edge = e.select(e.compare(CmpFPredicate::OEQ, x, zero), e.real(-infinity), edge);
  Value distance = e.isub(e.bits(x), e.integer(1));
  Value inside = e.compare(CmpIPredicate::ult, distance, e.integer(e.infinity_bits() - 1));
  return e.select(inside, result, edge);
}

}  // namespace

Value emit_exp(MathEmitter& e, Value x) {
  Value limited = e.at_most(e.at_least(x, e.choose(-105, -747)), e.choose(89, 711));
  Reduced reduced = reduce_by_ln2(e, limited);
  return scale(e, e.add(small_expm1(e, reduced.remainder), e.real(1)), reduced.encoded);
}

Value emit_exp2(MathEmitter& e, Value x) {
  Value limited = e.at_most(e.at_least(x, e.choose(-152, -1077)), e.choose(129, 1025));
  Value magic = e.real(e.rounding_constant());
  Value rounded = e.add(limited, magic);
  Value f = e.sub(limited, e.sub(rounded, magic));
  Value h = e.is_double() ? e.polynomial(f, table::exp2_f64) : e.polynomial(f, table::exp2_f32);
  return scale(e, e.fma(f, h, e.real(1)), e.bits(rounded));
}

Value emit_tanh(MathEmitter& e, Value x) {
  // With t = exp(-2|x|) - 1, tanh|x| = -t / (2 + t): no overflow, and no cancellation near 0.
  Value t = negative_expm1(e, e.at_least(e.mul(e.absolute(x), e.real(-2)), -80));
  return e.with_sign_of(e.div(t, e.add(t, e.real(2))), x);
}

Value emit_sigmoid(MathEmitter& e, Value x) {
  Value power = emit_exp(e, e.negate(e.absolute(x)));
  Value one = e.real(1);
  Value numerator = e.select(e.compare(CmpFPredicate::OLT, x, e.real(0)), power, one);
  return e.div(numerator, e.add(power, one));
}

Value emit_erf(MathEmitter& e, Value x) {
  // erf(a) = 1 - exp(-a P(a)): one polynomial serves from 0 to where the result rounds to 1.
  Value a = e.at_most(e.absolute(x), e.choose(4, 6));
  Value t = a, start_high = e.real(table::erf_start0_f32[0]), start_low = e.real(table::erf_start0_f32[1]), slope;
  if (!e.is_double()) {
    slope = e.polynomial(t, table::erf0_f32);
  } else {
    Value beyond1 = e.compare(CmpFPredicate::OGE, a, e.real(1)), beyond2 = e.compare(CmpFPredicate::OGE, a, e.real(2.5));
    auto pick = [&](double v0, double v1, double v2) {
      return e.select(beyond2, e.real(v2), e.select(beyond1, e.real(v1), e.real(v0)));
    };
    start_high = pick(table::erf_start0_f64[0], table::erf_start1_f64[0], table::erf_start2_f64[0]);
    start_low = pick(table::erf_start0_f64[1], table::erf_start1_f64[1], table::erf_start2_f64[1]);
    t = e.sub(a, pick(0, 1, 2.5));
    llvm::SmallVector<Value> picked;
    for (auto [v0, v1, v2] : llvm::zip(table::erf0_f64, table::erf1_f64, table::erf2_f64)) picked.push_back(pick(v0, v1, v2));
    slope = e.polynomial(t, picked);
  }
  Value rest = e.fma(slope, t, start_low);
  Value exponent = e.fma(a, start_high, e.mul(a, rest));
  return e.with_sign_of(negative_expm1(e, e.negate(exponent)), x);
}

Value emit_log(MathEmitter& e, Value x) {
  Split split = split_exponent(e, x);
  const double* ln2 = e.is_double() ? table::ln2_f64 : table::ln2_f32;
  Value tail = e.fma(split.exponent, e.real(ln2[1]), log1p_tail(e, split.fraction));
  Value result = e.fma(split.exponent, e.real(ln2[0]), e.add(split.fraction, tail));
  return with_log_edges(e, x, result);
}

Value emit_log2(MathEmitter& e, Value x) {
  Split split = split_exponent(e, x);
  const double* log2e = e.is_double() ? table::log2e_f64 : table::log2e_f32;
  Value high = e.real(log2e[0]);
  Value tail = e.fma(log1p_tail(e, split.fraction), high, e.mul(split.fraction, e.real(log2e[1])));
  Value result = e.add(split.exponent, e.fma(split.fraction, high, tail));
  return with_log_edges(e, x, result);
}

Value emit_rsqrt(MathEmitter& e, Value x) {
  return e.div(e.real(1), mlir::math::SqrtOp::create(e.builder(), x));
}

}  // namespace teeny::compiler
