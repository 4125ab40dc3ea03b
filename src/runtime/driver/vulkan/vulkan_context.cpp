#include "runtime/driver/vulkan/vulkan_context.hpp"

#include <algorithm>
#include <bit>

#include <teeny/error.hpp>

namespace teeny::runtime::vulkan {

namespace {

constexpr std::uint32_t most_queues = 4;
constexpr std::uint64_t most_programs = 0x7fffffff;

bool has(const std::vector<std::string>& list, const char* name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::vector<std::string> extensions_of(const Instance& instance, VkPhysicalDevice device) {
  std::uint32_t count = 0;
  if (instance.vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) < 0) return {};
  std::vector<VkExtensionProperties> list(count);
  if (instance.vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, list.data()) < 0) return {};
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.emplace_back(list[i].extensionName);
  return names;
}

std::string version_text(std::uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version));
}

std::string hex(const std::uint8_t* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

const char* type_text(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "software";
    default:
      return "other";
  }
}

// The queue family that work goes to: one for compute alone before one for graphics too; -1: none.
int compute_family(const Instance& instance, VkPhysicalDevice device,
                   PhysicalDevice& known) {
  std::uint32_t count = 0;
  instance.vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  instance.vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  int best = -1;
  for (std::uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    const bool alone = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0;
    if (best < 0 || (alone && (families[static_cast<std::size_t>(best)].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0))
      best = static_cast<int>(i);
  }
  if (best < 0) return best;
  const VkQueueFamilyProperties& family = families[static_cast<std::size_t>(best)];
  known.family = static_cast<std::uint32_t>(best);
  known.queues = std::min(family.queueCount, most_queues);
  known.limits.timestamp_bits = family.timestampValidBits;
  return best;
}

// Subgroups of one size that programs can rely on, or 1 for none. 32 is what most GPUs have; beside it the largest.
int chosen_lanes(const Limits& limits, bool full, const VkPhysicalDeviceVulkan11Properties& subgroup) {
  constexpr VkSubgroupFeatureFlags needed =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  if (!full || (subgroup.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0 ||
      (subgroup.subgroupSupportedOperations & needed) != needed)
    return 1;
  if (!limits.required_size && limits.least_lanes != limits.most_lanes) return 1;
  const std::uint32_t lanes = std::clamp<std::uint32_t>(32, limits.least_lanes, limits.most_lanes);
  return lanes >= 8 && lanes <= 64 ? static_cast<int>(lanes) : 1;
}

void describe_memory(PhysicalDevice& device, VkPhysicalDeviceType type) {
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  device.instance->vk.GetPhysicalDeviceMemoryProperties2(device.handle, &memory);
  device.memory = memory.memoryProperties;
  constexpr VkMemoryPropertyFlags shared =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  bool reachable = false;
  for (std::uint32_t i = 0; i < device.memory.memoryTypeCount; ++i)
    reachable = reachable || (device.memory.memoryTypes[i].propertyFlags & shared) == shared;
  for (std::uint32_t i = 0; i < device.memory.memoryHeapCount; ++i)
    if ((device.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      device.info.memory_bytes = std::max<std::uint64_t>(device.info.memory_bytes, device.memory.memoryHeaps[i].size);
  device.mapped =
      reachable && (type == VK_PHYSICAL_DEVICE_TYPE_CPU || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
}

void describe_limits(PhysicalDevice& device, const VkPhysicalDeviceLimits& limits,
                     const VkPhysicalDeviceVulkan11Properties& v11, const VkPhysicalDeviceVulkan13Properties& v13) {
  Limits& known = device.limits;
  known.threads = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  known.shared_bytes = limits.maxComputeSharedMemorySize;
  known.subgroups = v13.maxComputeWorkgroupSubgroups;
  known.allocation_bytes = std::min<std::uint64_t>(v11.maxMemoryAllocationSize, v13.maxBufferSize);
  known.timestamp_seconds = static_cast<double>(limits.timestampPeriod) * 1e-9;
  known.required_size = (v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  known.least_lanes = v13.minSubgroupSize;
  known.most_lanes = v13.maxSubgroupSize;
  for (int i = 0; i < 3; ++i) {
    known.grid[i] = limits.maxComputeWorkGroupCount[i];
    device.info.max_grid[i] = known.grid[i];
  }
  device.info.max_grid[0] = most_programs;  // in several dispatches
}

std::string too_old(const PhysicalDevice& device, std::uint32_t version, const FeatureChain& chain, int family) {
  if (version < VK_API_VERSION_1_3)
    return "a driver must have Vulkan 1.3 or newer; got " + version_text(version) + " of " + device.info.driver;
  if (family < 0) return "a device must have a queue for compute; got none of " + device.info.name;
  if (const std::string missing = chain.missing(); !missing.empty())
    return "a device must have the feature " + missing + "; got none of " + device.info.name;
  return {};
}

}  // namespace

FeatureChain::FeatureChain(const std::vector<std::string>& extensions) {
  base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  atomic_float.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  base.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = &v13;
  void** last = &v13.pNext;
  const auto link = [&](const char* extension, auto& features) {
    if (!has(extensions, extension)) return;
    *last = &features;
    last = &features.pNext;
  };
  link(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, atomic_float);
  link(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, matrix);
  link(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, bfloat16);
}

void FeatureChain::keep_needed() {
  VkPhysicalDeviceFeatures features{};
  features.shaderFloat64 = base.features.shaderFloat64;
  features.shaderInt64 = base.features.shaderInt64;
  features.shaderInt16 = base.features.shaderInt16;
  base.features = features;
  VkPhysicalDeviceVulkan11Features one{};
  one.sType = v11.sType;
  one.pNext = v11.pNext;
  one.storageBuffer16BitAccess = v11.storageBuffer16BitAccess;
  one.uniformAndStorageBuffer16BitAccess = v11.uniformAndStorageBuffer16BitAccess;
  one.variablePointersStorageBuffer = v11.variablePointersStorageBuffer;
  one.variablePointers = v11.variablePointers;
  v11 = one;
  VkPhysicalDeviceVulkan12Features two{};
  two.sType = v12.sType;
  two.pNext = v12.pNext;
  two.storageBuffer8BitAccess = v12.storageBuffer8BitAccess;
  two.uniformAndStorageBuffer8BitAccess = v12.uniformAndStorageBuffer8BitAccess;
  two.shaderBufferInt64Atomics = v12.shaderBufferInt64Atomics;
  two.shaderSharedInt64Atomics = v12.shaderSharedInt64Atomics;
  two.shaderFloat16 = v12.shaderFloat16;
  two.shaderInt8 = v12.shaderInt8;
  two.scalarBlockLayout = v12.scalarBlockLayout;
  two.shaderSubgroupExtendedTypes = v12.shaderSubgroupExtendedTypes;
  two.hostQueryReset = v12.hostQueryReset;
  two.timelineSemaphore = v12.timelineSemaphore;
  two.bufferDeviceAddress = v12.bufferDeviceAddress;
  two.vulkanMemoryModel = v12.vulkanMemoryModel;
  two.vulkanMemoryModelDeviceScope = v12.vulkanMemoryModelDeviceScope;
  v12 = two;
  VkPhysicalDeviceVulkan13Features three{};
  three.sType = v13.sType;
  three.pNext = v13.pNext;
  three.subgroupSizeControl = v13.subgroupSizeControl;
  three.computeFullSubgroups = v13.computeFullSubgroups;
  three.synchronization2 = v13.synchronization2;
  three.maintenance4 = v13.maintenance4;
  three.shaderIntegerDotProduct = v13.shaderIntegerDotProduct;
  v13 = three;
  matrix.cooperativeMatrixRobustBufferAccess = VK_FALSE;
}

std::string FeatureChain::missing() const {
  if (base.features.shaderInt64 == VK_FALSE) return "shaderInt64";
  if (v12.bufferDeviceAddress == VK_FALSE) return "bufferDeviceAddress";
  if (v12.timelineSemaphore == VK_FALSE) return "timelineSemaphore";
  if (v12.vulkanMemoryModel == VK_FALSE) return "vulkanMemoryModel";
  if (v12.vulkanMemoryModelDeviceScope == VK_FALSE) return "vulkanMemoryModelDeviceScope";
  if (v12.hostQueryReset == VK_FALSE) return "hostQueryReset";
  if (v13.synchronization2 == VK_FALSE) return "synchronization2";
  return {};
}

VkPhysicalDeviceVulkan12Properties float_controls(const PhysicalDevice& device) {
  VkPhysicalDeviceVulkan12Properties v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &v12;
  device.instance->vk.GetPhysicalDeviceProperties2(device.handle, &properties);
  return v12;
}

support::VulkanFeatures promised_features(const PhysicalDevice& device, const FeatureChain& chain,
                                          const VkPhysicalDeviceVulkan12Properties& floats) {
  VkPhysicalDeviceVulkan11Properties subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &subgroup;
  device.instance->vk.GetPhysicalDeviceProperties2(device.handle, &properties);
  support::VulkanFeatures features;
  const bool full = chain.v13.computeFullSubgroups != VK_FALSE && chain.v13.subgroupSizeControl != VK_FALSE;
  features.lanes = chosen_lanes(device.limits, full, subgroup);
  features.shared_kib = std::max(features.shared_kib, static_cast<int>(device.limits.shared_bytes / 1024));
  features.threads = std::max(features.threads, static_cast<int>(device.limits.threads));
  features.f64 = chain.base.features.shaderFloat64 != VK_FALSE;
  features.f16 = chain.v12.shaderFloat16 != VK_FALSE;
  features.storage8 = chain.v12.storageBuffer8BitAccess != VK_FALSE && chain.v12.shaderInt8 != VK_FALSE;
  features.storage16 = chain.v11.storageBuffer16BitAccess != VK_FALSE && chain.base.features.shaderInt16 != VK_FALSE;
  features.atomic_i64 = chain.v12.shaderBufferInt64Atomics != VK_FALSE;
  features.atomic_f32_add = chain.atomic_float.shaderBufferFloat32AtomicAdd != VK_FALSE;
  features.keep_nan = floats.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
  features.keep_denormals = floats.shaderDenormPreserveFloat32 != VK_FALSE;
  features.round_even = floats.shaderRoundingModeRTEFloat32 != VK_FALSE;
  return features;
}

PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle, int index) {
  VkPhysicalDeviceVulkan13Properties v13{};
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  VkPhysicalDeviceVulkan12Properties v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  v12.pNext = &v13;
  VkPhysicalDeviceVulkan11Properties v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  v11.pNext = &v12;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &v11;
  instance.vk.GetPhysicalDeviceProperties2(handle, &properties);
  const VkPhysicalDeviceProperties& known = properties.properties;

  PhysicalDevice device;
  device.instance = &instance;
  device.handle = handle;
  device.extensions = extensions_of(instance, handle);
  device.info.spec = "vulkan:" + std::to_string(index);
  device.info.name = known.deviceName;
  device.info.driver = std::string(v12.driverName) + " " + v12.driverInfo + ", Vulkan " + version_text(known.apiVersion);
  device.info.type = type_text(known.deviceType);
  device.info.software = known.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  device.info.any_extent = false;
  device.info.uuid = "VK-" + hex(v11.deviceUUID, VK_UUID_SIZE);
  device.cache_identity = device.info.name + " " + device.info.driver + " " + std::to_string(known.driverVersion) +
                          " " + hex(known.pipelineCacheUUID, VK_UUID_SIZE);
  describe_memory(device, known.deviceType);
  describe_limits(device, known.limits, v11, v13);
  const int family = compute_family(instance, handle, device);
  FeatureChain chain(device.extensions);
  instance.vk.GetPhysicalDeviceFeatures2(handle, &chain.base);
  device.info.unusable = too_old(device, known.apiVersion, chain, family);
  if (!device.info.unusable.empty()) return device;
  device.features = promised_features(device, chain, v12);
  device.info.target = to_target(device.features).text();
  return device;
}

int Context::memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags liked) const {
  int best = -1, best_count = -1;
  for (std::uint32_t i = 0; i < physical.memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = physical.memory.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) == 0 || (flags & wanted) != wanted) continue;
    const int count = std::popcount(flags & liked);
    if (count <= best_count) continue;
    best = static_cast<int>(i);
    best_count = count;
  }
  return best;
}

void complete(Context& context) {
  const std::string missing = load_symbols(context.physical.instance->vk, context.device, context.vk);
  if (!missing.empty())
    throw Error(ErrorCode::unsupported, "Device::open: the driver must have all of Vulkan 1.3; got none of " + missing +
                                            ", expected it\nhelp: install a newer driver");
  const VkPushConstantRange range{
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = push_constant_bytes};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  check(context.vk.CreatePipelineLayout(context.device, &layout, nullptr, &context.layout), "vkCreatePipelineLayout");
}

std::unique_ptr<Context> make_context(PhysicalDevice physical) {
  auto context = std::make_unique<Context>();
  context->physical = std::move(physical);
  const PhysicalDevice& device = context->physical;
  FeatureChain chain(device.extensions);
  device.instance->vk.GetPhysicalDeviceFeatures2(device.handle, &chain.base);
  chain.keep_needed();
  std::vector<const char*> extensions;
  for (const char* name : {VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
                           VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME})
    if (has(device.extensions, name)) extensions.push_back(name);
  const std::vector<float> priorities(device.queues, 1);
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = device.family;
  queue.queueCount = device.queues;
  queue.pQueuePriorities = priorities.data();
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &chain.base;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(device.instance->vk.CreateDevice(device.handle, &info, nullptr, &context->device), "vkCreateDevice");
  complete(*context);
  for (std::uint32_t i = 0; i < device.queues; ++i)
    context->vk.GetDeviceQueue(context->device, device.family, i, &context->queues.emplace_back().handle);
  return context;
}

}  // namespace teeny::runtime::vulkan
