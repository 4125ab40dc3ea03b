// The interpreter as a device: slow, exact, and watching every access of memory. Programs run in libteeny_compiler,
// always in this process, because they work on this process's memory.
#include <algorithm>
#include <cstdlib>

#include <teeny/error.hpp>

#include "runtime/compiler/compiler.hpp"
#include "runtime/driver/host_device.hpp"
#include "runtime/messages.hpp"

namespace teeny::runtime {

namespace {

class InterpreterMemory;

// Every allocation that is alive: what a launch may touch.
class LiveMemory {
 public:
  void add(InterpreterMemory* memory) {
    const std::lock_guard lock(mutex_);
    list_.push_back(memory);
  }
  void remove(InterpreterMemory* memory) {
    const std::lock_guard lock(mutex_);
    list_.erase(std::find(list_.begin(), list_.end(), memory));
  }
  template <class Visit>
  void visit(Visit&& visit) {
    const std::lock_guard lock(mutex_);
    for (InterpreterMemory* memory : list_) visit(*memory);
  }

 private:
  std::mutex mutex_;
  std::vector<InterpreterMemory*> list_;
};

class InterpreterMemory final : public DeviceMemory {
 public:
  InterpreterMemory(LiveMemory& live, void* data, std::uint64_t size, bool owned) : live_(live), owned_(owned) {
    address = reinterpret_cast<std::uint64_t>(data);
    bytes = size;
    if (owned) initialised_.assign(size, 0);
    live_.add(this);
  }
  ~InterpreterMemory() override {
    live_.remove(this);
    if (owned_) std::free(reinterpret_cast<void*>(address));
  }
  void mark(std::uint64_t first, std::uint64_t count) {
    if (owned_)
      std::fill_n(initialised_.begin() + static_cast<std::ptrdiff_t>(first - address), count, std::uint8_t{1});
  }
  void mark_like(std::uint64_t first, const InterpreterMemory& from, std::uint64_t from_first, std::uint64_t count) {
    if (!owned_) return;
    for (std::uint64_t i = 0; i < count; ++i)
      initialised_[first - address + i] = from.owned_ ? from.initialised_[from_first - from.address + i] : 1;
  }
  // The host's own memory counts as written.
  std::uint8_t* initialised() { return owned_ ? initialised_.data() : nullptr; }

 private:
  LiveMemory& live_;
  bool owned_;
  std::vector<std::uint8_t> initialised_;  // one a byte; empty for the host's own memory
};

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

class InterpreterDevice final : public HostDevice {
 public:
  explicit InterpreterDevice(DeviceInfo info) : info_(std::move(info)) {}

  const DeviceInfo& info() const override { return info_; }

  std::shared_ptr<DeviceMemory> allocate(std::uint64_t bytes) override {
    void* data = bytes <= info_.memory_bytes / 2 ? allocate_host(bytes) : nullptr;  // as much again for its map
    if (data == nullptr) throw_out_of_memory(info_, bytes);
    return std::make_shared<InterpreterMemory>(live_, data, bytes, true);
  }
  std::shared_ptr<DeviceMemory> wrap(void* host, std::uint64_t bytes) override {
    return std::make_shared<InterpreterMemory>(live_, host, bytes, false);
  }
  void* host_pointer(DeviceMemory& memory, std::uint64_t address, std::uint64_t bytes) override {
    const std::lock_guard lock(run_mutex_);
    static_cast<InterpreterMemory&>(memory).mark(address, bytes);
    return reinterpret_cast<void*>(address);
  }
  void copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) override {
    const std::lock_guard lock(run_mutex_);
    HostDevice::copy_in(memory, address, host, bytes);
    static_cast<InterpreterMemory&>(memory).mark(address, bytes);
  }
  void copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from, std::uint64_t from_address,
            std::uint64_t bytes) override {
    const std::lock_guard lock(run_mutex_);
    HostDevice::copy(to, to_address, from, from_address, bytes);
    static_cast<InterpreterMemory&>(to).mark_like(to_address, static_cast<const InterpreterMemory&>(from), from_address,
                                                  bytes);
  }

  std::unique_ptr<Executable> load(const std::vector<std::uint8_t>& program, const ProgramMetadata&) override {
    return std::make_unique<InterpreterExecutable>(program);
  }

  void execute(const Launch& launch) override {
    const auto& executable = static_cast<const InterpreterExecutable&>(*launch.executable);
    const teeny_compiler_api& api = compiler_api();
    const trace::Trace& trace = (*launch.kernel)->trace();
    PrintContext print_context{trace};
    const std::lock_guard lock(run_mutex_);  // the maps of written memory belong to one run at a time
    std::vector<teeny_memory_range> ranges;
    live_.visit([&](InterpreterMemory& memory) {
      ranges.push_back({.address = memory.address, .bytes = memory.bytes, .initialised = memory.initialised()});
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

  int parallel() const override { return 1; }
  void set_parallel(int) override {
    throw Error(ErrorCode::unsupported,
                "set_parallel: the interpreter runs one program at a time; got a request to change that, expected none"
                "\nhelp: choose the device 'cpu' for speed");
  }

 private:
  DeviceInfo info_;
  LiveMemory live_;
  std::mutex run_mutex_;
};

class InterpreterDriver final : public Driver {
 public:
  std::string kind() const override { return "interpreter"; }
  std::vector<DeviceInfo> devices() override {
    return {{.spec = "interpreter",
             .name = "the interpreter and checker",
             .target = "interpreter",
             .memory_bytes = host_memory_bytes(),
             .cache_bytes = 0,
             .max_grid = {0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
             .parallel = 1}};
  }
  std::unique_ptr<DriverDevice> open(int) override { return std::make_unique<InterpreterDevice>(devices()[0]); }
};

}  // namespace

std::unique_ptr<Driver> make_interpreter_driver() { return std::make_unique<InterpreterDriver>(); }

}  // namespace teeny::runtime
