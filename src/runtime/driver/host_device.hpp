// What devices share whose programs run on the host's processors: memory, copies, streams.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/driver/driver.hpp"

namespace teeny::runtime {

class HostDevice;

// Runs work inside the call, or, with a worker, on a thread of its own in order.
class HostStream final : public DriverStream {
 public:
  HostStream(HostDevice& device, bool asynchronous);
  ~HostStream() override;  // waits for the work given so far

  void launch(const Launch& launch) override;
  void copy(const HostCopy& copy) override;
  void replay(const std::shared_ptr<DriverGraph>& graph) override;
  std::shared_ptr<DriverEvent> record() override;
  void wait(const std::shared_ptr<DriverEvent>& event) override;
  void synchronize() override;

 private:
  void give(std::function<void()> work);
  // Work that is dropped where earlier work has failed, whose failure is thrown here if it is known already.
  void give_launch(std::function<void()> work);
  void work();
  void throw_pending(std::unique_lock<std::mutex>& lock);

  HostDevice& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_, as is what follows
  bool busy_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread worker_;
};

class HostDevice : public DriverDevice {
 public:
  HostDevice() : default_stream_(*this, false) {}

  // Runs one launch to its end on the calling thread (and its pool); throws what the launch did wrong.
  virtual void execute(const Launch& launch) = 0;

  std::shared_ptr<HostMemory> allocate_host(std::uint64_t bytes) override;
  void* host_pointer(DeviceMemory& memory, std::uint64_t address, std::uint64_t bytes) override;
  void copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) override;
  void copy_out(const DeviceMemory& memory, std::uint64_t address, void* host, std::uint64_t bytes) override;
  void copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from, std::uint64_t from_address,
            std::uint64_t bytes) override;
  std::shared_ptr<DriverGraph> make_graph(std::vector<Step> steps) override;
  // One step of a graph, as execute().
  void carry_out(const Step& step);
  DriverStream& default_stream() override { return default_stream_; }
  std::shared_ptr<DriverStream> make_stream() override { return std::make_shared<HostStream>(*this, true); }

 private:
  HostStream default_stream_;
};

// Memory of the host's own allocator, aligned to 64 bytes; null where there is none.
void* allocate_host(std::uint64_t bytes);
[[noreturn]] void throw_out_of_memory(const DeviceInfo& device, std::uint64_t bytes);
std::uint64_t host_memory_bytes();

}  // namespace teeny::runtime
