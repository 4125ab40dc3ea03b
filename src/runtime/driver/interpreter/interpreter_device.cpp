#include "runtime/driver/interpreter/interpreter_device.hpp"

#include <teeny/error.hpp>

#include "runtime/compiler/compiler.hpp"
#include "runtime/messages.hpp"

namespace teeny::runtime {

namespace {

class InterpreterExecutable final : public Executable {
 public:
  explicit InterpreterExecutable(std::vector<std::uint8_t> bytes) : bytes(std::move(bytes)) {}
  const std::vector<std::uint8_t> bytes;
};

struct PrintContext {
  const trace::Trace& trace;
};

void on_print(void* context, const char* text, size_t size) {
  const auto& trace = static_cast<const PrintContext*>(context)->trace;
  std::string line = trace.kernel + ": " + std::string(text, size);
  if (!line.ends_with('\n')) line += '\n';
  print_line(line);
}

}  // namespace

std::shared_ptr<DeviceMemory> InterpreterDevice::allocate(std::uint64_t bytes) {
  void* data = bytes <= info_.memory_bytes / 2 ? runtime::allocate_host(bytes) : nullptr;  // as much again for its map
  if (data == nullptr) throw_out_of_memory(info_, bytes);
  return std::make_shared<InterpreterMemory>(live_, data, bytes, true);
}

std::shared_ptr<DeviceMemory> InterpreterDevice::wrap(void* host, std::uint64_t bytes) {
  return std::make_shared<InterpreterMemory>(live_, host, bytes, false);
}

void* InterpreterDevice::host_pointer(DeviceMemory& memory, std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(run_mutex_);
  static_cast<InterpreterMemory&>(memory).mark(address, bytes);
  return reinterpret_cast<void*>(address);
}

void InterpreterDevice::copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) {
  const std::lock_guard lock(run_mutex_);
  HostDevice::copy_in(memory, address, host, bytes);
  static_cast<InterpreterMemory&>(memory).mark(address, bytes);
}

void InterpreterDevice::copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from,
                             std::uint64_t from_address, std::uint64_t bytes) {
  const std::lock_guard lock(run_mutex_);
  HostDevice::copy(to, to_address, from, from_address, bytes);
  static_cast<InterpreterMemory&>(to).mark_like(to_address, static_cast<const InterpreterMemory&>(from), from_address,
                                                bytes);
}

std::unique_ptr<Executable> InterpreterDevice::load(const std::vector<std::uint8_t>& program,
                                                    const ProgramMetadata& metadata) {
  if (metadata.meanings)
    throw Error(ErrorCode::unsupported,
                "load: a program must not print or assert on " + info_.spec +
                    "; got one that does\nhelp: run it with TEENY_DEVICE=interpreter, or leave device_print and "
                    "device_assert out");
  return std::make_unique<InterpreterExecutable>(program);
}

void InterpreterDevice::execute(const Launch& launch) {
  const auto& executable = static_cast<const InterpreterExecutable&>(*launch.executable);
  const teeny_compiler_api& api = compiler_api();
  const trace::Trace& trace = (*launch.kernel)->trace();
  PrintContext print_context{trace};
  // The maps of written memory belong to one run at a time; a simulator does without them.
  std::unique_lock lock(run_mutex_, std::defer_lock);
  if (!simulates()) lock.lock();
  std::vector<teeny_memory_range> ranges;
  live_.visit([&](InterpreterMemory& memory) {
    ranges.push_back({.address = memory.address,
                      .bytes = memory.bytes,
                      .initialised = simulates() ? nullptr : memory.initialised()});
  });
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  const teeny_interpret_request request{
      .program = {executable.bytes.data(), executable.bytes.size()},
      .arguments = launch.slots,
      .argument_count = launch.argument_count,
      .grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
      .ranges = ranges.data(),
      .range_count = ranges.size(),
      .check = 1,
      .radius = launch.radii != nullptr,
      .max_findings = 0,
      .seed = seed_,
      .print = on_print,
      .print_context = &print_context,
  };
  teeny_interpret_result result{};
  api.interpret(&request, &result);
  const bool ok = result.ok != 0;
  for (std::size_t i = 0; launch.radii != nullptr && i < result.radius_count; ++i)
    launch.radii->emplace_back(result.radius_addresses[i], result.radii[i]);
  const std::string findings = result.findings != nullptr ? result.findings : "";
  api.release_interpret(&result);
  if (!ok) throw findings_error(trace, findings);
}

void InterpreterDevice::set_parallel(int) {
  throw Error(ErrorCode::unsupported,
              "set_parallel: " + info_.spec +
                  " runs one program at a time; got a request to change that, expected none"
                  "\nhelp: choose the device 'cpu' for speed");
}

}  // namespace teeny::runtime
