#include "runtime/driver/cuda/cuda_device.hpp"

#include <algorithm>

#include <teeny/error.hpp>

#include "runtime/messages.hpp"

namespace teeny::runtime::cuda {

namespace {

// CUjit_option and CUjitInputType of the driver API.
constexpr int jit_error_log = 5, jit_error_log_bytes = 6;
constexpr int input_ptx = 1;
constexpr unsigned non_blocking = 1;

class CudaDriverEvent final : public DriverEvent {
 public:
  CudaDriverEvent(CudaDevice& device, CudaStream stream) : device_(device) {
    const CurrentContext current(device.context());
    check(symbols()->event_create(&event, 0), "cuEventCreate");
    check(symbols()->event_record(event, stream), "cuEventRecord");
  }
  ~CudaDriverEvent() override {
    if (event != nullptr) symbols()->event_destroy(event);
  }
  bool done() override {
    const Result result = symbols()->event_query(event);
    if (result == not_ready) return false;
    check(result, "cuEventQuery");
    return true;
  }
  void synchronize() override { check(symbols()->event_synchronize(event), "cuEventSynchronize"); }
  double seconds_since(DriverEvent& start) override {
    float milliseconds = 0;
    const CurrentContext current(device_.context());
    check(symbols()->event_elapsed(&milliseconds, static_cast<CudaDriverEvent&>(start).event, event),
          "cuEventElapsedTime");
    return milliseconds * 1e-3;
  }
  CudaEvent event = nullptr;

 private:
  CudaDevice& device_;
};

}  // namespace

CudaMemory::CudaMemory(CudaDevice& device, DevicePointer pointer, std::uint64_t size, bool owned)
    : device_(device), owned_(owned) {
  address = pointer;
  bytes = size;
  if (owned_) device_.held_ += bytes;
}

CudaMemory::~CudaMemory() {
  if (!owned_) return;
  device_.held_ -= bytes;
  // Waits for the work that uses it. Failures have no listener here: the next call on the device meets them again.
  Context previous = nullptr;
  symbols()->context_get(&previous);
  symbols()->context_set(device_.context());
  symbols()->memory_free(address);
  if (previous != nullptr) symbols()->context_set(previous);
}

CudaDriverStream::~CudaDriverStream() {
  if (!owned_) return;
  symbols()->stream_synchronize(stream_);
  symbols()->stream_destroy(stream_);
}

void CudaDriverStream::launch(const Launch& launch) {
  const auto& executable = static_cast<const CudaExecutable&>(*launch.executable);
  if (!executable.fits) executable.refuse(launch, 0);
  // Every value stands in the low bytes of its slot, which is where a little-endian host reads a shorter one.
  void* parameters[detail::max_arguments];
  for (std::size_t i = 0; i < launch.argument_count; ++i) parameters[i] = const_cast<std::uint64_t*>(launch.slots + i);
  const CurrentContext current(device_.context());
  const Result result =
      symbols()->launch(executable.function, launch.grid[0], launch.grid[1], launch.grid[2], executable.threads, 1, 1,
                        executable.shared_bytes, stream_, parameters, nullptr);
  if (result != 0) executable.refuse(launch, result);
}

std::shared_ptr<DriverEvent> CudaDriverStream::record() { return std::make_shared<CudaDriverEvent>(device_, stream_); }

void CudaDriverStream::wait(const std::shared_ptr<DriverEvent>& event) {
  const CurrentContext current(device_.context());
  check(symbols()->stream_wait(stream_, static_cast<CudaDriverEvent&>(*event).event, 0), "cuStreamWaitEvent");
}

void CudaDriverStream::synchronize() {
  const CurrentContext current(device_.context());
  check(symbols()->stream_synchronize(stream_), "synchronize");
}

CudaDevice::CudaDevice(int index, DeviceInfo info) : info_(std::move(info)) {
  const Symbols& cuda = *symbols();
  Device device = 0;
  check(cuda.device_get(&device, index), "cuDeviceGet");
  check(cuda.primary_retain(&context_, device), "cuDevicePrimaryCtxRetain");
  check(cuda.device_attribute(&limits_.threads, max_threads, device), "cuDeviceGetAttribute");
  check(cuda.device_attribute(&limits_.registers, max_registers, device), "cuDeviceGetAttribute");
  check(cuda.device_attribute(&limits_.shared_bytes, max_shared_bytes_optin, device), "cuDeviceGetAttribute");
  const CurrentContext current(context_);
  CudaStream stream = nullptr;
  check(cuda.stream_create(&stream, non_blocking), "cuStreamCreate");
  default_stream_ = std::make_unique<CudaDriverStream>(*this, stream, true);
}

std::shared_ptr<DeviceMemory> CudaDevice::allocate(std::uint64_t bytes) {
  const Symbols& cuda = *symbols();
  const CurrentContext current(context_);
  DevicePointer pointer = 0;
  const Result result = cuda.memory_allocate(&pointer, std::max<std::uint64_t>(bytes, 1));
  if (result == out_of_memory) {
    std::size_t free = 0, total = 0;
    cuda.memory_info(&free, &total);
    throw Error(ErrorCode::out_of_memory,
                "buffer: memory must be available; got a request for " + std::to_string(bytes) + " bytes on " +
                    info_.spec + ", expected at most about " + std::to_string(free) + " bytes, which are free of " +
                    std::to_string(total) + "; this process holds " + std::to_string(held_.load()) +
                    "\nhelp: release buffers, or work on a part at a time");
  }
  check(result, "cuMemAlloc");
  return std::make_shared<CudaMemory>(*this, pointer, bytes, true);
}

std::shared_ptr<DeviceMemory> CudaDevice::wrap(void*, std::uint64_t) {
  throw Error(ErrorCode::unsupported, "wrap: the device's programs must reach the host's memory; got " + info_.spec +
                                          ", expected a device that shares it\nhelp: use device.upload(host)");
}

std::shared_ptr<DeviceMemory> CudaDevice::wrap_device(std::uint64_t address, std::uint64_t bytes) {
  return std::make_shared<CudaMemory>(*this, address, bytes, false);
}

void CudaDevice::copy_in(DeviceMemory&, std::uint64_t address, const void* host, std::uint64_t bytes) {
  if (bytes == 0) return;
  const CurrentContext current(context_);
  check(symbols()->copy_in(address, host, bytes), "upload");
  check(symbols()->stream_synchronize(nullptr), "upload");
}

void CudaDevice::copy_out(const DeviceMemory&, std::uint64_t address, void* host, std::uint64_t bytes) {
  if (bytes == 0) return;
  const CurrentContext current(context_);
  check(symbols()->copy_out(host, address, bytes), "download");
}

void CudaDevice::copy(DeviceMemory&, std::uint64_t to_address, const DeviceMemory&, std::uint64_t from_address,
                      std::uint64_t bytes) {
  if (bytes == 0) return;
  const CurrentContext current(context_);
  check(symbols()->copy(to_address, from_address, bytes), "copy");
  // A copy within the device may still run when the call returns, and the default stream of copies is not ours.
  check(symbols()->stream_synchronize(nullptr), "copy");
}

std::string CudaDevice::assembler_identity() const {
  int version = 0;
  symbols()->driver_version(&version);
  return info_.name + " " + info_.target + " driver " + std::to_string(version);
}

std::vector<std::uint8_t> CudaDevice::assemble(const std::vector<std::uint8_t>& portable) {
  const Symbols& cuda = *symbols();
  const CurrentContext current(context_);
  std::string text(portable.begin(), portable.end());  // ends in a zero
  char log[8192] = {};
  int options[] = {jit_error_log, jit_error_log_bytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  LinkState state = nullptr;
  check(cuda.link_create(2, options, values, &state), "cuLinkCreate");
  void* cubin = nullptr;
  std::size_t bytes = 0;
  Result result = cuda.link_add(state, input_ptx, text.data(), text.size() + 1, "kernel.ptx", 0, nullptr, nullptr);
  if (result == 0) result = cuda.link_complete(state, &cubin, &bytes);
  std::vector<std::uint8_t> made;
  if (result == 0) made.assign(static_cast<std::uint8_t*>(cubin), static_cast<std::uint8_t*>(cubin) + bytes);
  cuda.link_destroy(state);
  if (result == 0) return made;
  const std::string head = text.substr(0, text.find(".address_size"));
  throw Error(ErrorCode::device_failed, "assemble: the driver must take the program's PTX; got " + text_of(result) +
                                            " for \"" + head + "\"\n" + log +
                                            "\nhelp: a newer driver takes newer versions of PTX");
}

std::unique_ptr<Executable> CudaDevice::load(const std::vector<std::uint8_t>& program,
                                             const ProgramMetadata& metadata) {
  return std::make_unique<CudaExecutable>(*this, program, metadata);
}

std::shared_ptr<DriverStream> CudaDevice::make_stream() {
  const CurrentContext current(context_);
  CudaStream stream = nullptr;
  check(symbols()->stream_create(&stream, non_blocking), "cuStreamCreate");
  return std::make_shared<CudaDriverStream>(*this, stream, true);
}

std::shared_ptr<DriverStream> CudaDevice::wrap_stream(void* stream) {
  return std::make_shared<CudaDriverStream>(*this, static_cast<CudaStream>(stream), false);
}

void CudaDevice::set_parallel(int) {
  throw Error(ErrorCode::unsupported, "set_parallel: the device must let it be chosen; got " + info_.spec +
                                          ", expected a CPU\nhelp: a GPU runs as many programs as fit");
}

}  // namespace teeny::runtime::cuda
