#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <teeny/measure.hpp>

namespace {

TEST(Measure, TakesTheMedianAndEnoughSamples) {
  volatile int sink = 0;
  const teeny::Measurement m =
      teeny::measure([&] { sink = sink + 1; }, {.warm_up_seconds = 0, .minimum_seconds = 0, .minimum_samples = 9});
  EXPECT_EQ(m.samples, 9u);
  EXPECT_LE(m.minimum, m.median);
  EXPECT_GE(m.minimum, 0.0);
}

TEST(Measure, PairsAlternate) {
  std::string order;
  teeny::measure_pair([&] { order += 'a'; }, [&] { order += 'b'; },
                      {.warm_up_seconds = 0, .minimum_seconds = 0, .minimum_samples = 4, .maximum_samples = 4});
  EXPECT_EQ(order, "ababbaabba");  // one warm-up each, then the first place changes
}

TEST(Measure, RatioTellsTheSlowerSide) {
  std::vector<int> small(64), large(64 * 64);
  const auto walk = [](std::vector<int>& data) {
    for (int& x : data) {
      volatile int& kept = x;
      kept = kept + 1;
    }
  };
  const teeny::PairMeasurement pair =
      teeny::measure_pair([&] { walk(small); }, [&] { walk(large); },
                          {.warm_up_seconds = 0, .minimum_seconds = 0.01, .calls_per_sample = 20});
  EXPECT_GT(pair.ratio, 2.0);
}

}  // namespace
