#include "runtime/driver/vulkan/pipeline.hpp"

namespace teeny::runtime::vulkan {

PipelineCache::PipelineCache(Context& context, const std::uint8_t* data, std::size_t bytes) : context_(context) {
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = bytes;
  info.pInitialData = data;
  check(context.vk.CreatePipelineCache(context.device, &info, nullptr, &handle), "vkCreatePipelineCache");
}

PipelineCache::~PipelineCache() { context_.vk.DestroyPipelineCache(context_.device, handle, nullptr); }

std::vector<std::uint8_t> PipelineCache::data() const {
  std::size_t bytes = 0;
  check(context_.vk.GetPipelineCacheData(context_.device, handle, &bytes, nullptr), "vkGetPipelineCacheData");
  std::vector<std::uint8_t> data(bytes);
  check(context_.vk.GetPipelineCacheData(context_.device, handle, &bytes, data.data()), "vkGetPipelineCacheData");
  data.resize(bytes);
  return data;
}

VkPipeline make_pipeline(Context& context, const std::vector<std::uint32_t>& spirv, const std::string& entry,
                         unsigned lanes, VkPipelineCache cache) {
  const DeviceSymbols& vk = context.vk;
  VkShaderModuleCreateInfo code{};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = spirv.size() * sizeof(std::uint32_t);
  code.pCode = spirv.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check(vk.CreateShaderModule(context.device, &code, nullptr, &module), "vkCreateShaderModule");
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{};
  size.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  size.requiredSubgroupSize = lanes;
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = entry.c_str();
  info.layout = context.layout;
  if (lanes > 1) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    if (context.physical.limits.required_size) info.stage.pNext = &size;
  }
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result = vk.CreateComputePipelines(context.device, cache, 1, &info, nullptr, &pipeline);
  vk.DestroyShaderModule(context.device, module, nullptr);
  check(result, "vkCreateComputePipelines");
  return pipeline;
}

}  // namespace teeny::runtime::vulkan
