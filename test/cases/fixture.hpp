// Named cases: bugs that other systems had, with the right values written down, on each device. The values come from
// the rows' own arithmetic, not from a run of teeny.
#pragma once

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/harness.hpp"

namespace teeny::cases {

using conformance::blank;
using conformance::download;
using conformance::Host;
using conformance::Stored;

template <std::size_t Bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using type = std::uint64_t;
};
template <class D>
using bits_t = typename BitsOf<sizeof(D)>::type;

// y[i] = f(x[i]…), i < N, in one block of BLOCK >= N.
template <class F>
struct Map {
  int N = 1, BLOCK = 1;
  F f = {};
  template <class E, class... D>
  void operator()(tl::Ptr<E> y, tl::Ptr<const D>... x) const {
    auto at = tl::arange(0, BLOCK);
    if (BLOCK == N) return tl::store(y + at, f(tl::load(x + at)...));
    auto mask = at < N;
    tl::store(y + at, f(tl::load(x + at, {.mask = mask, .other = 1})...), {.mask = mask});
  }
};

class Cases : public ::testing::TestWithParam<std::string> {
 protected:
  Device device = Device::open(GetParam());

  template <class D>
  Buffer<D> in(const Host<D>& host) {
    return conformance::upload<D>(device, host);
  }
  // Elements by their bits.
  template <class D>
  Buffer<D> in_bits(const std::vector<bits_t<D>>& bits) {
    Buffer<D> result = device.buffer<D>(bits.size());
    detail::copy_in(result.view(), bits.data(), bits.size() * sizeof(D));
    return result;
  }
  template <class D>
  static std::vector<bits_t<D>> bits(const Buffer<D>& buffer) {
    std::vector<bits_t<D>> result(buffer.size());
    detail::copy_out(buffer.view(), result.data(), buffer.bytes());
    return result;
  }
  template <class E, class F, class First, class... D>
  Buffer<E> mapped(F f, const Buffer<First>& x, const Buffer<D>&... more) {
    Buffer<E> y = blank<E>(device, x.size());
    const auto n = static_cast<unsigned>(x.size());
    const unsigned block = device.info().any_extent ? n : std::bit_ceil(n);
    launch(device, {1}, Map<F>{static_cast<int>(n), static_cast<int>(block), f}, y, x, more...);
    return y;
  }
  // The elements of f over the inputs, and their bits.
  template <class E, class F, class... D>
  Host<E> map(F f, const Buffer<D>&... x) {
    return download(mapped<E>(f, x...));
  }
  template <class E, class F, class... D>
  std::vector<bits_t<E>> map_bits(F f, const Buffer<D>&... x) {
    return bits(mapped<E>(f, x...));
  }
};

// Where the cases run: everywhere that needs no GPU, or on the device that TEENY_CASES_DEVICE names.
inline std::vector<std::string> case_devices() {
  if (const char* chosen = std::getenv("TEENY_CASES_DEVICE")) return {chosen};
  return {"interpreter", "cpu"};
}

inline std::string device_name(const ::testing::TestParamInfo<std::string>& info) {
  return std::regex_replace(info.param, std::regex("[^a-z0-9]"), "_");
}

#define TEENY_ON_EACH_DEVICE(suite) \
  INSTANTIATE_TEST_SUITE_P(devices, suite, ::testing::ValuesIn(case_devices()), device_name)

}  // namespace teeny::cases
