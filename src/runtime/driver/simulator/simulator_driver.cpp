// Simulators of GPUs as devices, opened by what they simulate: "simulator:cuda:sm_90a:lanes=8:seed=3".
#include <charconv>

#include <teeny/error.hpp>

#include "runtime/driver/interpreter/interpreter_device.hpp"

namespace teeny::runtime {

namespace {

constexpr std::string_view seed_option = ":seed=";

std::uint64_t seed_of(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return seed;
  throw Error(ErrorCode::invalid_argument, "Device::open: a seed is a number; got '" + std::string(text) +
                                               "', expected one like 3\nhelp: write seed=3 at the end");
}

class SimulatorDriver final : public Driver {
 public:
  std::string kind() const override { return "simulator"; }
  // None is found: they are made as they are asked for.
  std::vector<DeviceInfo> devices() override { return {}; }
  std::unique_ptr<DriverDevice> open(int) override { return nullptr; }

  std::unique_ptr<DriverDevice> open_named(std::string_view name) override {
    const std::size_t option = name.find(seed_option);
    const std::uint64_t seed = option == std::string_view::npos ? 1 : seed_of(name.substr(option + seed_option.size()));
    const std::string target = "simulator:" + std::string(name.substr(0, option));
    return std::make_unique<InterpreterDevice>(DeviceInfo{.spec = "simulator:" + std::string(name),
                                                          .name = "the simulator of a GPU",
                                                          .target = target,
                                                          .memory_bytes = host_memory_bytes(),
                                                          .cache_bytes = 0,
                                                          .max_grid = {0x7fffffffu, 0xffffu, 0xffffu},
                                                          .parallel = 1,
                                                          .any_extent = false},
                                               seed);
  }
};

}  // namespace

std::unique_ptr<Driver> make_simulator_driver() { return std::make_unique<SimulatorDriver>(); }

}  // namespace teeny::runtime
