// A physical device, what it can do, and the VkDevice and queue that work for it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <teeny/device.hpp>

#include "runtime/driver/vulkan/libvulkan.hpp"
#include "support/vulkan_target.hpp"

namespace teeny::runtime::vulkan {

// The features that teeny's programs and its driver look at, as one chain of Vulkan's structs: filled by the device,
// then given back to it, or read from what an engine made its device with.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 base{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{};
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};

  // Links the structs; those of extensions only where the device has them.
  explicit FeatureChain(const std::vector<std::string>& extensions);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;
  // Leaves what teeny uses: features that are on cost some drivers time.
  void keep_needed();
  // The first feature that no program of teeny's runs without, and that is off; empty: all are on.
  std::string missing() const;
};

// What one program may take of the device, and how it is timed.
struct Limits {
  std::uint32_t threads = 0, shared_bytes = 0, subgroups = 0;
  std::uint32_t grid[3] = {};
  std::uint64_t allocation_bytes = 0;  // of one VkDeviceMemory
  double timestamp_seconds = 0;        // of one count
  unsigned timestamp_bits = 0;         // 0: the queue tells no times
  bool required_size = false;          // subgroups may be asked to have a size
  std::uint32_t least_lanes = 0, most_lanes = 0;
};

struct PhysicalDevice {
  const Instance* instance = nullptr;
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::vector<std::string> extensions;
  VkPhysicalDeviceMemoryProperties memory{};
  Limits limits;
  std::uint32_t family = 0, queues = 1;  // of the queues, and how many teeny takes
  std::string cache_identity;      // what binaries of pipelines depend on
  support::VulkanFeatures features;  // what the driver promises; the probe adds to it
  DeviceInfo info;                 // without the target where `unusable` says something
  bool mapped = false;             // the host reaches the device's memory at no cost: no staging copies
};

// Never throws: what cannot be used says so in info.unusable.
PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle, int index);
// The promises among `chain` as a target's features.
support::VulkanFeatures promised_features(const PhysicalDevice& device, const FeatureChain& chain,
                                          const VkPhysicalDeviceVulkan12Properties& floats);
VkPhysicalDeviceVulkan12Properties float_controls(const PhysicalDevice& device);

// One of a device's queues; it takes submissions of one thread at a time.
struct Queue {
  VkQueue handle = VK_NULL_HANDLE;
  std::mutex mutex;
};

// A VkDevice and its compute queues. Kept to the end of the process.
struct Context {
  PhysicalDevice physical;
  DeviceSymbols vk;
  VkDevice device = VK_NULL_HANDLE;
  std::deque<Queue> queues;  // streams share them: work of one queue is done in order
  VkPipelineLayout layout = VK_NULL_HANDLE;  // push constants alone, the same for all programs

  // The index of a memory type with all of `wanted`, as many of `liked` as there are, or -1.
  int memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags liked) const;
};

constexpr std::uint32_t push_constant_bytes = 128;  // what every device of Vulkan has

// Makes the device and its queues. Throws device_failed.
std::unique_ptr<Context> make_context(PhysicalDevice physical);
// Loads the symbols of a device that is there and makes what a context needs beside it.
void complete(Context& context);

}  // namespace teeny::runtime::vulkan
