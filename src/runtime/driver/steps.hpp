// Work that outlives the call that gave it, with all it needs kept alive.
#pragma once

#include <memory>
#include <vector>

#include "runtime/driver/driver.hpp"

namespace teeny::runtime {

// A launch with slots and buffers of its own. Its arguments are not kept: the slots say all that a program reads.
struct HeldLaunch {
  explicit HeldLaunch(const Launch& given);
  HeldLaunch(const HeldLaunch&) = delete;
  HeldLaunch& operator=(const HeldLaunch&) = delete;

  Launch launch;
  std::vector<std::uint64_t> slots;
  std::vector<std::shared_ptr<DeviceMemory>> memories;
  detail::RecordedKernelPtr kernel;
};

// Steps as a device replays them.
class DriverGraph {
 public:
  explicit DriverGraph(std::vector<Step> steps) : steps(std::move(steps)) {}
  virtual ~DriverGraph() = default;
  const std::vector<Step> steps;
};

}  // namespace teeny::runtime
