// Devices: where buffers live and kernels run.
//
// Device is a handle to one of the process's devices; opening a device twice gives the same one. All members may be
// called from several threads at once.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <teeny/buffer.hpp>
#include <teeny/graph.hpp>
#include <teeny/options.hpp>
#include <teeny/stream.hpp>

namespace teeny {

struct DeviceInfo {
  std::string spec;                // what open() takes: "cpu", "interpreter", "cuda:0"
  std::string name;                // the maker's
  std::string target;              // what programs are compiled for: "cpu:x86-64-v4+avx512bf16"
  std::uint64_t memory_bytes = 0;  // in all; 0: unknown
  std::uint64_t cache_bytes = 0;   // of one buffer that a launch can expect to stay in cache; 0: unknown
  std::uint64_t max_grid[3] = {};  // programs along each axis of a launch
  int parallel = 1;                // programs that run at once
  bool any_extent = true;          // false: the extents of a kernel's blocks have to be powers of two
  std::string uuid;                // the same in every process, for GPUs: "GPU-7c1f…"; open() takes "cuda:GPU-7c1f…"
  std::string driver;              // its name and version: "NVIDIA 580.159, Vulkan 1.4"; empty: the operating system's
  std::string type;                // "discrete GPU", "integrated GPU", "software"; empty: the kind says it
  bool software = false;           // a GPU that a processor plays: never chosen for the user
  std::string unusable;            // why open() refuses it, as for a GPU that is too old; empty: it does not
};

// Every device found here, the best first; the interpreter is last.
TEENY_EXPORT std::vector<DeviceInfo> devices();

// A kind of device of which there is none here, and why: "cuda", "the CUDA driver is not installed (…)".
struct MissingKind {
  std::string kind;
  std::string reason;
};
TEENY_EXPORT std::vector<MissingKind> missing_kinds();

class TEENY_EXPORT Device {
 public:
  // The device that TEENY_DEVICE names, or the best one here.
  static Device open();
  // "cpu", "cuda:1", or "cuda:GPU-7c1f…" by as much of a UUID (as nvidia-smi -L prints it) as tells it from others. Throws
  // invalid_argument for a text that is no spec or fits several devices, and unsupported for a device that is not here,
  // naming those that are, or that teeny cannot use.
  static Device open(std::string_view spec);

  const DeviceInfo& info() const;

  // Memory with undefined contents for `count` elements; throws out_of_memory.
  template <class T>
  Buffer<T> buffer(std::size_t count) const {
    return Buffer<T>(detail::allocate(state_, count, sizeof(T)));
  }
  AnyBuffer buffer(DType dtype, std::size_t count) const {
    return {dtype, detail::allocate(state_, count, size_of(dtype))};
  }

  // Host memory with undefined contents for `count` elements, for copies beside other work; throws out_of_memory.
  template <class T>
  HostBuffer<T> host_buffer(std::size_t count) const {
    return HostBuffer<T>(detail::allocate_host(state_, count, sizeof(T)));
  }

  // A new buffer with a copy of the host's elements.
  template <class T>
  Buffer<T> upload(std::span<const T> host) const {
    Buffer<T> result = buffer<T>(host.size());
    result.upload(host);
    return result;
  }
  template <class T>
  Buffer<T> upload(const std::vector<T>& host) const {
    if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no bytes to copy from
      const std::vector<std::uint8_t> bytes(host.begin(), host.end());
      Buffer<bool> result = buffer<bool>(bytes.size());
      detail::copy_in(result.view(), bytes.data(), bytes.size());
      return result;
    } else {
      return upload(std::span<const T>(host));
    }
  }

  // A new stream beside the default one.
  Stream stream() const;
  // Calls `work` with a stream that writes down the launches and copies given to it, none of which runs, and makes a graph of
  // them. Kernels may be compiled and buffers made within. Throws invalid_argument where `work` does on this device what a
  // graph cannot hold: launches and copies on other streams, blocking copies, synchronize(), events, another capture; and
  // what `work` throws, or what the launches would have thrown.
  Graph capture(const std::function<void(const Stream&)>& work) const;
  // Waits for all work on all streams; throws the first error of earlier work, once.
  void synchronize() const;

  // How many programs of a grid run at once, where the device lets that be chosen (a CPU: threads, the caller's
  // included); at first TEENY_CPU_THREADS or all processors. Throws unsupported elsewhere, invalid_argument below 1.
  void set_parallel(int count) const;
  int parallel() const;

  // Compile a kernel ahead of its launches, for arguments like these, or with its element types given and no arguments:
  // compile<float>(Softmax{}). The result is a Handle; defined in <teeny/launch.hpp>.
  template <class K, class... A>
    requires(sizeof...(A) > 0 && detail::NoOptions<K, A...>)
  auto compile(const K& kernel, A&&... arguments) const;
  template <class K, class... A>
    requires(sizeof...(A) > 0)
  auto compile(const CompileOptions& options, const K& kernel, A&&... arguments) const;
  template <class... D, class K>
  auto compile(const K& kernel, const CompileOptions& options = {}) const;
  // The same on a thread of its own. The result is a Pending<Handle>; the kernel is recorded before the call returns.
  template <class K, class... A>
    requires(sizeof...(A) > 0 && detail::NoOptions<A...>)
  auto compile_async(const K& kernel, A&&... arguments) const;
  template <class... D, class K>
  auto compile_async(const K& kernel, const CompileOptions& options = {}) const;

  bool operator==(const Device&) const = default;
  runtime::DeviceState* state() const { return state_; }
  explicit Device(runtime::DeviceState* state) : state_(state) {}

 private:
  runtime::DeviceState* state_;  // lives to the end of the process
};

template <class T>
Buffer<T> Buffer<T>::wrap(const Device& device, T* host, std::size_t count) {
  return Buffer(detail::wrap_host(device.state(), host, count, sizeof(T)));
}

template <class T>
Device Buffer<T>::device() const {
  return Device(view_.device);
}

// Where device_print writes its lines; at first standard output. The function is called by one thread at a time; what
// it throws is caught and the line lost.
TEENY_EXPORT void set_print_sink(std::function<void(std::string_view)> sink);

// What the process did to get its programs.
struct ProgramStatistics {
  std::uint64_t compiles = 0;         // programs made by the compiler
  std::uint64_t analyses = 0;         // requests for a kernel's facts alone
  std::uint64_t cache_hits = 0;       // programs read from the cache's folder
  std::uint64_t cache_rebuilds = 0;   // entries found damaged and made again
};
TEENY_EXPORT ProgramStatistics program_statistics();

}  // namespace teeny
