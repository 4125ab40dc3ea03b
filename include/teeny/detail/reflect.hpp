// Names and values of a kernel's constants, without a macro: structured bindings over the aggregate give the fields,
// and the compiler's own text of a pointer to a field gives its name.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <teeny/dtype.hpp>

namespace teeny::detail {

// A constant's value, for comparing and for people.
struct Constant {
  enum class Form : std::uint8_t { integer, unsigned_integer, floating, boolean, function } form = Form::integer;
  std::uint64_t bits = 0;  // the integer, or the bits of the value as a double
  bool operator==(const Constant&) const = default;
};

template <class T>
constexpr Constant constant_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) return {Constant::Form::boolean, value};
  else if constexpr (std::is_enum_v<T>) return constant_of(static_cast<std::underlying_type_t<T>>(value));
  else if constexpr (std::is_integral_v<T>)
    return {std::is_signed_v<T> ? Constant::Form::integer : Constant::Form::unsigned_integer,
            static_cast<std::uint64_t>(value)};
  else if constexpr (std::is_floating_point_v<T>)
    return {Constant::Form::floating, std::bit_cast<std::uint64_t>(static_cast<double>(value))};
  else {
    static_assert(
        std::is_empty_v<T>,
        "teeny: a kernel's constant must be a number, a bool, an enum or a function object without captures; pass "
        "run-time values as arguments");
    return {Constant::Form::function, 0};
  }
}

struct AnyField {
  template <class T>
  constexpr operator T() const;
};

inline constexpr int max_constants = 24;

template <class T, class... A>
consteval int field_count() {
  static_assert(sizeof...(A) <= max_constants, "teeny: a kernel has at most 24 constants");
  if constexpr (sizeof...(A) > max_constants) return 0;
  else if constexpr (requires { T{A{}..., AnyField{}}; }) return field_count<T, A..., AnyField>();
  else return sizeof...(A);
}

// Calls visit(field&…) with every field of an aggregate.
template <int N, class T, class F>
constexpr decltype(auto) with_fields(const T& t, F&& visit) {
#define TEENY_FIELDS(n, ...)       \
  else if constexpr (N == n) {     \
    const auto& [__VA_ARGS__] = t; \
    return visit(__VA_ARGS__);     \
  }
  if constexpr (N == 0) return visit();
  TEENY_FIELDS(1, a)
  TEENY_FIELDS(2, a, b)
  TEENY_FIELDS(3, a, b, c)
  TEENY_FIELDS(4, a, b, c, d)
  TEENY_FIELDS(5, a, b, c, d, e)
  TEENY_FIELDS(6, a, b, c, d, e, f)
  TEENY_FIELDS(7, a, b, c, d, e, f, g)
  TEENY_FIELDS(8, a, b, c, d, e, f, g, h)
  TEENY_FIELDS(9, a, b, c, d, e, f, g, h, i)
  TEENY_FIELDS(10, a, b, c, d, e, f, g, h, i, j)
  TEENY_FIELDS(11, a, b, c, d, e, f, g, h, i, j, k)
  TEENY_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  TEENY_FIELDS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  TEENY_FIELDS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  TEENY_FIELDS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  TEENY_FIELDS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  TEENY_FIELDS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  TEENY_FIELDS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  TEENY_FIELDS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  TEENY_FIELDS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u)
  TEENY_FIELDS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v)
  TEENY_FIELDS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w)
  TEENY_FIELDS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x)
  TEENY_FIELDS(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y)
#undef TEENY_FIELDS
}

template <class K>
consteval int constant_count() {
  if constexpr (std::is_empty_v<K>) return 0;
  constexpr int count = std::is_empty_v<K> ? 0 : field_count<K>();
  static_assert(
      std::is_empty_v<K> || count > 0,
      "teeny: a kernel is an aggregate of constants that all have defaults: a number, a bool, an enum or a function "
      "object without captures");
  return count;
}

template <class K>
constexpr std::array<Constant, constant_count<K>()> constants_of(const K& kernel) {
  if constexpr (std::is_empty_v<K>) return {};
  else
    return with_fields<constant_count<K>()>(
        kernel, [](const auto&... field) { return std::array<Constant, sizeof...(field)>{constant_of(field)...}; });
}

template <class T>
inline constexpr T specimen{};  // only its fields' addresses are used, by the compiler

// Not a string_view: g++ would add that name to the text.
template <auto* Pointer>
consteval const char* pointer_text() {
  return __PRETTY_FUNCTION__;
}

consteval bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

consteval std::string_view last_word(std::string_view text) {
  while (!text.empty() && !is_word(text.back())) text.remove_suffix(1);
  std::size_t length = 0;
  while (length < text.size() && is_word(text[text.size() - 1 - length])) ++length;
  return text.substr(text.size() - length);
}

template <std::size_t I, class T, class... Rest>
constexpr auto nth(T first, Rest... rest) {
  if constexpr (I == 0) return first;
  else return nth<I - 1>(rest...);
}

template <class K, std::size_t I>
consteval std::string_view constant_name() {
  constexpr auto* field =
      with_fields<constant_count<K>()>(specimen<K>, [](const auto&... fields) { return nth<I>(&fields...); });
  return last_word(pointer_text<field>());
}

template <class K>
consteval std::array<std::string_view, constant_count<K>()> constant_names() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::string_view, sizeof...(I)>{constant_name<K, I>()...};
  }
  (std::make_index_sequence<constant_count<K>()>{});
}

// The type's name as the compiler prints it: for people, never compared or hashed.
template <class T>
consteval std::string_view type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t start = text.find("T = ") + 4;
  return text.substr(start, text.find_first_of(";]", start) - start);
}

}  // namespace teeny::detail
