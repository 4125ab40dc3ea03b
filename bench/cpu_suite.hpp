// What the groups of CPU benchmarks share.
#pragma once

#include <string>
#include <vector>

#include <teeny/measure.hpp>

#include "bench/cpu_bench.hpp"

namespace teeny::bench {

struct Suite {
  Suite(const Device& device, const BenchOptions& options);
  // Whether the filter lets `name` run; tells the progress line.
  bool wants(const std::string& name) const;

  Device device;
  const BenchOptions& options;
  MeasureOptions measure;
  int threads = 1;
  std::vector<BenchResult> results;
};

void stream_benchmarks(Suite& suite);
void row_benchmarks(Suite& suite);
void matmul_benchmarks(Suite& suite);
void latency_benchmarks(Suite& suite);

// Uniform in [-1, 1), the same for the same seed.
std::vector<float> random_floats(std::size_t count, unsigned seed);

}  // namespace teeny::bench
