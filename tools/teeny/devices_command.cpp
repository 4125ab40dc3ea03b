#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>
#include <teeny/teeny.hpp>

#include "bench/table.hpp"
#include "commands.hpp"

namespace teeny::command {

namespace {

std::string gibibytes(std::uint64_t bytes) {
  return bytes == 0 ? "–" : bench::fixed(double(bytes) / (1 << 30), 1) + " GiB";
}

int print_text() {
  bench::Table table({"device", "name", "target", "memory", "parallel"});
  std::string notes;
  for (const DeviceInfo& device : devices()) {
    table.add({device.spec, device.name, device.unusable.empty() ? device.target : "not usable",
               gibibytes(device.memory_bytes), std::to_string(device.parallel)});
    if (!device.unusable.empty()) notes += device.spec + ": " + device.unusable + "\n";
  }
  for (const MissingKind& missing : missing_kinds()) notes += "no " + missing.kind + ": " + missing.reason + "\n";
  std::cout << table.text() << notes;
  return 0;
}

int print_json() {
  nlohmann::json list = nlohmann::json::array();
  for (const DeviceInfo& device : devices())
    list.push_back({{"device", device.spec},
                    {"name", device.name},
                    {"target", device.target},
                    {"memory_bytes", device.memory_bytes},
                    {"cache_bytes", device.cache_bytes},
                    {"uuid", device.uuid},
                    {"unusable", device.unusable},
                    {"parallel", device.parallel}});
  std::cout << list.dump(2) << "\n";
  return 0;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "List the devices found here, the best first");
  command->add_flag("--json", *json, "Print JSON");
  command->callback([&action, json] { action = [json] { return *json ? print_json() : print_text(); }; });
}

}  // namespace teeny::command
