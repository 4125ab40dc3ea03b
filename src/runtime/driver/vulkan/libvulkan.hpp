// The Vulkan loader, found at run time: the tables of its symbols, and the instance. Vulkan's headers are used for their
// declarations alone; no symbol of theirs is linked.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

#include "runtime/driver/vulkan/newer_declarations.hpp"

namespace teeny::runtime::vulkan {

#define TEENY_VULKAN_INSTANCE_SYMBOLS(X)     \
  X(EnumeratePhysicalDevices)                \
  X(EnumerateDeviceExtensionProperties)      \
  X(GetPhysicalDeviceProperties2)            \
  X(GetPhysicalDeviceFeatures2)              \
  X(GetPhysicalDeviceMemoryProperties2)      \
  X(GetPhysicalDeviceQueueFamilyProperties)  \
  X(CreateDevice)                            \
  X(GetDeviceProcAddr)

#define TEENY_VULKAN_DEVICE_SYMBOLS(X) \
  X(DestroyDevice)                     \
  X(GetDeviceQueue)                    \
  X(AllocateMemory)                    \
  X(FreeMemory)                        \
  X(MapMemory)                         \
  X(CreateBuffer)                      \
  X(DestroyBuffer)                     \
  X(GetBufferMemoryRequirements)       \
  X(BindBufferMemory)                  \
  X(GetBufferDeviceAddress)            \
  X(CreateShaderModule)                \
  X(DestroyShaderModule)               \
  X(CreatePipelineLayout)              \
  X(DestroyPipelineLayout)             \
  X(CreatePipelineCache)               \
  X(DestroyPipelineCache)              \
  X(GetPipelineCacheData)              \
  X(CreateComputePipelines)            \
  X(DestroyPipeline)                   \
  X(CreateCommandPool)                 \
  X(DestroyCommandPool)                \
  X(AllocateCommandBuffers)            \
  X(ResetCommandPool)                  \
  X(BeginCommandBuffer)                \
  X(EndCommandBuffer)                  \
  X(CmdBindPipeline)                   \
  X(CmdPushConstants)                  \
  X(CmdDispatch)                       \
  X(CmdPipelineBarrier2)               \
  X(CmdCopyBuffer)                     \
  X(CmdWriteTimestamp2)                \
  X(QueueSubmit2)                      \
  X(CreateSemaphore)                   \
  X(DestroySemaphore)                  \
  X(GetSemaphoreCounterValue)          \
  X(WaitSemaphores)                    \
  X(CreateQueryPool)                   \
  X(DestroyQueryPool)                  \
  X(ResetQueryPool)                    \
  X(GetQueryPoolResults)

#define TEENY_VULKAN_MEMBER(name) PFN_vk##name name = nullptr;
struct InstanceSymbols {
  TEENY_VULKAN_INSTANCE_SYMBOLS(TEENY_VULKAN_MEMBER)
  PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR GetPhysicalDeviceCooperativeMatrixPropertiesKHR = nullptr;
};
struct DeviceSymbols {
  TEENY_VULKAN_DEVICE_SYMBOLS(TEENY_VULKAN_MEMBER)
};
#undef TEENY_VULKAN_MEMBER

// An instance and its symbols: the process's own, or an engine's.
struct Instance {
  VkInstance handle = VK_NULL_HANDLE;
  InstanceSymbols vk;
};

// The loader and an instance of ours, made once; null where there is none, and `unavailable()` says why.
// TEENY_VULKAN_LIBRARY names another file than libvulkan.so.1; with TEENY_VULKAN_VALIDATION=1 the Khronos validation layer
// watches every call, and what it says is thrown by the next check().
const Instance* instance();
const std::string& unavailable();

// Empty, or the name of the first symbol that is missing.
std::string load_symbols(PFN_vkGetInstanceProcAddr get, VkInstance handle, InstanceSymbols& symbols);
std::string load_symbols(const InstanceSymbols& instance, VkDevice device, DeviceSymbols& symbols);

// "VK_ERROR_DEVICE_LOST"
std::string text_of(VkResult result);
// Throws device_failed where `result` is an error, "<operation>: <rule>; got <text>…", or where the validation layer has
// found something since the last check.
void check(VkResult result, const char* operation);

}  // namespace teeny::runtime::vulkan
