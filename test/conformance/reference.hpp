// What element-wise operations give, computed in plain C++ from their description: long double and 128-bit integers,
// one rounding written here. It shares no code with the interpreter, the expansions or teeny's own 16-bit types.
#pragma once

#include <optional>

#include "operations.hpp"

namespace teeny::conformance {

// A number of any element type: all of them are exact in a long double of at least 64 bits of mantissa.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64);

// A result: within `ulps` units in the last place of `value`; 0: exactly `value`, which is then of the element type.
struct Expected {
  Real value = 0;
  double ulps = 0;
  bool any_zero = false;  // +0 and -0 are both right
};

// Rounds to nearest even in the float format of `dtype`; integers and bool are returned as they are.
Real round_to(DType dtype, Real value);

// Results for operands of type `dtype`; nothing where the operation has no reference here.
std::optional<Expected> unary_reference(Operation operation, DType dtype, Real x);
std::optional<Expected> binary_reference(Operation operation, DType dtype, Real a, Real b, bool propagate_nan = false);
std::optional<bool> comparison_reference(Operation operation, Real a, Real b);
std::optional<Expected> ternary_reference(Operation operation, DType dtype, Real a, Real b, Real c,
                                          bool propagate_nan = false);
Expected cast_reference(DType from, DType to, Real x);

// Whether a value of type `dtype` is what was expected.
bool is_right(DType dtype, Real got, const Expected& expected);

// The exact value of an element, its bits read here.
template <class D>
Real real_of(Stored<D> element) {
  if constexpr (std::is_same_v<D, half> || std::is_same_v<D, bfloat16>) {
    const int mantissa_bits = std::is_same_v<D, half> ? 10 : 7, bias = std::is_same_v<D, half> ? 15 : 127;
    const int bits = element.bits(), exponent = (bits & 0x7FFF) >> mantissa_bits,
              mantissa = bits & ((1 << mantissa_bits) - 1);
    Real magnitude;
    if (exponent == 2 * bias + 1)
      magnitude = mantissa ? std::numeric_limits<Real>::quiet_NaN() : std::numeric_limits<Real>::infinity();
    else if (exponent == 0)
      magnitude = __builtin_ldexpl(mantissa, 1 - bias - mantissa_bits);
    else
      magnitude = __builtin_ldexpl(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    return bits & 0x8000 ? -magnitude : magnitude;
  } else {
    return static_cast<Real>(element);
  }
}

std::string text_of(Real value);

}  // namespace teeny::conformance
