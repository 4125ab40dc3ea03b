// Programs on a Vulkan device: pipelines, what they take of the device, and what the device's compiler made of them.
#include <algorithm>
#include <cstring>

#include <teeny/error.hpp>

#include "runtime/driver/vulkan/pipeline.hpp"
#include "runtime/driver/vulkan/vulkan_device.hpp"

namespace teeny::runtime::vulkan {

namespace {

// The device level of the program cache: the bytes of SPIR-V, SPIR-V, a pipeline cache's data.
constexpr std::size_t head_bytes = sizeof(std::uint64_t);

struct Parts {
  std::vector<std::uint32_t> spirv;
  const std::uint8_t* cache = nullptr;
  std::size_t cache_bytes = 0;
};

Parts parts_of(const std::vector<std::uint8_t>& program) {
  std::uint64_t bytes = 0;
  if (program.size() >= head_bytes) std::memcpy(&bytes, program.data(), head_bytes);
  if (bytes == 0 || bytes % 4 != 0 || bytes > program.size() - head_bytes)
    throw Error(ErrorCode::device_failed, "load: a program of a Vulkan device holds SPIR-V; got " +
                                              std::to_string(program.size()) +
                                              " bytes that do not, expected them\nhelp: remove the program cache's folder");
  Parts parts;
  parts.spirv.resize(bytes / 4);
  std::memcpy(parts.spirv.data(), program.data() + head_bytes, bytes);
  parts.cache = program.data() + head_bytes + bytes;
  parts.cache_bytes = program.size() - head_bytes - bytes;
  return parts;
}

// "rule; got …, expected …\nhelp: …" of the first limit that is passed, with '@' where the grid belongs; empty: none.
std::string excess_of(const Limits& limits, const ProgramMetadata& program) {
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  if (program.shared_bytes > limits.shared_bytes)
    return "a program's shared memory must fit the device's; got " + text(program.shared_bytes) +
           " bytes@, expected at most " + text(limits.shared_bytes) + " bytes\nhelp: use smaller blocks or fewer stages";
  if (program.threads > limits.threads)
    return "a program's threads must fit the device's; got " + text(program.threads) + " threads@, expected at most " +
           text(limits.threads) + "\nhelp: compile with fewer warps (CompileOptions::warps)";
  if (program.lanes <= 1) return {};
  if (program.lanes < limits.least_lanes || program.lanes > limits.most_lanes)
    return "a program's subgroups must have a size of the device's; got " + text(program.lanes) +
           " lanes@, expected from " + text(limits.least_lanes) + " to " + text(limits.most_lanes) +
           "\nhelp: compile for the device's own target, which `teeny devices` prints";
  if (program.threads / program.lanes > limits.subgroups)
    return "a program's subgroups must fit the device's; got " + text(program.threads / program.lanes) +
           " subgroups@, expected at most " + text(limits.subgroups) +
           "\nhelp: compile with fewer warps (CompileOptions::warps)";
  return {};
}

}  // namespace

std::vector<std::uint8_t> assemble(Context& context, const std::vector<std::uint8_t>& portable,
                                   const ProgramMetadata& metadata) {
  const std::uint64_t bytes = portable.size();
  std::vector<std::uint8_t> made(head_bytes);
  std::memcpy(made.data(), &bytes, head_bytes);
  made.insert(made.end(), portable.begin(), portable.end());
  if (!excess_of(context.physical.limits, metadata).empty()) return made;  // its launch says so
  const PipelineCache cache(context, nullptr, 0);
  const VkPipeline pipeline = make_pipeline(context, parts_of(made).spirv, metadata.entry, metadata.lanes, cache.handle);
  context.vk.DestroyPipeline(context.device, pipeline, nullptr);
  const std::vector<std::uint8_t> data = cache.data();
  made.insert(made.end(), data.begin(), data.end());
  return made;
}

VulkanExecutable::VulkanExecutable(VulkanDevice& device, const std::vector<std::uint8_t>& program,
                                   const ProgramMetadata& metadata)
    : meanings(metadata.meanings),
      device_(device),
      argument_block_(metadata.argument_block),
      excess_(excess_of(device.context().physical.limits, metadata)) {
  if (!excess_.empty()) return;
  Context& context = device.context();
  const Parts parts = parts_of(program);
  const PipelineCache cache(context, parts.cache, parts.cache_bytes);
  pipeline_ = make_pipeline(context, parts.spirv, metadata.entry, metadata.lanes, cache.handle);
}

VulkanExecutable::~VulkanExecutable() {
  device_.context().vk.DestroyPipeline(device_.context().device, pipeline_, nullptr);
}

void VulkanExecutable::record(VkCommandBuffer commands, const Launch& launch, const std::uint64_t* messages,
                              ArgumentSpace& arguments) const {
  if (!excess_.empty()) refuse(launch);
  const Context& context = device_.context();
  std::uint64_t words[detail::max_arguments + 2];
  std::size_t count = launch.argument_count;
  std::memcpy(words, launch.slots, count * sizeof(std::uint64_t));
  if (messages != nullptr) words[count++] = *messages;
  context.vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  const std::uint32_t programs = launch.grid[0], at_once = context.physical.limits.grid[0];
  for (std::uint32_t first = 0; first < programs;) {
    const std::uint32_t part = std::min(programs - first, at_once);
    words[count] = std::uint64_t{programs} << 32 | first;
    std::uint64_t block = 0;
    if (argument_block_) block = arguments.put(words, count + 1);
    const std::size_t pushed = argument_block_ ? 1 : count + 1;
    context.vk.CmdPushConstants(commands, context.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                static_cast<std::uint32_t>(pushed * sizeof(std::uint64_t)),
                                argument_block_ ? &block : words);
    context.vk.CmdDispatch(commands, part, launch.grid[1], launch.grid[2]);
    first += part;
  }
}

void VulkanExecutable::refuse(const Launch& launch) const {
  std::string text = excess_;
  text.replace(text.find('@'), 1,
               " for a grid of " + std::to_string(launch.grid[0]) + " × " + std::to_string(launch.grid[1]) + " × " +
                   std::to_string(launch.grid[2]));
  throw Error(ErrorCode::unsupported, "launch " + (*launch.kernel)->name() + ": " + text);
}

}  // namespace teeny::runtime::vulkan
