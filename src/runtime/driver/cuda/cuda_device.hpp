// A CUDA device: memory, streams, events, programs.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/driver/cuda/cuda_uses.hpp"
#include "runtime/driver/cuda/libcuda.hpp"
#include "runtime/driver/driver.hpp"

namespace teeny::runtime::cuda {

class CudaDevice;

// Memory of the device; wrapped memory stays its owner's and is not watched.
class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(CudaDevice& device, DevicePointer pointer, std::uint64_t size, bool owned);
  ~CudaMemory() override;

  // Before work of a stream that uses it. The common case takes no lock. True where the free may wait for the stream.
  bool use(StreamId id, CudaStream stream) {
    if (!owned_ || uses_.last(id)) return false;
    first_use(id, stream);
    return true;
  }

 private:
  friend class CudaDevice;
  void first_use(StreamId id, CudaStream stream);

  CudaDevice& device_;
  const bool owned_;
  Uses uses_;
  std::unique_ptr<Point> ready_;  // its allocation in the default stream, where other streams may come to ask
  std::uint64_t serial_ = 0;      // of the allocation
};

// Page-locked memory of the host. Knows its copies under way by a point behind the last one of each stream.
class CudaHostMemory final : public HostMemory {
 public:
  CudaHostMemory(CudaDevice& device, void* allocated, std::uint64_t size);
  ~CudaHostMemory() override;  // waits for them
  void used_by(CudaStream stream);

 private:
  CudaDevice& device_;
  PointsByStream copies_;
};

// What one program may take of the device.
struct Limits {
  int threads = 0, registers = 0;
  int shared_bytes = 0;
};

class CudaExecutable final : public Executable {
 public:
  CudaExecutable(CudaDevice& device, const std::vector<std::uint8_t>& cubin, const ProgramMetadata& metadata);
  ~CudaExecutable() override;

  // Starts it; the context is current. Throws as refuse(). One that tells the host something has ended on return; its
  // failed assertions are thrown.
  void launch(const Launch& launch, CudaStream stream) const {
    if (!fits) refuse(launch, 0);
    if (meanings) return launch_telling(launch, stream);
    start(launch, stream, nullptr);
  }
  // Throws where the device cannot take this program, or did not (a `result` that is no success): names the kernel, the
  // grid and the limit that was passed.
  [[noreturn]] void refuse(const Launch& launch, Result result) const;

  Function function = nullptr;
  unsigned threads = 0, shared_bytes = 0;
  std::shared_ptr<const MessageMeanings> meanings;  // null: it tells the host nothing
  bool fits = true;  // within the device's limits; found once, so that a launch only looks at this

 private:
  // `messages`: the address of the message buffer, null where the program takes none.
  void start(const Launch& launch, CudaStream stream, const std::uint64_t* messages) const {
    // Every value stands in the low bytes of its slot, which is where a little-endian host reads a shorter one.
    void* parameters[detail::max_arguments + 1];
    for (std::size_t i = 0; i < launch.argument_count; ++i)
      parameters[i] = const_cast<std::uint64_t*>(launch.slots + i);
    parameters[launch.argument_count] = const_cast<std::uint64_t*>(messages);
    const Result result = symbols()->launch(function, launch.grid[0], launch.grid[1], launch.grid[2], threads, 1, 1,
                                            shared_bytes, stream, parameters, nullptr);
    if (result != 0) refuse(launch, result);
  }
  void launch_telling(const Launch& launch, CudaStream stream) const;
  int read(int attribute) const;
  std::string excess(const Limits& limits) const;

  CudaDevice& device_;
  Module module_ = nullptr;
  int registers_ = 0, max_threads_ = 0, static_shared_ = 0;
};

// A stream of the driver's, or one of an engine's own.
class CudaDriverStream final : public DriverStream {
 public:
  CudaDriverStream(CudaDevice& device, CudaStream stream, bool owned);
  ~CudaDriverStream() override;

  void launch(const Launch& launch) override;
  void copy(const HostCopy& copy) override;
  void replay(const std::shared_ptr<DriverGraph>& graph) override;
  std::shared_ptr<DriverEvent> record() override;
  void wait(const std::shared_ptr<DriverEvent>& event) override;
  void synchronize() override;
  CudaStream handle() const { return stream_; }

 private:
  CudaDevice& device_;
  const CudaStream stream_;
  const bool owned_;
  const StreamId id_;
  std::atomic<bool> awaited_{false};  // memory counts on it
};

// Gives a copy to a stream; the context is current.
void enqueue(const HostCopy& copy, CudaStream stream);

// The version as people write it: "12.8" for 12080.
std::string version_text(int driver_version);

class CudaDevice final : public DriverDevice {
 public:
  // `targets`: those whose programs it runs, the best first.
  CudaDevice(int index, DeviceInfo info, std::vector<std::string> targets);

  const DeviceInfo& info() const override { return info_; }
  std::vector<std::string> targets() const override { return targets_; }
  std::shared_ptr<DeviceMemory> allocate(std::uint64_t bytes) override;
  std::shared_ptr<HostMemory> allocate_host(std::uint64_t bytes) override;
  std::shared_ptr<DeviceMemory> wrap(void* host, std::uint64_t bytes) override;
  std::shared_ptr<DeviceMemory> wrap_device(std::uint64_t address, std::uint64_t bytes) override;
  void* host_pointer(DeviceMemory&, std::uint64_t, std::uint64_t) override { return nullptr; }
  void copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) override;
  void copy_out(const DeviceMemory& memory, std::uint64_t address, void* host, std::uint64_t bytes) override;
  void copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from, std::uint64_t from_address,
            std::uint64_t bytes) override;

  std::string assembler_identity() const override;
  std::vector<std::uint8_t> assemble(const std::vector<std::uint8_t>& portable, const ProgramMetadata&) override;
  std::unique_ptr<Executable> load(const std::vector<std::uint8_t>& program, const ProgramMetadata& metadata) override;

  std::shared_ptr<DriverGraph> make_graph(std::vector<Step> steps) override;
  DriverStream& default_stream() override { return *default_stream_; }
  std::shared_ptr<DriverStream> make_stream() override;
  std::shared_ptr<DriverStream> wrap_stream(void* stream) override;
  int parallel() const override { return info_.parallel; }
  void set_parallel(int count) override;

  // Gives back to the system what freed buffers had, once the work that used them is done.
  void release_memory();
  // Tells a profiler that attends to begin or to end; without one nothing happens.
  void profile(bool begin) noexcept;

  Context context() const { return context_; }
  const Limits& limits() const { return limits_; }

 private:
  friend class CudaMemory;
  friend class CudaDriverStream;
  DevicePointer allocate_from_pool(std::uint64_t bytes);
  DevicePointer allocate_at_once(std::uint64_t bytes);
  [[noreturn]] void out_of_memory_error(std::uint64_t bytes) const;
  bool free_in_order(DevicePointer pointer, const std::vector<StreamId>& uses);
  void free(DevicePointer pointer, std::vector<StreamId> uses);
  void free_postponed();
  void await_allocation(const CudaMemory& memory, CudaStream stream);

  DeviceInfo info_;
  const std::vector<std::string> targets_;
  Context context_ = nullptr;  // the primary one, shared with everyone in the process; kept to its end
  Limits limits_;
  StreamTable streams_;
  MemoryPool pool_ = nullptr;           // null: the device has none
  CudaStream free_stream_ = nullptr;    // runs nothing: frees wait there for the streams that used the memory
  std::atomic<std::uint64_t> held_{0};  // bytes of live buffers
  std::atomic<std::uint64_t> allocations_{0}, reached_{0};  // how many, and how many the default stream has passed
  std::mutex postponed_mutex_;
  std::vector<std::pair<DevicePointer, std::vector<StreamId>>> postponed_;  // guarded by postponed_mutex_
  std::unique_ptr<CudaDriverStream> default_stream_;
};

}  // namespace teeny::runtime::cuda
