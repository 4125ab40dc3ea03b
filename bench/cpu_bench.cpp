#include "bench/cpu_bench.hpp"

#include <random>

#include <nlohmann/json.hpp>

#include <teeny/teeny.hpp>

#include "bench/cpu_suite.hpp"
#include "bench/table.hpp"

namespace teeny::bench {

std::vector<BenchResult> run_cpu_bench(const Device& device, const BenchOptions& options) {
  Suite suite(device, options);
  stream_benchmarks(suite);
  row_benchmarks(suite);
  matmul_benchmarks(suite);
  latency_benchmarks(suite);
  return suite.results;
}

Suite::Suite(const Device& device, const BenchOptions& options) : device(device), options(options) {
  // Longer than OpenBLAS's threads (2^26 cycles) and teeny's own watch for more work after a call.
  measure.pause_seconds = 0.03;
  measure.rouse_seconds = 0.02;
  measure.maximum_samples = 41;
  if (options.quick) measure = {.warm_up_seconds = 0.002, .minimum_seconds = 0.01, .minimum_samples = 3};
  threads = device.parallel();
}

bool Suite::wants(const std::string& name) const {
  if (name.find(options.filter) == std::string::npos) return false;
  if (options.progress) options.progress(name);
  return true;
}

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

std::string to_text(const std::vector<BenchResult>& results) {
  Table table({"benchmark", "size", "threads", "time", "figure", "peer", "ratio", "wanted", ""});
  for (const BenchResult& r : results) {
    bool limit = r.unit == "ms" || r.unit == "us";
    table.add({r.name, r.size, std::to_string(r.threads), duration(r.seconds), fixed(r.figure, 2) + " " + r.unit,
               r.peer, limit ? "–" : fixed(r.ratio, 3), (limit ? "≤ " : "≥ ") + fixed(r.wanted, 2),
               r.reached() ? "reached" : "missed"});
  }
  return table.text();
}

std::string to_json(const std::vector<BenchResult>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const BenchResult& r : results)
    list.push_back({{"name", r.name},
                    {"size", r.size},
                    {"threads", r.threads},
                    {"seconds", r.seconds},
                    {"figure", r.figure},
                    {"unit", r.unit},
                    {"peer", r.peer},
                    {"ratio", r.ratio},
                    {"wanted", r.wanted},
                    {"reached", r.reached()}});
  return list.dump(2);
}

}  // namespace teeny::bench
