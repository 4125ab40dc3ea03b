// A device whose programs libteeny_compiler runs, always in this process, because they work on this process's memory: the
// interpreter, or a simulator.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/driver/host_device.hpp"

namespace teeny::runtime {

class InterpreterMemory;

// Every allocation that is alive: what a launch may touch.
class LiveMemory {
 public:
  void add(InterpreterMemory* memory) {
    const std::lock_guard lock(mutex_);
    list_.push_back(memory);
  }
  void remove(InterpreterMemory* memory) {
    const std::lock_guard lock(mutex_);
    list_.erase(std::find(list_.begin(), list_.end(), memory));
  }
  template <class Visit>
  void visit(Visit&& visit) {
    const std::lock_guard lock(mutex_);
    for (InterpreterMemory* memory : list_) visit(*memory);
  }

 private:
  std::mutex mutex_;
  std::vector<InterpreterMemory*> list_;
};

class InterpreterMemory final : public DeviceMemory {
 public:
  InterpreterMemory(LiveMemory& live, void* data, std::uint64_t size, bool owned) : live_(live), owned_(owned) {
    address = reinterpret_cast<std::uint64_t>(data);
    bytes = size;
    if (owned) initialised_.assign(size, 0);
    live_.add(this);
  }
  ~InterpreterMemory() override {
    live_.remove(this);
    if (owned_) std::free(reinterpret_cast<void*>(address));
  }
  void mark(std::uint64_t first, std::uint64_t count) {
    if (owned_)
      std::fill_n(initialised_.begin() + static_cast<std::ptrdiff_t>(first - address), count, std::uint8_t{1});
  }
  void mark_like(std::uint64_t first, const InterpreterMemory& from, std::uint64_t from_first, std::uint64_t count) {
    if (!owned_) return;
    for (std::uint64_t i = 0; i < count; ++i)
      initialised_[first - address + i] = from.owned_ ? from.initialised_[from_first - from.address + i] : 1;
  }
  // The host's own memory counts as written.
  std::uint8_t* initialised() { return owned_ ? initialised_.data() : nullptr; }

 private:
  LiveMemory& live_;
  bool owned_;
  std::vector<std::uint8_t> initialised_;  // one a byte; empty for the host's own memory
};

class InterpreterDevice final : public HostDevice {
 public:
  // `seed`: of a simulator's order of warps.
  InterpreterDevice(DeviceInfo info, std::uint64_t seed) : info_(std::move(info)), seed_(seed) {}

  const DeviceInfo& info() const override { return info_; }
  std::shared_ptr<DeviceMemory> allocate(std::uint64_t bytes) override;
  std::shared_ptr<DeviceMemory> wrap(void* host, std::uint64_t bytes) override;
  void* host_pointer(DeviceMemory& memory, std::uint64_t address, std::uint64_t bytes) override;
  void copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) override;
  void copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from, std::uint64_t from_address,
            std::uint64_t bytes) override;
  std::unique_ptr<Executable> load(const std::vector<std::uint8_t>& program, const ProgramMetadata&) override;
  void execute(const Launch& launch) override;
  int parallel() const override { return 1; }
  void set_parallel(int) override;

 private:
  bool simulates() const { return info_.target != "interpreter"; }

  DeviceInfo info_;
  std::uint64_t seed_;
  LiveMemory live_;
  std::mutex run_mutex_;
};

}  // namespace teeny::runtime
