// Types of the kernel language: concepts over element types, promotion, literals.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <teeny/detail/recorder.hpp>
#include <teeny/element.hpp>

namespace teeny::tl {

using Location = detail::Location;
using teeny::Element;

template <class D>
concept Float = Element<D> && is_float(dtype_of<D>);
template <class D>
concept Int = Element<D> && is_integer(dtype_of<D>);
template <class D>
concept Numeric = Float<D> || Int<D>;
// A C++ number written in a body.
template <class T>
concept Literal = std::is_arithmetic_v<T>;

// Infinity and not-a-number of whatever float type the place asks for.
struct Inf {
  bool negative = false;
  constexpr Inf operator-() const { return {!negative}; }
};
struct Nan {};
inline constexpr Inf inf{};
inline constexpr Nan nan{};

// False, but only when instantiated.
template <class...>
inline constexpr bool never = false;

// bool < integer < float.
constexpr int kind_of(DType type) { return type == DType::boolean ? 0 : is_float(type) ? 2 : 1; }

// The element type of the host's number type T: by width, at least 32 bits for integers; double for double.
template <class T>
consteval DType host_dtype() {
  if constexpr (std::same_as<T, bool>) return DType::boolean;
  else if constexpr (std::floating_point<T>) return sizeof(T) == 4 ? DType::f32 : DType::f64;
  else if constexpr (std::is_signed_v<T>) return sizeof(T) <= 4 ? DType::i32 : DType::i64;
  else return sizeof(T) <= 4 ? DType::u32 : DType::u64;
}
template <class T>
using host_t = element_t<host_dtype<T>()>;

// Triton's promotion of two tensors: f64, f32, f16 win in this order; bf16 with anything else that is not bf16 gives
// f32; the wider integer, and of mixed signs the unsigned one unless the signed one is wider.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  if (a == DType::f32 || b == DType::f32) return DType::f32;
  if (a == DType::f16 || b == DType::f16) return DType::f16;
  if (a == DType::bf16 || b == DType::bf16) return DType::f32;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_signed_integer(a) == is_signed_integer(b)) return bits_of(a) >= bits_of(b) ? a : b;
  const DType with_sign = is_signed_integer(a) ? a : b, without = is_signed_integer(a) ? b : a;
  return bits_of(without) >= bits_of(with_sign) ? without : with_sign;
}
template <class A, class B>
using promote_t = element_t<promote(dtype_of<A>, dtype_of<B>)>;

// A literal next to a tensor takes the tensor's type unless its kind is higher; then a float literal is f32, double
// too, and an integer has the host's width.
template <class D, class T>
consteval DType literal_dtype() {
  constexpr DType host = host_dtype<T>();
  if (kind_of(host) <= kind_of(dtype_of<D>)) return dtype_of<D>;
  return std::floating_point<T> ? DType::f32 : host;
}
template <class D, class T>
using literal_t = element_t<literal_dtype<D, T>()>;

// What a C++ type says of its value.
template <class D>
consteval detail::ElementType make_element_type() {
  if constexpr (std::is_pointer_v<D>) {
    using P = std::remove_pointer_t<D>;
    return {dtype_of<std::remove_const_t<P>>, true, std::is_const_v<P>};
  } else {
    return {dtype_of<D>, false, false};
  }
}
template <class D>
inline constexpr detail::ElementType element_type = make_element_type<D>();

// A literal as a rank-0 value of type D; whether it fits is checked when recorded.
template <class T>
detail::Value record_literal(DType type, T value, Location where) {
  if constexpr (std::floating_point<T>) return detail::literal(type, static_cast<double>(value), where);
  else if constexpr (std::is_signed_v<T>) return detail::literal(type, static_cast<long long>(value), where);
  else return detail::literal(type, static_cast<unsigned long long>(value), where);
}
inline detail::Value record_literal(DType type, Inf value, Location where) {
  return detail::literal(type, value.negative ? -__builtin_inf() : __builtin_inf(), where);
}
inline detail::Value record_literal(DType type, Nan, Location where) {
  return detail::literal(type, __builtin_nan(""), where);
}

}  // namespace teeny::tl
