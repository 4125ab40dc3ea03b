// Gradients of attention without the matrix of scores (FlashAttention-2, arXiv 2307.08691): each block of scores is computed
// again from q, k and the logarithms that the forward pass kept. Three kernels, none of which adds to memory atomically.
//
//   AttentionDelta            delta = rowsum(dout * out)
//   AttentionBackwardKeys     dk and dv, over blocks of keys
//   AttentionBackwardQueries  dq, over blocks of queries
//
// All of q, k, v, out and their gradients are [heads, seq, HEAD], contiguous; lse and delta are [heads, seq]. lse is that of
// kernels::Attention with LSE, whose CAUSAL and scale they take. Summed in f32; scores and their gradients are rounded to the
// element type for the products that take them.
#pragma once

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace teeny::kernels {

// delta[h, i] = sum over d of dout[h, i, d] * out[h, i, d]. Grid: {ceil(seq / BM), heads}.
struct AttentionDelta {
  int BM = 64, HEAD = 64;
  TEENY_PARAMETERS(out, dout, delta, seq);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> out, tl::Ptr<const D> dout, tl::Ptr<float> delta, tl::i32 seq) const {
    auto rows = tl::program_id(0) * BM + tl::arange(0, BM), rd = tl::arange(0, HEAD);
    auto head = tl::program_id(1) * seq;
    auto block = head * HEAD + rows(tl::all, tl::none) * HEAD + rd(tl::none, tl::all);
    auto inside = rows(tl::all, tl::none) < seq;
    auto o = tl::cast<float>(tl::load(out + block, {.mask = inside, .other = 0}));
    auto d = tl::cast<float>(tl::load(dout + block, {.mask = inside, .other = 0}));
    tl::store(delta + head + rows, tl::sum(o * d, {.axis = 1}), {.mask = rows < seq});
  }
};

// dv[h, j, :] = sum over i of p[i, j] dout[h, i, :] and dk[h, j, :] = scale * sum over i of ds[i, j] q[h, i, :], where
// p[i, j] = 2^(scale * log2(e) * q[h, i, :] · k[h, j, :] - lse[h, i]) and ds[i, j] = p[i, j] (dout[h, i, :] · v[h, j, :] -
// delta[h, i]), with i >= j only where CAUSAL. BN is a multiple of BM. Grid: {ceil(seq / BN), heads}.
struct AttentionBackwardKeys {
  int BM = 64, BN = 64, HEAD = 64;
  bool CAUSAL = false;
  int STAGES = 0;                                 // of the loops over queries; 0: the compiler's choice
  tl::Precision PRECISION = tl::Precision::ieee;  // of products of f32
  TEENY_PARAMETERS(q, k, v, dout, lse, delta, dk, dv, seq, scale);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> q, tl::Ptr<const D> k, tl::Ptr<const D> v, tl::Ptr<const D> dout,
                  tl::Ptr<const float> lse, tl::Ptr<const float> delta, tl::Ptr<D> dk, tl::Ptr<D> dv, tl::i32 seq,
                  tl::f32 scale) const {
    auto start = tl::program_id(0) * BN, head = tl::program_id(1) * seq;
    auto rn = start + tl::arange(0, BN), rm = tl::arange(0, BM), rd = tl::arange(0, HEAD);
    const auto block = [&](auto rows) { return head * HEAD + rows(tl::all, tl::none) * HEAD + rd(tl::none, tl::all); };
    auto inside = rn(tl::all, tl::none) < seq;
    auto key = tl::load(k + block(rn), {.mask = inside, .other = 0});
    auto value = tl::load(v + block(rn), {.mask = inside, .other = 0});
    auto key_sum = tl::zeros<float>({BN, HEAD}), value_sum = tl::zeros<float>({BN, HEAD});
    auto scale2 = scale * 1.44269504088896340736;  // log2(e)

    // Everything is transposed: a row is a key's, a column a query's.
    const auto take_in = [&](tl::i32 first, bool masked) {
      auto rows = first + rm;
      auto there = rows < seq;
      const auto load = [&](auto pointer) {
        return masked ? tl::load(pointer + block(rows), {.mask = there(tl::all, tl::none), .other = 0}) : tl::load(pointer + block(rows));
      };
      auto query = load(q), out = load(dout);
      // A query that is not there has a probability of 0.
      auto sum = masked ? tl::load(lse + head + rows, {.mask = there, .other = tl::inf}) : tl::load(lse + head + rows);
      auto rest = masked ? tl::load(delta + head + rows, {.mask = there, .other = 0}) : tl::load(delta + head + rows);
      // The products that depend on nothing come first: those behind them run beside the next turn's.
      auto score = tl::dot(key, tl::trans(query), {.precision = PRECISION});
      auto change = tl::dot(value, tl::trans(out), {.precision = PRECISION});
      auto p = tl::exp2(score * scale2 - sum(tl::none, tl::all));
      if (masked && CAUSAL) p = tl::where(rows(tl::none, tl::all) >= rn(tl::all, tl::none), p, 0);
      value_sum = tl::dot(tl::cast<D>(p), out, value_sum, {.precision = PRECISION});
      auto gradient = p * (change - rest(tl::none, tl::all));
      key_sum = tl::dot(tl::cast<D>(gradient), query, key_sum, {.precision = PRECISION});
    };
    // Blocks of queries that lie wholly below the diagonal and before the end need no masks. The others are those on the
    // diagonal and then the last one, where it is not whole.
    tl::i32 begin = 0, on_diagonal = 0, whole = tl::div(seq, BM) * BM;
    if (CAUSAL) begin = start + BN, on_diagonal = tl::cdiv(tl::minimum(begin, seq) - start, BM);
    tl::i32 rest = tl::maximum(whole, begin), masked = on_diagonal + tl::cdiv(tl::maximum(seq - rest, 0), BM);
    for (auto first : tl::range(begin, whole, BM, {.stages = STAGES})) take_in(first, false);
    for (auto turn : tl::range(0, masked, 1, {.stages = STAGES}))
      take_in(tl::where(turn < on_diagonal, start + turn * BM, rest + (turn - on_diagonal) * BM), true);

    tl::store(dv + block(rn), tl::cast<D>(value_sum), {.mask = inside});
    tl::store(dk + block(rn), tl::cast<D>(key_sum * scale), {.mask = inside});
  }
};

// dq[h, i, :] = scale * sum over j of ds[i, j] k[h, j, :], with ds as above. BM is a multiple of BN.
// Grid: {ceil(seq / BM), heads}.
struct AttentionBackwardQueries {
  int BM = 64, BN = 64, HEAD = 64;
  bool CAUSAL = false;
  int STAGES = 0;                                 // of the loops over keys; 0: the compiler's choice
  tl::Precision PRECISION = tl::Precision::ieee;  // of products of f32
  TEENY_PARAMETERS(q, k, v, dout, lse, delta, dq, seq, scale);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> q, tl::Ptr<const D> k, tl::Ptr<const D> v, tl::Ptr<const D> dout,
                  tl::Ptr<const float> lse, tl::Ptr<const float> delta, tl::Ptr<D> dq, tl::i32 seq, tl::f32 scale) const {
    auto start = tl::program_id(0) * BM, head = tl::program_id(1) * seq;
    auto rm = start + tl::arange(0, BM), rn = tl::arange(0, BN), rd = tl::arange(0, HEAD);
    const auto block = [&](auto rows) { return head * HEAD + rows(tl::all, tl::none) * HEAD + rd(tl::none, tl::all); };
    auto inside = rm(tl::all, tl::none) < seq;
    auto query = tl::load(q + block(rm), {.mask = inside, .other = 0});
    auto out = tl::load(dout + block(rm), {.mask = inside, .other = 0});
    auto sum = tl::load(lse + head + rm, {.mask = rm < seq, .other = tl::inf});
    auto rest = tl::load(delta + head + rm, {.mask = rm < seq, .other = 0});
    auto acc = tl::zeros<float>({BM, HEAD});
    auto scale2 = scale * 1.44269504088896340736;  // log2(e)

    const auto take_in = [&](tl::i32 first, bool masked) {
      auto rows = first + rn;
      const auto load = [&](auto pointer) {
        return masked ? tl::load(pointer + block(rows), {.mask = rows(tl::all, tl::none) < seq, .other = 0}) : tl::load(pointer + block(rows));
      };
      auto key = load(k);
      auto score = tl::dot(query, tl::trans(key), {.precision = PRECISION});
      auto change = tl::dot(out, tl::trans(load(v)), {.precision = PRECISION});
      auto p = tl::exp2(score * scale2 - sum(tl::all, tl::none));
      if (masked) {
        auto keep = rows(tl::none, tl::all) < seq;
        if (CAUSAL) keep = keep & (rm(tl::all, tl::none) >= rows(tl::none, tl::all));
        p = tl::where(keep, p, 0);
      }
      auto gradient = p * (change - rest(tl::all, tl::none));
      acc = tl::dot(tl::cast<D>(gradient), key, acc, {.precision = PRECISION});
    };
    tl::i32 end = seq, whole = tl::div(seq, BN) * BN;
    if (CAUSAL) end = tl::minimum(start + BM, seq), whole = tl::minimum(start, whole);
    for (auto first : tl::range(0, whole, BN, {.stages = STAGES})) take_in(first, false);
    for (auto first : tl::range(whole, end, BN, {.stages = STAGES})) take_in(first, true);

    tl::store(dq + block(rm), tl::cast<D>(acc * scale), {.mask = inside});
  }
};

}  // namespace teeny::kernels
