// Run-time values of a kernel body: tl::Tensor<D, R>. Each C++ object is a variable of the recording.
//
// The location of an operator is found without debug information: operands are taken by value, and the copy constructor
// has a defaulted location, so a named operand is copied at the line of its use and a temporary carries the line that
// made it.
#pragma once

#include <teeny/tl/types.hpp>

namespace teeny::tl {

struct Raw {};  // builds a tensor from a recorder's value; not for kernels
struct All {};
struct None {};
inline constexpr All all{};  // x(tl::all, tl::none) is Triton's x[:, None]
inline constexpr None none{};

template <class D, int R>
class Tensor;

template <class T>
inline constexpr bool is_tensor = false;
template <class D, int R>
inline constexpr bool is_tensor<Tensor<D, R>> = true;

// tl::cast<tl::f32> and tl::cast<float> are one.
namespace detail_ {
template <class T>
struct ElementTypeOf {
  using type = T;
};
template <class D>
struct ElementTypeOf<Tensor<D, 0>> {
  using type = D;
};
}  // namespace detail_
template <class T>
using dtype_t = typename detail_::ElementTypeOf<T>::type;

// A literal for a variable whose shape is known: `acc = 0.0f`, `m = -tl::inf`, `p += 1`.
template <class D>
class Fill {
 public:
  template <Literal T>
  Fill(T literal, Location where = Location::current()) : value(record_literal(dtype_of<D>, literal, where)) {
    static_assert(kind_of(host_dtype<T>()) <= kind_of(dtype_of<D>),
                  "teeny: a float literal cannot be assigned to an integer tensor");
  }
  Fill(Inf literal, Location where = Location::current()) requires Float<D>
      : value(record_literal(dtype_of<D>, literal, where)) {}
  Fill(Nan literal, Location where = Location::current()) requires Float<D>
      : value(record_literal(dtype_of<D>, literal, where)) {}
  detail::Value value;
};
struct NoFill {};

namespace detail_ {
template <class D>
concept ElementOrPointer =
    Element<D> || (std::is_pointer_v<D> && Element<std::remove_const_t<std::remove_pointer_t<D>>>);
// The type of D op E, or void where one is a pointer.
template <class D, class E>
consteval auto promoted() {
  if constexpr (Element<D> && Element<E>) return std::type_identity<promote_t<D, E>>{};
  else return std::type_identity<void>{};
}
template <class D>
using fill_t = std::conditional_t<Element<D>, Fill<std::conditional_t<Element<D>, D, std::int32_t>>, NoFill>;
template <class D>
using offset_fill_t = Fill<std::conditional_t<Element<D>, D, std::int32_t>>;
template <detail::Opcode Op, class D, class E>
constexpr void check_compound() {
  using detail::Opcode;
  if constexpr (std::is_pointer_v<D>) {
    static_assert(Op == Opcode::add || Op == Opcode::sub, "teeny: pointers take += and -= only");
    static_assert(Int<E>, "teeny: a pointer offset must be an integer tensor");
  } else if constexpr (Op == Opcode::bit_and || Op == Opcode::bit_or || Op == Opcode::bit_xor) {
    static_assert(!Float<D> && !Float<E>, "teeny: & | ^ << >> need integers or masks");
  } else if constexpr (Op == Opcode::shl || Op == Opcode::shr) {
    static_assert(Int<D> && Int<E>, "teeny: << >> need integers");
  } else {
    static_assert(!std::same_as<D, bool>,
                  "teeny: arithmetic on a mask: use & | ^ ~, or tl::cast<std::int32_t>(mask) first");
    if constexpr (Op == Opcode::div)
      static_assert(!(Int<D> && Int<E>),
                    "teeny: integer / integer is float in Triton and truncates in C++: write tl::div(a, b) for the "
                    "integer quotient "
                    "or cast to a float");
    if constexpr (Op == Opcode::rem && Int<D> && Int<E>)
      static_assert(is_signed_integer(dtype_of<D>) == is_signed_integer(dtype_of<E>),
                    "teeny: division of a signed by an unsigned integer: cast one");
  }
}
}  // namespace detail_

#define TEENY_CONST_ASSIGNMENT(type) \
  static_assert(                     \
      never<type>,                   \
      "teeny: assignment to a const tensor: declare the variable with auto, not const auto, and capture with [&]")

// A tensor of R dimensions of element type D, or of pointers for D = E*. Its shape is a list of host integers, known
// while recording. Copying makes a new variable; assigning never changes the element type or the rank.
template <class D, int R>
class Tensor {
  static_assert(
      detail_::ElementOrPointer<D>,
      "teeny: not a dtype: use bool, std::int8_t ... std::uint64_t, float, double, teeny::half or teeny::bfloat16");

 public:
  static constexpr int rank = R;
  using dtype = D;

  // No value yet; reading it is an error.
  Tensor(Location where = Location::current()) : value_(detail::undefined(element_type<D>, R, where)) {}
  Tensor(const Tensor& other, Location where = Location::current())
      : value_(detail::copy(other.value_, element_type<D>, R, where)) {}
  Tensor(Raw, detail::Value value) : value_(value) {}
  template <Literal T>
  requires(R == 0 && Element<D>) Tensor(T literal, Location where = Location::current())
      : value_(record_literal(dtype_of<D>, literal, where)) {
    static_assert(kind_of(host_dtype<T>()) <= kind_of(dtype_of<D>),
                  "teeny: a float literal cannot become an integer or bool value");
  }
  Tensor(Inf literal, Location where = Location::current()) requires(R == 0 && Float<D>)
      : value_(record_literal(dtype_of<D>, literal, where)) {}
  Tensor(Nan literal, Location where = Location::current()) requires(R == 0 && Float<D>)
      : value_(record_literal(dtype_of<D>, literal, where)) {}
  ~Tensor() {}  // not trivial: no unused-variable warning on a recorded value

  Tensor& operator=(Tensor other) & {
    detail::assign(value_, other.value_);
    return *this;
  }
  Tensor& operator=(std::conditional_t<R != 0, detail_::fill_t<D>, NoFill> literal) & {
    if constexpr (R != 0 && Element<D>) detail::assign_filled(value_, literal.value);
    return *this;
  }
  template <class E, int S>
  requires(!(std::same_as<D, E> && R == S) && !std::derived_from<Tensor<E, S>, Tensor>) Tensor& operator=(
      Tensor<E, S>) & {
    static_assert(S == R, "teeny: assignment changes the rank of a variable");
    static_assert(S != R || std::same_as<D, E>,
                  "teeny: assignment changes the dtype of a variable; write variable = tl::cast<dtype>(value)");
    return *this;
  }
  void operator=(Tensor) const& { TEENY_CONST_ASSIGNMENT(D); }
  void operator=(std::conditional_t<R != 0, detail_::fill_t<D>, NoFill>) const& { TEENY_CONST_ASSIGNMENT(D); }

#define TEENY_COMPOUND(sign, opcode)                                                                                \
  template <class E, int S>                                                                                         \
  requires(!std::is_pointer_v<E>) Tensor& operator sign(Tensor<E, S> operand)& {                                    \
    detail_::check_compound<detail::Opcode::opcode, D, E>();                                                        \
    static_assert(S <= R, "teeny: compound assignment changes the rank of a variable");                             \
    static_assert(std::is_pointer_v<D> || std::same_as<typename decltype(detail_::promoted<D, E>())::type, D>,      \
                  "teeny: compound assignment changes the dtype of a variable; write x = tl::cast<dtype>(x op y)"); \
    record_compound(detail::Opcode::opcode, operand.value());                                                       \
    return *this;                                                                                                   \
  }                                                                                                                 \
  Tensor& operator sign(detail_::offset_fill_t<D> literal)& {                                                       \
    detail_::check_compound<detail::Opcode::opcode, D, std::conditional_t<Element<D>, D, std::int32_t>>();          \
    record_compound(detail::Opcode::opcode, literal.value);                                                         \
    return *this;                                                                                                   \
  }                                                                                                                 \
  template <class E, int S>                                                                                         \
  void operator sign(Tensor<E, S>) const& {                                                                         \
    TEENY_CONST_ASSIGNMENT(E);                                                                                      \
  }
  TEENY_COMPOUND(+=, add)
  TEENY_COMPOUND(-=, sub)
  TEENY_COMPOUND(*=, mul)
  TEENY_COMPOUND(/=, div)
  TEENY_COMPOUND(%=, rem)
  TEENY_COMPOUND(&=, bit_and)
  TEENY_COMPOUND(|=, bit_or)
  TEENY_COMPOUND(^=, bit_xor)
  TEENY_COMPOUND(<<=, shl)
  TEENY_COMPOUND(>>=, shr)
#undef TEENY_COMPOUND

  template <class B>
  requires std::same_as<B, bool>
  explicit operator B() const {
    static_assert(
        never<B>,
        "teeny: a run-time value used as a C++ condition (if, ?:, while, !, std::max): use tl::if_, tl::where, "
        "tl::maximum, ~");
    return false;
  }

  // New dimensions of size 1 at each tl::none.
  template <class... I>
  requires(sizeof...(I) > 0) Tensor < D, static_cast<int>(sizeof...(I))
  > operator()(I...) const {
    static_assert(((std::same_as<I, All> || std::same_as<I, None>)&&...),
                  "teeny: index with tl::all and tl::none only");
    static_assert((0 + ... + (std::same_as<I, All> ? 1 : 0)) == R, "teeny: one tl::all for each dimension");
    std::uint32_t added = 0;
    int position = 0;
    ((added |= (std::same_as<I, None> ? 1u : 0u) << position++), ...);
    return {Raw{}, detail::insert_dimensions(value_, added, static_cast<int>(sizeof...(I)), detail::later(value_))};
  }

  // The host's number of elements along a dimension.
  long long size(int axis) const { return detail::size(value_, axis); }
  detail::Value value() const { return value_; }

 protected:
  detail::Value value_;

 private:
  void record_compound(detail::Opcode opcode, detail::Value operand) {
    if constexpr (std::is_pointer_v<D>) {
      detail::compound_pointer(value_, operand, opcode == detail::Opcode::sub);
    } else {
      detail::compound(opcode, value_, operand, dtype_of<D>);
    }
  }
};

// A pointer to mutable is a pointer to const: D of Ptr<const D> is deduced from both.
template <class D, int R>
requires(!std::is_const_v<D>) class Tensor<D*, R> : public Tensor<const D*, R> {
  using Base = Tensor<const D*, R>;

 public:
  using dtype = D*;
  Tensor(Location where = Location::current()) : Base(Raw{}, detail::undefined(element_type<D*>, R, where)) {}
  Tensor(const Tensor& other, Location where = Location::current())
      : Base(Raw{}, detail::copy(other.value_, element_type<D*>, R, where)) {}
  Tensor(Raw raw, detail::Value value) : Base(raw, value) {}
  Tensor& operator=(Tensor other) & {
    detail::assign(this->value_, other.value_);
    return *this;
  }
  void operator=(Tensor) const& { TEENY_CONST_ASSIGNMENT(D); }
  template <class E, int S>
  Tensor& operator+=(Tensor<E, S> offset) & {
    check_offset<E, S>();
    detail::compound_pointer(this->value_, offset.value(), false);
    return *this;
  }
  template <class E, int S>
  Tensor& operator-=(Tensor<E, S> offset) & {
    check_offset<E, S>();
    detail::compound_pointer(this->value_, offset.value(), true);
    return *this;
  }
  Tensor& operator+=(Fill<std::int32_t> offset) & {
    detail::compound_pointer(this->value_, offset.value, false);
    return *this;
  }
  Tensor& operator-=(Fill<std::int32_t> offset) & {
    detail::compound_pointer(this->value_, offset.value, true);
    return *this;
  }

 private:
  template <class E, int S>
  static constexpr void check_offset() {
    static_assert(Int<E>, "teeny: a pointer offset must be an integer tensor");
    static_assert(S <= R, "teeny: += changes the rank of a pointer variable; write p2 = p + offsets");
  }
};

template <class D>
using Scalar = Tensor<D, 0>;
template <class D>
using Ptr = Tensor<D*, 0>;
template <int R>
using Mask = Tensor<bool, R>;

using b1 = Scalar<bool>;
using i8 = Scalar<std::int8_t>;
using i16 = Scalar<std::int16_t>;
using i32 = Scalar<std::int32_t>;
using i64 = Scalar<std::int64_t>;
using u8 = Scalar<std::uint8_t>;
using u16 = Scalar<std::uint16_t>;
using u32 = Scalar<std::uint32_t>;
using u64 = Scalar<std::uint64_t>;
using f16 = Scalar<half>;
using bf16 = Scalar<bfloat16>;
using f32 = Scalar<float>;
using f64 = Scalar<double>;

}  // namespace teeny::tl
