// Sources of values, and functions of shape. Sizes are host integers.
#pragma once

#include <teeny/tl/elementwise.hpp>

namespace teeny::tl {

// This program's index along an axis 0, 1, 2 of the grid.
inline i32 program_id(int axis, Location where = Location::current()) {
  return {Raw{}, detail::program_axis(detail::Opcode::program_id, axis, where)};
}
// The grid's size along an axis.
inline i32 num_programs(int axis, Location where = Location::current()) {
  return {Raw{}, detail::program_axis(detail::Opcode::num_programs, axis, where)};
}

// start, start + 1, …, end - 1.
inline Tensor<std::int32_t, 1> arange(int start, int end, Location where = Location::current()) {
  return {Raw{}, detail::arange(start, end, where)};
}

template <class T, int N>
auto full(const int (&shape)[N], std::type_identity_t<ValueArgument<dtype_t<T>, 0>> value,
          Location where = Location::current()) {
  using D = dtype_t<T>;
  return Tensor<D, N>(Raw{}, detail::full(detail::cast(value.value, dtype_of<D>, where), {shape, N}, where));
}
template <class T, int N>
auto zeros(const int (&shape)[N], Location where = Location::current()) {
  using D = dtype_t<T>;
  return Tensor<D, N>(Raw{}, detail::full(record_literal(dtype_of<D>, 0, where), {shape, N}, where));
}
template <class D, int R>
Tensor<D, R> zeros_like(Tensor<D, R> x, Location where = Location::current()) {
  return {Raw{}, detail::full_like(record_literal(dtype_of<D>, 0, where), x.value(), where)};
}

// A new dimension of size 1 at `axis`, 0 … R.
template <class D, int R>
Tensor<D, R + 1> expand_dims(Tensor<D, R> x, int axis, Location where = Location::current()) {
  return {Raw{}, detail::expand_dims(x.value(), axis, where)};
}

template <class D, int R, int N>
Tensor<D, N> broadcast_to(Tensor<D, R> x, const int (&shape)[N], Location where = Location::current()) {
  static_assert(R <= N, "teeny: broadcast_to: the shape has fewer dimensions than the tensor");
  return {Raw{}, detail::broadcast_to(x.value(), {shape, N}, where)};
}

// The same elements in row-major order.
template <class D, int R, int N>
Tensor<D, N> reshape(Tensor<D, R> x, const int (&shape)[N], Location where = Location::current()) {
  return {Raw{}, detail::reshape(x.value(), {shape, N}, where)};
}

// The last two dimensions exchanged.
template <class D, int R>
Tensor<D, R> trans(Tensor<D, R> x, Location where = Location::current()) {
  static_assert(R >= 2, "teeny: trans needs two dimensions or more");
  int order[R < 2 ? 2 : R];
  for (int i = 0; i < R; ++i) order[i] = i;
  order[R - 2] = R - 1;
  order[R - 1] = R - 2;
  return {Raw{}, detail::transpose(x.value(), {order, R}, where)};
}
// Dimension i of the result is dimension order[i] of x.
template <class D, int R, int N>
Tensor<D, R> trans(Tensor<D, R> x, const int (&order)[N], Location where = Location::current()) {
  static_assert(N == R, "teeny: trans: one entry of the order for each dimension");
  return {Raw{}, detail::transpose(x.value(), {order, N}, where)};
}

// Promises about a value, dimension by dimension; a false one is a fault that the checker reports.
template <class D, int R, int N>
Tensor<D, R> multiple_of(Tensor<D, R> x, const int (&divisors)[N], Location where = Location::current()) {
  static_assert(Int<D> || std::is_pointer_v<D>, "teeny: multiple_of needs integers or pointers");
  static_assert(N == (R == 0 ? 1 : R), "teeny: multiple_of: one divisor for each dimension");
  return {Raw{}, detail::hint(detail::Opcode::multiple_of, x.value(), {divisors, N}, where)};
}
template <class D, int R>
Tensor<D, R> multiple_of(Tensor<D, R> x, int divisor, Location where = Location::current()) {
  static_assert(Int<D> || std::is_pointer_v<D>, "teeny: multiple_of needs integers or pointers");
  static_assert(R <= 1, "teeny: multiple_of: one divisor for each dimension, {d0, d1}");
  return {Raw{}, detail::hint(detail::Opcode::multiple_of, x.value(), {&divisor, 1}, where)};
}
template <class D, int R, int N>
Tensor<D, R> max_contiguous(Tensor<D, R> x, const int (&lengths)[N], Location where = Location::current()) {
  static_assert(Int<D> || std::is_pointer_v<D>, "teeny: max_contiguous needs integers or pointers");
  static_assert(N == (R == 0 ? 1 : R), "teeny: max_contiguous: one length for each dimension");
  return {Raw{}, detail::hint(detail::Opcode::max_contiguous, x.value(), {lengths, N}, where)};
}
template <class D, int R>
Tensor<D, R> max_contiguous(Tensor<D, R> x, int length, Location where = Location::current()) {
  static_assert(Int<D> || std::is_pointer_v<D>, "teeny: max_contiguous needs integers or pointers");
  static_assert(R <= 1, "teeny: max_contiguous: one length for each dimension, {l0, l1}");
  return {Raw{}, detail::hint(detail::Opcode::max_contiguous, x.value(), {&length, 1}, where)};
}

}  // namespace teeny::tl
