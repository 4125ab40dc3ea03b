// Host memory that a device copies to and from beside its other work.
//
//   auto staging = device.host_buffer<float>(n);          // fill it as an array
//   x.upload_async(staging, stream);                      // returns at once
//   teeny::launch(device, {blocks}, {.stream = stream}, kernel, x, y, n);
//   y.download_async(staging, stream);
//   stream.synchronize();                                 // now staging holds the result
//
// A GPU's driver keeps it in place (pinned), so that the device reaches it by itself; that costs time and takes memory
// from the rest of the system: make few, and use them again. Devices on the host have plain memory, and the same calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <teeny/element.hpp>
#include <teeny/export.hpp>

namespace teeny::runtime {
class HostMemory;
struct DeviceState;
}  // namespace teeny::runtime

namespace teeny {

namespace detail {

struct HostView {
  std::shared_ptr<runtime::HostMemory> memory;
  void* data = nullptr;
  std::uint64_t bytes = 0;
};

TEENY_EXPORT HostView allocate_host(runtime::DeviceState* device, std::uint64_t count, std::size_t element_bytes);
TEENY_EXPORT HostView slice(const HostView& view, std::uint64_t first, std::uint64_t count, std::size_t element_bytes);

}  // namespace detail

// `size()` elements of T in the host's memory, made by Device::host_buffer. A handle: copies share the memory, which
// lives until the last handle to it is gone and the copies that use it are done (the last handle's end waits for them).
// While a copy is under way its elements are the device's: they are read or written here only after the stream, or an
// event behind the copy, was waited for. It may be used with buffers of any device; where the device is another GPU or
// none, the copy may block.
template <class T>
class HostBuffer {
 public:
  using element = T;

  HostBuffer() = default;  // null: no elements, fits no copy

  std::size_t size() const { return view_.bytes / sizeof(T); }
  std::size_t bytes() const { return view_.bytes; }
  bool is_null() const { return view_.memory == nullptr; }

  T* data() const { return static_cast<T*>(view_.data); }
  T& operator[](std::size_t index) const { return data()[index]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size(); }
  std::span<T> span() const { return {data(), size()}; }

  // `count` elements from `first` on: shares the memory. Throws invalid_argument where they do not lie inside.
  HostBuffer slice(std::size_t first, std::size_t count) const {
    return HostBuffer(detail::slice(view_, first, count, sizeof(T)));
  }

  const detail::HostView& view() const { return view_; }
  explicit HostBuffer(detail::HostView view) : view_(std::move(view)) {}

 private:
  detail::HostView view_;
};

}  // namespace teeny
