// Kernels that together use every operation of the language, for tests of completeness.
#pragma once

#include <tuple>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace kernels {
namespace tl = teeny::tl;

// Element-wise functions and operators of floats: BLOCK inputs in x, one row of BLOCK results for each function in y.
struct EveryFloatFunction {
  static constexpr int functions = 31;
  int BLOCK = 64;
  TEENY_PARAMETERS(x, y);
  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y) const {
    auto c = tl::arange(0, BLOCK);
    auto v = tl::load(x + c), w = tl::load(x + (BLOCK - 1) - c);
    tl::Tensor<D, 1> results[] = {tl::exp(v),
                                  tl::exp2(v),
                                  tl::log(v),
                                  tl::log2(v),
                                  tl::sqrt(v),
                                  tl::rsqrt(v),
                                  tl::sin(v),
                                  tl::cos(v),
                                  tl::erf(v),
                                  tl::tanh(v),
                                  tl::sigmoid(v),
                                  tl::floor(v),
                                  tl::ceil(v),
                                  tl::abs(v),
                                  -v,
                                  v + w,
                                  v - w,
                                  v * w,
                                  v / w,
                                  v % w,
                                  tl::minimum(v, w),
                                  tl::maximum(v, w),
                                  tl::minimum(v, w, {.propagate_nan = true}),
                                  tl::maximum(v, w, {.propagate_nan = true}),
                                  tl::fma(v, w, 1),
                                  tl::clamp(v, -1, 1),
                                  tl::clamp(v, -1, w, {.propagate_nan = true}),
                                  tl::where(v < w, v, w),
                                  tl::where((v <= w) | (v != v), 1, w),
                                  tl::where((v > w) ^ (v == w), v, 0),
                                  tl::where(~(v >= w), tl::inf, v)};
    for (int i = 0; i < functions; ++i) tl::store(y + i * BLOCK + c, results[i]);
  }
};

// The same for integers; 32- and 64-bit ones have umulhi in the last row, the others a copy.
struct EveryIntegerFunction {
  static constexpr int functions = 19;
  int BLOCK = 64;
  TEENY_PARAMETERS(x, y);
  template <tl::Int D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y) const {
    auto c = tl::arange(0, BLOCK);
    auto v = tl::load(x + c), w = tl::load(x + (BLOCK - 1) - c);
    auto high = v;
    if constexpr (sizeof(D) >= 4) high = tl::umulhi(v, w);
    tl::Tensor<D, 1> results[] = {v + w,
                                  v - w,
                                  v * w,
                                  tl::div(v, w),
                                  v % w,
                                  v & w,
                                  v | w,
                                  v ^ w,
                                  v << (w & 3),
                                  v >> (w & 3),
                                  ~v,
                                  -v,
                                  tl::abs(v),
                                  tl::minimum(v, w),
                                  tl::maximum(v, w),
                                  tl::cdiv(v, w),
                                  tl::where(v < w, v, w),
                                  tl::where(v >= w, v, 1),
                                  high};
    for (int i = 0; i < functions; ++i) tl::store(y + i * BLOCK + c, results[i]);
  }
};

// Every conversion from one type, and its bits as an integer of the same width.
struct EveryCast {
  int BLOCK = 64;
  template <tl::Element From, tl::Element To>
  void operator()(tl::Ptr<const From> x, tl::Ptr<To> y) const {
    auto c = tl::arange(0, BLOCK);
    tl::store(y + c, tl::cast<To>(tl::load(x + c)));
  }
};
struct EveryBitcast {
  int BLOCK = 64;
  void operator()(tl::Ptr<const float> x, tl::Ptr<std::uint32_t> y) const {
    auto c = tl::arange(0, BLOCK);
    tl::store(y + c, tl::bitcast<std::uint32_t>(tl::load(x + c)));
    tl::store(tl::bitcast<float>(y) + BLOCK + c, tl::load(tl::bitcast<float>(x) + c));
  }
};

// Shapes: each result is a [ROWS, COLS] or [COLS, ROWS] block of y.
struct EveryShape {
  int ROWS = 4, COLS = 8;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y) const {
    auto r = tl::arange(0, ROWS), c = tl::arange(0, COLS);
    auto at = r(tl::all, tl::none) * COLS + c(tl::none, tl::all);
    auto turned = c(tl::all, tl::none) * ROWS + r(tl::none, tl::all);
    auto v = tl::load(x + at);
    const int size = ROWS * COLS;
    tl::store(y + turned, tl::trans(v));
    tl::store(y + size + turned, tl::reshape(v, {COLS, ROWS}));
    tl::store(y + 2 * size + at, tl::broadcast_to(tl::expand_dims(tl::cast<float>(c), 0), {ROWS, COLS}));
    tl::store(y + 3 * size + at, tl::full<float>({ROWS, COLS}, 1.5) + tl::zeros_like(v));
    tl::store(y + 4 * size + at, tl::trans(tl::trans(v, {1, 0}), {1, 0}));
  }
};

// Reductions along both axes and over all of a [ROWS, COLS] tile; scans both ways.
struct EveryReduction {
  int ROWS = 4, COLS = 8;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::Ptr<std::int32_t> where) const {
    auto r = tl::arange(0, ROWS), c = tl::arange(0, COLS);
    auto at = r(tl::all, tl::none) * COLS + c(tl::none, tl::all);
    auto v = tl::load(x + at);
    tl::store(y, tl::sum(v));
    tl::store(y + 1, tl::max(v));
    tl::store(y + 2, tl::min(v));
    tl::store(where, tl::argmax(v));
    tl::store(where + 1, tl::argmin(v));
    tl::store(where + 2 + r, tl::argmax(v, {.axis = 1}));
    tl::store(where + 2 + ROWS + c, tl::argmin(v, {.axis = 0}));
    tl::store(y + 3 + c, tl::sum(v, {.axis = 0}));
    tl::store(y + 3 + COLS + r, tl::max(v, {.axis = -1}));
    auto product = tl::reduce(v, {.axis = 0}, [](auto a, auto b) { return a * b; });
    tl::store(y + 3 + COLS + ROWS + c, product);
    auto scans = y + 64;
    tl::store(scans + at, tl::cumsum(v, {.axis = 1}));
    tl::store(scans + ROWS * COLS + at, tl::cumsum(v, {.axis = 0, .reverse = true}));
    auto largest = tl::associative_scan(v, {.axis = 1}, [](auto a, auto b) { return tl::maximum(a, b); });
    tl::store(scans + 2 * ROWS * COLS + at, largest);
  }
};

// Every atomic on one cell each of `cells` (8 words), from one lane; the old values go to `old`.
struct EveryAtomic {
  void operator()(tl::Ptr<std::int32_t> cells, tl::Ptr<std::int32_t> old) const {
    auto a = tl::atomic_add(cells, 5);
    auto b = tl::atomic_max(cells + 1, 7);
    auto c = tl::atomic_min(cells + 2, -7);
    auto d = tl::atomic_and(cells + 3, 12);
    auto e = tl::atomic_or(cells + 4, 3);
    auto f = tl::atomic_xor(cells + 5, 6);
    auto g = tl::atomic_xchg(cells + 6, 9, {.mask = true, .order = tl::Order::relaxed, .scope = tl::Scope::system});
    auto h = tl::atomic_cas(cells + 7, 0, 1, {.order = tl::Order::acquire});
    tl::i32 values[] = {a, b, c, d, e, f, g, h};
    for (int i : tl::static_range(8)) tl::store(old + i, values[i]);
  }
};

// Hints, assertions, printing, cache hints and a barrier.
struct EveryHint {
  int BLOCK = 64;
  void operator()(tl::Ptr<float> x, tl::i32 n, tl::i32 stride) const {
    tl::static_check(BLOCK % 16 == 0, "BLOCK must be a multiple of 16");
    stride = tl::multiple_of(stride, 16);
    tl::assume(n > 0);
    auto c = tl::max_contiguous(tl::multiple_of(tl::program_id(0) * BLOCK + tl::arange(0, BLOCK), BLOCK), BLOCK);
    auto v = tl::load(x + c, {.mask = c < n, .cache = tl::Cache::cg, .evict = tl::Evict::first});
    tl::device_assert(v == v, "not a number", {.mask = c < n});
    tl::if_(n > 1000000000, [&] { tl::device_print("sum ", tl::sum(v), tl::num_programs(0)); });
    tl::barrier();
    auto p = x + stride + c;
    tl::store(p, v, {.mask = c < n, .cache = tl::Cache::wt, .evict = tl::Evict::last});
    for (auto i : tl::range(0, n, {.stages = 2, .unroll = 4})) tl::store(x + i, tl::load(x + i, {.is_volatile = true}));
  }
};

}  // namespace kernels
