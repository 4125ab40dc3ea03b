#include "elementwise.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace teeny::conformance {

namespace {

using Wide = __int128;
constexpr Real nan_value = std::numeric_limits<Real>::quiet_NaN();
constexpr Real infinity = std::numeric_limits<Real>::infinity();

struct Format {
  int digits;           // of the significand, the hidden one included
  int lowest_exponent;  // of the smallest normal number, 2^lowest_exponent
  int highest_exponent;
};
Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {11, -14, 15};
    case DType::bf16:
      return {8, -126, 127};
    case DType::f32:
      return {24, -126, 127};
    default:
      return {53, -1022, 1023};
  }
}

// The unit in the last place at a finite value.
Real ulp_at(const Format& format, Real value) {
  const int exponent = value == 0 ? format.lowest_exponent : std::max(std::ilogb(value), format.lowest_exponent);
  return std::ldexp(Real(1), std::min(exponent, format.highest_exponent) - format.digits + 1);
}

Real largest(const Format& format) {
  return std::ldexp(2 - std::ldexp(Real(1), 1 - format.digits), format.highest_exponent);
}

// A value of an integer type, wrapped.
Real wrapped(DType dtype, Wide value) {
  const int bits = bits_of(dtype);
  const unsigned __int128 low =
      static_cast<unsigned __int128>(value) & ((static_cast<unsigned __int128>(1) << bits) - 1);
  if (dtype == DType::boolean) return value & 1;
  if (is_signed_integer(dtype) && low >> (bits - 1))
    return static_cast<Real>(static_cast<Wide>(low) - (static_cast<Wide>(1) << bits));
  return static_cast<Real>(static_cast<std::uint64_t>(low));
}

Real rounded(DType dtype, Real value) { return round_to(dtype, value); }

// a + b with every lost bit kept in the last one, so that one more rounding to a narrower format is the only one.
Real sum_for_rounding(Real a, Real b) {
  const Real sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const Real back = sum - a, rest = (a - (sum - back)) + (b - back);
  if (rest == 0) return sum;
  const Real step = std::ldexp(Real(1), std::ilogb(sum) - std::numeric_limits<Real>::digits + 1);
  const bool odd = std::fmod(sum / step, Real(2)) != 0;
  if (odd) return sum;
  return (rest > 0) ? sum + step : sum - step;
}

double bound_of(Operation operation, DType dtype) {  // docs/math.md, devices with a fused multiply-add
  if (bits_of(dtype) == 16) return 0.501;
  switch (operation) {
    case Operation::exp:
    case Operation::exp2:
    case Operation::log:
      return 1.25;
    case Operation::rsqrt:
      return 1.5;
    case Operation::log2:
      return 1.75;
    case Operation::erf:
      return 2;
    case Operation::tanh:
      return 2.25;
    default:
      return 2.5;
  }
}

Real extreme(Real a, Real b, bool larger, bool propagate_nan) {
  if (std::isnan(a) || std::isnan(b)) return propagate_nan ? nan_value : std::isnan(a) ? b : a;
  if (a == 0 && b == 0) return (larger ? std::signbit(a) : std::signbit(b)) ? b : a;
  return (larger ? a > b : a < b) ? a : b;
}

std::optional<Expected> integer_binary(Operation operation, DType dtype, Wide a, Wide b) {
  const int bits = bits_of(dtype);
  const Wide mask = (static_cast<Wide>(1) << bits) - 1;
  const Wide distance = b & mask;
  Wide result = 0;
  switch (operation) {
    case Operation::add:
      result = a + b;
      break;
    case Operation::sub:
      result = a - b;
      break;
    case Operation::mul:
      result = static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
      break;
    case Operation::div:
      result = b == 0 ? 0 : a / b;
      break;
    case Operation::rem:
      result = b == 0 ? 0 : a % b;
      break;
    case Operation::bit_and:
      result = a & b;
      break;
    case Operation::bit_or:
      result = a | b;
      break;
    case Operation::bit_xor:
      result = a ^ b;
      break;
    case Operation::shl:
      result =
          distance >= bits ? 0 : static_cast<Wide>(static_cast<unsigned __int128>(a) << static_cast<int>(distance));
      break;
    case Operation::shr:
      result = distance >= bits ? (a < 0 ? -1 : 0) : a >> static_cast<int>(distance);
      break;
    case Operation::minimum:
      result = a < b ? a : b;
      break;
    case Operation::maximum:
      result = a > b ? a : b;
      break;
    case Operation::umulhi:
      result = static_cast<Wide>(static_cast<unsigned __int128>(a & mask) * static_cast<unsigned __int128>(b & mask) >>
                                 bits);
      break;
    default:
      return std::nullopt;
  }
  return Expected{wrapped(dtype, result)};
}

}  // namespace

Real round_to(DType dtype, Real value) {
  if (!is_float(dtype) || !std::isfinite(value) || value == 0) return value;
  const Format format = format_of(dtype);
  const Real unit = ulp_at(format, value);
  const Real result = std::nearbyint(value / unit) * unit;  // exact but for the rounding: a division by a power of two
  if (std::abs(result) > largest(format)) return std::copysign(infinity, value);
  return result == 0 ? std::copysign(Real(0), value) : result;
}

std::optional<Expected> unary_reference(Operation operation, DType dtype, Real x) {
  if (!is_float(dtype)) {
    const Wide value = static_cast<Wide>(x);
    switch (operation) {
      case Operation::neg:
        return Expected{wrapped(dtype, -value)};
      case Operation::abs:
        return Expected{wrapped(dtype, value < 0 ? -value : value)};
      case Operation::bit_not:
        return Expected{wrapped(dtype, ~value)};
      default:
        return std::nullopt;
    }
  }
  const double bound = bound_of(operation, dtype);
  switch (operation) {
    case Operation::neg:
      return Expected{-x};
    case Operation::abs:
      return Expected{std::abs(x)};
    case Operation::floor:
      return Expected{std::floor(x)};
    case Operation::ceil:
      return Expected{std::ceil(x)};
    case Operation::sqrt:
      return Expected{dtype == DType::f64 ? std::sqrt(static_cast<double>(x)) : rounded(dtype, std::sqrt(x))};
    case Operation::exp:
      return Expected{std::exp(x), bound};
    case Operation::exp2:
      return Expected{std::exp2(x), bound};
    case Operation::log:
      return Expected{std::log(x), bound};
    case Operation::log2:
      return Expected{std::log2(x), bound};
    case Operation::rsqrt:
      return Expected{1 / std::sqrt(x), bound};
    case Operation::sin:
      return Expected{std::sin(x), bound};
    case Operation::cos:
      return Expected{std::cos(x), bound};
    case Operation::erf:
      return Expected{std::erf(x), bound};
    case Operation::tanh:
      return Expected{std::tanh(x), bound};
    case Operation::sigmoid:
      return Expected{1 / (1 + std::exp(-x)), bound};
    default:
      return std::nullopt;
  }
}

std::optional<Expected> binary_reference(Operation operation, DType dtype, Real a, Real b, bool propagate_nan) {
  if (!is_float(dtype)) return integer_binary(operation, dtype, static_cast<Wide>(a), static_cast<Wide>(b));
  const bool is_double = dtype == DType::f64;
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  switch (operation) {
    case Operation::add:
      return Expected{is_double ? x + y : rounded(dtype, sum_for_rounding(a, b))};
    case Operation::sub:
      return Expected{is_double ? x - y : rounded(dtype, sum_for_rounding(a, -b))};
    case Operation::mul:
      return Expected{is_double ? x * y : rounded(dtype, a * b)};
    case Operation::div:
      return Expected{is_double ? x / y : rounded(dtype, a / b)};
    case Operation::rem:
      return Expected{std::fmod(a, b)};
    case Operation::minimum:
      return Expected{extreme(a, b, false, propagate_nan), 0, !propagate_nan};
    case Operation::maximum:
      return Expected{extreme(a, b, true, propagate_nan), 0, !propagate_nan};
    default:
      return std::nullopt;
  }
}

std::optional<bool> comparison_reference(Operation operation, Real a, Real b) {
  switch (operation) {
    case Operation::lt:
      return a < b;
    case Operation::le:
      return a <= b;
    case Operation::gt:
      return a > b;
    case Operation::ge:
      return a >= b;
    case Operation::eq:
      return a == b;
    case Operation::ne:
      return a != b;
    default:
      return std::nullopt;
  }
}

std::optional<Expected> ternary_reference(Operation operation, DType dtype, Real a, Real b, Real c,
                                          bool propagate_nan) {
  switch (operation) {
    case Operation::where:
      return Expected{a != 0 ? b : c};
    case Operation::fma:
      if (dtype == DType::f64)
        return Expected{std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c))};
      if (dtype == DType::f32)
        return Expected{std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))};
      return Expected{rounded(dtype, sum_for_rounding(a * b, c))};
    case Operation::clamp:  // a limited to [b, c]
      if (std::isnan(a)) return Expected{propagate_nan ? nan_value : b};
      return Expected{a < b ? b : a > c ? c : a, 0, true};
    default:
      return std::nullopt;
  }
}

Expected cast_reference(DType from, DType to, Real x) {
  if (to == DType::boolean) return {x != 0 ? Real(1) : Real(0)};
  if (is_float(to)) return {rounded(to, x)};
  if (!is_float(from)) return {wrapped(to, static_cast<Wide>(x))};
  if (std::isnan(x)) return {0};
  const int value_bits = bits_of(to) - (is_signed_integer(to) ? 1 : 0);
  const Real high = static_cast<Real>(value_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << value_bits) - 1);
  const Real low = is_signed_integer(to) ? -high - 1 : 0;
  const Real whole = std::trunc(x);
  return {whole < low ? low : whole > high ? high : whole == 0 ? Real(0) : whole};
}

bool is_right(DType dtype, Real got, const Expected& expected) {
  if (std::isnan(expected.value)) return std::isnan(got);
  if (std::isnan(got)) return false;
  if (expected.ulps == 0) {
    if (got != expected.value) return false;
    return got != 0 || expected.any_zero || !is_float(dtype) || std::signbit(got) == std::signbit(expected.value);
  }
  const Format format = format_of(dtype);
  if (std::isinf(expected.value)) return got == expected.value;
  const Real slack = Real(expected.ulps) * ulp_at(format, expected.value);
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(expected.value) && std::abs(expected.value) + slack > largest(format);
  return std::abs(got - expected.value) <= slack;
}

namespace {

template <class D>
Real read(const void* elements, std::size_t index) {
  Stored<D> value;
  std::memcpy(&value, static_cast<const std::byte*>(elements) + index * sizeof value, sizeof value);
  return real_of<D>(value);
}

}  // namespace

void compare_with_reference(Verdict& verdict, DType dtype, const void* got, std::size_t count, const std::string& where,
                            const ExpectedAt& expected) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Expected> want = expected(i);
    if (!want) return verdict.fail("the operation has no independent reference");
    const Real value = dispatch(dtype, all_types, [&]<class D> { return read<D>(got, i); });
    if (is_right(dtype, value, *want)) continue;
    return verdict.fail(where + ", element " + std::to_string(i) + ": got " + text_of(value) + ", expected " +
                        text_of(want->value) + " by the reference" +
                        (want->ulps > 0 ? " within " + text_of(want->ulps) + " ulp" : ""));
  }
}

std::string text_of(Real value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.21Lg", value);
  return text;
}

}  // namespace teeny::conformance
