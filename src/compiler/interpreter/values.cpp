// Exact conversions between double and the smaller binary formats.
#include "compiler/interpreter/values.hpp"

namespace teeny::compiler::interpreter {

std::uint64_t round_to_format(double value, int exponent_bits, int mantissa_bits, bool toward_zero) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 63) << (exponent_bits + mantissa_bits);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  std::uint64_t mantissa = bits & low_mask(52);
  const std::uint64_t infinity = low_mask(exponent_bits) << mantissa_bits;
  if (exponent == 0x7ff) {
    if (mantissa == 0) return sign | infinity;
    return sign | infinity | (std::uint64_t{1} << (mantissa_bits - 1)) | (mantissa >> (52 - mantissa_bits));
  }
  if (exponent == 0) return sign;  // zero, or a double subnormal: below half of every smaller format's smallest value
  mantissa |= std::uint64_t{1} << 52;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int target = exponent - 1023 + bias;  // biased exponent in the format, if normal
  const int shift = 52 - mantissa_bits + (target < 1 ? 1 - target : 0);
  if (shift > 54) return sign;
  std::uint64_t kept = shift >= 54 ? 0 : mantissa >> shift;
  const std::uint64_t rest = mantissa & low_mask(shift), half = std::uint64_t{1} << (shift - 1);
  if (!toward_zero && (rest > half || (rest == half && (kept & 1)))) ++kept;
  // A carry out of the mantissa moves into the exponent by itself, from subnormal to normal and up to infinity.
  const std::uint64_t result = target < 1 ? kept : kept + (static_cast<std::uint64_t>(target - 1) << mantissa_bits);
  if (result >= infinity) return sign | (toward_zero ? infinity - 1 : infinity);
  return sign | result;
}

double value_of_format(std::uint64_t bits, int exponent_bits, int mantissa_bits) {
  const std::uint64_t sign = (bits >> (exponent_bits + mantissa_bits)) & 1;
  const std::uint64_t exponent = (bits >> mantissa_bits) & low_mask(exponent_bits);
  const std::uint64_t mantissa = bits & low_mask(mantissa_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == 0) {
    const double magnitude = std::ldexp(static_cast<double>(mantissa), 1 - bias - mantissa_bits);
    return sign ? -magnitude : magnitude;
  }
  const std::uint64_t wide = exponent == low_mask(exponent_bits) ? 0x7ff : exponent - bias + 1023;
  return std::bit_cast<double>((sign << 63) | (wide << 52) | (mantissa << (52 - mantissa_bits)));
}

double multiply_add_to_odd(double a, double b, double c) {
  const double product = a * b;
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1)) return sum;
  // Move to the odd neighbour on the side of the exact value.
  const bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

double to_double(Kind kind, std::uint64_t bits) {
  switch (kind) {
    case Kind::i1: return static_cast<double>(bits & 1);
    case Kind::f16: return Element<Kind::f16>::get(bits);
    case Kind::bf16: return Element<Kind::bf16>::get(bits);
    case Kind::f32: return Element<Kind::f32>::get(bits);
    case Kind::f64: return Element<Kind::f64>::get(bits);
    case Kind::pointer: return static_cast<double>(bits);
    default: return static_cast<double>(sign_extend(bits, width_of(kind)));
  }
}

std::uint64_t from_double(Kind kind, double value) {
  switch (kind) {
    case Kind::f16: return Element<Kind::f16>::put(value);
    case Kind::bf16: return Element<Kind::bf16>::put(value);
    case Kind::f32: return Element<Kind::f32>::put(static_cast<float>(value));
    case Kind::f64: return Element<Kind::f64>::put(value);
    default: break;
  }
  if (std::isnan(value)) return 0;
  if (kind == Kind::i1) return value >= 0.5 ? 1 : 0;
  const int width = width_of(kind);
  const double limit = std::ldexp(1.0, width - 1), rounded = std::nearbyint(value);
  if (rounded >= limit) return low_mask(width - 1);
  if (rounded < -limit) return std::uint64_t{1} << (width - 1);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(rounded)) & low_mask(width);
}

}  // namespace teeny::compiler::interpreter
