// Kernels whose variables are C++ objects of every kind.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace kernels {
namespace tl = teeny::tl;

// A helper struct whose members are carried.
struct Welford {
  tl::f32 mean = 0, m2 = 0;
  tl::f32 count = 0;
  void add(tl::f32 x) {
    count += 1;
    auto d = x - mean;
    mean += d / count;
    m2 += d * (x - mean);
  }
};

struct Statistics {
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> out, tl::i32 n) const {
    Welford w;
    tl::f32 array[2] = {0, 1};
    std::vector<tl::f32> v(3);
    v[0] = 0;
    v[1] = 1.5;
    v[2] = 2;
    auto before = w.mean;
    auto y = array[0];
    for (auto i : tl::range(0, n)) {
      auto xi = tl::load(x + i);
      w.add(xi);
      for (auto& a : array) a += xi;
      v[1] *= xi;
      std::swap(v[0], v[2]);
      y = y + array[1];
    }
    tl::store(out, w.mean);
    tl::store(out + 1, w.m2);
    tl::store(out + 2, before);
    tl::store(out + 3, array[0]);
    tl::store(out + 4, array[1]);
    tl::store(out + 5, v[0]);
    tl::store(out + 6, v[1]);
    tl::store(out + 7, v[2]);
    tl::store(out + 8, y);
    auto z = tl::if_(
        n > 3, [&] { return y + 1; }, [&] { return y * 2; });
    tl::store(out + 9, z);
  }
};

struct Nested {
  TEENY_PARAMETERS(x, out, n);
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> out, tl::i32 n) const {
    auto acc = tl::f32(0), keep = acc;
    auto count = tl::i32(0);
    auto y = acc;  // a copy: never carried
    for (auto i : tl::range(0, n)) {
      auto before = acc;  // the carried value at the top
      for (auto j : tl::range(0, i, {.stages = 2})) {
        auto v = tl::load(x + i * n + j);
        tl::if_(
            v > 0,
            [&] {
              acc += v;
              count += 1;
            },
            [&] { tl::if_(v < -1, [&] { acc -= v; }); });
      }
      keep = before;
      tl::while_([&] { return acc > 100; }, [&] { acc = acc / 2; });
    }
    std::optional<tl::f32> maybe;
    if (sizeof(int) == 4) maybe = acc;
    std::vector<tl::f32> grown;
    for (int i = 0; i < 3; ++i) grown.push_back(acc * i);  // a host loop may grow it
    tl::store(out, acc);
    tl::store(out + 1, keep);
    tl::store(out + 2, y);
    tl::store(out + 3, tl::cast<float>(count));
    tl::store(out + 4, *maybe + grown[0] + grown[2]);
  }
};

// Leaves before the end; what follows is one branch.
struct EarlyReturn {
  int BLOCK = 64;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 n) const {
    auto first = tl::program_id(0) * BLOCK;
    auto c = first + tl::arange(0, BLOCK);
    tl::return_if(first >= n);
    auto v = tl::load(x + c, {.mask = c < n});
    tl::return_if(tl::max(v) < 0);
    tl::store(y + c, v, {.mask = c < n});
  }
};

}  // namespace kernels
