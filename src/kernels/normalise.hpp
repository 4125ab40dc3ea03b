// Row-wise kernels: softmax and layer norm, one row a program, the row held in one block.
#pragma once

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace teeny::kernels {

// y[r, :] = softmax(x[r, :]) over n_cols columns of contiguous rows. BLOCK >= n_cols. Grid: n_rows.
struct Softmax {
  int BLOCK = 1024;
  TEENY_PARAMETERS(x, y, n_cols);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 n_cols) const {
    auto row = tl::program_id(0) * n_cols;
    auto cols = tl::arange(0, BLOCK);
    auto mask = cols < n_cols;
    auto v = tl::cast<float>(tl::load(x + row + cols, {.mask = mask, .other = -tl::inf}));
    auto e = tl::exp(v - tl::max(v));
    tl::store(y + row + cols, e / tl::sum(e), {.mask = mask});
  }
};

// y[r, :] = (x[r, :] - mean) / sqrt(variance + eps) * weight + bias, the variance biased (divided by n_cols).
// BLOCK >= n_cols. Grid: n_rows.
struct LayerNorm {
  int BLOCK = 1024;
  TEENY_PARAMETERS(x, weight, bias, y, n_cols, eps);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<const D> weight, tl::Ptr<const D> bias, tl::Ptr<D> y, tl::i32 n_cols,
                  tl::f32 eps) const {
    auto row = tl::program_id(0) * n_cols;
    auto cols = tl::arange(0, BLOCK);
    auto mask = cols < n_cols;
    auto v = tl::cast<float>(tl::load(x + row + cols, {.mask = mask, .other = 0}));
    auto n = tl::cast<float>(n_cols);
    auto mean = tl::sum(v) / n;
    auto centred = tl::where(mask, v - mean, 0);
    auto scale = 1 / tl::sqrt(tl::sum(centred * centred) / n + eps);
    auto w = tl::cast<float>(tl::load(weight + cols, {.mask = mask}));
    auto b = tl::cast<float>(tl::load(bias + cols, {.mask = mask}));
    tl::store(y + row + cols, centred * scale * w + b, {.mask = mask});
  }
};

}  // namespace teeny::kernels
