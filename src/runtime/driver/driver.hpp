// What the runtime asks of a kind of device. Everything above this interface is the same for all devices.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <teeny/buffer.hpp>
#include <teeny/device.hpp>
#include <teeny/launch.hpp>

#include "lang/trace.hpp"

namespace teeny::runtime {

// One allocation. `address` is what the device's programs see.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// Memory of the host's that a device copies to and from beside its other work.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  void* data = nullptr;
  std::uint64_t bytes = 0;
};

// A copy in a stream's order, of at least one byte. The stream keeps both memories until it is done.
struct HostCopy {
  bool to_device = true;
  std::shared_ptr<DeviceMemory> memory;
  std::uint64_t address = 0;
  std::shared_ptr<HostMemory> host;
  void* data = nullptr;
  std::uint64_t bytes = 0;
};

// A program as the device runs it.
class Executable {
 public:
  virtual ~Executable() = default;
};

using Argument = detail::LaunchArgument;

// Addresses of stored elements, ascending, and how far another device's results may be from what stands there.
using Radii = std::vector<std::pair<std::uint64_t, double>>;

// One launch, checked: the grid is within the limits and not empty, the buffers are this device's.
struct Launch {
  Executable* executable = nullptr;
  const std::uint64_t* slots = nullptr;  // one a kernel argument
  const Argument* arguments = nullptr;
  std::size_t argument_count = 0;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  const detail::RecordedKernelPtr* kernel = nullptr;  // for messages
  Radii* radii = nullptr;  // filled by the interpreter where it is asked for; other devices leave it alone
};

class DriverGraph;
struct HeldLaunch;
using Step = std::variant<std::shared_ptr<const HeldLaunch>, HostCopy>;  // steps.hpp

class DriverEvent {
 public:
  virtual ~DriverEvent() = default;
  virtual bool done() = 0;
  virtual void synchronize() = 0;
  virtual double seconds_since(DriverEvent& start) = 0;  // of the same device; both done()
};

// Ordered work. Members may be called from several threads. Work that fails makes the stream drop what follows up to
// the next synchronize(), which throws that failure.
class DriverStream {
 public:
  virtual ~DriverStream() = default;
  virtual void launch(const Launch& launch) = 0;
  virtual void copy(const HostCopy& copy) = 0;
  virtual void replay(const std::shared_ptr<DriverGraph>& graph) = 0;  // of this device; not empty
  virtual std::shared_ptr<DriverEvent> record() = 0;
  virtual void wait(const std::shared_ptr<DriverEvent>& event) = 0;
  virtual void synchronize() = 0;
};

// What the program's metadata says.
struct MessageMeanings;  // gpu_messages.hpp

struct ProgramMetadata {
  std::string entry;
  std::uint64_t arena_bytes = 0;
  unsigned threads = 0;  // what follows is a GPU program's: gpu_program_abi.h
  unsigned lanes = 1;
  bool argument_block = false;
  std::uint64_t shared_bytes = 0;
  std::shared_ptr<const MessageMeanings> meanings;  // null: tells the host nothing, and takes no buffer to do it
};

class DriverDevice {
 public:
  virtual ~DriverDevice() = default;
  virtual const DeviceInfo& info() const = 0;
  // The targets whose programs it runs, the best first: info().target, then those that it takes where a program for that
  // one is nowhere and nothing can make it.
  virtual std::vector<std::string> targets() const { return {info().target}; }

  // Throws out_of_memory. At least one byte is allocated, so that an empty buffer is no null buffer.
  virtual std::shared_ptr<DeviceMemory> allocate(std::uint64_t bytes) = 0;
  // The same for the host's side of copies.
  virtual std::shared_ptr<HostMemory> allocate_host(std::uint64_t bytes) = 0;
  // Throws unsupported where programs cannot reach host memory.
  virtual std::shared_ptr<DeviceMemory> wrap(void* host, std::uint64_t bytes) = 0;
  // Memory of the device, and a stream, that an engine already has. Throws unsupported where there is no such thing.
  virtual std::shared_ptr<DeviceMemory> wrap_device(std::uint64_t address, std::uint64_t bytes);
  virtual std::shared_ptr<DriverStream> wrap_stream(void* stream);
  // The host's pointer to an address of the memory, or null. What the host may write there counts as written.
  virtual void* host_pointer(DeviceMemory& memory, std::uint64_t address, std::uint64_t bytes) = 0;
  // Blocking; the caller has synchronised.
  virtual void copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) = 0;
  virtual void copy_out(const DeviceMemory& memory, std::uint64_t address, void* host, std::uint64_t bytes) = 0;
  virtual void copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from, std::uint64_t from_address,
                    std::uint64_t bytes) = 0;

  // The second level of the cache: a device that turns the compiler's portable bytes into its own says what that
  // depends on (device, driver, assembler) and does it. An empty text: the portable bytes are what load() takes.
  virtual std::string assembler_identity() const { return {}; }
  virtual std::vector<std::uint8_t> assemble(const std::vector<std::uint8_t>& portable, const ProgramMetadata&) {
    return portable;
  }
  virtual std::unique_ptr<Executable> load(const std::vector<std::uint8_t>& program,
                                           const ProgramMetadata& metadata) = 0;

  virtual std::shared_ptr<DriverGraph> make_graph(std::vector<Step> steps) = 0;

  virtual DriverStream& default_stream() = 0;
  virtual std::shared_ptr<DriverStream> make_stream() = 0;
  virtual int parallel() const = 0;
  virtual void set_parallel(int count) = 0;
};

// A kind of device. Finding none is no error.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::string kind() const = 0;           // "cpu": the part of a spec before the colon
  virtual std::vector<DeviceInfo> devices() = 0;  // those found here, in the order of their numbers
  // False: there is most likely nothing here that a user who names no device wants, and looking for it would cost time.
  virtual bool likely() { return true; }
  virtual std::string unavailable() { return {}; }  // why there are none at all
  virtual std::unique_ptr<DriverDevice> open(int index) = 0;
  // A device that is described, not found: what stands behind the colon of a spec. Null: this kind has none.
  virtual std::unique_ptr<DriverDevice> open_named(std::string_view) { return nullptr; }
};

// Every driver, the preferred first. A new kind of device adds its line in drivers.cpp.
const std::vector<std::unique_ptr<Driver>>& drivers();

std::unique_ptr<Driver> make_cuda_driver();
std::unique_ptr<Driver> make_vulkan_driver();
std::unique_ptr<Driver> make_cpu_driver();
std::unique_ptr<Driver> make_interpreter_driver();
std::unique_ptr<Driver> make_simulator_driver();

}  // namespace teeny::runtime
