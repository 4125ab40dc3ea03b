// Element-wise functions. Those of kinds unary and binary are made from the one list of operations.
#pragma once

#include <teeny/tl/operators.hpp>

namespace teeny::tl {

// A value next to a tensor of element type D and rank R: a tensor of at most that rank and any element type (converted,
// as Triton does), or a literal.
template <class D, int R>
class ValueArgument {
 public:
  ValueArgument() = default;
  template <class E, int S>
  ValueArgument(Tensor<E, S> tensor) : value(tensor.value()) {
    static_assert(S <= R, "teeny: the value has a higher rank than the pointers");
    static_assert(std::is_pointer_v<E> == std::is_pointer_v<D>,
                  "teeny: one of value and element type is a pointer, the other is not");
  }
  template <Literal T>
  ValueArgument(T literal, Location where = Location::current()) : value(record_literal(dtype_of<D>, literal, where)) {
    static_assert(!(Int<D> && std::floating_point<T>), "teeny: float literal for an integer element");
  }
  ValueArgument(Inf literal, Location where = Location::current()) requires Float<D>
      : value(record_literal(dtype_of<D>, literal, where)) {}
  ValueArgument(Nan literal, Location where = Location::current()) requires Float<D>
      : value(record_literal(dtype_of<D>, literal, where)) {}
  detail::Value value;
};

// ---- from the list
#define TEENY_UNARY(name, Concept, words)                                   \
  template <class D, int R>                                                 \
  Tensor<D, R> name(Tensor<D, R> x, Location where = Location::current()) { \
    static_assert(Concept, "teeny: " #name " needs " words);                \
    return {Raw{}, detail::unary(detail::Opcode::name, x.value(), where)};  \
  }
#define TEENY_UNARY_any(name)
#define TEENY_UNARY_special(name)
#define TEENY_UNARY_number(name) TEENY_UNARY(name, Numeric<D>, "a number")
#define TEENY_UNARY_floating(name) TEENY_UNARY(name, Float<D>, "a float tensor")
#define TEENY_UNARY_integer_or_bool(name) TEENY_UNARY(name, !Float<D>, "an integer or a mask")

#define TEENY_BINARY(name, family)                                                           \
  template <class A, int R, class B, int S>                                                  \
  auto name(Tensor<A, R> a, Tensor<B, S> b, Location where = Location::current()) {          \
    return detail_::apply<detail::Opcode::name, detail_::Family::family>(a, b, where);       \
  }                                                                                          \
  template <class A, int R, Literal T>                                                       \
  auto name(Tensor<A, R> a, T b, Location where = Location::current()) {                     \
    return detail_::apply_right<detail::Opcode::name, detail_::Family::family>(a, b, where); \
  }                                                                                          \
  template <class A, int R, Literal T>                                                       \
  auto name(T a, Tensor<A, R> b, Location where = Location::current()) {                     \
    return detail_::apply_left<detail::Opcode::name, detail_::Family::family>(a, b, where);  \
  }
#define TEENY_BINARY_special(name)
#define TEENY_BINARY_number(name) TEENY_BINARY(name, division)
#define TEENY_BINARY_integer(name) TEENY_BINARY(name, shift)
#define TEENY_BINARY_integer_or_bool(name) TEENY_BINARY(name, bits)

#define TEENY_KIND_unary(name, elements) TEENY_UNARY_##elements(name)
#define TEENY_KIND_binary(name, elements) TEENY_BINARY_##elements(name)
#define TEENY_KIND_comparison(name, elements)
#define TEENY_KIND_ternary(name, elements)
#define TEENY_KIND_leaf(name, elements)
#define TEENY_KIND_shape(name, elements)
#define TEENY_KIND_memory(name, elements)
#define TEENY_KIND_matrix(name, elements)
#define TEENY_KIND_region(name, elements)
#define TEENY_KIND_control(name, elements)
#define TEENY_KIND_hint(name, elements)
#define TEENY_KIND_debug(name, elements)
#define TEENY_OPERATION(name, kind, effect, operands, elements, meaning) TEENY_KIND_##kind(name, elements)
#include <teeny/detail/operations.def>

// ---- the rest
struct NanOptions {
  bool propagate_nan = false;  // a NaN operand gives NaN; otherwise it loses
};

#define TEENY_WITH_NAN(name)                                                                               \
  template <class A, int R, class B, int S>                                                                \
  auto name(Tensor<A, R> a, Tensor<B, S> b, NanOptions options, Location where = Location::current()) {    \
    detail_::check_operands<detail_::Family::division, A, B>();                                            \
    using P = promote_t<A, B>;                                                                             \
    return Tensor<P, detail_::larger(R, S)>(                                                               \
        Raw{}, detail::binary(detail::Opcode::name, a.value(), b.value(), dtype_of<P>, dtype_of<P>, where, \
                              options.propagate_nan));                                                     \
  }
TEENY_WITH_NAN(minimum)
TEENY_WITH_NAN(maximum)
#undef TEENY_WITH_NAN

// The quotient rounded up, of integers: (a + b - 1) / b.
template <class A, int R, class B, int S>
auto cdiv(Tensor<A, R> a, Tensor<B, S> b, Location where = Location::current()) {
  static_assert(Int<A> && Int<B>, "teeny: cdiv needs integers");
  detail_::check_operands<detail_::Family::division, A, B>();
  using P = promote_t<A, B>;
  return Tensor<P, detail_::larger(R, S)>(Raw{}, detail::ceiling_division(a.value(), b.value(), dtype_of<P>, where));
}
template <class A, int R, std::integral T>
auto cdiv(Tensor<A, R> a, T b, Location where = Location::current()) {
  return cdiv(a, Tensor<literal_t<A, T>, 0>(Raw{}, record_literal(dtype_of<literal_t<A, T>>, b, where)), where);
}
template <class A, int R, std::integral T>
auto cdiv(T a, Tensor<A, R> b, Location where = Location::current()) {
  return cdiv(Tensor<literal_t<A, T>, 0>(Raw{}, record_literal(dtype_of<literal_t<A, T>>, a, where)), b, where);
}
// The same words on host integers.
template <std::integral A, std::integral B>
constexpr auto cdiv(A a, B b) {
  return (a + b - 1) / b;
}
template <Literal A, Literal B>
constexpr auto minimum(A a, B b) {
  return a < b ? a : b;
}
template <Literal A, Literal B>
constexpr auto maximum(A a, B b) {
  return a < b ? b : a;
}

// x converted to another element type: cast<float>(x), cast<tl::f32>(x).
template <class T, class D, int R>
auto cast(Tensor<D, R> x, Location where = Location::current()) {
  using E = dtype_t<T>;
  static_assert(Element<E>, "teeny: cast<T>: T is not a dtype");
  static_assert(Element<D>, "teeny: cast of a pointer: use tl::bitcast");
  return Tensor<E, R>(Raw{}, detail::cast(x.value(), dtype_of<E>, where));
}

// The same bits as another type of the same width; a pointer as a pointer to E.
template <class T, class D, int R>
auto bitcast(Tensor<D, R> x, Location where = Location::current()) {
  using E = dtype_t<T>;
  static_assert(Element<E>, "teeny: bitcast<T>: T is not a dtype");
  if constexpr (std::is_pointer_v<D>) {
    using P = std::conditional_t<std::is_const_v<std::remove_pointer_t<D>>, const E*, E*>;
    return Tensor<P, R>(Raw{}, detail::bitcast(x.value(), element_type<P>, where));
  } else {
    static_assert(bits_of(dtype_of<E>) == bits_of(dtype_of<D>), "teeny: bitcast needs two dtypes of the same width");
    return Tensor<E, R>(Raw{}, detail::bitcast(x.value(), element_type<E>, where));
  }
}

namespace detail_ {
// One side of where: its element type when it meets the other side's.
template <class T>
struct Side {
  using type = host_t<T>;
  static constexpr int rank = 0;
  static constexpr bool literal = true;
};
template <>
struct Side<Inf> {
  using type = void;
  static constexpr int rank = 0;
  static constexpr bool literal = true;
};
template <>
struct Side<Nan> : Side<Inf> {};
template <class D, int R>
struct Side<Tensor<D, R>> {
  using type = D;
  static constexpr int rank = R;
  static constexpr bool literal = false;
};
template <class T>
using literal_default_t = std::conditional_t<std::floating_point<T>, float, typename Side<T>::type>;

template <class X, class Y>
consteval auto select_type() {
  using A = typename Side<X>::type;
  using B = typename Side<Y>::type;
  if constexpr (Side<X>::literal && Side<Y>::literal) {
    if constexpr (std::is_void_v<A> && std::is_void_v<B>) return std::type_identity<float>{};
    else if constexpr (std::is_void_v<A>) return std::type_identity<promote_t<float, literal_default_t<Y>>>{};
    else if constexpr (std::is_void_v<B>) return std::type_identity<promote_t<float, literal_default_t<X>>>{};
    else return std::type_identity<promote_t<literal_default_t<X>, literal_default_t<Y>>>{};
  } else if constexpr (Side<X>::literal) {
    if constexpr (std::is_void_v<A>) return std::type_identity<B>{};
    else return std::type_identity<promote_t<literal_t<B, X>, B>>{};
  } else if constexpr (Side<Y>::literal) {
    return select_type<Y, X>();
  } else if constexpr (std::is_pointer_v<A>) {
    static_assert(std::same_as<A, B>, "teeny: where: pointers of two types");
    return std::type_identity<A>{};
  } else {
    return std::type_identity<promote_t<A, B>>{};
  }
}
template <class D, class T>
detail::Value side(const T& value, Location where) {
  if constexpr (is_tensor<T>) return value.value();
  else return record_literal(dtype_of<D>, value, where);
}
}  // namespace detail_

// x where the mask holds, else y; x and y are promoted like the operands of +.
template <class C, int Q, class X, class Y>
auto where(Tensor<C, Q> condition, X x, Y y, Location where = Location::current()) {
  static_assert(std::same_as<C, bool>, "teeny: where: the condition must be a mask: write x != 0");
  using D = typename decltype(detail_::select_type<X, Y>())::type;
  constexpr int rank = detail_::larger(Q, detail_::larger(detail_::Side<X>::rank, detail_::Side<Y>::rank));
  const detail::Value a = detail_::side<D>(x, where), b = detail_::side<D>(y, where);
  return Tensor<D, rank>(Raw{},
                         detail::select(condition.value(), a, b, element_type<D>.dtype, std::is_pointer_v<D>, where));
}

// a * b + c rounded once.
template <class D, int R>
Tensor<D, R> fma(Tensor<D, R> a, std::type_identity_t<ValueArgument<D, R>> b,
                 std::type_identity_t<ValueArgument<D, R>> c, Location where = Location::current()) {
  static_assert(Float<D>, "teeny: fma needs a float tensor");
  return {Raw{}, detail::ternary(detail::Opcode::fma, a.value(), b.value, c.value, dtype_of<D>, where)};
}

// Tensors of one element type broadcast, whichever of them has the higher rank.
template <class D, int R, int S, int T>
Tensor<D, detail_::larger(R, detail_::larger(S, T))> fma(Tensor<D, R> a, Tensor<D, S> b, Tensor<D, T> c,
                                                         Location where = Location::current()) {
  static_assert(Float<D>, "teeny: fma needs a float tensor");
  return {Raw{}, detail::ternary(detail::Opcode::fma, a.value(), b.value(), c.value(), dtype_of<D>, where)};
}

// x limited to [low, high].
template <class D, int R>
Tensor<D, R> clamp(Tensor<D, R> x, std::type_identity_t<ValueArgument<D, R>> low,
                   std::type_identity_t<ValueArgument<D, R>> high, NanOptions options = {},
                   Location where = Location::current()) {
  static_assert(Float<D>, "teeny: clamp needs a float tensor; for integers use tl::minimum and tl::maximum");
  return {Raw{}, detail::ternary(detail::Opcode::clamp, x.value(), low.value, high.value, dtype_of<D>, where,
                                 options.propagate_nan)};
}

}  // namespace teeny::tl
