// What the log of a run says about the need for its barriers and waits, without the simulator's own watch: which bytes
// which threads touched between which barriers.
#pragma once

#include <set>
#include <vector>

#include "compiler/gpu/simulator/simulator.hpp"

namespace teeny::compiler::simulator {

class AccessLog {
 public:
  explicit AccessLog(const std::vector<Event>& events) : events_(events) {}

  // The barriers and waits that were met.
  std::set<mlir::Operation*> met() const;
  // A barrier matters if, without it, one thread writes bytes in one of the stretches that it kept apart, and another
  // thread touches them in the other.
  bool barrier_matters(mlir::Operation* barrier) const;
  // A wait matters if somebody reads bytes of a copy that landed there before another wait of the copy's lane.
  bool wait_matters(mlir::Operation* wait) const;

 private:
  struct Use {
    std::uint64_t byte;
    std::uint32_t thread;
    std::uint32_t stretch;  // between barriers
    bool write, atomic;
    auto operator<=>(const Use&) const = default;
  };
  static bool conflict(std::vector<Use>& uses);

  const std::vector<Event>& events_;
};

}  // namespace teeny::compiler::simulator
