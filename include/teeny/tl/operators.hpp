// Operators of run-time values, with Triton's promotion. What would mislead a C++ reader does not compile and says what
// to write.
#pragma once

#include <teeny/tl/tensor.hpp>

namespace teeny::tl {
namespace detail_ {

using detail::Opcode;

constexpr int larger(int a, int b) { return a > b ? a : b; }

enum class Family { arithmetic, division, bits, shift, comparison };

// The static checks of one operator on element types A and B.
template <Family F, class A, class B>
constexpr void check_operands() {
  constexpr bool pointers = std::is_pointer_v<A> || std::is_pointer_v<B>;
  static_assert(!pointers,
                "teeny: pointers take + and - with an integer offset, == and != with a pointer of the same type");
  if constexpr (!pointers) {
    constexpr bool mask_a = std::same_as<A, bool>, mask_b = std::same_as<B, bool>;
    if constexpr (F == Family::bits) {
      static_assert(!Float<A> && !Float<B>, "teeny: & | ^ << >> need integers or masks");
    } else if constexpr (F == Family::shift) {
      static_assert(Int<A> && Int<B>, "teeny: << >> need integers");
    } else if constexpr (F == Family::comparison) {
      static_assert(mask_a == mask_b,
                    "teeny: a mask compared with a number (a < b < c, or a precedence slip): use parentheses and &");
    } else {
      static_assert(!mask_a || !mask_b,
                    "teeny: arithmetic on two masks: use & | ^ ~, or tl::cast<std::int32_t>(mask) first");
      if constexpr (F == Family::division && Int<A> && Int<B>)
        static_assert(is_signed_integer(dtype_of<A>) == is_signed_integer(dtype_of<B>),
                      "teeny: division of a signed by an unsigned integer: cast one");
    }
  }
}

template <Opcode Op, Family F, class A, int R, class B, int S>
auto apply(const Tensor<A, R>& a, const Tensor<B, S>& b, Location where) {
  check_operands<F, A, B>();
  if constexpr (Element<A> && Element<B>) {
    using P = promote_t<A, B>;
    using Result = std::conditional_t<F == Family::comparison, bool, P>;
    return Tensor<Result, larger(R, S)>(Raw{},
                                        detail::binary(Op, a.value(), b.value(), dtype_of<P>, dtype_of<Result>, where));
  } else {
    return Tensor<bool, larger(R, S)>(Raw{}, {});
  }
}
template <Opcode Op, Family F, class A, int R, class T>
auto apply_right(const Tensor<A, R>& a, T literal, Location where) {
  if constexpr (Element<A>) {
    using L = literal_t<A, T>;
    return apply<Op, F>(a, Tensor<L, 0>(Raw{}, record_literal(dtype_of<L>, literal, where)), where);
  } else {
    return apply<Op, F>(a, Tensor<std::int32_t, 0>(Raw{}, {}), where);
  }
}
template <Opcode Op, Family F, class A, int R, class T>
auto apply_left(T literal, const Tensor<A, R>& a, Location where) {
  if constexpr (Element<A>) {
    using L = literal_t<A, T>;
    return apply<Op, F>(Tensor<L, 0>(Raw{}, record_literal(dtype_of<L>, literal, where)), a, where);
  } else {
    return apply<Op, F>(Tensor<std::int32_t, 0>(Raw{}, {}), a, where);
  }
}

template <class A, class B>
concept NoPointers = !std::is_pointer_v<A> && !std::is_pointer_v<B>;

template <class B>
constexpr void check_offset() {
  static_assert(Int<B>, "teeny: a pointer offset must be an integer tensor");
}

}  // namespace detail_

#define TEENY_OPERATOR(sign, opcode, family)                                                                           \
  template <class A, int R, class B, int S>                                                                            \
  requires detail_::NoPointers<A, B>                                                                                   \
  auto operator sign(Tensor<A, R> a, Tensor<B, S> b) {                                                                 \
    return detail_::apply<detail::Opcode::opcode, detail_::Family::family>(a, b, detail::later(a.value(), b.value())); \
  }                                                                                                                    \
  template <class A, int R, Literal T>                                                                                 \
  requires detail_::NoPointers<A, A>                                                                                   \
  auto operator sign(Tensor<A, R> a, T b) {                                                                            \
    return detail_::apply_right<detail::Opcode::opcode, detail_::Family::family>(a, b, detail::later(a.value()));      \
  }                                                                                                                    \
  template <class A, int R, Literal T>                                                                                 \
  requires detail_::NoPointers<A, A>                                                                                   \
  auto operator sign(T a, Tensor<A, R> b) {                                                                            \
    return detail_::apply_left<detail::Opcode::opcode, detail_::Family::family>(a, b, detail::later(b.value()));       \
  }
TEENY_OPERATOR(+, add, arithmetic)
TEENY_OPERATOR(-, sub, arithmetic)
TEENY_OPERATOR(*, mul, arithmetic)
TEENY_OPERATOR(%, rem, division)
TEENY_OPERATOR(&, bit_and, bits)
TEENY_OPERATOR(|, bit_or, bits)
TEENY_OPERATOR(^, bit_xor, bits)
TEENY_OPERATOR(<<, shl, shift)
TEENY_OPERATOR(>>, shr, shift)
TEENY_OPERATOR(<, lt, comparison)
TEENY_OPERATOR(<=, le, comparison)
TEENY_OPERATOR(>, gt, comparison)
TEENY_OPERATOR(>=, ge, comparison)
TEENY_OPERATOR(==, eq, comparison)
TEENY_OPERATOR(!=, ne, comparison)
#undef TEENY_OPERATOR

// `/` of two integers: C++ readers expect truncation, Triton gives a float. Neither is guessed.
#define TEENY_INTEGER_DIVISION(A, B)                                                                             \
  static_assert(!(Int<A> && Int<B>),                                                                             \
                "teeny: integer / integer is float in Triton and truncates in C++: write tl::div(a, b) for the " \
                "integer quotient "                                                                              \
                "or cast to a float")
template <class A, int R, class B, int S>
requires detail_::NoPointers<A, B>
auto operator/(Tensor<A, R> a, Tensor<B, S> b) {
  TEENY_INTEGER_DIVISION(A, B);
  return detail_::apply<detail::Opcode::div, detail_::Family::division>(a, b, detail::later(a.value(), b.value()));
}
template <class A, int R, Literal T>
requires detail_::NoPointers<A, A>
auto operator/(Tensor<A, R> a, T b) {
  TEENY_INTEGER_DIVISION(A, host_t<T>);
  return detail_::apply_right<detail::Opcode::div, detail_::Family::division>(a, b, detail::later(a.value()));
}
template <class A, int R, Literal T>
requires detail_::NoPointers<A, A>
auto operator/(T a, Tensor<A, R> b) {
  TEENY_INTEGER_DIVISION(host_t<T>, A);
  return detail_::apply_left<detail::Opcode::div, detail_::Family::division>(a, b, detail::later(b.value()));
}

// Comparison with infinity.
template <class A, int R>
requires Float<A>
auto operator==(Tensor<A, R> a, Inf b) {
  const Location where = detail::later(a.value());
  return detail_::apply<detail::Opcode::eq, detail_::Family::comparison>(
      a, Tensor<A, 0>(Raw{}, record_literal(dtype_of<A>, b, where)), where);
}

// ---- pointers
template <class A, int R, class B, int S>
requires std::is_pointer_v<A>
auto operator+(Tensor<A, R> pointer, Tensor<B, S> offset) {
  detail_::check_offset<B>();
  return Tensor<A, detail_::larger(R, S)>(Raw{}, detail::add_pointer(pointer.value(), offset.value(), false,
                                                                     detail::later(pointer.value(), offset.value())));
}
template <class A, int R, class B, int S>
requires std::is_pointer_v<A>
auto operator-(Tensor<A, R> pointer, Tensor<B, S> offset) {
  detail_::check_offset<B>();
  return Tensor<A, detail_::larger(R, S)>(Raw{}, detail::add_pointer(pointer.value(), offset.value(), true,
                                                                     detail::later(pointer.value(), offset.value())));
}
template <class A, int R, std::integral T>
requires std::is_pointer_v<A>
auto operator+(Tensor<A, R> pointer, T offset) {
  const Location where = detail::later(pointer.value());
  return Tensor<A, R>(
      Raw{}, detail::add_pointer(pointer.value(), record_literal(host_dtype<T>(), offset, where), false, where));
}
template <class A, int R, std::integral T>
requires std::is_pointer_v<A>
auto operator-(Tensor<A, R> pointer, T offset) {
  const Location where = detail::later(pointer.value());
  return Tensor<A, R>(
      Raw{}, detail::add_pointer(pointer.value(), record_literal(host_dtype<T>(), offset, where), true, where));
}

// ---- unary
template <class A, int R>
Tensor<A, R> operator-(Tensor<A, R> a) {
  static_assert(Numeric<A>, "teeny: unary - needs a number");
  return {Raw{}, detail::unary(detail::Opcode::neg, a.value(), detail::later(a.value()))};
}
template <class A, int R>
Tensor<A, R> operator~(Tensor<A, R> a) {
  static_assert(Int<A> || std::same_as<A, bool>, "teeny: ~ needs an integer or a mask");
  return {Raw{}, detail::unary(detail::Opcode::bit_not, a.value(), detail::later(a.value()))};
}

// ---- what exists only to say what to write instead
#define TEENY_NO_LOGIC(sign, instead)                                                           \
  template <class A, class B>                                                                   \
  requires(is_tensor<A> || is_tensor<B>) b1 operator sign(const A&, const B&) {                 \
    static_assert(never<A>, "teeny: '" #sign "' on run-time values: use '" instead              \
                            "' (both sides are always evaluated), or tl::if_ to guard a load"); \
    return b1{};                                                                                \
  }
TEENY_NO_LOGIC(&&, "&")
TEENY_NO_LOGIC(||, "|")
#undef TEENY_NO_LOGIC
template <class A, int R>
Tensor<bool, R> operator!(const Tensor<A, R>&) {
  static_assert(never<A>, "teeny: '!' on a run-time value: use ~ on a mask, or x == 0");
  return {};
}
#define TEENY_NO_STEP(sign, instead)                                                        \
  template <class A, int R>                                                                 \
  void operator sign(Tensor<A, R>&) {                                                       \
    static_assert(never<A>, "teeny: " #sign " on a run-time value: write x " instead " 1"); \
  }                                                                                         \
  template <class A, int R>                                                                 \
  void operator sign(Tensor<A, R>&, int) {                                                  \
    static_assert(never<A>, "teeny: " #sign " on a run-time value: write x " instead " 1"); \
  }
TEENY_NO_STEP(++, "+=")
TEENY_NO_STEP(--, "-=")
#undef TEENY_NO_STEP

}  // namespace teeny::tl
