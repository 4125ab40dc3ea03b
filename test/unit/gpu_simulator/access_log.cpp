#include "access_log.hpp"

#include <algorithm>
#include <map>

namespace teeny::compiler::simulator {

using What = Event::What;

std::set<mlir::Operation*> AccessLog::met() const {
  std::set<mlir::Operation*> operations;
  for (const Event& event : events_)
    if (event.what == What::barrier || event.what == What::wait) operations.insert(event.operation);
  return operations;
}

// Whether two threads, one of them writing, touched a byte in different stretches.
bool AccessLog::conflict(std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  for (std::size_t first = 0; first < uses.size();) {
    std::size_t end = first;
    while (end < uses.size() && uses[end].byte == uses[first].byte) ++end;
    for (std::size_t i = first; i < end; ++i)
      for (std::size_t k = first; uses[i].write && k < end; ++k)
        if (uses[i].thread != uses[k].thread && uses[i].stretch != uses[k].stretch && !(uses[i].atomic && uses[k].atomic))
          return true;
    first = end;
  }
  return false;
}

bool AccessLog::barrier_matters(mlir::Operation* barrier) const {
  for (std::uint8_t memory : {1, 2}) {
    std::vector<Use> uses;     // since the last barrier for this memory that stays
    std::uint32_t stretch = 0;
    for (const Event& event : events_) {
      if (event.what == What::barrier && (event.memory & memory) != 0) {
        ++stretch;
        if (event.operation == barrier) continue;
        if (conflict(uses)) return true;
        uses.clear();
      }
      if ((event.what != What::read && event.what != What::write) || event.memory != memory) continue;
      for (std::int64_t i = 0; i < event.bytes; ++i)
        uses.push_back({event.address + std::uint64_t(i), event.thread, stretch, event.what == What::write, event.atomic});
    }
    if (conflict(uses)) return true;
  }
  return false;
}

bool AccessLog::wait_matters(mlir::Operation* wait) const {
  std::map<std::uint64_t, std::pair<std::uint32_t, std::int64_t>> open;  // byte -> thread and group of its copy
  std::map<std::uint32_t, bool> removed;                                 // thread -> its last wait is the removed one
  for (const Event& event : events_) {
    if (event.what == What::wait) {
      removed[event.thread] = event.operation == wait;
      if (event.operation != wait)
        std::erase_if(open, [&](const auto& entry) {
          return entry.second.first == event.thread && entry.second.second < event.group;
        });
    } else if (event.what == What::landing && removed[event.thread]) {
      for (std::int64_t i = 0; i < event.bytes; ++i)
        open[event.address + std::uint64_t(i)] = {event.thread, event.group};
    } else if (event.what == What::read && event.memory == 1) {
      for (std::int64_t i = 0; i < event.bytes; ++i)
        if (open.contains(event.address + std::uint64_t(i))) return true;
    }
  }
  return false;
}

}  // namespace teeny::compiler::simulator
