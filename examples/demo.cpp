#include "demo.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include "bench/machine_limits.hpp"
#include "bench/table.hpp"

namespace teeny::demo {
namespace {

// What the results of a device are shown as a share of; 0 where nothing was measured.
struct Limits {
  double bytes = 0, operations = 0;
};

void progress(const std::string& text) {
  if (isatty(STDERR_FILENO))
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
  else if (!text.empty())
    std::fprintf(stderr, "%s\n", text.c_str());
}

Limits measure_limits(const DeviceInfo& device) {
  if (!device.target.starts_with("cpu")) return {};
  progress("measuring this machine's limits (about a second) …");
  return {bench::copy_bandwidth(device.parallel, std::size_t(128) << 20), bench::fma_peak(device.parallel)};
}

std::vector<std::string> row_of(const DeviceInfo& device, const Line& line, const Limits& limits) {
  double rate = line.work / line.seconds, limit = line.counts_bytes ? limits.bytes : limits.operations;
  return {device.spec,
          line.kernel,
          line.size,
          bench::scientific(line.max_error),
          bench::duration(line.seconds),
          bench::fixed(rate * 1e-9, 2) + (line.counts_bytes ? " GB/s" : " GFLOP/s"),
          limit > 0 ? bench::fixed(100 * rate / limit, 0) + " %" : "–",
          line.passed() ? "right" : "WRONG",
          line.remark};
}

// Runs every kernel on one device; whether all were right.
bool run_device(const DeviceInfo& info, bench::Table& table) {
  Device device = Device::open(info.spec);
  bool slow = info.target == "interpreter";
  Sizes sizes = slow ? Sizes{5000, 4, 1000, 96} : Sizes{1 << 24, 4096, 4096, 1024};
  Limits limits = measure_limits(info);
  bool right = true;
  auto add = [&](const char* name, auto&& run) {
    progress(info.spec + ": " + name + " …");
    Line line = run();
    right &= line.passed();
    table.add(row_of(info, line, limits));
  };
  add("vector add", [&] { return run_vector_add(device, sizes); });
  add("softmax", [&] { return run_softmax(device, sizes); });
  add("layer norm", [&] { return run_layer_norm(device, sizes); });
  add("matrix product", [&] { return run_matmul(device, sizes); });
  add("matrix product, bias, GELU", [&] { return run_matmul_bias_gelu(device, sizes); });
  add("digits", [&] { return run_digits(device, slow ? 32 : 450); });
  progress("");
  return right;
}

// On the devices named, or on every device found.
int run(const std::vector<std::string>& named) {
  bench::Table table({"device", "kernel", "size", "max error", "time", "rate", "of limit", "", ""});
  bool right = true;
  for (const DeviceInfo& info : devices()) {
    if (!named.empty() && std::find(named.begin(), named.end(), info.spec) == named.end()) continue;
    if (!info.unusable.empty()) {
      std::printf("%s: %s, left out: %s\n", info.spec.c_str(), info.name.c_str(), info.unusable.c_str());
      continue;
    }
    std::printf("%s: %s, compiled for %s\n", info.spec.c_str(), info.name.c_str(), info.target.c_str());
    right &= run_device(info, table);
  }
  std::printf(
      "\n%s\nmax error: against a float64 reference, relative above 1. of limit: of this machine's measured copy\n"
      "bandwidth or multiply-add peak, all threads.\n",
      table.text().c_str());
  return right ? 0 : 1;
}

}  // namespace
}  // namespace teeny::demo

int main(int argc, char** argv) {
  try {
    return teeny::demo::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "\nteeny-demo: %s\n", error.what());
    return 1;
  }
}
