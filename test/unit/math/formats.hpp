// Float formats in plain C++: decoding 16-bit values, and rounding to a format by definition.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace teeny::test {

// What a test needs to know of a format.
struct Format {
  const char* name;
  int significant, lowest_exponent;  // bits of the significand; exponent of the smallest normal number
  long double largest;
};
constexpr Format f16{"f16", 11, -14, 65504}, bf16{"bf16", 8, -126, 0x1.fep127L};
constexpr Format f32{"f32", 24, -126, std::numeric_limits<float>::max()},
    f64{"f64", 53, -1022, std::numeric_limits<double>::max()};

inline double decode(std::uint16_t bits, const Format& format) {
  const int mantissa_bits = format.significant - 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (0x7fff >> mantissa_bits)) return mantissa ? NAN : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, format.lowest_exponent - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - 1 + format.lowest_exponent - mantissa_bits);
}

// `x` rounded to the nearest number of the format, ties to even; beyond the largest, infinity.
inline long double round_to(long double x, const Format& format) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), format.lowest_exponent) - (format.significant - 1);
  const long double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  return std::abs(rounded) > format.largest ? std::copysign(std::numeric_limits<long double>::infinity(), x) : rounded;
}

}  // namespace teeny::test
