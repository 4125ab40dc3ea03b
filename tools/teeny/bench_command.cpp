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

int run_bench(Options& options) {
  Device device = Device::open(options.device);
  if (!device.info().target.starts_with("cpu"))
    throw Error(ErrorCode::unsupported, "bench: device " + options.device + " has no benchmarks; got target '" +
                device.info().target + "', expected a CPU\nhelp: run `teeny bench --device cpu`");
  bool terminal = isatty(STDERR_FILENO);
  options.bench.progress = [terminal](const std::string& what) {
    std::cerr << (terminal ? "\r\033[K" : "") << what << " …" << (terminal ? "" : "\n") << std::flush;
  };
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
}

}  // namespace teeny::command
