// Buffers: typed and untyped views of a device's memory.
//
// A buffer is a handle: copies share the memory, which lives until the last handle to it is gone and the launches that
// use it are done. One handle may be read by several threads at once; changing a handle (assignment) needs the user's
// own lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <teeny/element.hpp>
#include <teeny/export.hpp>
#include <teeny/host_buffer.hpp>
#include <teeny/stream.hpp>

namespace teeny::runtime {
class DeviceMemory;
struct DeviceState;
}  // namespace teeny::runtime

namespace teeny {

class Device;
class AnyBuffer;

namespace detail {

// What a launch needs of a buffer, without any look-up. A null buffer has no memory.
struct BufferView {
  std::shared_ptr<runtime::DeviceMemory> memory;
  runtime::DeviceState* device = nullptr;
  std::uint64_t address = 0;  // of the first element, as the device's programs see it
  std::uint64_t bytes = 0;
};

TEENY_EXPORT BufferView allocate(runtime::DeviceState* device, std::uint64_t count, std::size_t element_bytes);
TEENY_EXPORT BufferView wrap_host(runtime::DeviceState* device, void* host, std::uint64_t count,
                                  std::size_t element_bytes);
// Part of a view; first and count in elements. Throws invalid_argument where it does not lie inside.
TEENY_EXPORT BufferView slice(const BufferView& view, std::uint64_t first, std::uint64_t count,
                              std::size_t element_bytes);
// Copies wait for all work of the buffer's device that was given before.
TEENY_EXPORT void copy_in(const BufferView& view, const void* host, std::uint64_t bytes);
TEENY_EXPORT void copy_out(const BufferView& view, void* host, std::uint64_t bytes);
TEENY_EXPORT void copy_between(const BufferView& destination, const BufferView& source);
// In the order of a stream of the buffer's device, which keeps both alive until the copy is done.
TEENY_EXPORT void copy_in(const BufferView& view, const HostView& host, const Stream& stream);
TEENY_EXPORT void copy_out(const BufferView& view, const HostView& host, const Stream& stream);
TEENY_EXPORT void* host_pointer(const BufferView& view);
[[noreturn]] TEENY_EXPORT void wrong_dtype(DType held, DType wanted);

}  // namespace detail

// `size()` elements of T on one device. T is an element type without const.
template <class T>
class Buffer {
 public:
  using element = T;

  Buffer() = default;  // null: fits no launch

  // The host's own memory as a buffer, without a copy: `host` stays the caller's and must outlive the buffer and the
  // work on it. Throws unsupported where the device's programs cannot reach host memory.
  static Buffer wrap(const Device& device, T* host, std::size_t count);
  static Buffer wrap(const Device& device, std::span<T> host) { return wrap(device, host.data(), host.size()); }

  std::size_t size() const { return view_.bytes / sizeof(T); }
  std::size_t bytes() const { return view_.bytes; }
  bool is_null() const { return view_.memory == nullptr; }
  static constexpr DType dtype() { return dtype_of<T>; }
  Device device() const;

  // `count` elements from `first` on: shares the memory.
  Buffer slice(std::size_t first, std::size_t count) const {
    return Buffer(detail::slice(view_, first, count, sizeof(T)));
  }

  // Blocking copies. The count must be size(); they wait for all earlier work of the device.
  void upload(std::span<const T> host) { detail::copy_in(view_, host.data(), host.size_bytes()); }
  void download(std::span<T> host) const { detail::copy_out(view_, host.data(), host.size_bytes()); }
  std::vector<T> download() const;
  void copy_from(const Buffer& source) { detail::copy_between(view_, source.view_); }

  // Copies in the order of a stream (the device's default one where it is not given), which return before they are done.
  // The host's count must be size(). Both memories are kept until then. Throws invalid_argument, or what earlier work of the
  // stream had failed with.
  void upload_async(const HostBuffer<T>& host, const Stream& stream = {}) {
    detail::copy_in(view_, host.view(), stream);
  }
  void download_async(const HostBuffer<T>& host, const Stream& stream = {}) const {
    detail::copy_out(view_, host.view(), stream);
  }

  // The elements, for devices whose memory the host can reach; throws unsupported elsewhere. The caller synchronises.
  T* host_data() const { return static_cast<T*>(detail::host_pointer(view_)); }

  const detail::BufferView& view() const { return view_; }
  explicit Buffer(detail::BufferView view) : view_(std::move(view)) {}

 private:
  detail::BufferView view_;
};

template <class T>
std::vector<T> Buffer<T>::download() const {
  if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no bytes to copy to
    std::vector<std::uint8_t> bytes(size());
    detail::copy_out(view_, bytes.data(), bytes.size());
    return std::vector<bool>(bytes.begin(), bytes.end());
  } else {
    std::vector<T> host(size());
    detail::copy_out(view_, host.data(), host.size() * sizeof(T));
    return host;
  }
}

// A buffer whose element type is a value.
class AnyBuffer {
 public:
  AnyBuffer() = default;
  AnyBuffer(DType dtype, detail::BufferView view) : view_(std::move(view)), dtype_(dtype) {}
  template <class T>
  AnyBuffer(const Buffer<T>& buffer) : view_(buffer.view()), dtype_(dtype_of<T>) {}

  DType dtype() const { return dtype_; }
  std::size_t size() const { return view_.bytes / size_of(dtype_); }
  std::size_t bytes() const { return view_.bytes; }
  bool is_null() const { return view_.memory == nullptr; }
  // The same memory with its type in the C++ type; throws invalid_argument where dtype() is another one.
  template <class T>
  Buffer<T> as() const {
    if (dtype_of<T> != dtype_) detail::wrong_dtype(dtype_, dtype_of<T>);
    return Buffer<T>(view_);
  }
  AnyBuffer slice(std::size_t first, std::size_t count) const {
    return {dtype_, detail::slice(view_, first, count, size_of(dtype_))};
  }
  void upload(std::span<const std::byte> host) { detail::copy_in(view_, host.data(), host.size()); }
  void download(std::span<std::byte> host) const { detail::copy_out(view_, host.data(), host.size()); }

  const detail::BufferView& view() const { return view_; }

 private:
  detail::BufferView view_;
  DType dtype_ = DType::f32;
};

}  // namespace teeny
