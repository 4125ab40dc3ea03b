// Rounding-error bounds of sums whose order is free. Formulas: interpreter.hpp.
#pragma once

#include <algorithm>

#include "compiler/interpreter/values.hpp"

namespace teeny::compiler::interpreter {

// Half the distance from 1 to the next number; 0 for integers.
constexpr double unit_roundoff(Kind kind) {
  switch (kind) {
    case Kind::f16: return 0x1p-11;
    case Kind::bf16: return 0x1p-8;
    case Kind::f32: return 0x1p-24;
    case Kind::f64: return 0x1p-53;
    default: return 0;
  }
}

// Sums below this overflow in no order.
constexpr double safe_magnitude(Kind kind) {
  return kind == Kind::f16 ? 0x1p14 : kind == Kind::f64 ? 0x1p1022 : 0x1p126;
}

// The largest power of two that divides x; infinity for 0, 0 for infinities and NaN.
inline double quantum_of(double x) {
  if (x == 0) return std::numeric_limits<double>::infinity();
  if (!std::isfinite(x)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  const auto integer = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  return std::ldexp(1.0, exponent - 53 + std::countr_zero(integer));
}

// Twice gamma(roundings): how far two orders of a computation with so many roundings a term may lie apart, relative
// to the sum of magnitudes. Unbounded where the bound says nothing.
inline double order_factor(double roundings, double u) {
  const double product = roundings * u;
  return product < 1 ? 2 * product / (1 - product) : std::numeric_limits<double>::infinity();
}

// Allowed distance of a sum with this sum of magnitudes whose terms are multiples of `quantum`; 0 where no order
// rounds.
inline double sum_radius(double roundings, double magnitude, double quantum, double u) {
  if (roundings <= 0 || magnitude == 0 || u == 0) return 0;
  if (magnitude * u <= quantum) return 0;
  // A sum that is infinite or NaN here may be another such value there.
  return std::isfinite(magnitude) ? order_factor(roundings, u) * magnitude : std::numeric_limits<double>::infinity();
}

}  // namespace teeny::compiler::interpreter
