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

// a[rm, begin … end] · b[begin … end, rn] in blocks of a kernel's constants, summed in accumulator_t<D>: BM x BN. What lies
// outside of m, n and end counts as 0.
template <class Kernel, class D, class Rows, class Columns>
auto product_of_block(const Kernel& block, tl::Ptr<const D> a, tl::Ptr<const D> b, Rows rm, Columns rn, tl::i32 m, tl::i32 n,
                      tl::i32 begin, tl::i32 end, tl::i32 stride_a, tl::i32 stride_b) {
  auto rk = begin + tl::arange(0, block.BK);
  auto a_at = a + rm(tl::all, tl::none) * stride_a + rk(tl::none, tl::all);
  auto b_at = b + rk(tl::all, tl::none) * stride_b + rn(tl::none, tl::all);
  auto acc = tl::zeros<tl::accumulator_t<D>>({block.BM, block.BN});
  auto steps = tl::arange(0, block.BK);
  for (auto k0 : tl::range(begin, end, block.BK, {.stages = block.STAGES})) {
    auto left = end - k0;
    auto a_mask = (rm < m)(tl::all, tl::none) & (steps < left)(tl::none, tl::all);
    auto b_mask = (steps < left)(tl::all, tl::none) & (rn < n)(tl::none, tl::all);
    auto av = tl::load(a_at, {.mask = a_mask, .other = 0});
    auto bv = tl::load(b_at, {.mask = b_mask, .other = 0});
    acc = tl::dot(av, bv, acc, {.precision = block.PRECISION});
    a_at += block.BK;
    b_at += block.BK * stride_b;
  }
  return acc;
}

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
    auto acc = product_of_block(*this, a, b, rm, rn, m, n, 0, k, stride_a, stride_b);
    auto c_mask = (rm < m)(tl::all, tl::none) & (rn < n)(tl::none, tl::all);
    if (BIAS) acc = acc + tl::cast<tl::accumulator_t<D>>(tl::load(bias + rn, {.mask = rn < n})(tl::none, tl::all));
    tl::store(c + rm(tl::all, tl::none) * stride_c + rn(tl::none, tl::all), tl::cast<Out>(epilogue(acc)), {.mask = c_mask});
  }
};

// How many programs should share one block's depth so that `blocks` of them fill a device of `units` multiprocessors: the
// smallest power of two that does, as long as each keeps eight turns of BK; 1 on a device whose units the blocks fill alone.
inline int split_of(std::int64_t blocks, std::int64_t units, std::int64_t k, int BK) {
  int split = 1;
  while (blocks * split * 2 <= units && k >= std::int64_t{split} * 2 * 8 * BK) split *= 2;
  return split;
}

// The same product where blocks are fewer than a device's multiprocessors: programs along z share the depth. Each writes its
// sums to partials[z, m, n] (of accumulator_t<D>); the last one of a block to arrive adds them up in the order of z, so that
// results do not depend on who is last, and sets the block's count back to 0. arrived: an i32 for each block, 0 before the
// first launch. Grid: {ceil(n / BN), ceil(m / BM), split}.
template <class Epilogue = Identity>
struct SplitMatMul {
  int BM = 64, BN = 64, BK = 64;
  int STAGES = 0;                                 // of the loop over k; 0: the compiler's choice
  tl::Precision PRECISION = tl::Precision::ieee;  // of products of f32
  bool BIAS = false;                              // bias is read only where this is set; pass any buffer otherwise
  Epilogue epilogue = {};
  TEENY_PARAMETERS(a, b, bias, c, partials, arrived, m, n, k, stride_a, stride_b, stride_c);

  template <class D, class Out>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<const Out> bias, tl::Ptr<Out> c,
                  tl::Ptr<tl::accumulator_t<D>> partials, tl::Ptr<std::int32_t> arrived, tl::i32 m, tl::i32 n, tl::i32 k,
                  tl::i32 stride_a, tl::i32 stride_b, tl::i32 stride_c) const {
    tl::i32 row = tl::program_id(1), column = tl::program_id(0), split = tl::num_programs(2);
    auto rm = row * BM + tl::arange(0, BM);
    auto rn = column * BN + tl::arange(0, BN);
    tl::i32 depth = tl::cdiv(tl::cdiv(k, BK), split) * BK;
    tl::i32 begin = tl::program_id(2) * depth;
    auto acc = product_of_block(*this, a, b, rm, rn, m, n, begin, tl::minimum(begin + depth, k), stride_a, stride_b);
    auto c_mask = (rm < m)(tl::all, tl::none) & (rn < n)(tl::none, tl::all);
    auto part = partials + rm(tl::all, tl::none) * n + rn(tl::none, tl::all);
    tl::store(part + tl::program_id(2) * (m * n), acc, {.mask = c_mask});
    tl::barrier();
    auto count = arrived + (row * tl::num_programs(0) + column);
    tl::i32 before = tl::atomic_add(count, 1);
    tl::if_(before == split - 1, [&] {
      tl::barrier();
      auto sum = tl::zeros<tl::accumulator_t<D>>({BM, BN});
      for (auto z : tl::range(0, split)) sum = sum + tl::load(part + z * (m * n), {.mask = c_mask, .other = 0});
      if (BIAS) sum = sum + tl::cast<tl::accumulator_t<D>>(tl::load(bias + rn, {.mask = rn < n})(tl::none, tl::all));
      tl::store(c + rm(tl::all, tl::none) * stride_c + rn(tl::none, tl::all), tl::cast<Out>(epilogue(sum)), {.mask = c_mask});
      tl::store(count, 0);
    });
  }
};

}  // namespace teeny::kernels
