// The benchmarks of `teeny bench --device cpu`: each kernel beside a named peer, in interleaved pairs within one run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <teeny/device.hpp>

namespace teeny::bench {

// One line of the report. `ratio` is peer time / teeny time (above 1: teeny is faster), or the share of a limit.
struct BenchResult {
  std::string name, size, peer;
  int threads = 1;
  double seconds = 0;  // teeny's median
  double figure = 0;   // in `unit`
  std::string unit;    // "GB/s", "GFLOP/s", "GOP/s", "ms", "us"
  double ratio = 0;
  double wanted = 0;  // what ratio has to reach; for unit "ms"/"us" rows the limit that figure has to stay below
  bool reached() const { return unit == "ms" || unit == "us" ? figure <= wanted : ratio >= wanted; }
};

struct BenchOptions {
  std::string filter;  // only benchmarks whose name contains this
  bool quick = false;  // fewer samples, for a smoke test
  std::function<void(const std::string&)> progress;
  // Runs first_kernel_seconds() in a new process, with the folder as its program cache; negative: it could not be run.
  // Without it the start-up benchmarks are left out.
  std::function<double(const std::string& cache)> in_new_process;
};

// From nothing to the result of one vector add: opening the device, recording, finding or compiling, launching.
double first_kernel_seconds();

std::vector<BenchResult> run_cpu_bench(const Device& device, const BenchOptions& options);

std::string to_text(const std::vector<BenchResult>& results);
std::string to_json(const std::vector<BenchResult>& results);

}  // namespace teeny::bench
