// A kernel that both libraries use.
#pragma once

#include <teeny/teeny.hpp>

namespace tl = teeny::tl;

struct Scale {
  int BLOCK = 64;
  TEENY_PARAMETERS(x, y, factor, n);
  template <tl::Float D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::f32 factor, tl::i32 n) const {
    auto index = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = index < n;
    tl::store(y + index, tl::load(x + index, {.mask = mask}) * factor, {.mask = mask});
  }
};
