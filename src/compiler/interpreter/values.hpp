// Run-time values of the interpreter: element kinds, exact conversions and roundings, and tensors with their shadows.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace teeny::compiler::interpreter {

// What an element is. Signless, as in tt: the sign lives in the operations. `pointer` is a 64-bit address.
enum class Kind : std::uint8_t { i1, i8, i16, i32, i64, f16, bf16, f32, f64, pointer };

constexpr int width_of(Kind kind) {
  constexpr int widths[] = {1, 8, 16, 32, 64, 16, 16, 32, 64, 64};
  return widths[static_cast<int>(kind)];
}
// Bytes in memory; an i1 takes one byte.
constexpr int bytes_of(Kind kind) { return kind == Kind::i1 ? 1 : width_of(kind) / 8; }
constexpr bool is_float(Kind kind) { return kind >= Kind::f16 && kind <= Kind::f64; }

constexpr std::uint64_t low_mask(int width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}
constexpr std::int64_t sign_extend(std::uint64_t bits, int width) {
  return static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width);
}

// The nearest value of a binary format with `exponent_bits` and `mantissa_bits` (hidden bit not counted), ties to even,
// or the next one toward zero; subnormals are kept, overflow gives infinity (toward zero: the largest finite value),
// a NaN stays a quiet NaN with the top of its payload. The result is the format's bit pattern.
std::uint64_t round_to_format(double value, int exponent_bits, int mantissa_bits, bool toward_zero = false);
// The exact value of such a pattern.
double value_of_format(std::uint64_t bits, int exponent_bits, int mantissa_bits);

// a * b + c with the last bit made odd where inexact, so that rounding once more to f16 or bf16 rounds correctly.
// Needs a * b exact in double: operands of at most 26 bits.
double multiply_add_to_odd(double a, double b, double c);

// Reading and writing an element of a float kind: `Real` computes so that one operation followed by put() rounds once.
// f16 and bf16 compute in double: with 53 >= 2 * 11 + 2 bits and a wider exponent range, + - * / sqrt round correctly.
template <Kind K>
struct Element;
template <>
struct Element<Kind::f32> {
  using Real = float;
  static Real get(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
  static std::uint64_t put(Real value) { return std::bit_cast<std::uint32_t>(value); }
  static std::uint64_t fused(Real a, Real b, Real c) { return put(std::fma(a, b, c)); }
};
template <>
struct Element<Kind::f64> {
  using Real = double;
  static Real get(std::uint64_t bits) { return std::bit_cast<double>(bits); }
  static std::uint64_t put(Real value) { return std::bit_cast<std::uint64_t>(value); }
  static std::uint64_t fused(Real a, Real b, Real c) { return put(std::fma(a, b, c)); }
};
template <>
struct Element<Kind::f16> {
  using Real = double;
  static Real get(std::uint64_t bits) { return value_of_format(bits, 5, 10); }
  static std::uint64_t put(Real value) { return round_to_format(value, 5, 10); }
  static std::uint64_t fused(Real a, Real b, Real c) { return put(multiply_add_to_odd(a, b, c)); }
};
template <>
struct Element<Kind::bf16> {
  using Real = double;
  static Real get(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  static std::uint64_t put(Real value) { return round_to_format(value, 8, 7); }
  static std::uint64_t fused(Real a, Real b, Real c) { return put(multiply_add_to_odd(a, b, c)); }
};

// The value of an element as a double: exact for floats and for integers up to 53 bits (signed reading; i1 is 0 or 1).
double to_double(Kind kind, std::uint64_t bits);
// The element of a kind nearest to a double; integers round to nearest and saturate.
std::uint64_t from_double(Kind kind, double value);

// How far index arithmetic of a width left its range: (exact value - value) >> width, reading operands as signed and as
// unsigned. Both zero: nothing was lost.
struct Overflow {
  std::int32_t as_signed = 0;
  std::int32_t as_unsigned = 0;
  bool any() const { return as_signed != 0 || as_unsigned != 0; }
};

// A scalar or tensor: one 64-bit word an element in row-major order, bits zero-extended. A descriptor is the words
// [address, padding is NaN, shape…, strides…]. Shadows are empty where every element is clean.
struct Value {
  std::vector<std::uint64_t> bits;
  std::vector<std::uint32_t> undefined;  // 1 + index of the instruction that made the element undefined; 0: defined
  std::vector<Overflow> overflow;
  std::vector<double> radius;  // allowed distance of another device's value from this one

  std::size_t size() const { return bits.size(); }
  bool has_shadow() const { return !undefined.empty() || !overflow.empty() || !radius.empty(); }
  void clear_shadow() {
    undefined.clear();
    overflow.clear();
    radius.clear();
  }
  std::uint32_t undefined_at(std::size_t i) const {
    return undefined.empty() ? 0 : undefined[undefined.size() == 1 ? 0 : i];
  }
  double radius_at(std::size_t i) const { return radius.empty() ? 0.0 : radius[radius.size() == 1 ? 0 : i]; }
  Overflow overflow_at(std::size_t i) const {
    return overflow.empty() ? Overflow{} : overflow[overflow.size() == 1 ? 0 : i];
  }
};

}  // namespace teeny::compiler::interpreter
