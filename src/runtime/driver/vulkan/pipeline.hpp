// Compute pipelines, and what the device's compiler made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/driver/vulkan/vulkan_context.hpp"

namespace teeny::runtime::vulkan {

class PipelineCache {
 public:
  // `data` of an earlier cache of this device and driver, or nothing.
  PipelineCache(Context& context, const std::uint8_t* data, std::size_t bytes);
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;
  std::vector<std::uint8_t> data() const;
  VkPipelineCache handle = VK_NULL_HANDLE;

 private:
  Context& context_;
};

// `lanes`: 1, or the size that subgroups have to have. The caller destroys it. Throws device_failed.
VkPipeline make_pipeline(Context& context, const std::vector<std::uint32_t>& spirv, const std::string& entry,
                         unsigned lanes, VkPipelineCache cache);

}  // namespace teeny::runtime::vulkan
