// A CUDA device: memory, streams, events, programs.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/driver/cuda/libcuda.hpp"
#include "runtime/driver/driver.hpp"

namespace teeny::runtime::cuda {

class CudaDevice;

// Memory of the device; wrapped memory stays its owner's.
class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(CudaDevice& device, DevicePointer pointer, std::uint64_t size, bool owned);
  ~CudaMemory() override;

 private:
  CudaDevice& device_;
  const bool owned_;
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

  // Throws where the device cannot take this program, or did not (a `result` that is no success): names the kernel, the
  // grid and the limit that was passed.
  [[noreturn]] void refuse(const Launch& launch, Result result) const;

  Function function = nullptr;
  unsigned threads = 0, shared_bytes = 0;
  bool fits = true;  // within the device's limits; found once, so that a launch only looks at this

 private:
  int read(int attribute) const;
  std::string excess(const Limits& limits) const;

  CudaDevice& device_;
  Module module_ = nullptr;
  int registers_ = 0, max_threads_ = 0, static_shared_ = 0;
};

// A stream of the driver's, or one of an engine's own.
class CudaDriverStream final : public DriverStream {
 public:
  CudaDriverStream(CudaDevice& device, CudaStream stream, bool owned)
      : device_(device), stream_(stream), owned_(owned) {}
  ~CudaDriverStream() override;

  void launch(const Launch& launch) override;
  std::shared_ptr<DriverEvent> record() override;
  void wait(const std::shared_ptr<DriverEvent>& event) override;
  void synchronize() override;

 private:
  CudaDevice& device_;
  const CudaStream stream_;
  const bool owned_;
};

class CudaDevice final : public DriverDevice {
 public:
  CudaDevice(int index, DeviceInfo info);

  const DeviceInfo& info() const override { return info_; }
  std::shared_ptr<DeviceMemory> allocate(std::uint64_t bytes) override;
  std::shared_ptr<DeviceMemory> wrap(void* host, std::uint64_t bytes) override;
  std::shared_ptr<DeviceMemory> wrap_device(std::uint64_t address, std::uint64_t bytes) override;
  void* host_pointer(DeviceMemory&, std::uint64_t, std::uint64_t) override { return nullptr; }
  void copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) override;
  void copy_out(const DeviceMemory& memory, std::uint64_t address, void* host, std::uint64_t bytes) override;
  void copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from, std::uint64_t from_address,
            std::uint64_t bytes) override;

  std::string assembler_identity() const override;
  std::vector<std::uint8_t> assemble(const std::vector<std::uint8_t>& portable) override;
  std::unique_ptr<Executable> load(const std::vector<std::uint8_t>& program, const ProgramMetadata& metadata) override;

  DriverStream& default_stream() override { return *default_stream_; }
  std::shared_ptr<DriverStream> make_stream() override;
  std::shared_ptr<DriverStream> wrap_stream(void* stream) override;
  int parallel() const override { return info_.parallel; }
  void set_parallel(int count) override;

  Context context() const { return context_; }
  const Limits& limits() const { return limits_; }

 private:
  friend class CudaMemory;
  DeviceInfo info_;
  Context context_ = nullptr;  // the primary one, shared with everyone in the process; kept to its end
  Limits limits_;
  std::atomic<std::uint64_t> held_{0};  // bytes of live buffers
  std::unique_ptr<CudaDriverStream> default_stream_;
};

}  // namespace teeny::runtime::cuda
