// Element-wise kernels, and kernels of random numbers and memory order.
#pragma once

#include <teeny/tl.hpp>

#include <teeny/kernel.hpp>

namespace kernels {
namespace tl = teeny::tl;

struct VectorAdd {
  int BLOCK = 1024;
  TEENY_PARAMETERS(x, y, out, n);
  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<const D> y, tl::Ptr<D> out, tl::i32 n) const {
    auto offsets = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = offsets < n;
    auto a = tl::load(x + offsets, {.mask = mask});
    auto b = tl::load(y + offsets, {.mask = mask});
    tl::store(out + offsets, a + b, {.mask = mask});
  }
};

// A function object or a captureless lambda over a block.
template <class F>
struct Map {
  int BLOCK = 64;
  F f = {};
  void operator()(tl::Ptr<float> x) const {
    auto c = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    tl::store(x + c, f(tl::load(x + c)));
  }
};
template <class F>
Map(int, F) -> Map<F>;

// Philox-4x32 written in the language itself.
template <int R>
struct Philox {
  tl::Tensor<std::uint32_t, R> c0, c1, c2, c3;
};
template <int R>
Philox<R> philox(tl::u64 seed, tl::Tensor<std::uint32_t, R> offset, int rounds = 10) {
  auto k0 = tl::cast<std::uint32_t>(seed), k1 = tl::cast<std::uint32_t>(seed >> 32);
  auto zero = tl::zeros_like(offset);
  Philox<R> s{offset, zero, zero, zero};
  for (int i = 0; i < rounds; ++i) {  // a host loop: unrolled
    auto c0 = s.c0, c2 = s.c2;
    s.c0 = tl::umulhi(0xCD9E8D57u, c2) ^ s.c1 ^ k0;
    s.c2 = tl::umulhi(0xD2511F53u, c0) ^ s.c3 ^ k1;
    s.c1 = 0xCD9E8D57u * c2;
    s.c3 = 0xD2511F53u * c0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return s;
}
template <int R>
auto uniform(tl::Tensor<std::uint32_t, R> x) {
  auto i = tl::bitcast<std::int32_t>(x);
  return tl::cast<float>(tl::where(i < 0, ~i, i)) * 4.6566127342e-10f;
}

struct Dropout {
  int BLOCK = 1024;
  TEENY_PARAMETERS(x, y, n, p, seed);
  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 n, tl::f32 p, tl::u64 seed) const {
    auto offsets = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = offsets < n;
    auto keep = uniform(philox(seed, tl::cast<std::uint32_t>(offsets)).c0) > p;
    auto v = tl::load(x + offsets, {.mask = mask});
    tl::store(y + offsets, tl::where(keep, v / (1 - p), 0), {.mask = mask});
  }
};

// Rotation of pairs of a row's halves; `stride` is the row pitch.
struct Rotary {
  int HALF = 32;
  bool BACKWARD = false;
  template <tl::Float D>
  void operator()(tl::Ptr<D> x, tl::Ptr<const float> cos, tl::Ptr<const float> sin, tl::i32 stride) const {
    auto row = tl::program_id(0);
    auto d = tl::arange(0, HALF);
    auto low = x + row * stride + d, high = low + HALF;
    auto c = tl::load(cos + row * HALF + d), s = tl::load(sin + row * HALF + d);
    if (BACKWARD) s = -s;
    auto a = tl::load(low), b = tl::load(high);
    tl::store(low, a * c - b * s);
    tl::store(high, b * c + a * s);
  }
};

struct Histogram {
  int BLOCK = 1024;
  void operator()(tl::Ptr<const std::uint8_t> x, tl::Ptr<std::int32_t> bins, tl::i64 n) const {
    auto offsets = tl::cast<std::int64_t>(tl::program_id(0)) * BLOCK + tl::arange(0, BLOCK);
    auto mask = offsets < n;
    tl::atomic_add(bins + tl::load(x + offsets, {.mask = mask}), 1, {.mask = mask, .order = tl::Order::relaxed});
  }
};

}  // namespace kernels
