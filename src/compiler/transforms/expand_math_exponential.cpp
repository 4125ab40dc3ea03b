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

// x = n * ln(2) + remainder, |remainder| <= ln(2) / 2. The low bits of `encoded` hold n + bias.
struct Reduced {
  Value encoded;
  Value remainder;
};

// Rounding by addition can bring a bias along: what follows then needs no addition to make an exponent field.
Value rounding_constant(MathEmitter& e, std::uint64_t bias) {
  return e.real(e.rounding_constant() + static_cast<double>(bias));
}

Reduced reduce_by_ln2(MathEmitter& e, Value x, std::uint64_t bias) {
  const double* ln2 = e.is_double() ? table::ln2_f64 : table::ln2_f32;
  Value magic = rounding_constant(e, bias);
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

// x * 2^n for an `encoded` n with twice the exponent's bias, in two steps of which the first is exact: n may lie beyond
// both ends of the exponent's range, and a result below the normal range is rounded once more, as it has to be.
Value scale(MathEmitter& e, Value x, Value encoded) {
  Value half = e.bit_and(e.shift_left(encoded, e.integer(e.mantissa_bits() - 1)), e.integer(~e.mantissa_mask()));
  Value rest = e.isub(e.shift_left(encoded, e.integer(e.mantissa_bits())), half);
  return e.mul(e.mul(x, e.from_bits(half)), e.from_bits(rest));
}

// exp(x) as power * (1 + rest), power a power of two.
struct Power {
  Value power;
  Value rest;
};

// For -80 <= x <= 0. Sums with power - 1 and power + 1 are then exact but for their own rounding.
Power negative_exp(MathEmitter& e, Value x) {
  Reduced reduced = reduce_by_ln2(e, x, e.exponent_bias());
  Value power = e.from_bits(e.shift_left(reduced.encoded, e.integer(e.mantissa_bits())));
  return {power, small_expm1(e, reduced.remainder)};
}

// exp(x) - 1, with a relative error even near 0.
Value minus_one(MathEmitter& e, Power exp) { return e.fma(exp.power, exp.rest, e.sub(exp.power, e.real(1))); }

// log(1 + f) - f for |f| <= 1/3.
Value log1p_tail(MathEmitter& e, Value f) {
  if (!e.is_double()) return e.mul(e.mul(f, f), e.polynomial(f, table::log_f32));
  // With s = f / (2 + f): log(1 + f) = 2 s + s^3 R(s^2) and 2 s = f - s f.
  Value s = e.div_moderate(f, e.add(f, e.real(2)));
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

bool is_approximate(const MathEmitter& e) { return e.facts().approximate && !e.is_double(); }

}  // namespace

Value emit_exp(MathEmitter& e, Value x) {
  if (is_approximate(e)) return mlir::math::Exp2Op::create(e.builder(), e.mul(x, e.real(table::log2e_f64[0])));
  Value limited = e.at_most(e.at_least(x, e.choose(-105, -747)), e.choose(89, 711));
  Reduced reduced = reduce_by_ln2(e, limited, 2 * e.exponent_bias());
  return scale(e, e.add(small_expm1(e, reduced.remainder), e.real(1)), reduced.encoded);
}

Value emit_exp2(MathEmitter& e, Value x) {
  if (is_approximate(e)) return mlir::math::Exp2Op::create(e.builder(), x);
  Value limited = e.at_most(e.at_least(x, e.choose(-152, -1077)), e.choose(129, 1025));
  Value magic = rounding_constant(e, 2 * e.exponent_bias());
  Value rounded = e.add(limited, magic);
  Value f = e.sub(limited, e.sub(rounded, magic));
  Value h = e.is_double() ? e.polynomial(f, table::exp2_f64) : e.polynomial(f, table::exp2_f32);
  return scale(e, e.fma(f, h, e.real(1)), e.bits(rounded));
}

Value emit_tanh(MathEmitter& e, Value x) {
  // tanh|x| = (1 - u) / (1 + u) with u = exp(-2|x|): no overflow, and no cancellation near 0.
  Power u = negative_exp(e, e.at_least(e.mul(e.absolute(x), e.real(-2)), -80));
  Value denominator = e.fma(u.power, u.rest, e.add(u.power, e.real(1)));
  return e.with_sign_of(e.div_moderate(minus_one(e, u), denominator), x);
}

Value emit_sigmoid(MathEmitter& e, Value x) {
  Value power = emit_exp(e, e.negate(e.absolute(x)));
  Value one = e.real(1);
  Value numerator = e.select(e.compare(CmpFPredicate::OLT, x, e.real(0)), power, one);
  return e.div_moderate(numerator, e.add(power, one));
}

Value emit_erf(MathEmitter& e, Value x) {
  // erf(a) = 1 - exp(-a P(a)): one polynomial serves from 0 to where the result rounds to 1.
  Value a = e.at_most(e.absolute(x), e.choose(4, 6));
  Value t = a, start_high = e.real(table::erf_start0_f32[0]), start_low = e.real(table::erf_start0_f32[1]), slope;
  if (!e.is_double()) {
    slope = e.polynomial(t, table::erf0_f32);
  } else {
    Value beyond1 = e.compare(CmpFPredicate::OGE, a, e.real(1)),
          beyond2 = e.compare(CmpFPredicate::OGE, a, e.real(2.5));
    auto pick = [&](double v0, double v1, double v2) {
      return e.select(beyond2, e.real(v2), e.select(beyond1, e.real(v1), e.real(v0)));
    };
    start_high = pick(table::erf_start0_f64[0], table::erf_start1_f64[0], table::erf_start2_f64[0]);
    start_low = pick(table::erf_start0_f64[1], table::erf_start1_f64[1], table::erf_start2_f64[1]);
    t = e.sub(a, pick(0, 1, 2.5));
    llvm::SmallVector<Value> picked;
    for (auto [v0, v1, v2] : llvm::zip(table::erf0_f64, table::erf1_f64, table::erf2_f64))
      picked.push_back(pick(v0, v1, v2));
    slope = e.polynomial(t, picked);
  }
  Value rest = e.fma(slope, t, start_low);
  Value exponent = e.fma(a, start_high, e.mul(a, rest));
  return e.with_sign_of(minus_one(e, negative_exp(e, e.negate(exponent))), x);
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
  if (is_approximate(e)) return mlir::math::RsqrtOp::create(e.builder(), x);
  return e.div(e.real(1), mlir::math::SqrtOp::create(e.builder(), x));
}

}  // namespace teeny::compiler
