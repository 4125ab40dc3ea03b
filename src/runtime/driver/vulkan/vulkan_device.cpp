#include "runtime/driver/vulkan/vulkan_device.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include <teeny/error.hpp>

namespace teeny::runtime::vulkan {

namespace {
constexpr std::uint64_t staging_bytes = std::uint64_t{8} << 20;
}

VulkanDevice::VulkanDevice(Context& context)
    : context_(context),
      memory_(context, MemoryKind::device),
      host_(context, MemoryKind::host),
      arguments_(context, MemoryKind::arguments),
      staging_timeline_(std::make_shared<Timeline>(context)),
      staging_pool_(context) {
  staging_commands_ = staging_pool_.make();
  default_stream_ = std::make_unique<VulkanStream>(*this, context.queues.front());
}

void VulkanDevice::give_all_streams() {
  const std::lock_guard lock(streams_mutex_);
  for (VulkanStream* stream : streams_) stream->flush();
}

// Memory that was freed and is still in use is waited for before there is none.
Place VulkanDevice::allocate_place(Allocator& allocator, std::uint64_t bytes, const char* operation) {
  Place place;
  const bool sensible = bytes <= info().memory_bytes || info().memory_bytes == 0;
  if (sensible && allocator.allocate(bytes, place)) return place;
  if (sensible) {
    give_all_streams();
    for (Allocator* each : {&memory_, &host_, &arguments_}) each->release();
    if (allocator.allocate(bytes, place)) return place;
  }
  const std::uint64_t held = memory_.held() + host_.held() + arguments_.held();
  throw Error(ErrorCode::out_of_memory,
              std::string(operation) + ": memory must be available; got a request for " + std::to_string(bytes) +
                  " bytes on " + info().spec + ", expected at most " +
                  std::to_string(context_.physical.limits.allocation_bytes) + " bytes at once of " +
                  std::to_string(info().memory_bytes) + "; this process holds " + std::to_string(held) +
                  "\nhelp: release buffers, or work on a part at a time");
}

std::shared_ptr<DeviceMemory> VulkanDevice::allocate(std::uint64_t bytes) {
  return std::make_shared<VulkanMemory>(memory_, allocate_place(memory_, bytes, "buffer"), bytes);
}

std::shared_ptr<HostMemory> VulkanDevice::allocate_host(std::uint64_t bytes) {
  return std::make_shared<VulkanHostMemory>(host_, allocate_place(host_, bytes, "host_buffer"), bytes);
}

std::shared_ptr<DeviceMemory> VulkanDevice::wrap(void*, std::uint64_t) {
  throw Error(ErrorCode::unsupported, "wrap: the device's programs must reach the host's memory; got " + info().spec +
                                          ", expected a device that shares it\nhelp: use device.upload(host)");
}

void* VulkanDevice::host_pointer(DeviceMemory& memory, std::uint64_t address, std::uint64_t) {
  return static_cast<VulkanMemory&>(memory).mapped(address);
}

std::byte* VulkanDevice::staging() {
  if (staging_.block == nullptr) staging_ = allocate_place(host_, staging_bytes, "copy");
  return staging_.mapped();
}

void VulkanDevice::run(const std::function<void(VkCommandBuffer)>& work) {
  begin(context_, staging_commands_, true);
  order(context_, staging_commands_);
  work(staging_commands_);
  order(context_, staging_commands_);
  end(context_, staging_commands_);
  submit(context_, context_.queues.front(),
         {.commands = {staging_commands_}, .waits = {}, .signal = {staging_timeline_, ++staging_value_}});
  staging_timeline_->wait(staging_value_, "copy");
}

void VulkanDevice::copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) {
  if (bytes == 0) return;
  const auto& to = static_cast<const VulkanMemory&>(memory);
  if (std::byte* mapped = to.mapped(address)) {
    std::memcpy(mapped, host, bytes);
    return;
  }
  const std::lock_guard lock(staging_mutex_);
  for (std::uint64_t done = 0; done < bytes; done += staging_bytes) {
    const std::uint64_t part = std::min(staging_bytes, bytes - done);
    std::memcpy(staging(), static_cast<const std::byte*>(host) + done, part);
    run([&](VkCommandBuffer commands) {
      vulkan::copy(context_, commands, staging_.block->buffer, staging_.offset, to.buffer(),
                   to.offset_of(address + done), part);
    });
  }
}

void VulkanDevice::copy_out(const DeviceMemory& memory, std::uint64_t address, void* host, std::uint64_t bytes) {
  if (bytes == 0) return;
  const auto& from = static_cast<const VulkanMemory&>(memory);
  if (const std::byte* mapped = from.mapped(address)) {
    std::memcpy(host, mapped, bytes);
    return;
  }
  const std::lock_guard lock(staging_mutex_);
  for (std::uint64_t done = 0; done < bytes; done += staging_bytes) {
    const std::uint64_t part = std::min(staging_bytes, bytes - done);
    const std::byte* staged = staging();
    run([&](VkCommandBuffer commands) {
      vulkan::copy(context_, commands, from.buffer(), from.offset_of(address + done), staging_.block->buffer,
                   staging_.offset, part);
    });
    std::memcpy(static_cast<std::byte*>(host) + done, staged, part);
  }
}

void VulkanDevice::copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from,
                        std::uint64_t from_address, std::uint64_t bytes) {
  if (bytes == 0) return;
  const auto& source = static_cast<const VulkanMemory&>(from);
  const auto& target = static_cast<const VulkanMemory&>(to);
  const std::uint64_t source_offset = source.offset_of(from_address), target_offset = target.offset_of(to_address);
  const std::lock_guard lock(staging_mutex_);
  if (source.buffer() != target.buffer() || source_offset + bytes <= target_offset ||
      target_offset + bytes <= source_offset) {
    run([&](VkCommandBuffer commands) {
      vulkan::copy(context_, commands, source.buffer(), source_offset, target.buffer(), target_offset, bytes);
    });
    return;
  }
  // Vulkan has no copies between places that overlap: parts of it by way of the staging place, in the order that reads
  // each part before it is overwritten.
  staging();
  const std::uint64_t parts = (bytes + staging_bytes - 1) / staging_bytes;
  for (std::uint64_t i = 0; i < parts; ++i) {
    const std::uint64_t start = (target_offset < source_offset ? i : parts - 1 - i) * staging_bytes;
    const std::uint64_t part = std::min(staging_bytes, bytes - start);
    run([&](VkCommandBuffer commands) {
      vulkan::copy(context_, commands, source.buffer(), source_offset + start, staging_.block->buffer, staging_.offset,
                   part);
      order(context_, commands);
      vulkan::copy(context_, commands, staging_.block->buffer, staging_.offset, target.buffer(), target_offset + start,
                   part);
    });
  }
}

std::unique_ptr<Executable> VulkanDevice::load(const std::vector<std::uint8_t>& program,
                                               const ProgramMetadata& metadata) {
  return std::make_unique<VulkanExecutable>(*this, program, metadata);
}

std::shared_ptr<DriverGraph> VulkanDevice::make_graph(std::vector<Step> steps) {
  return std::make_shared<VulkanGraph>(*this, std::move(steps));
}

std::shared_ptr<DriverStream> VulkanDevice::make_stream() {
  std::size_t queue = 0;
  {
    const std::lock_guard lock(streams_mutex_);
    queue = ++next_queue_ % context_.queues.size();
  }
  return std::make_shared<VulkanStream>(*this, context_.queues[queue]);
}

void VulkanDevice::set_parallel(int) {
  throw Error(ErrorCode::unsupported, "set_parallel: the device must let it be chosen; got " + info().spec +
                                          ", expected a CPU\nhelp: a GPU runs as many programs as fit");
}

}  // namespace teeny::runtime::vulkan
