// The arithmetic of tensor_machine.hpp: floats in double, rounded to their type after each operation; the rest in
// 64-bit integers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <teeny/half.hpp>

#include "lang/trace.hpp"

namespace tensor_machine {

using namespace teeny::trace;
using teeny::DType;

// A buffer of the test: numbers of one element type.
struct Memory {
  DType dtype = DType::f32;
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
  Memory(DType type, std::size_t size) : dtype(type) {
    teeny::is_float(type) ? floats.resize(size) : integers.resize(size);
  }
  std::size_t size() const { return floats.size() + integers.size(); }
};

inline double rounded(DType type, double x) {
  switch (type) {
    case DType::f16: return static_cast<float>(teeny::half(x));
    case DType::bf16: return static_cast<float>(teeny::bfloat16(x));
    case DType::f32: return static_cast<float>(x);
    default: return x;
  }
}
inline std::int64_t wrapped(DType type, std::int64_t x) {
  const int width = teeny::bits_of(type);
  if (width == 64) return x;
  const std::uint64_t low = static_cast<std::uint64_t>(x) & ((std::uint64_t{1} << width) - 1);
  if (teeny::is_signed_integer(type) && low >> (width - 1))
    return static_cast<std::int64_t>(low) - (std::int64_t{1} << width);
  return static_cast<std::int64_t>(low);
}

// Elements in row-major order: floats in f, everything else in i. A pointer is a buffer's number times 2^40 plus an
// index.
struct Value {
  std::vector<double> f;
  std::vector<std::int64_t> i;
};

inline void cast(DType from, DType to, const Value& in, std::size_t k, Value& out) {
  const bool from_float = teeny::is_float(from);
  if (teeny::is_float(to)) {
    const double wide = from_float           ? in.f[k]
                        : from == DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(in.i[k]))
                                             : static_cast<double>(in.i[k]);
    out.f.push_back(rounded(to, wide));
  } else if (to == DType::boolean) {
    out.i.push_back(from_float ? in.f[k] != 0 : in.i[k] != 0);
  } else if (from_float) {
    const int width = teeny::bits_of(to);
    const double low = teeny::is_signed_integer(to) ? -std::ldexp(1.0, width - 1) : 0;
    const double high = std::ldexp(1.0, teeny::is_signed_integer(to) ? width - 1 : width);
    const double x = std::trunc(in.f[k]);
    const std::int64_t largest = teeny::is_signed_integer(to)
                                     ? static_cast<std::int64_t>((std::uint64_t{1} << (width - 1)) - 1)
                                     : wrapped(to, -1);
    out.i.push_back(std::isnan(x) ? 0
                    : x < low     ? static_cast<std::int64_t>(low)
                    : x >= high   ? largest
                                  : static_cast<std::int64_t>(x));
  } else {
    out.i.push_back(wrapped(to, in.i[k]));
  }
}
inline void bitcast(DType from, DType to, const Value& in, std::size_t k, Value& out) {
  const std::int64_t bits = from == DType::f32 ? std::bit_cast<std::int32_t>(static_cast<float>(in.f[k])) : in.i[k];
  if (to == DType::f32) out.f.push_back(std::bit_cast<float>(static_cast<std::int32_t>(bits)));
  else out.i.push_back(wrapped(to, bits));
}
inline double function(Opcode opcode, double x) {
  switch (opcode) {
    case Opcode::neg: return -x;
    case Opcode::abs: return std::abs(x);
    case Opcode::exp: return std::exp(x);
    case Opcode::exp2: return std::exp2(x);
    case Opcode::log: return std::log(x);
    case Opcode::log2: return std::log2(x);
    case Opcode::sqrt: return std::sqrt(x);
    case Opcode::rsqrt: return 1 / std::sqrt(x);
    case Opcode::sin: return std::sin(x);
    case Opcode::cos: return std::cos(x);
    case Opcode::erf: return std::erf(x);
    case Opcode::tanh: return std::tanh(x);
    case Opcode::sigmoid: return 1 / (1 + std::exp(-x));
    case Opcode::floor: return std::floor(x);
    case Opcode::ceil: return std::ceil(x);
    default: throw std::runtime_error(std::string("not a function of floats: ") + info(opcode).name);
  }
}

template <class T>
inline bool compare(Opcode opcode, T x, T y) {
  switch (opcode) {
    case Opcode::lt: return x < y;
    case Opcode::le: return x <= y;
    case Opcode::gt: return x > y;
    case Opcode::ge: return x >= y;
    case Opcode::eq: return x == y;
    default: return x != y;
  }
}
inline double of_floats(const Operation& o, double x, double y) {
  switch (o.opcode) {
    case Opcode::add: return x + y;
    case Opcode::sub: return x - y;
    case Opcode::mul: return x * y;
    case Opcode::div: return x / y;
    case Opcode::rem: return std::fmod(x, y);
    case Opcode::minimum:
      return o.integers[0] && (x != x || y != y) ? std::numeric_limits<double>::quiet_NaN() : std::fmin(x, y);
    case Opcode::maximum:
      return o.integers[0] && (x != x || y != y) ? std::numeric_limits<double>::quiet_NaN() : std::fmax(x, y);
    default: throw std::runtime_error(std::string("not an operation of floats: ") + info(o.opcode).name);
  }
}
inline std::int64_t of_integers(Opcode opcode, DType dtype, std::int64_t x, std::int64_t y) {
  const bool is_signed = teeny::is_signed_integer(dtype);
  const int width = teeny::bits_of(dtype);
  const auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  switch (opcode) {
    case Opcode::add: return static_cast<std::int64_t>(u(x) + u(y));
    case Opcode::sub: return static_cast<std::int64_t>(u(x) - u(y));
    case Opcode::mul: return static_cast<std::int64_t>(u(x) * u(y));
    case Opcode::div:
      return y == 0       ? 0
             : !is_signed ? static_cast<std::int64_t>(u(x) / u(y))
             : y == -1    ? static_cast<std::int64_t>(0 - u(x))
                          : x / y;
    case Opcode::rem: return y == 0 ? 0 : !is_signed ? static_cast<std::int64_t>(u(x) % u(y)) : y == -1 ? 0 : x % y;
    case Opcode::bit_and: return x & y;
    case Opcode::bit_or: return x | y;
    case Opcode::bit_xor: return x ^ y;
    case Opcode::shl: return u(y) >= u(width) ? 0 : static_cast<std::int64_t>(u(x) << y);
    case Opcode::shr:
      return u(y) >= u(width) ? (is_signed && x < 0 ? -1 : 0)
             : is_signed      ? x >> y
                              : static_cast<std::int64_t>(u(x) >> y);
    case Opcode::minimum: return (is_signed ? x < y : u(x) < u(y)) ? x : y;
    case Opcode::maximum: return (is_signed ? x < y : u(x) < u(y)) ? y : x;
    case Opcode::umulhi: {
      const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
      return static_cast<std::int64_t>(static_cast<unsigned __int128>(u(x) & mask) * (u(y) & mask) >> width);
    }
    default: throw std::runtime_error(std::string("not an operation of integers: ") + info(opcode).name);
  }
}

}  // namespace tensor_machine
