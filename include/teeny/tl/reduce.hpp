// Matrix product, reductions and scans.
#pragma once

#include <tuple>
#include <utility>

#include <teeny/tl/memory.hpp>

namespace teeny::tl {

// How f32 operands of a dot are multiplied. ieee: f32 throughout; fast: rounded to tf32 (nearest, ties away); fast_x3:
// three such products.
enum class Precision : std::uint8_t { ieee, fast, fast_x3, tf32 = fast, tf32x3 = fast_x3 };

namespace detail_ {
// A precision that has to be said.
struct SaidPrecision {
  SaidPrecision(Precision said) : value(said) {}
  Precision value;
};
template <class A>
using dot_t = std::conditional_t<std::same_as<A, double>, double, std::conditional_t<Int<A>, std::int32_t, float>>;

template <class A, int R, class B, int S, class C, bool Said>
constexpr void check_dot() {
  static_assert(R == S && (R == 2 || R == 3),
                "teeny: dot: both operands have two dimensions, or three with a batch in front");
  static_assert(Element<A> && Element<B>, "teeny: dot needs tensors of numbers");
  static_assert(std::same_as<A, B>, "teeny: dot: both operands need one dtype: cast one with tl::cast<...>()");
  static_assert(Float<A> || std::same_as<A, std::int8_t>, "teeny: dot: operands are floats or std::int8_t");
  static_assert(std::same_as<C, dot_t<A>> || (std::same_as<C, half> && std::same_as<A, half>),
                "teeny: dot: the accumulator is float (double for double, std::int32_t for std::int8_t, teeny::half "
                "allowed for teeny::half)");
  static_assert(Said || !std::same_as<A, float>,
                "teeny: dot of f32 operands: say the precision, tl::dot(a, b, acc, {.precision = "
                "tl::Precision::ieee}); fast rounds "
                "operands to tf32");
}
}  // namespace detail_

// The element type in which a dot of A sums: float, double for double, std::int32_t for std::int8_t.
template <class A>
using accumulator_t = detail_::dot_t<A>;

struct DotOptions {
  detail_::SaidPrecision precision;
};

// a [.., M, K] times b [.., K, N] plus the accumulator [.., M, N]. The sum is f32 (f64 for f64, i32 for i8).
template <class A, int R, class B, int S, class C, int Q>
Tensor<C, R> dot(Tensor<A, R> a, Tensor<B, S> b, Tensor<C, Q> accumulator, DotOptions options,
                 Location where = Location::current()) {
  detail_::check_dot<A, R, B, S, C, true>();
  static_assert(Q == R, "teeny: dot: the accumulator has the rank of the operands");
  const int precision = std::same_as<A, float> ? static_cast<int>(options.precision.value) : 0;
  return {Raw{}, detail::dot(a.value(), b.value(), accumulator.value(), dtype_of<C>, precision, where)};
}
template <class A, int R, class B, int S, class C, int Q>
Tensor<C, R> dot(Tensor<A, R> a, Tensor<B, S> b, Tensor<C, Q> accumulator, Location where = Location::current()) {
  detail_::check_dot<A, R, B, S, C, false>();
  static_assert(Q == R, "teeny: dot: the accumulator has the rank of the operands");
  return {Raw{}, detail::dot(a.value(), b.value(), accumulator.value(), dtype_of<C>, 0, where)};
}
template <class A, int R, class B, int S>
auto dot(Tensor<A, R> a, Tensor<B, S> b, DotOptions options, Location where = Location::current()) {
  using C = detail_::dot_t<A>;
  detail_::check_dot<A, R, B, S, C, true>();
  const int precision = std::same_as<A, float> ? static_cast<int>(options.precision.value) : 0;
  return Tensor<C, R>(Raw{}, detail::dot(a.value(), b.value(), {}, dtype_of<C>, precision, where));
}
template <class A, int R, class B, int S>
auto dot(Tensor<A, R> a, Tensor<B, S> b, Location where = Location::current()) {
  using C = detail_::dot_t<A>;
  detail_::check_dot<A, R, B, S, C, false>();
  return Tensor<C, R>(Raw{}, detail::dot(a.value(), b.value(), {}, dtype_of<C>, 0, where));
}

// ---- reductions

// Which axis: {.axis = 0} or {0}; negative ones count from the last.
struct Axis {
  int axis;
};
struct KeepDims {};
inline constexpr KeepDims keep_dims{};  // the reduced axis stays, with size 1

namespace detail_ {

// Integers narrower than 32 bits are summed in 32 bits; a mask counts in i32.
template <class D>
using sum_t = element_t<dtype_of<D> == DType::boolean ? DType::i32
                        : is_integer(dtype_of<D>) && bits_of(dtype_of<D>) < 32
                            ? (is_signed_integer(dtype_of<D>) ? DType::i32 : DType::u32)
                            : dtype_of<D>>;
// max and min of anything narrower than 32 bits give i32 or f32.
template <class D>
using extreme_t = element_t<bits_of(dtype_of<D>) >= 32 ? dtype_of<D>
                            : is_float(dtype_of<D>)    ? DType::f32
                                                       : DType::i32>;
// argmax and argmin compare bf16 as f32.
template <class D>
using compared_t =
    std::conditional_t<std::same_as<D, bfloat16>, float, std::conditional_t<std::same_as<D, bool>, std::int32_t, D>>;
template <class D>
using position_t = std::int32_t;

}  // namespace detail_

#define TEENY_REDUCTION(name, result, accumulate)                                                                      \
  template <class D, int R>                                                                                            \
  auto name(Tensor<D, R> x, Location where = Location::current()) {                                                    \
    static_assert(Element<D>, "teeny: " #name " of pointers");                                                         \
    return Scalar<detail_::result<D>>(Raw{}, detail::reduce(#name, detail::Reduction::name, x.value(),                 \
                                                            dtype_of<detail_::accumulate<D>>, nullptr, false, where)); \
  }                                                                                                                    \
  template <class D, int R>                                                                                            \
  auto name(Tensor<D, R> x, Axis axis, Location where = Location::current()) {                                         \
    static_assert(R > 0, "teeny: " #name " of a scalar along an axis");                                                \
    return Tensor<detail_::result<D>, R - 1>(                                                                          \
        Raw{}, detail::reduce(#name, detail::Reduction::name, x.value(), dtype_of<detail_::accumulate<D>>, &axis.axis, \
                              false, where));                                                                          \
  }                                                                                                                    \
  template <class D, int R>                                                                                            \
  auto name(Tensor<D, R> x, Axis axis, KeepDims, Location where = Location::current()) {                               \
    static_assert(R > 0, "teeny: " #name " of a scalar along an axis");                                                \
    return Tensor<detail_::result<D>, R>(                                                                              \
        Raw{}, detail::reduce(#name, detail::Reduction::name, x.value(), dtype_of<detail_::accumulate<D>>, &axis.axis, \
                              true, where));                                                                           \
  }                                                                                                                    \
  template <class D, int R, class T>                                                                                   \
  requires(std::is_arithmetic_v<T> || is_tensor<T>) auto name(Tensor<D, R> x, T, Location = Location::current()) {     \
    static_assert(never<T>, "teeny: " #name " reduces: name the axis, " #name                                          \
                            "(x, {.axis = 0}); for two values element-wise use minimum or maximum");                   \
    return x;                                                                                                          \
  }
TEENY_REDUCTION(sum, sum_t, sum_t)
TEENY_REDUCTION(max, extreme_t, extreme_t)
TEENY_REDUCTION(min, extreme_t, extreme_t)
TEENY_REDUCTION(argmax, position_t, compared_t)
TEENY_REDUCTION(argmin, position_t, compared_t)
#undef TEENY_REDUCTION

struct ScanOptions {
  int axis;
  bool reverse = false;
};

// The running sum along an axis, inclusive; bf16 is summed in f32, narrow integers in 32 bits.
template <class D, int R>
auto cumsum(Tensor<D, R> x, ScanOptions options, Location where = Location::current()) {
  static_assert(R > 0 && Element<D>, "teeny: cumsum needs a tensor of numbers with an axis");
  using E = std::conditional_t<std::same_as<D, bfloat16>, float, detail_::sum_t<D>>;
  return Tensor<E, R>(Raw{}, detail::running_sum(x.value(), dtype_of<E>, options.axis, options.reverse, where));
}

// ---- any combine function

namespace detail_ {

// Runs the combine function in the region of a reduce (results of rank R - 1) or a scan (rank R).
template <int ResultRank, class F, class... D, int R>
std::tuple<Tensor<D, ResultRank>...> combine(Opcode opcode, const std::tuple<Tensor<D, R>...>& inputs, int axis,
                                             bool reverse, F& function, Location where) {
  static_assert(R > 0, "teeny: a scalar has no axis to combine along");
  static_assert(std::is_empty_v<F>, "teeny: a combine function captures nothing: write [](auto a, auto b) { ... }");
  constexpr int n = sizeof...(D);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const detail::Value in[] = {std::get<I>(inputs).value()...};
    detail::Value arguments[2 * n], out[n], results[n];
    detail::open_combine(opcode, in, n, axis, reverse, arguments, where);
    static_assert(std::is_invocable_v<F&, Scalar<D>..., Scalar<D>...>,
                  "teeny: the combine function takes all left values, then all right values");
    if constexpr (std::is_invocable_v<F&, Scalar<D>..., Scalar<D>...>) {
      auto result = function(Scalar<D>(Raw{}, arguments[I])..., Scalar<D>(Raw{}, arguments[n + I])...);
      using First = std::tuple_element_t<0, std::tuple<Scalar<D>...>>;
      if constexpr (n == 1 && is_tensor<decltype(result)>) {
        static_assert(std::same_as<decltype(result), First>,
                      "teeny: the combine function returns another dtype than it takes");
        out[0] = result.value();
      } else {
        static_assert(std::same_as<decltype(result), std::tuple<Scalar<D>...>>,
                      "teeny: the combine function returns std::tuple of the same dtypes as it takes");
        if constexpr (std::same_as<decltype(result), std::tuple<Scalar<D>...>>)
          ((out[I] = std::get<I>(result).value()), ...);
      }
    }
    detail::close_combine(out, results, n);
    return std::tuple<Tensor<D, ResultRank>...>(Tensor<D, ResultRank>(Raw{}, results[I])...);
  }
  (std::index_sequence_for<D...>{});
}

}  // namespace detail_

// Folds along an axis with an associative and commutative function of scalars.
template <class D, int R, class F>
Tensor<D, R - 1> reduce(Tensor<D, R> x, Axis axis, F function, Location where = Location::current()) {
  return std::get<0>(
      detail_::combine<R - 1>(detail::Opcode::reduce, std::tuple<Tensor<D, R>>(x), axis.axis, false, function, where));
}
// Several tensors together: the function takes all left values, then all right ones, and returns a std::tuple.
template <class... D, int R, class F>
std::tuple<Tensor<D, R - 1>...> reduce(std::tuple<Tensor<D, R>...> x, Axis axis, F function,
                                       Location where = Location::current()) {
  return detail_::combine<R - 1>(detail::Opcode::reduce, x, axis.axis, false, function, where);
}
// The running fold, inclusive, with an associative function.
template <class D, int R, class F>
Tensor<D, R> associative_scan(Tensor<D, R> x, ScanOptions options, F function, Location where = Location::current()) {
  return std::get<0>(detail_::combine<R>(detail::Opcode::scan, std::tuple<Tensor<D, R>>(x), options.axis,
                                         options.reverse, function, where));
}
template <class... D, int R, class F>
std::tuple<Tensor<D, R>...> associative_scan(std::tuple<Tensor<D, R>...> x, ScanOptions options, F function,
                                             Location where = Location::current()) {
  return detail_::combine<R>(detail::Opcode::scan, x, options.axis, options.reverse, function, where);
}

}  // namespace teeny::tl
