// The interpreter as a device: slow, exact, and watching every access of memory.
#include "runtime/driver/interpreter/interpreter_device.hpp"

namespace teeny::runtime {

namespace {

class InterpreterDriver final : public Driver {
 public:
  std::string kind() const override { return "interpreter"; }
  std::vector<DeviceInfo> devices() override {
    return {{.spec = "interpreter",
             .name = "the interpreter and checker",
             .target = "interpreter",
             .memory_bytes = host_memory_bytes(),
             .cache_bytes = 0,
             .max_grid = {0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
             .parallel = 1}};
  }
  std::unique_ptr<DriverDevice> open(int) override { return std::make_unique<InterpreterDevice>(devices()[0], 0); }
};

}  // namespace

std::unique_ptr<Driver> make_interpreter_driver() { return std::make_unique<InterpreterDriver>(); }

}  // namespace teeny::runtime
