// Element-wise kernels: the simplest use of the language, bound by memory on every device.
#pragma once

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace teeny::kernels {

// out[i] = x[i] + y[i], i < n. Grid: ceil(n / BLOCK).
struct VectorAdd {
  int BLOCK = 4096;
  TEENY_PARAMETERS(x, y, out, n);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<const D> y, tl::Ptr<D> out, tl::i32 n) const {
    auto at = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = at < n;
    tl::store(out + at, tl::load(x + at, {.mask = mask}) + tl::load(y + at, {.mask = mask}), {.mask = mask});
  }
};

// out[i] = x[i], i < n. Grid: ceil(n / BLOCK).
struct Copy {
  int BLOCK = 4096;
  TEENY_PARAMETERS(x, out, n);

  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> out, tl::i32 n) const {
    auto at = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = at < n;
    tl::store(out + at, tl::load(x + at, {.mask = mask}), {.mask = mask});
  }
};

// y[i] += alpha * x[i], i < n. Grid: ceil(n / BLOCK).
struct Axpy {
  int BLOCK = 4096;
  TEENY_PARAMETERS(alpha, x, y, n);

  void operator()(tl::f32 alpha, tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 n) const {
    auto at = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = at < n;
    tl::store(y + at, tl::fma(alpha, tl::load(x + at, {.mask = mask}), tl::load(y + at, {.mask = mask})),
              {.mask = mask});
  }
};

}  // namespace teeny::kernels
