// Matrix products in the plain style of Triton's tutorial: pointers, masks, a loop over K, one dot.
#pragma once

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace teeny::kernels {

// What happens to a product's element before it is stored.
struct Identity {
  template <class T>
  auto operator()(T x) const {
    return x;
  }
};

// x * Φ(x), the exact form with erf.
struct Gelu {
  template <class T>
  auto operator()(T x) const {
    return x * 0.5 * (tl::erf(x * 0.70710678118654752) + 1.0);
  }
};

// c[m, n] = epilogue(a[m, k] · b[k, n] (+ bias[n])): row-major with the given row strides; summed in f32 (f64 for f64,
// i32 for integers), then converted to c's type. Grid: {ceil(n / BN), ceil(m / BM)}.
template <class Epilogue = Identity>
struct MatMul {
  int BM = 128, BN = 128, BK = 64;  // a CPU likes 256, 512, 128: its accumulator stays in the second-level cache
  int GROUP_M = 1;                  // rows of blocks that follow each other in the grid, so that they share operands in a cache
  int STAGES = 0;                   // of the loop over k; 0: the compiler's choice
  tl::Precision PRECISION = tl::Precision::ieee;  // of products of f32
  bool BIAS = false;                // bias is read only where this is set; pass any buffer otherwise
  Epilogue epilogue = {};
  TEENY_PARAMETERS(a, b, bias, c, m, n, k, stride_a, stride_b, stride_c);

  template <class D, class Out>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<const Out> bias, tl::Ptr<Out> c, tl::i32 m, tl::i32 n,
                  tl::i32 k, tl::i32 stride_a, tl::i32 stride_b, tl::i32 stride_c) const {
    tl::i32 row = tl::program_id(1), column = tl::program_id(0);
    if (GROUP_M > 1) {
      tl::i32 columns = tl::num_programs(0), program = row * columns + column;
      tl::i32 first = tl::div(program, columns * GROUP_M) * GROUP_M, rows = tl::minimum(tl::num_programs(1) - first, GROUP_M);
      row = first + program % (columns * GROUP_M) % rows;
      column = tl::div(program % (columns * GROUP_M), rows);
    }
    auto rm = row * BM + tl::arange(0, BM);
    auto rn = column * BN + tl::arange(0, BN);
    auto rk = tl::arange(0, BK);
    auto a_at = a + rm(tl::all, tl::none) * stride_a + rk(tl::none, tl::all);
    auto b_at = b + rk(tl::all, tl::none) * stride_b + rn(tl::none, tl::all);
    auto acc = tl::zeros<tl::accumulator_t<D>>({BM, BN});
    for (auto k0 : tl::range(0, k, BK, {.stages = STAGES})) {
      auto left = k - k0;
      auto a_mask = (rm < m)(tl::all, tl::none) & (rk < left)(tl::none, tl::all);
      auto b_mask = (rk < left)(tl::all, tl::none) & (rn < n)(tl::none, tl::all);
      auto av = tl::load(a_at, {.mask = a_mask, .other = 0});
      auto bv = tl::load(b_at, {.mask = b_mask, .other = 0});
      acc = tl::dot(av, bv, acc, {.precision = PRECISION});
      a_at += BK;
      b_at += BK * stride_b;
    }
    auto c_mask = (rm < m)(tl::all, tl::none) & (rn < n)(tl::none, tl::all);
    if (BIAS) acc = acc + tl::cast<tl::accumulator_t<D>>(tl::load(bias + rn, {.mask = rn < n})(tl::none, tl::all));
    tl::store(c + rm(tl::all, tl::none) * stride_c + rn(tl::none, tl::all), tl::cast<Out>(epilogue(acc)), {.mask = c_mask});
  }
};

}  // namespace teeny::kernels
