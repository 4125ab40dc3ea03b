#include "runtime/driver/vulkan/commands.hpp"

#include <algorithm>
#include <cstring>

#include <teeny/error.hpp>

namespace teeny::runtime::vulkan {

namespace {

constexpr std::uint64_t argument_place_bytes = 64 << 10;
constexpr VkPipelineStageFlags2 work_stages = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT;

void barrier(Context& context, VkCommandBuffer commands, VkPipelineStageFlags2 to, VkAccessFlags2 access) {
  VkMemoryBarrier2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
  memory.srcStageMask = work_stages;
  memory.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
  memory.dstStageMask = to;
  memory.dstAccessMask = access;
  VkDependencyInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &memory;
  context.vk.CmdPipelineBarrier2(commands, &info);
}

VkSemaphoreSubmitInfo submit_info(const Point& point) {
  VkSemaphoreSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
  info.semaphore = point.timeline->semaphore();
  info.value = point.value;
  info.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  return info;
}

}  // namespace

ArgumentSpace::~ArgumentSpace() {
  for (const Place& place : places_) allocator_.free(place, {});
}

std::uint64_t ArgumentSpace::put(const std::uint64_t* words, std::size_t count) {
  const std::uint64_t bytes = count * sizeof(std::uint64_t);
  if (current_ < places_.size() && used_ + bytes > places_[current_].bytes) {
    ++current_;
    used_ = 0;
  }
  if (current_ == places_.size()) {
    Place place;
    if (!allocator_.allocate(std::max(argument_place_bytes, bytes), place))
      throw Error(ErrorCode::out_of_memory,
                  "launch: memory for the arguments must be available; got a request for " + std::to_string(bytes) +
                      " bytes, expected the device to have them\nhelp: release buffers");
    places_.push_back(place);
  }
  const Place& place = places_[current_];
  std::memcpy(place.mapped() + used_, words, bytes);
  const std::uint64_t address = place.address() + used_;
  used_ += bytes;
  return address;
}

void ArgumentSpace::reuse() {
  current_ = 0;
  used_ = 0;
}

CommandPool::CommandPool(Context& context) : context_(context) {
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = context.physical.family;
  check(context.vk.CreateCommandPool(context.device, &info, nullptr, &pool_), "vkCreateCommandPool");
}

CommandPool::~CommandPool() { context_.vk.DestroyCommandPool(context_.device, pool_, nullptr); }

VkCommandBuffer CommandPool::make() {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(context_.vk.AllocateCommandBuffers(context_.device, &info, &commands), "vkAllocateCommandBuffers");
  return commands;
}

void begin(Context& context, VkCommandBuffer commands, bool once) {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  check(context.vk.BeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void end(Context& context, VkCommandBuffer commands) {
  barrier(context, commands, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
  check(context.vk.EndCommandBuffer(commands), "vkEndCommandBuffer");
}

void order(Context& context, VkCommandBuffer commands) {
  barrier(context, commands, work_stages, VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT);
}

void copy(Context& context, VkCommandBuffer commands, VkBuffer from, std::uint64_t from_offset, VkBuffer to,
          std::uint64_t to_offset, std::uint64_t bytes) {
  const VkBufferCopy region{.srcOffset = from_offset, .dstOffset = to_offset, .size = bytes};
  context.vk.CmdCopyBuffer(commands, from, to, 1, &region);
}

void record(Context& context, VkCommandBuffer commands, const HostCopy& step, const VulkanHostMemory& host) {
  const auto& memory = static_cast<const VulkanMemory&>(*step.memory);
  const std::uint64_t offset = memory.offset_of(step.address), host_offset = host.offset_of(step.data);
  if (step.to_device)
    copy(context, commands, host.buffer(), host_offset, memory.buffer(), offset, step.bytes);
  else
    copy(context, commands, memory.buffer(), offset, host.buffer(), host_offset, step.bytes);
  order(context, commands);
}

void submit(Context& context, Queue& queue, const Submission& submission) {
  std::vector<VkSemaphoreSubmitInfo> waits;
  for (const Point& point : submission.waits) waits.push_back(submit_info(point));
  std::vector<VkCommandBufferSubmitInfo> commands;
  for (VkCommandBuffer buffer : submission.commands) {
    VkCommandBufferSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
    info.commandBuffer = buffer;
    commands.push_back(info);
  }
  const VkSemaphoreSubmitInfo signal = submit_info(submission.signal);
  VkSubmitInfo2 work{};
  work.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
  work.waitSemaphoreInfoCount = static_cast<std::uint32_t>(waits.size());
  work.pWaitSemaphoreInfos = waits.data();
  work.commandBufferInfoCount = static_cast<std::uint32_t>(commands.size());
  work.pCommandBufferInfos = commands.data();
  work.signalSemaphoreInfoCount = 1;
  work.pSignalSemaphoreInfos = &signal;
  VkResult result = VK_SUCCESS;
  {
    const std::lock_guard lock(queue.mutex);
    result = context.vk.QueueSubmit2(queue.handle, 1, &work, VK_NULL_HANDLE);
  }
  check(result, "vkQueueSubmit2");
}

}  // namespace teeny::runtime::vulkan
