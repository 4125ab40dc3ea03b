// Kernels around a matrix product. Every dot of floats says its precision, a constant of the kernel.
#pragma once

#include <utility>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace kernels {
namespace tl = teeny::tl;

struct Identity {
  auto operator()(auto x) const { return x; }
};
struct Relu {
  auto operator()(auto x) const { return tl::maximum(x, 0); }
};
struct Gelu {
  auto operator()(auto x) const { return 0.5 * x * (1 + tl::erf(x * 0.70710678)); }
};

// c = epilogue(a b): a is [m, k], b [k, n], c [m, n], in rows of the given pitches. Programs are grouped in GROUP_M
// rows of tiles.
template <class Epilogue = Identity>
struct MatMul {
  int BM = 128, BN = 128, BK = 32, GROUP_M = 8, STAGES = 0;
  tl::Precision PRECISION = tl::Precision::ieee;
  Epilogue epilogue = {};
  TEENY_PARAMETERS(a, b, c, m, n, k, stride_am, stride_bk, stride_cm);
  template <tl::Element A, tl::Element C>
  void operator()(tl::Ptr<const A> a, tl::Ptr<const A> b, tl::Ptr<C> c, tl::i32 m, tl::i32 n, tl::i32 k,
                  tl::i32 stride_am, tl::i32 stride_bk, tl::i32 stride_cm) const {
    auto [pid_m, pid_n] = grouped(tl::program_id(0), tl::cdiv(m, BM), tl::cdiv(n, BN));
    auto rm = (pid_m * BM + tl::arange(0, BM)) % m;
    auto rn = (pid_n * BN + tl::arange(0, BN)) % n;
    auto rk = tl::arange(0, BK);
    auto a_ptrs = a + rm(tl::all, tl::none) * stride_am + rk(tl::none, tl::all);
    auto b_ptrs = b + rk(tl::all, tl::none) * stride_bk + rn(tl::none, tl::all);
    auto acc = tl::zeros<tl::accumulator_t<A>>({BM, BN});
    for (auto k0 : tl::range(0, k, BK, {.stages = STAGES})) {
      acc = tl::dot(tl::load(a_ptrs, {.mask = rk(tl::none, tl::all) < k - k0, .other = 0}),
                    tl::load(b_ptrs, {.mask = rk(tl::all, tl::none) < k - k0, .other = 0}), acc,
                    {.precision = PRECISION});
      a_ptrs += BK;
      b_ptrs += BK * stride_bk;
    }
    auto out = epilogue(acc);
    auto cm = pid_m * BM + tl::arange(0, BM), cn = pid_n * BN + tl::arange(0, BN);
    auto mask = (cm < m)(tl::all, tl::none) & (cn < n)(tl::none, tl::all);
    tl::store(c + cm(tl::all, tl::none) * stride_cm + cn(tl::none, tl::all), out, {.mask = mask});
  }
  std::pair<tl::i32, tl::i32> grouped(tl::i32 pid, tl::i32 pids_m, tl::i32 pids_n) const {
    auto in_group = GROUP_M * pids_n;
    auto first = tl::div(pid, in_group) * GROUP_M;
    auto rows = tl::minimum(pids_m - first, GROUP_M);
    return {first + (pid % in_group) % rows, tl::div(pid % in_group, rows)};
  }
};

// c = a b^T with tensor descriptors; b is [n, k].
struct MatMulDescriptor {
  int BM = 64, BN = 64, BK = 32;
  tl::Precision PRECISION = tl::Precision::ieee;
  TEENY_PARAMETERS(a, b, c, m, n, k);
  template <tl::Float D>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<float> c, tl::i32 m, tl::i32 n, tl::i32 k) const {
    auto om = tl::program_id(0) * BM, on = tl::program_id(1) * BN;
    auto ad = tl::make_descriptor(a, {m, k}, {k, 1}, {BM, BK});
    auto bd = tl::make_descriptor(b, {n, k}, {k, 1}, {BN, BK});
    auto cd = tl::make_tensor_descriptor(c, {m, n}, {n, 1}, {BM, BN});
    auto acc = tl::zeros<float>({BM, BN});
    for (auto k0 : tl::range(0, k, BK))
      acc = tl::dot(ad.load({om, k0}), tl::trans(bd.load({on, k0})), acc, {.precision = PRECISION});
    cd.store({om, on}, acc);
  }
};

// Products of a batch, three-dimensional: [B, M, K] times [B, K, N].
struct BatchMatMul {
  int B = 2, M = 16, N = 16, K = 32;
  void operator()(tl::Ptr<const teeny::half> a, tl::Ptr<const teeny::half> b, tl::Ptr<float> c) const {
    auto rb = tl::arange(0, B)(tl::all, tl::none, tl::none);
    auto rm = tl::arange(0, M)(tl::none, tl::all, tl::none), rn = tl::arange(0, N)(tl::none, tl::none, tl::all);
    auto ka = tl::arange(0, K)(tl::none, tl::none, tl::all), kb = tl::arange(0, K)(tl::none, tl::all, tl::none);
    auto av = tl::load(a + (rb * M + rm) * K + ka), bv = tl::load(b + (rb * K + kb) * N + rn);
    tl::store(c + (rb * M + rm) * N + rn, tl::dot(av, bv));
  }
};

// Weights of four bits, eight to a word of qw [k / 8, n], times `scale`.
struct Int4MatMul {
  int BM = 16, BN = 64, BK = 64;
  void operator()(tl::Ptr<const teeny::half> a, tl::Ptr<const std::int32_t> qw, tl::Ptr<const teeny::half> scale,
                  tl::Ptr<teeny::half> c, tl::i32 m, tl::i32 n, tl::i32 k) const {
    auto rm = tl::program_id(0) * BM + tl::arange(0, BM), rn = tl::program_id(1) * BN + tl::arange(0, BN),
         rk = tl::arange(0, BK);
    auto acc = tl::zeros<float>({BM, BN});
    for (auto k0 : tl::range(0, k, BK)) {
      auto kk = k0 + rk;
      auto av = tl::load(a + rm(tl::all, tl::none) * k + kk(tl::none, tl::all),
                         {.mask = (rm < m)(tl::all, tl::none), .other = 0});
      auto packed = tl::load(qw + tl::div(kk, 8)(tl::all, tl::none) * n + rn(tl::none, tl::all));
      auto nibble = ((packed >> (kk % 8 * 4)(tl::all, tl::none)) & 0xF) - 8;
      auto w = tl::cast<teeny::half>(nibble) * tl::load(scale + rn)(tl::none, tl::all);
      acc = tl::dot(av, w, acc);
    }
    tl::store(c + rm(tl::all, tl::none) * n + rn(tl::none, tl::all), acc, {.mask = (rm < m)(tl::all, tl::none)});
  }
};

// Flash attention, forward: q, k, v, out are [heads, seq, HEAD]; lse is the base-2 logarithm of each row's sum.
struct Attention {
  int BM = 128, BN = 64, HEAD = 64;
  bool CAUSAL = false;
  tl::Precision PRECISION = tl::Precision::ieee;
  TEENY_PARAMETERS(q, k, v, out, lse, seq, scale);
  template <tl::Float D>
  void operator()(tl::Ptr<const D> q, tl::Ptr<const D> k, tl::Ptr<const D> v, tl::Ptr<D> out, tl::Ptr<float> lse,
                  tl::i32 seq, tl::f32 scale) const {
    auto start_m = tl::program_id(0) * BM;
    auto base = tl::program_id(1) * seq * HEAD;
    auto rm = start_m + tl::arange(0, BM), rn = tl::arange(0, BN), rd = tl::arange(0, HEAD);
    auto tile = [&](auto rows) { return base + rows(tl::all, tl::none) * HEAD + rd(tl::none, tl::all); };
    auto qv = tl::load(q + tile(rm), {.mask = rm(tl::all, tl::none) < seq, .other = 0});
    auto m = tl::full<float>({BM}, -tl::inf);
    auto l = tl::zeros<float>({BM});
    auto acc = tl::zeros<float>({BM, HEAD});
    auto end = CAUSAL ? tl::minimum(start_m + BM, seq) : seq;  // a C++ ?: on a host bool
    auto scale2 = scale * 1.44269504;
    for (auto n0 : tl::range(0, end, BN)) {
      auto rows = n0 + rn;
      auto kv = tl::load(k + tile(rows), {.mask = rows(tl::all, tl::none) < seq, .other = 0});
      auto s = tl::dot(qv, tl::trans(kv), {.precision = PRECISION}) * scale2;
      auto keep = rows(tl::none, tl::all) < seq;
      if (CAUSAL) s = tl::where(keep & (rm(tl::all, tl::none) >= rows(tl::none, tl::all)), s, -tl::inf);
      else s = tl::where(keep, s, -tl::inf);
      auto m_new = tl::maximum(m, tl::max(s, {.axis = 1}));
      auto p = tl::exp2(s - m_new(tl::all, tl::none));
      auto alpha = tl::exp2(m - m_new);
      l = l * alpha + tl::sum(p, {.axis = 1});
      acc *= alpha(tl::all, tl::none);
      auto vv = tl::load(v + tile(rows), {.mask = rows(tl::all, tl::none) < seq, .other = 0});
      acc = tl::dot(tl::cast<D>(p), vv, acc, {.precision = PRECISION});
      m = m_new;
    }
    tl::store(lse + tl::program_id(1) * seq + rm, m + tl::log2(l), {.mask = rm < seq});
    tl::store(out + tile(rm), acc / l(tl::all, tl::none), {.mask = rm(tl::all, tl::none) < seq});
  }
};

}  // namespace kernels
