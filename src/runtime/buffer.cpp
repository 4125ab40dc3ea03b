#include <teeny/buffer.hpp>

#include <limits>

#include <teeny/error.hpp>

#include "runtime/device_state.hpp"

namespace teeny::detail {

namespace {

[[noreturn]] void wrong(const std::string& operation, const std::string& rule, const std::string& got,
                        const std::string& expected, const std::string& help) {
  throw Error(ErrorCode::invalid_argument,
              operation + ": " + rule + "; got " + got + ", expected " + expected + "\nhelp: " + help);
}

void need_memory(const BufferView& view, const char* operation) {
  if (view.memory == nullptr)
    wrong(operation, "the buffer must have memory", "a null buffer", "one of device.buffer<T>(n)",
          "make the buffer first");
}

std::uint64_t bytes_of(std::uint64_t count, std::size_t element_bytes, const char* operation) {
  const std::uint64_t limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / element_bytes;
  if (count > limit)
    wrong(operation, "the size must be an amount of memory", std::to_string(count) + " elements",
          "at most " + std::to_string(limit), "was the count negative?");
  return count * element_bytes;
}

void check_part(std::uint64_t size, std::uint64_t first, std::uint64_t count) {
  if (first > size || count > size - first)
    wrong("slice", "the part must lie inside of the buffer",
          "elements " + std::to_string(first) + " … " + std::to_string(first) + " + " + std::to_string(count),
          "at most " + std::to_string(size) + " elements", "slice(first, count) takes a count, not an end");
}

}  // namespace

BufferView allocate(runtime::DeviceState* device, std::uint64_t count, std::size_t element_bytes) {
  const std::uint64_t bytes = bytes_of(count, element_bytes, "buffer");
  BufferView view{.memory = device->driver->allocate(bytes), .device = device, .address = 0, .bytes = bytes};
  view.address = view.memory->address;
  return view;
}

BufferView wrap_host(runtime::DeviceState* device, void* host, std::uint64_t count, std::size_t element_bytes) {
  const std::uint64_t bytes = bytes_of(count, element_bytes, "wrap");
  if (host == nullptr)
    wrong("wrap", "the host memory must exist", "a null pointer", "an array", "use device.buffer<T>(n)");
  if (reinterpret_cast<std::uint64_t>(host) % element_bytes != 0)
    wrong("wrap", "the host memory must be aligned to its element type", "an odd address",
          "a multiple of " + std::to_string(element_bytes), "take the pointer of an array of T");
  BufferView view{.memory = device->driver->wrap(host, bytes), .device = device, .address = 0, .bytes = bytes};
  view.address = view.memory->address;
  return view;
}

BufferView slice(const BufferView& view, std::uint64_t first, std::uint64_t count, std::size_t element_bytes) {
  need_memory(view, "slice");
  check_part(view.bytes / element_bytes, first, count);
  BufferView part = view;
  part.address += first * element_bytes;
  part.bytes = count * element_bytes;
  return part;
}

void copy_in(const BufferView& view, const void* host, std::uint64_t bytes) {
  need_memory(view, "upload");
  if (bytes != view.bytes)
    wrong("upload", "the host array must have the buffer's size", std::to_string(bytes) + " bytes",
          std::to_string(view.bytes) + " bytes", "use slice() to write a part");
  view.device->synchronize();
  view.device->driver->copy_in(*view.memory, view.address, host, bytes);
}

void copy_out(const BufferView& view, void* host, std::uint64_t bytes) {
  need_memory(view, "download");
  if (bytes != view.bytes)
    wrong("download", "the host array must have the buffer's size", std::to_string(bytes) + " bytes",
          std::to_string(view.bytes) + " bytes", "use slice() to read a part");
  view.device->synchronize();
  view.device->driver->copy_out(*view.memory, view.address, host, bytes);
}

void copy_between(const BufferView& destination, const BufferView& source) {
  need_memory(destination, "copy_from");
  need_memory(source, "copy_from");
  if (destination.bytes != source.bytes)
    wrong("copy_from", "both buffers must have one size", std::to_string(source.bytes) + " bytes",
          std::to_string(destination.bytes) + " bytes", "use slice() to copy a part");
  source.device->synchronize();
  if (destination.device == source.device) {
    source.device->driver->copy(*destination.memory, destination.address, *source.memory, source.address, source.bytes);
    return;
  }
  destination.device->synchronize();
  std::vector<std::uint8_t> host(source.bytes);
  source.device->driver->copy_out(*source.memory, source.address, host.data(), source.bytes);
  destination.device->driver->copy_in(*destination.memory, destination.address, host.data(), source.bytes);
}

HostView allocate_host(runtime::DeviceState* device, std::uint64_t count, std::size_t element_bytes) {
  const std::uint64_t bytes = bytes_of(count, element_bytes, "host_buffer");
  HostView view{.memory = device->driver->allocate_host(bytes), .bytes = bytes};
  view.data = view.memory->data;
  return view;
}

HostView slice(const HostView& view, std::uint64_t first, std::uint64_t count, std::size_t element_bytes) {
  if (view.memory == nullptr)
    wrong("slice", "the host buffer must have memory", "a null one", "one of device.host_buffer<T>(n)",
          "make it first");
  check_part(view.bytes / element_bytes, first, count);
  HostView part = view;
  part.data = static_cast<std::byte*>(part.data) + first * element_bytes;
  part.bytes = count * element_bytes;
  return part;
}

namespace {

void copy_in_order(const BufferView& view, const HostView& host, const Stream& stream, bool to_device,
                   const char* operation) {
  need_memory(view, operation);
  if (host.memory == nullptr)
    wrong(operation, "the host buffer must have memory", "a null one", "one of device.host_buffer<T>(n)",
          "make it first");
  if (host.bytes != view.bytes)
    wrong(operation, "both sides must have one size", std::to_string(host.bytes) + " bytes of the host's",
          std::to_string(view.bytes) + " bytes", "use slice() to copy a part");
  if (stream.state() != nullptr && stream.device() != view.device)
    wrong(operation, "the stream must be of the buffer's device", "one of " + stream.device()->driver->info().spec,
          view.device->driver->info().spec, "make it with device.stream()");
  if (view.bytes == 0) return;
  runtime::DriverStream& order = stream.state() != nullptr ? *stream.state() : view.device->driver->default_stream();
  view.device->check_capture(&order, "a copy on another stream");
  order.copy({.to_device = to_device,
              .memory = view.memory,
              .address = view.address,
              .host = host.memory,
              .data = host.data,
              .bytes = view.bytes});
}

}  // namespace

void copy_in(const BufferView& view, const HostView& host, const Stream& stream) {
  copy_in_order(view, host, stream, true, "upload_async");
}

void copy_out(const BufferView& view, const HostView& host, const Stream& stream) {
  copy_in_order(view, host, stream, false, "download_async");
}

void* host_pointer(const BufferView& view) {
  need_memory(view, "host_data");
  void* pointer = view.device->driver->host_pointer(*view.memory, view.address, view.bytes);
  if (pointer == nullptr)
    throw Error(ErrorCode::unsupported,
                "host_data: the host must reach the device's memory; got a buffer of " +
                    view.device->driver->info().spec +
                    ", expected one of a device that shares it\nhelp: use upload() and download()");
  return pointer;
}

void wrong_dtype(DType held, DType wanted) {
  wrong("as", "the type must be the buffer's", name_of(wanted), name_of(held),
        "teeny::dispatch(buffer.dtype(), …) finds it");
}

}  // namespace teeny::detail
