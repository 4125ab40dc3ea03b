#include <teeny/error.hpp>

#include "runtime/driver/driver.hpp"

namespace teeny::runtime {

const std::vector<std::unique_ptr<Driver>>& drivers() {
  // Never destroyed: buffers of static storage may outlive every other static object.
  static const auto& list = *[] {
    auto* made = new std::vector<std::unique_ptr<Driver>>;
    made->push_back(make_cuda_driver());
    made->push_back(make_vulkan_driver());
    made->push_back(make_cpu_driver());
    made->push_back(make_interpreter_driver());
    made->push_back(make_simulator_driver());
    return made;
  }();
  return list;
}

namespace {

[[noreturn]] void nothing_to_wrap(const DeviceInfo& device, const char* what) {
  throw Error(ErrorCode::unsupported, std::string("wrap: the device must have ") + what + " of its own; got " +
                                          device.spec + ", expected a device of CUDA\nhelp: use the device's own");
}

}  // namespace

std::shared_ptr<DeviceMemory> DriverDevice::wrap_device(std::uint64_t, std::uint64_t) {
  nothing_to_wrap(info(), "memory");
}
std::shared_ptr<DriverStream> DriverDevice::wrap_stream(void*) { nothing_to_wrap(info(), "streams"); }

}  // namespace teeny::runtime
