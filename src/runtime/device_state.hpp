// A device of this process: its driver's object, its programs, its streams.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "runtime/driver/driver.hpp"
#include "runtime/program.hpp"

namespace teeny::runtime {

struct DeviceState {
  explicit DeviceState(std::unique_ptr<DriverDevice> opened) : driver(std::move(opened)) {}

  // Two recordings of equal bodies share a program.
  Program* find_program(const detail::RecordedKernelPtr& kernel, const CompileOptions& options);
  std::shared_ptr<DriverStream> make_stream();
  // Counts the stream among those that synchronize() waits for.
  std::shared_ptr<DriverStream> track(std::shared_ptr<DriverStream> stream);
  // Waits for all streams; throws the first failure after all have ended.
  void synchronize();

  // Where this thread captures a graph on this device: throws unless `stream` is the capture's own. `what` it would be.
  void check_capture(const DriverStream* stream, const char* what) const;

  const std::unique_ptr<DriverDevice> driver;
  std::atomic<int> captures{0};  // under way, in all threads

 private:
  // Never changed and never freed once it is made.
  struct Known {
    detail::RecordedKernelPtr kernel;  // keeps the key's address taken
    CompileOptions options;
    Program* program;
  };
  // A place of what is known, by kernel: most launches find theirs there without a lock.
  std::atomic<const Known*>& recent(const detail::RecordedKernel* kernel) {
    return recent_[(reinterpret_cast<std::uintptr_t>(kernel) >> 6) % recent_.size()];
  }
  const Known* find_known(const detail::RecordedKernelPtr& kernel, const CompileOptions& options) const;
  const Known* find_or_make(const detail::RecordedKernelPtr& kernel, const CompileOptions& options);

  std::array<std::atomic<const Known*>, 256> recent_{};

  std::shared_mutex programs_mutex_;
  // Guarded by programs_mutex_.
  std::unordered_map<const detail::RecordedKernel*, std::vector<std::unique_ptr<const Known>>> known_;
  std::unordered_map<std::string, std::unique_ptr<Program>> programs_;  // the same; by digest and options
  std::mutex streams_mutex_;
  std::vector<std::weak_ptr<DriverStream>> streams_;  // guarded by streams_mutex_
};

void check_no_capture(const DeviceState& device, const DriverStream* stream, const char* what);
inline void DeviceState::check_capture(const DriverStream* stream, const char* what) const {
  if (captures.load(std::memory_order_relaxed) != 0) check_no_capture(*this, stream, what);
}

// The state of a device that a spec names; opened on first use, never closed. Throws as Device::open.
DeviceState* open_device(std::string_view spec);

}  // namespace teeny::runtime

namespace teeny::detail {

// launch_program, and the radii of what the launch stores, where `radii` is not null and the device is the interpreter.
void launch_with_radii(runtime::DeviceState* device, runtime::Program* program, const RecordedKernelPtr& kernel,
                       const Grid& grid, const Stream* stream, const LaunchArgument* arguments, std::size_t count,
                       runtime::Radii* radii);

}  // namespace teeny::detail
