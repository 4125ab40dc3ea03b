// What every snippet includes; compiled once for each compiler.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <teeny/teeny.hpp>
namespace tl = teeny::tl;

template <class F>
struct Map {
  int BLOCK = 64;
  F f = {};
  void operator()(tl::Ptr<float> x) const {
    auto c = tl::arange(0, BLOCK);
    tl::store(x + c, f(tl::load(x + c)));
  }
};
template <class F>
Map(int, F) -> Map<F>;
