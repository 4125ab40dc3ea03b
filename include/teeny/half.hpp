// Host types of the 16-bit floats: teeny::half (IEEE binary16) and teeny::bfloat16. Conversions are exact where the
// value exists and otherwise round once, to nearest even; subnormals, infinities, NaN (its sign and leading payload
// bits) are kept. Arithmetic happens in float through the implicit conversion; storing back rounds: h = half(h * 2).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>  // std::hash
#include <type_traits>

namespace teeny {
namespace detail {

// The 16-bit pattern of `value` in a binary format with so many exponent and mantissa bits.
constexpr std::uint16_t round_to_16_bits(double value, int exponent_bits, int mantissa_bits) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 63) << 15;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  if (exponent == 1024) {
    if (mantissa == 0) return static_cast<std::uint16_t>(sign | infinity);
    const std::uint32_t payload = static_cast<std::uint32_t>(mantissa >> (52 - mantissa_bits));
    return static_cast<std::uint16_t>(sign | infinity | payload | 1u << (mantissa_bits - 1));  // quiet
  }
  const bool normal = exponent >= 1 - bias;
  const int shift = 52 - mantissa_bits + (normal ? 0 : 1 - bias - exponent);
  if (shift > 54) return static_cast<std::uint16_t>(sign);
  const std::uint64_t significand = mantissa | std::uint64_t{1} << 52;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1), tie = std::uint64_t{1} << (shift - 1);
  std::uint64_t kept = significand >> shift;
  if (rest > tie || (rest == tie && (kept & 1))) ++kept;
  // The hidden bit in `kept` adds one to a normal number's exponent field; a carry moves up by itself.
  std::uint64_t magnitude = kept + (normal ? static_cast<std::uint64_t>(exponent + bias - 1) << mantissa_bits : 0);
  if (magnitude > infinity) magnitude = infinity;
  return static_cast<std::uint16_t>(sign | magnitude);
}

// A double that rounds to 16 bits as the number itself would: 64-bit integers keep a sticky bit.
template <class T>
constexpr double sticky_double(T value) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    const bool negative = std::is_signed_v<T> && value < 0;
    const std::uint64_t magnitude =
        negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    if (magnitude >> 53) {
      const double scaled = static_cast<double>(magnitude >> 11 | ((magnitude & 2047) != 0)) * 2048.0;
      return negative ? -scaled : scaled;
    }
  }
  return static_cast<double>(value);
}

constexpr float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

}  // namespace detail

// IEEE binary16: 1 sign, 5 exponent, 10 mantissa bits.
class half {
 public:
  half() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr explicit half(T value) : bits_(detail::round_to_16_bits(detail::sticky_double(value), 5, 10)) {}
  static constexpr half from_bits(std::uint16_t bits) {
    half result{};
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }
  constexpr operator float() const { return detail::half_to_float(bits_); }
  constexpr half operator-() const { return from_bits(bits_ ^ 0x8000); }

 private:
  std::uint16_t bits_;
};

// bfloat16: 1 sign, 8 exponent, 7 mantissa bits; the upper half of a float.
class bfloat16 {
 public:
  bfloat16() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr explicit bfloat16(T value) : bits_(detail::round_to_16_bits(detail::sticky_double(value), 8, 7)) {}
  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result{};
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16); }
  constexpr bfloat16 operator-() const { return from_bits(bits_ ^ 0x8000); }

 private:
  std::uint16_t bits_;
};

static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<half> &&
              std::is_trivially_copyable_v<bfloat16>);

namespace detail {

template <class T, int MantissaBits, int MinExponent, int MaxExponent, std::uint16_t Min, std::uint16_t Max,
          std::uint16_t Lowest, std::uint16_t Epsilon, std::uint16_t RoundError, std::uint16_t Infinity>
struct SixteenBitLimits {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false,
                        is_bounded = true;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true, has_denorm_loss = false;
  static constexpr bool is_iec559 = true, is_modulo = false, traps = false, tinyness_before = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2, digits = MantissaBits + 1, digits10 = MantissaBits * 30103 / 100000;
  static constexpr int max_digits10 = 2 + digits * 30103 / 100000, min_exponent = MinExponent,
                       max_exponent = MaxExponent;
  static constexpr int min_exponent10 = (MinExponent - 1) * 30103 / 100000,
                       max_exponent10 = (MaxExponent - 1) * 30103 / 100000;
  static constexpr T min() noexcept { return T::from_bits(Min); }
  static constexpr T max() noexcept { return T::from_bits(Max); }
  static constexpr T lowest() noexcept { return T::from_bits(Lowest); }
  static constexpr T epsilon() noexcept { return T::from_bits(Epsilon); }
  static constexpr T round_error() noexcept { return T::from_bits(RoundError); }
  static constexpr T infinity() noexcept { return T::from_bits(Infinity); }
  static constexpr T quiet_NaN() noexcept { return T::from_bits(Infinity | 1 << (MantissaBits - 1)); }
  static constexpr T signaling_NaN() noexcept { return T::from_bits(Infinity | 1); }
  static constexpr T denorm_min() noexcept { return T::from_bits(1); }
};

}  // namespace detail
}  // namespace teeny

template <>
class std::numeric_limits<teeny::half>
    : public teeny::detail::SixteenBitLimits<teeny::half, 10, -13, 16, 0x0400, 0x7bff, 0xfbff, 0x1400, 0x3800, 0x7c00> {
};
template <>
class std::numeric_limits<teeny::bfloat16>
    : public teeny::detail::SixteenBitLimits<teeny::bfloat16, 7, -125, 128, 0x0080, 0x7f7f, 0xff7f, 0x3c00, 0x3f00,
                                             0x7f80> {};

// Equal values hash alike: +0 and -0 too.
template <>
struct std::hash<teeny::half> {
  std::size_t operator()(teeny::half value) const noexcept { return std::hash<float>{}(value); }
};
template <>
struct std::hash<teeny::bfloat16> {
  std::size_t operator()(teeny::bfloat16 value) const noexcept { return std::hash<float>{}(value); }
};
