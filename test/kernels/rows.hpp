// Kernels over rows: softmax, layer norm, cross entropy, top-k, scans.
#pragma once

#include <tuple>
#include <vector>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace kernels {
namespace tl = teeny::tl;

// A row a program; BLOCK is at least n_cols.
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

// Programs that take several rows in turn.
struct SoftmaxPersistent {
  int BLOCK = 1024, STAGES = 2;
  template <tl::Float D>
  void operator()(tl::Ptr<D> out, tl::Ptr<const D> in, tl::i32 in_stride, tl::i32 out_stride, tl::i32 n_rows,
                  tl::i32 n_cols) const {
    auto cols = tl::arange(0, BLOCK);
    auto mask = cols < n_cols;
    for (auto row : tl::range(tl::program_id(0), n_rows, tl::num_programs(0), {.stages = STAGES})) {
      auto v = tl::cast<float>(tl::load(in + row * in_stride + cols, {.mask = mask, .other = -tl::inf}));
      auto e = tl::exp(v - tl::max(v));
      tl::store(out + row * out_stride + cols, e / tl::sum(e), {.mask = mask});
    }
  }
};

// A tile of rows; with LOG, the logarithm of the softmax.
struct SoftmaxTile {
  int ROWS = 4, BLOCK = 256;
  bool LOG = false;
  TEENY_PARAMETERS(y, x, n_rows, n_cols);
  template <tl::Float D>
  void operator()(tl::Ptr<D> y, tl::Ptr<const D> x, tl::i32 n_rows, tl::i32 n_cols) const {
    auto rows = (tl::program_id(0) * ROWS + tl::arange(0, ROWS))(tl::all, tl::none);
    auto cols = tl::arange(0, BLOCK)(tl::none, tl::all);
    auto mask = (rows < n_rows) & (cols < n_cols);
    auto v = tl::cast<float>(tl::load(x + rows * n_cols + cols, {.mask = mask, .other = -tl::inf}));
    v -= tl::max(v, {.axis = 1}, tl::keep_dims);
    auto e = tl::exp(v);
    auto s = tl::sum(e, {.axis = 1});
    if (LOG) v = v - tl::log(s)(tl::all, tl::none);
    else v = e / s(tl::all, tl::none);
    tl::store(y + rows * n_cols + cols, v, {.mask = mask});
  }
};

struct LayerNorm {
  int BLOCK = 1024;
  TEENY_PARAMETERS(x, y, w, b, mean, rstd, stride, n, eps);
  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::Ptr<const D> w, tl::Ptr<const D> b, tl::Ptr<float> mean_out,
                  tl::Ptr<float> rstd_out, tl::i32 stride, tl::i32 n, tl::f32 eps) const {
    auto row = tl::program_id(0);
    x += row * stride;  // parameters are variables
    y += row * stride;
    auto sum = tl::zeros<float>({BLOCK});
    for (auto off : tl::range(0, n, BLOCK)) {
      auto cols = off + tl::arange(0, BLOCK);
      sum += tl::cast<float>(tl::load(x + cols, {.mask = cols < n, .other = 0}));
    }
    auto mean = tl::sum(sum) / tl::cast<float>(n);
    auto squares = tl::zeros<float>({BLOCK});
    for (auto off : tl::range(0, n, BLOCK)) {
      auto cols = off + tl::arange(0, BLOCK);
      auto v = tl::cast<float>(tl::load(x + cols, {.mask = cols < n, .other = 0.0}));
      v = tl::where(cols < n, v - mean, 0.0);
      squares += v * v;
    }
    auto rstd = 1 / tl::sqrt(tl::sum(squares) / tl::cast<float>(n) + eps);
    tl::store(mean_out + row, mean);
    tl::store(rstd_out + row, rstd);
    for (auto off : tl::range(0, n, BLOCK)) {
      auto cols = off + tl::arange(0, BLOCK);
      auto mask = cols < n;
      auto wv = tl::load(w + cols, {.mask = mask}), bv = tl::load(b + cols, {.mask = mask});
      auto v = tl::load(x + cols, {.mask = mask, .other = 0});
      tl::store(y + cols, (v - mean) * rstd * wv + bv, {.mask = mask});
    }
  }
};

// Gradients; dw and db are summed in GROUP partial rows, each guarded by a lock. locks holds 2 * GROUP zeros.
struct LayerNormBackward {
  int GROUP = 64, BLOCK = 1024;
  template <tl::Float D>
  void operator()(tl::Ptr<D> dx, tl::Ptr<const D> dy, tl::Ptr<float> dw, tl::Ptr<float> db, tl::Ptr<const D> x,
                  tl::Ptr<const D> w, tl::Ptr<const float> mean, tl::Ptr<const float> rstd, tl::Ptr<std::int32_t> locks,
                  tl::i32 stride, tl::i32 n) const {
    auto row = tl::program_id(0);
    auto cols = tl::arange(0, BLOCK);
    auto mask = cols < n;
    x += row * stride;
    dy += row * stride;
    dx += row * stride;
    auto lock_id = row % GROUP;
    locks += lock_id;
    auto count = locks + GROUP;
    auto dw_ptrs = dw + lock_id * n + cols, db_ptrs = db + lock_id * n + cols;
    auto xv = tl::cast<float>(tl::load(x + cols, {.mask = mask, .other = 0}));
    auto dyv = tl::cast<float>(tl::load(dy + cols, {.mask = mask, .other = 0}));
    auto wv = tl::cast<float>(tl::load(w + cols, {.mask = mask}));
    auto m = tl::load(mean + row), r = tl::load(rstd + row);
    auto x_hat = tl::where(mask, (xv - m) * r, 0), w_dy = tl::where(mask, wv * dyv, 0.);
    auto nf = tl::cast<float>(n);
    auto c1 = tl::sum(x_hat * w_dy) / nf, c2 = tl::sum(w_dy) / nf;
    tl::store(dx + cols, (w_dy - (x_hat * c1 + c2)) * r, {.mask = mask});
    auto partial_dw = dyv * x_hat, partial_db = dyv;
    tl::while_([&] { return tl::atomic_cas(locks, 0, 1) == 1; });
    auto seen = tl::load(count);
    tl::if_(
        seen == 0, [&] { tl::atomic_xchg(count, 1); },
        [&] {
          partial_dw += tl::load(dw_ptrs, {.mask = mask});
          partial_db += tl::load(db_ptrs, {.mask = mask});
        });
    tl::store(dw_ptrs, partial_dw, {.mask = mask});
    tl::store(db_ptrs, partial_db, {.mask = mask});
    tl::barrier();
    tl::atomic_xchg(locks, 0);
  }
};

// Rows with a negative target have no loss.
struct CrossEntropy {
  int BLOCK = 1024;
  template <tl::Float D>
  void operator()(tl::Ptr<const D> logits, tl::Ptr<const std::int64_t> target, tl::Ptr<float> loss, tl::i32 n) const {
    auto row = tl::program_id(0);
    auto t = tl::load(target + row);
    tl::if_(
        t < 0, [&] { tl::store(loss + row, 0); },
        [&] {
          auto p = logits + tl::cast<std::int64_t>(row) * n;
          auto cols = tl::arange(0, BLOCK);
          auto v = tl::cast<float>(tl::load(p + cols, {.mask = cols < n, .other = -tl::inf}));
          auto m = tl::max(v);
          auto lse = m + tl::log(tl::sum(tl::exp(v - m)));
          tl::store(loss + row, lse - tl::load(p + t));
        });
  }
};

// The K largest of a row and their columns, by a reduction of two outputs.
struct TopK {
  int BLOCK = 256, K = 4;
  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<float> values, tl::Ptr<std::int32_t> indices, tl::i32 n) const {
    auto row = tl::program_id(0);
    auto cols = tl::arange(0, BLOCK);
    auto v = tl::cast<float>(tl::load(x + row * n + cols, {.mask = cols < n, .other = -tl::inf}));
    for (int i = 0; i < K; ++i) {
      auto [best, at] = tl::reduce(std::tuple{v, cols}, {.axis = 0}, [](auto v1, auto i1, auto v2, auto i2) {
        auto left = (v1 > v2) | ((v1 == v2) & (i1 < i2));
        return std::tuple{tl::where(left, v1, v2), tl::where(left, i1, i2)};
      });
      tl::store(values + row * K + i, best);
      tl::store(indices + row * K + i, at);
      v = tl::where(cols == at, -tl::inf, v);
    }
  }
};

// h[t] = a[t] * h[t - 1] + b[t], by a scan of pairs and a carried last value.
struct LinearRecurrence {
  int BLOCK = 256;
  void operator()(tl::Ptr<const float> a, tl::Ptr<const float> b, tl::Ptr<float> h, tl::i32 n) const {
    auto t = tl::arange(0, BLOCK);
    auto carry = tl::f32(0);
    for (auto t0 : tl::range(0, n, BLOCK)) {
      auto i = t0 + t;
      auto av = tl::load(a + i, {.mask = i < n, .other = 1}), bv = tl::load(b + i, {.mask = i < n, .other = 0});
      auto [as, bs] = tl::associative_scan(std::tuple{av, bv}, {.axis = 0}, [](auto a1, auto b1, auto a2, auto b2) {
        return std::tuple{a1 * a2, a2 * b1 + b2};
      });
      auto hs = as * carry + bs;
      tl::store(h + i, hs, {.mask = i < n});
      carry = tl::sum(tl::where(t == BLOCK - 1, hs, 0));
    }
  }
};

// Positions of the extremes of the columns of a tile, and its running sums along rows.
struct ArgExtremes {
  int ROWS = 8, COLS = 8;
  void operator()(tl::Ptr<const float> x, tl::Ptr<std::int32_t> largest, tl::Ptr<std::int32_t> smallest,
                  tl::Ptr<float> sums) const {
    auto r = tl::arange(0, ROWS), c = tl::arange(0, COLS);
    auto at = r(tl::all, tl::none) * COLS + c(tl::none, tl::all);
    auto v = tl::load(x + at);
    tl::store(largest + c, tl::argmax(v, {.axis = 0}));
    tl::store(smallest + c, tl::argmin(v, {.axis = 0}));
    tl::store(sums + at, tl::cumsum(v, {.axis = 1}));
  }
};

}  // namespace kernels
