#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include <nlohmann/json.hpp>
#include <teeny/teeny.hpp>

#include "commands.hpp"
#include "conformance/conformance.hpp"

namespace teeny::command {

namespace {

using conformance::Result;

struct Settings {
  std::string device, filter;
  int threads = 0;
  bool json = false, list = false, no_skips = false;
};

const char* word(Result::Status status) {
  return status == Result::Status::passed ? "passed" : status == Result::Status::failed ? "failed" : "skipped";
}

int list_cases(const Settings& settings) {
  for (const conformance::Case* one : conformance::select(settings.filter)) std::printf("%s\n", one->name.c_str());
  return 0;
}

int run(const Settings& settings) {
  if (settings.list) return list_cases(settings);
  const Device device = settings.device.empty() ? Device::open() : Device::open(settings.device);
  const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  nlohmann::json results = nlohmann::json::array();
  const conformance::Summary summary = conformance::run(
      device, {settings.filter, settings.threads > 0 ? settings.threads : processors}, [&](const Result& result) {
        if (settings.json) {
          results.push_back({{"case", result.of->name}, {"status", word(result.status)}, {"text", result.text}});
        } else if (result.status != Result::Status::passed) {
          std::printf("%s %s: %s\n", word(result.status), result.of->name.c_str(), result.text.c_str());
          std::fflush(stdout);
        }
      });
  if (settings.json) {
    std::sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a["case"] < b["case"]; });
    const nlohmann::json all = {{"device", device.info().spec}, {"target", device.info().target},
                                {"passed", summary.passed},     {"failed", summary.failed},
                                {"skipped", summary.skipped},   {"cases", results}};
    std::printf("%s\n", all.dump(2).c_str());
  } else {
    std::printf("%d passed, %d failed, %d skipped\n", summary.passed, summary.failed, summary.skipped);
  }
  const bool nothing = summary.passed + summary.failed + summary.skipped == 0;
  return summary.failed > 0 || nothing || (settings.no_skips && summary.skipped > 0) ? 1 : 0;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto settings = std::make_shared<Settings>();
  CLI::App* command =
      app.add_subcommand("check", "Compare a device with the interpreter and with references, operation by operation");
  command->add_option("--device", settings->device,
                      "The device, such as cpu; otherwise the one TEENY_DEVICE names or the best");
  command->add_option("--filter", settings->filter,
                      "Only cases whose name contains this; alternatives are separated by |");
  command->add_option("--threads", settings->threads, "Cases run at once; otherwise one for each processor");
  command->add_flag("--json", settings->json, "Print JSON");
  command->add_flag("--list", settings->list, "Print the names of the cases and run none");
  command->add_flag("--no-skips", settings->no_skips, "A skipped case counts as a failure");
  command->callback([&action, settings] { action = [settings] { return run(*settings); }; });
}

}  // namespace teeny::command
