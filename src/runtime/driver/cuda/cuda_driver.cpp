// NVIDIA's GPUs through their driver's library.
#include <teeny/cuda.hpp>
#include <teeny/error.hpp>

#include "runtime/device_state.hpp"
#include "runtime/driver/cuda/cuda_device.hpp"
#include "support/cuda_architectures.hpp"

namespace teeny::runtime {

namespace {

using namespace cuda;

int attribute(cuda::Device device, int which) {
  int value = 0;
  check(symbols()->device_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

int driver_version() {
  int version = 0;
  check(symbols()->driver_version(&version), "cuDriverGetVersion");
  return version;
}

// What the device runs, the best first: its own architecture where it is known, then plain older ones.
std::vector<std::string> targets_of(int major, int minor) {
  return support::cuda_targets(major * 10 + minor, support::accepted_ptx(driver_version()));
}

// As nvidia-smi -L prints it.
std::string uuid_of(cuda::Device device) {
  Uuid uuid{};
  check(symbols()->device_uuid(&uuid, device), "cuDeviceGetUuid");
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[uuid.bytes[i] >> 4];
    text += "0123456789abcdef"[uuid.bytes[i] & 15];
  }
  return text;
}

// Programs need 7.5's instructions at the least, and a driver that knows how they are written.
std::string too_old(int major, int minor) {
  if (major * 10 + minor < 75)
    return "a GPU must have compute capability 7.5 or newer; got " + std::to_string(major) + "." + std::to_string(minor);
  if (targets_of(major, minor).empty())
    return "the driver must take PTX 6.3 or newer; got CUDA " + version_text(driver_version());
  return {};
}

DeviceInfo describe(int index) {
  const Symbols& cuda = *symbols();
  cuda::Device device = 0;
  check(cuda.device_get(&device, index), "cuDeviceGet");
  char name[256] = {};
  check(cuda.device_name(name, sizeof name, device), "cuDeviceGetName");
  std::size_t memory = 0;
  check(cuda.device_memory(&memory, device), "cuDeviceTotalMem");
  const int major = attribute(device, compute_major), minor = attribute(device, compute_minor);
  const std::string unusable = too_old(major, minor);
  return {.spec = "cuda:" + std::to_string(index),
          .name = name,
          .target = unusable.empty() ? targets_of(major, minor).front() : "",
          .memory_bytes = memory,
          .cache_bytes = static_cast<std::uint64_t>(attribute(device, l2_cache_bytes)) / 2,
          .max_grid = {static_cast<std::uint64_t>(attribute(device, max_grid_x)),
                       static_cast<std::uint64_t>(attribute(device, max_grid_y)),
                       static_cast<std::uint64_t>(attribute(device, max_grid_z))},
          .parallel = attribute(device, multiprocessors),
          .any_extent = false,
          .uuid = uuid_of(device),
          .unusable = unusable};
}

// A GPU that fails must not take the others, and the CPU, from who only asks what there is.
DeviceInfo describe_or_say_why(int index) {
  try {
    return describe(index);
  } catch (const Error& error) {
    const std::string reason = error.what();
    return {.spec = "cuda:" + std::to_string(index),
            .name = "a GPU out of order",
            .target = {},
            .any_extent = false,
            .unusable = reason.substr(0, reason.find('\n'))};
  }
}

class CudaDriver final : public Driver {
 public:
  std::string kind() const override { return "cuda"; }
  std::vector<DeviceInfo> devices() override {
    int count = 0;
    if (symbols() == nullptr || symbols()->device_count(&count) != 0) return {};
    std::vector<DeviceInfo> list;
    for (int index = 0; index < count; ++index) list.push_back(describe_or_say_why(index));
    return list;
  }
  std::string unavailable() override { return cuda::unavailable(); }
  std::unique_ptr<DriverDevice> open(int index) override {
    DeviceInfo info = describe(index);
    if (!info.unusable.empty())
      throw Error(ErrorCode::unsupported, "Device::open: " + info.unusable + " of " + info.name + ", " + info.spec +
                                              ", expected a newer GPU\nhelp: choose another device with TEENY_DEVICE; "
                                              "`teeny devices` lists them");
    cuda::Device device = 0;
    check(symbols()->device_get(&device, index), "cuDeviceGet");
    return std::make_unique<CudaDevice>(
        index, std::move(info), targets_of(attribute(device, compute_major), attribute(device, compute_minor)));
  }
};

}  // namespace

std::unique_ptr<Driver> make_cuda_driver() { return std::make_unique<CudaDriver>(); }

}  // namespace teeny::runtime

namespace teeny::cuda {

namespace {

runtime::cuda::CudaDevice& cuda_device(const Device& device, const char* operation) {
  auto* found = dynamic_cast<runtime::cuda::CudaDevice*>(device.state()->driver.get());
  if (found == nullptr)
    throw Error(ErrorCode::unsupported, std::string(operation) + ": the device must be CUDA's; got " +
                                            device.info().spec +
                                            ", expected one like cuda:0\nhelp: leave it out there");
  return *found;
}

}  // namespace

Stream wrap_stream(const Device& device, void* stream) {
  return Stream(device.state()->track(device.state()->driver->wrap_stream(stream)), device.state());
}

detail::BufferView wrap_memory(const Device& device, std::uint64_t address, std::uint64_t bytes) {
  detail::BufferView view{.memory = device.state()->driver->wrap_device(address, bytes),
                          .device = device.state(),
                          .address = address,
                          .bytes = bytes};
  return view;
}

ProfilerRange::ProfilerRange(const Device& device) : device_(device) {
  auto& driver = cuda_device(device, "ProfilerRange");
  device.synchronize();
  driver.profile(true);
}

ProfilerRange::~ProfilerRange() {
  try {
    device_.synchronize();
  } catch (const Error&) {  // who waits next for the device hears of a lost context again
  }
  cuda_device(device_, "ProfilerRange").profile(false);
}

void release_memory(const Device& device) { cuda_device(device, "release_memory").release_memory(); }

}  // namespace teeny::cuda
