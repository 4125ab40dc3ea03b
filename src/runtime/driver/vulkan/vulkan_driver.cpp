// Vulkan's devices through the loader.
#include <algorithm>
#include <filesystem>
#include <mutex>

#include <teeny/error.hpp>

#include "runtime/driver/vulkan/probe.hpp"
#include "runtime/driver/vulkan/vulkan_device.hpp"

namespace teeny::runtime {

namespace {

using namespace vulkan;

// The devices of this process, described once; the context of one is made when something has to run on it.
class Found {
 public:
  Found() {
    const Instance* loaded = instance();
    if (loaded == nullptr) return;
    std::uint32_t count = 0;
    if (loaded->vk.EnumeratePhysicalDevices(loaded->handle, &count, nullptr) < 0) return;
    std::vector<VkPhysicalDevice> handles(count);
    if (loaded->vk.EnumeratePhysicalDevices(loaded->handle, &count, handles.data()) < 0) return;
    handles.resize(count);
    contexts_.resize(handles.size());
    for (std::size_t i = 0; i < handles.size(); ++i) {
      devices_.push_back(describe(*loaded, handles[i], static_cast<int>(i)));
      if (devices_[i].info.unusable.empty()) probe(devices_[i], static_cast<int>(i));
    }
  }

  std::vector<DeviceInfo> infos() const {
    std::vector<DeviceInfo> list;
    for (const PhysicalDevice& device : devices_) list.push_back(device.info);
    return list;
  }
  const PhysicalDevice& at(int index) const { return devices_.at(static_cast<std::size_t>(index)); }
  Context& context(int index) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Context>& context = contexts_.at(static_cast<std::size_t>(index));
    if (context == nullptr) context = make_context(at(index));
    return *context;
  }

 private:
  // Devices of one maker and driver compute alike. One that fails must not take the others from who only asks.
  void probe(PhysicalDevice& device, int index) {
    const auto alike = std::find_if(devices_.begin(), devices_.end(), [&](const PhysicalDevice& other) {
      return &other != &device && other.cache_identity == device.cache_identity && other.info.unusable.empty();
    });
    try {
      device.features = alike != devices_.end() ? alike->features
                                                : probed_features(device, [&]() -> Context& { return context(index); });
      device.info.target = to_target(device.features).text();
      const std::unique_ptr<Context>& probed = contexts_[static_cast<std::size_t>(index)];
      if (probed != nullptr) probed->physical = device;
    } catch (const Error& error) {
      const std::string reason = error.what();
      device.info.unusable = reason.substr(0, reason.find('\n'));
    }
  }

  std::vector<PhysicalDevice> devices_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> contexts_;  // guarded by mutex_
};

Found& found() {
  static auto& all = *new Found;
  return all;
}

class VulkanDriver final : public Driver {
 public:
  std::string kind() const override { return "vulkan"; }
  std::vector<DeviceInfo> devices() override { return found().infos(); }
  // A loader without a GPU only finds what a processor plays, and its drivers are large.
  bool likely() override {
    constexpr const char* gpus[] = {"/dev/dri", "/dev/nvidiactl", "/dev/dxg", "/dev/kgsl-3d0", "/dev/mali0"};
    return std::any_of(std::begin(gpus), std::end(gpus), [](const char* path) { return std::filesystem::exists(path); });
  }
  std::string unavailable() override {
    if (instance() == nullptr) return vulkan::unavailable();
    return found().infos().empty() ? "the Vulkan loader finds no device" : std::string();
  }
  std::unique_ptr<DriverDevice> open(int index) override {
    const DeviceInfo& info = found().at(index).info;
    if (!info.unusable.empty())
      throw Error(ErrorCode::unsupported, "Device::open: " + info.unusable + ", " + info.spec +
                                              ", expected a device that has it\nhelp: choose another device with "
                                              "TEENY_DEVICE; `teeny devices` lists them");
    return std::make_unique<VulkanDevice>(found().context(index));
  }
};

}  // namespace

std::unique_ptr<Driver> make_vulkan_driver() { return std::make_unique<VulkanDriver>(); }

}  // namespace teeny::runtime
