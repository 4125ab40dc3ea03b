#include <cstdio>
#include <iostream>
#include <memory>
#include <unistd.h>

#include <teeny/teeny.hpp>

#include "bench/cpu_bench.hpp"
#include "commands.hpp"

namespace teeny::command {

namespace {

struct Options {
  std::string device = "cpu";
  bool json = false;
  bench::BenchOptions bench;
};

// Starts this program anew, so that nothing of this process is warm.
double in_new_process(const std::string& cache) {
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return -1;
  self[length] = 0;
  std::string line = "TEENY_CACHE='" + cache + "' '" + self + "' first-kernel";
  FILE* pipe = popen(line.c_str(), "r");
  if (!pipe) return -1;
  double seconds = -1;
  bool read = std::fscanf(pipe, "%lf", &seconds) == 1;
  return pclose(pipe) == 0 && read ? seconds : -1;
}

int run_bench(Options& options) {
  Device device = Device::open(options.device);
  if (!device.info().target.starts_with("cpu"))
    throw Error(ErrorCode::unsupported, "bench: device " + options.device + " has no benchmarks; got target '" +
                                            device.info().target +
                                            "', expected a CPU\nhelp: run `teeny bench --device cpu`");
  bool terminal = isatty(STDERR_FILENO);
  options.bench.progress = [terminal](const std::string& what) {
    std::cerr << (terminal ? "\r\033[K" : "") << what << " …" << (terminal ? "" : "\n") << std::flush;
  };
  options.bench.in_new_process = in_new_process;
  auto results = bench::run_cpu_bench(device, options.bench);
  if (terminal) std::cerr << "\r\033[K";
  std::cout << (options.json ? bench::to_json(results) + "\n" : bench::to_text(results));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "Time kernels beside named peers, in interleaved pairs");
  command->add_option("--device", options->device, "The device to measure")->capture_default_str();
  command->add_option("--filter", options->bench.filter, "Only benchmarks whose name contains this");
  command->add_flag("--quick", options->bench.quick, "Few samples: a smoke test, not a measurement");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([&action, options] { action = [options] { return run_bench(*options); }; });
  CLI::App* first = app.add_subcommand("first-kernel", "Print the seconds that one kernel takes from nothing");
  first->group("");  // for `bench`, not for people
  first->callback(
      [&action] { action = [] { return std::printf("%.9f\n", bench::first_kernel_seconds()) > 0 ? 0 : 1; }; });
}

}  // namespace teeny::command
