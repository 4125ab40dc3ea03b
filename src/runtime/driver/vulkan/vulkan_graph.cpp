// A sequence of launches and copies that is recorded once.
#include <algorithm>

#include <teeny/error.hpp>

#include "runtime/driver/vulkan/vulkan_device.hpp"

namespace teeny::runtime::vulkan {

VulkanGraph::VulkanGraph(VulkanDevice& device, std::vector<Step> given)
    : DriverGraph(std::move(given)), device_(device), pool_(device.context()), arguments_(device.arguments()) {
  commands_ = pool_.make();
  begin(device.context(), commands_, false);
  order(device.context(), commands_);
  for (const Step& step : steps) {
    if (const auto* launch = std::get_if<std::shared_ptr<const HeldLaunch>>(&step))
      add(**launch);
    else
      add(std::get<HostCopy>(step));
  }
  end(device.context(), commands_);
  std::sort(memories_.begin(), memories_.end());
  memories_.erase(std::unique(memories_.begin(), memories_.end()), memories_.end());
}

void VulkanGraph::add(const HeldLaunch& held) {
  const auto& executable = static_cast<const VulkanExecutable&>(*held.launch.executable);
  if (executable.meanings)
    throw Error(ErrorCode::unsupported,
                "capture: a graph's programs tell the host nothing; got " + (*held.launch.kernel)->name() +
                    ", which prints or asserts\nhelp: launch it by itself, or leave device_print and device_assert out");
  executable.record(commands_, held.launch, nullptr, arguments_);
  order(device_.context(), commands_);
  for (const auto& memory : held.memories) memories_.push_back(&static_cast<VulkanMemory*>(memory.get())->uses());
}

void VulkanGraph::add(const HostCopy& copy) {
  auto* host = dynamic_cast<VulkanHostMemory*>(copy.host.get());
  if (host == nullptr)
    throw Error(ErrorCode::invalid_argument,
                "capture: the host buffers of a graph's copies must be of a Vulkan device; got another's memory, expected "
                "memory of the graph's device\nhelp: make it with device.host_buffer<T>(n) of the graph's device");
  memories_.push_back(&static_cast<VulkanMemory*>(copy.memory.get())->uses());
  memories_.push_back(&host->uses());
  record(device_.context(), commands_, copy, *host);
}

void VulkanGraph::used_by(const std::shared_ptr<Timeline>& timeline, std::uint64_t value) {
  for (Uses* uses : memories_) uses->add(timeline, value);
  replays_.add(timeline, value);
}

}  // namespace teeny::runtime::vulkan
