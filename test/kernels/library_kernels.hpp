// What tests of the kernel library share: numbers, errors and devices.
#pragma once

#include <cmath>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <teeny/teeny.hpp>

namespace teeny {

using Reals = std::vector<double>;

// Values that the element type holds exactly, so that the reference starts from the same numbers.
template <class D>
std::vector<D> numbers(std::size_t count, unsigned seed) {
  std::vector<D> list;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    list.push_back(D(float(double(state >> 33) * 0x1p-30 - 1)));
  }
  return list;
}

template <class D>
Reals reals(const std::vector<D>& list) {
  Reals result;
  for (D number : list) result.push_back(double(float(number)));
  return result;
}

// Of norms; where the reference is 0 (the scores of a single key), of the elements' mean square.
inline double relative_error(const Reals& got, const Reals& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) difference += std::pow(got[i] - expected[i], 2), size += expected[i] * expected[i];
  return std::sqrt(difference / (size == 0 ? double(got.size()) : size));
}

inline std::vector<std::string> kernel_devices() {
  if (const char* chosen = std::getenv("TEENY_CASES_DEVICE")) return {chosen};
  return {"interpreter", "cpu", "simulator:cuda:sm_90a"};
}

inline std::string name_of_device(const ::testing::TestParamInfo<std::string>& info) {
  return std::regex_replace(info.param, std::regex("[^a-z0-9]"), "_");
}

}  // namespace teeny
