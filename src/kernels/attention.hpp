// Attention in one pass over keys and values (FlashAttention-2, arXiv 2307.08691).
#pragma once

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace teeny::kernels {

// out[h, i, :] = sum over j of softmax_j(scale * q[h, i, :] · k[h, j, :]) v[h, j, :], with j <= i only where CAUSAL; all
// four [heads, seq, HEAD], contiguous. With LSE, lse[h, i] is log2 of the sum of 2^(scale * log2(e) * q · k), which a
// gradient needs; pass any buffer otherwise. scale > 0. Summed in f32. BM is a multiple of BN.
// Grid: {ceil(seq / BM), heads}.
struct Attention {
  int BM = 128, BN = 64, HEAD = 64;
  bool CAUSAL = false, LSE = false;
  int STAGES = 0;                                 // of the loop over keys; 0: the compiler's choice
  tl::Precision PRECISION = tl::Precision::ieee;  // of products of f32
  TEENY_PARAMETERS(q, k, v, out, lse, seq, scale);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> q, tl::Ptr<const D> k, tl::Ptr<const D> v, tl::Ptr<D> out, tl::Ptr<float> lse,
                  tl::i32 seq, tl::f32 scale) const {
    auto start = tl::program_id(0) * BM, head = tl::program_id(1) * seq;
    auto rm = start + tl::arange(0, BM), rn = tl::arange(0, BN), rd = tl::arange(0, HEAD);
    const auto block = [&](auto rows) { return head * HEAD + rows(tl::all, tl::none) * HEAD + rd(tl::none, tl::all); };
    auto query = tl::load(q + block(rm), {.mask = rm(tl::all, tl::none) < seq, .other = 0});
    auto highest = tl::full<float>({BM}, -tl::inf);
    auto total = tl::zeros<float>({BM});
    auto acc = tl::zeros<float>({BM, HEAD});
    auto scale2 = scale * 1.44269504088896340736;  // log2(e)

    const auto take_in = [&](tl::i32 first, bool masked) {
      auto rows = first + rn;
      auto inside = rows(tl::all, tl::none) < seq;
      auto key = masked ? tl::load(k + block(rows), {.mask = inside, .other = 0}) : tl::load(k + block(rows));
      auto score = tl::dot(query, tl::trans(key), {.precision = PRECISION});
      if (masked) {
        auto keep = rows(tl::none, tl::all) < seq;
        if (CAUSAL) keep = keep & (rm(tl::all, tl::none) >= rows(tl::none, tl::all));
        score = tl::where(keep, score, -tl::inf);
      }
      auto peak = tl::maximum(highest, tl::max(score, {.axis = 1}) * scale2);
      auto p = tl::exp2(score * scale2 - peak(tl::all, tl::none));
      auto shrink = tl::exp2(highest - peak);
      total = total * shrink + tl::sum(p, {.axis = 1});
      acc *= shrink(tl::all, tl::none);
      auto value = masked ? tl::load(v + block(rows), {.mask = inside, .other = 0}) : tl::load(v + block(rows));
      acc = tl::dot(tl::cast<D>(p), value, acc, {.precision = PRECISION});
      highest = peak;
    };
    // Blocks that lie wholly below the diagonal and the end need no masks.
    tl::i32 end = seq, whole = tl::div(seq, BN) * BN;
    if (CAUSAL) end = tl::minimum(start + BM, seq), whole = tl::minimum(start, whole);
    for (auto first : tl::range(0, whole, BN, {.stages = STAGES})) take_in(first, false);
    for (auto first : tl::range(whole, end, BN, {.stages = STAGES})) take_in(first, true);

    if (LSE) tl::store(lse + head + rm, highest + tl::log2(total), {.mask = rm < seq});
    tl::store(out + block(rm), tl::cast<D>(acc / total(tl::all, tl::none)), {.mask = rm(tl::all, tl::none) < seq});
  }
};

}  // namespace teeny::kernels
