// Offsets of row-major blocks, for kernels of the cases.
#pragma once

#include <array>

#include "elementwise.hpp"

namespace teeny::conformance {

// The row-major index of every position of a block, [s0, …] i32, written out dimension by dimension.
template <int R>
tl::Tensor<std::int32_t, R> row_major(const std::array<int, R>& size) {
  if constexpr (R == 1) {
    return tl::arange(0, size[0]);
  } else if constexpr (R == 2) {
    return tl::arange(0, size[0])(tl::all, tl::none) * size[1] + tl::arange(0, size[1])(tl::none, tl::all);
  } else if constexpr (R == 3) {
    return (tl::arange(0, size[0])(tl::all, tl::none, tl::none) * size[1] +
            tl::arange(0, size[1])(tl::none, tl::all, tl::none)) *
               size[2] +
           tl::arange(0, size[2])(tl::none, tl::none, tl::all);
  } else {
    static_assert(R == 4);
    return ((tl::arange(0, size[0])(tl::all, tl::none, tl::none, tl::none) * size[1] +
             tl::arange(0, size[1])(tl::none, tl::all, tl::none, tl::none)) *
                size[2] +
            tl::arange(0, size[2])(tl::none, tl::none, tl::all, tl::none)) *
               size[3] +
           tl::arange(0, size[3])(tl::none, tl::none, tl::none, tl::all);
  }
}

// Stores a tensor's elements in row-major order from y on.
template <class D, int R>
void store_rows(tl::Ptr<D> y, tl::Tensor<D, R> value) {
  std::array<int, R> size{};
  for (int i = 0; i < R; ++i) size[i] = static_cast<int>(value.size(i));
  tl::store(y + row_major<R>(size), value);
}

// Notes the first element whose bits are not the expected ones.
template <class D>
void expect_bits(Verdict& verdict, const Host<D>& got, const Host<D>& expected, const std::string& where) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (std::memcmp(&got[i], &expected[i], sizeof got[i]) != 0)
      return verdict.fail(where + ", element " + std::to_string(i) + ": got " + text_of(real_of<D>(got[i])) +
                          ", expected " + text_of(real_of<D>(expected[i])));
}

}  // namespace teeny::conformance
