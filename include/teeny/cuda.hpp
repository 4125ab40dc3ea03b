// What an engine already has on an NVIDIA GPU, as teeny's objects. No header of NVIDIA is needed: handles are passed as
// they are in the CUDA driver API (the runtime API's streams and pointers are the same).
//
// Devices use the primary context of the GPU, which the CUDA runtime API, PyTorch and others use too. What is wrapped
// stays the caller's and must outlive the wrapper and the work given through it. Buffers used by launches that an
// engine captures into a graph of its own must outlive that graph. Members may be called from several threads.
// Buffers, streams and graphs may have static storage: devices are never closed, and what ends after the driver's own
// end is left to the system.
#pragma once

#include <cstdint>

#include <teeny/buffer.hpp>
#include <teeny/device.hpp>
#include <teeny/stream.hpp>

namespace teeny::cuda {

// A CUstream of the device as a stream: launches are ordered with the engine's own work on it. Throws unsupported where
// `device` is not CUDA's.
TEENY_EXPORT Stream wrap_stream(const Device& device, void* stream);

TEENY_EXPORT detail::BufferView wrap_memory(const Device& device, std::uint64_t address, std::uint64_t bytes);

// `count` elements at a CUdeviceptr as a buffer, without a copy. Throws unsupported where `device` is not CUDA's.
template <class T>
Buffer<T> wrap_buffer(const Device& device, std::uint64_t address, std::size_t count) {
  return Buffer<T>(wrap_memory(device, address, count * sizeof(T)));
}

// Memory of freed buffers stays with the device, where the next buffer gets it without a wait. This gives it back to
// the system, once the work that used it is done: for an engine that needs it itself. Throws unsupported where `device`
// is not CUDA's, device_failed where earlier work had failed.
TEENY_EXPORT void release_memory(const Device& device);

// The part of a program that a profiler looks at (nsys --capture-range=cudaProfilerApi, ncu --profile-from-start off):
// the work given to the device in the object's lifetime. Waits for the device's work at both ends. Ranges do not nest;
// without a profiler they do nothing else. Throws unsupported where `device` is not CUDA's, and what earlier work had
// failed with.
class TEENY_EXPORT ProfilerRange {
 public:
  explicit ProfilerRange(const Device& device);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  Device device_;
};

}  // namespace teeny::cuda
