#include "runtime/driver/cuda/cuda_device.hpp"

#include <cstdio>

#include <teeny/error.hpp>

#include "runtime/driver/cuda/cuda_graph.hpp"
#include "support/cuda_architectures.hpp"

namespace teeny::runtime::cuda {

namespace {

// CUjit_option and CUjitInputType of the driver API.
constexpr int jit_error_log = 5, jit_error_log_bytes = 6;
constexpr int input_ptx = 1;
constexpr unsigned non_blocking = 1;
constexpr int pool_release_threshold = 4;  // CUmemPool_attribute

// Its PTX may be newer than the driver: a kernel raises the version with what it uses.
void check_version(const std::string& text) {
  constexpr std::string_view word = ".version ";
  const std::size_t at = text.find(word);
  int major = 0, minor = 0;
  if (at == std::string::npos || std::sscanf(text.c_str() + at + word.size(), "%d.%d", &major, &minor) != 2) return;
  int driver = 0;
  check(symbols()->driver_version(&driver), "cuDriverGetVersion");
  const int accepted = support::accepted_ptx(driver);
  if (major * 10 + minor <= accepted) return;
  throw Error(ErrorCode::unsupported,
              "assemble: the driver must know the program's version of PTX; got " + std::to_string(major) + "." +
                  std::to_string(minor) + ", expected at most " + std::to_string(accepted / 10) + "." +
                  std::to_string(accepted % 10) + ", which CUDA " + version_text(driver) +
                  " takes\nhelp: install a newer NVIDIA driver");
}

}  // namespace

std::string version_text(int driver_version) {
  return std::to_string(driver_version / 1000) + "." + std::to_string(driver_version % 1000 / 10);
}

CudaDevice::CudaDevice(int index, DeviceInfo info, std::vector<std::string> targets)
    : info_(std::move(info)), targets_(std::move(targets)) {
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
  check(cuda.stream_create(&free_stream_, non_blocking), "cuStreamCreate");
  int pools = 0;
  check(cuda.device_attribute(&pools, memory_pools, device), "cuDeviceGetAttribute");
  if (pools == 0 || cuda.pool_free == nullptr) return;
  PoolProperties properties{.device = device};
  check(cuda.pool_create(&pool_, &properties), "cuMemPoolCreate");
  std::uint64_t keep = ~std::uint64_t{0};  // what is freed stays in the pool until release_memory()
  check(cuda.pool_set(pool_, pool_release_threshold, &keep), "cuMemPoolSetAttribute");
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

std::vector<std::uint8_t> CudaDevice::assemble(const std::vector<std::uint8_t>& portable, const ProgramMetadata&) {
  const Symbols& cuda = *symbols();
  const CurrentContext current(context_);
  std::string text(portable.begin(), portable.end());  // ends in a zero
  check_version(text);
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
  throw Error(ErrorCode::device_failed, "assemble: the driver must take the program's PTX; got " + text_of(result) +
                                            "\n" + log + "\nhelp: this is a fault of teeny's; report it with the kernel");
}

std::unique_ptr<Executable> CudaDevice::load(const std::vector<std::uint8_t>& program,
                                             const ProgramMetadata& metadata) {
  return std::make_unique<CudaExecutable>(*this, program, metadata);
}

void CudaDevice::profile(bool begin) noexcept {
  const CurrentContext current(context_, std::nothrow);
  begin ? symbols()->profiler_start() : symbols()->profiler_stop();
}

std::shared_ptr<DriverGraph> CudaDevice::make_graph(std::vector<Step> steps) {
  return std::make_shared<CudaGraph>(*this, std::move(steps));
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
