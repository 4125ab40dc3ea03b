// The host's processors as a device: programs are shared objects, a grid is shared among a pool of threads.
#include <sys/utsname.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include <teeny/error.hpp>

#include "runtime/driver/cpu/shared_object.hpp"
#include "runtime/driver/host_device.hpp"
#include "runtime/messages.hpp"
#include "support/cpu_program_abi.h"
#include "support/log.hpp"
#include "support/target.hpp"
#include "support/thread_pool.hpp"

namespace teeny::runtime {

namespace {

class CpuMemory final : public DeviceMemory {
 public:
  CpuMemory(void* data, std::uint64_t size, bool owned) : owned_(owned) {
    address = reinterpret_cast<std::uint64_t>(data);
    bytes = size;
  }
  ~CpuMemory() override {
    if (owned_) std::free(reinterpret_cast<void*>(address));
  }

 private:
  bool owned_;
};

class CpuExecutable final : public Executable {
 public:
  CpuExecutable(support::DynamicLibrary library, teeny_cpu_entry entry, std::uint64_t arena_bytes)
      : entry(entry), arena_bytes(arena_bytes), library_(std::move(library)) {}
  const teeny_cpu_entry entry;
  const std::uint64_t arena_bytes;

 private:
  support::DynamicLibrary library_;
};

// A thread's scratch memory: grows to the largest that any program asked for, and stays.
class Arena {
 public:
  Arena() = default;
  ~Arena() { std::free(data_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Null where the memory cannot be had.
  void* reserve(std::uint64_t bytes) {
    if (bytes <= bytes_) return data_;
    std::free(data_);
    data_ = allocate_host(bytes);
    bytes_ = data_ != nullptr ? bytes : 0;
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

thread_local Arena arena;

// What the threads of one launch share.
struct Run {
  const Launch& launch;
  const CpuExecutable& executable;
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::unique_ptr<Error> error;  // guarded by mutex: the first one

  void fail(const Error& failure) {
    const std::lock_guard lock(mutex);
    if (!error) error = std::make_unique<Error>(failure);
    stopped.store(true, std::memory_order_relaxed);
  }
};

void on_assert(teeny_cpu_context* context, std::uint32_t operation, const char* message, std::uint64_t program,
               std::uint64_t lane) {
  Run& run = *static_cast<Run*>(context->host);
  context->stop = 1;
  run.fail(assertion_error((*run.launch.kernel)->trace(), operation, program_text(program, run.launch.grid), lane,
                           message ? message : ""));
}

void on_print(teeny_cpu_context* context, std::uint32_t operation, const char* prefix, std::int32_t dtype,
              const void* values, std::uint64_t count, std::uint64_t program) {
  const Run& run = *static_cast<const Run*>(context->host);
  const DType type = static_cast<DType>(dtype);
  const std::string where = program_text(program, run.launch.grid);
  std::string lines;
  for (std::uint64_t i = 0; i < count; ++i)
    lines += printed_line((*run.launch.kernel)->trace(), operation, where, count > 1 ? std::optional(i) : std::nullopt,
                          prefix ? prefix : "", type, static_cast<const std::uint8_t*>(values) + i * size_of(type));
  print_line(lines);
}

// The pool's body: a part of the grid on this thread.
bool run_part(void* state, std::uint64_t first, std::uint64_t last) {
  Run& run = *static_cast<Run*>(state);
  if (run.stopped.load(std::memory_order_relaxed)) return false;
  teeny_cpu_context context{.arena = nullptr, .host = &run, .assert_failed = on_assert, .print = on_print, .stop = 0};
  if (run.executable.arena_bytes != 0) {
    context.arena = arena.reserve(run.executable.arena_bytes);
    if (context.arena == nullptr) {
      run.fail(
          Error(ErrorCode::out_of_memory, located((*run.launch.kernel)->trace(), -1,
                                                  "launch: each thread needs its scratch memory; got none, expected " +
                                                      std::to_string(run.executable.arena_bytes) +
                                                      " bytes\nhelp: use smaller blocks or fewer threads")));
      return false;
    }
  }
  run.executable.entry(run.launch.slots, run.launch.grid.data(), first, last, &context);
  return context.stop == 0;
}

std::string read_processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  utsname system{};
  ::uname(&system);
  return std::string(system.machine) + " processor";
}

// Reading it takes longer than a launch.
const std::string& processor_name() {
  static const auto& name = *new std::string(read_processor_name());
  return name;
}

int parse_threads(const std::string& text) {
  char* end = nullptr;
  const long count = std::strtol(text.c_str(), &end, 10);
  if (*end != 0 || count < 1 || count > 4096)
    throw Error(ErrorCode::invalid_argument,
                "TEENY_CPU_THREADS: a number of threads; got '" + text +
                    "', expected 1 … 4096\nhelp: leave it unset for one thread a processor");
  return static_cast<int>(count);
}

// TEENY_CPU_TARGET narrows what programs may use, to what a lesser machine of a cluster has.
support::Target chosen_target() {
  const support::Target host = support::host_cpu_target();
  const std::string text = support::environment("TEENY_CPU_TARGET");
  if (text.empty()) return host;
  const std::optional<support::Target> wanted = support::parse_target(text);
  if (!wanted)
    throw Error(ErrorCode::invalid_argument, "TEENY_CPU_TARGET: a target; got '" + text + "', expected a text like '" +
                                                 host.text() + "'\nhelp: teeny devices prints this machine's");
  const std::string missing = support::missing_on_host(*wanted, host);
  if (!missing.empty())
    throw Error(ErrorCode::unsupported, "TEENY_CPU_TARGET: this processor must have all of it; got '" + missing +
                                            "', expected a part of '" + host.text() +
                                            "'\nhelp: compile for other machines with a package instead");
  return *wanted;
}

DeviceInfo describe(int threads) {
  return {.spec = "cpu",
          .name = processor_name(),
          .target = chosen_target().text(),
          .memory_bytes = host_memory_bytes(),
          .cache_bytes = support::host_cache_share(threads),
          .max_grid = {0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
          .parallel = threads};
}

int initial_threads() {
  const std::string text = support::environment("TEENY_CPU_THREADS");
  return text.empty() ? support::available_processors() : parse_threads(text);
}

class CpuDevice final : public HostDevice {
 public:
  CpuDevice() : info_(describe(initial_threads())), parallel_(info_.parallel) {}

  const DeviceInfo& info() const override { return info_; }

  std::shared_ptr<DeviceMemory> allocate(std::uint64_t bytes) override {
    void* data = runtime::allocate_host(bytes);
    if (data == nullptr) throw_out_of_memory(info_, bytes);
    return std::make_shared<CpuMemory>(data, bytes, true);
  }
  std::shared_ptr<DeviceMemory> wrap(void* host, std::uint64_t bytes) override {
    return std::make_shared<CpuMemory>(host, bytes, false);
  }

  std::unique_ptr<Executable> load(const std::vector<std::uint8_t>& program, const ProgramMetadata& metadata) override {
    support::DynamicLibrary library = load_shared_object(program);
    const auto entry = reinterpret_cast<teeny_cpu_entry>(library.symbol(metadata.entry.c_str()));
    if (entry == nullptr)
      throw Error(ErrorCode::device_failed, "load: the program must have its entry; got none, expected a function '" +
                                                metadata.entry + "'\nhelp: clear the program cache");
    return std::make_unique<CpuExecutable>(std::move(library), entry, metadata.arena_bytes);
  }

  void execute(const Launch& launch) override {
    const auto& executable = static_cast<const CpuExecutable&>(*launch.executable);
    const std::uint64_t total = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    Run run{.launch = launch, .executable = executable};
    if (total == 1 || parallel_.load(std::memory_order_relaxed) == 1)
      run_part(&run, 0, total);
    else
      pool()->run(total, &run, run_part);
    if (run.stopped.load(std::memory_order_relaxed)) throw Error(*run.error);
  }

  int parallel() const override { return parallel_.load(std::memory_order_relaxed); }
  void set_parallel(int count) override {
    const std::lock_guard lock(mutex_);
    if (count == parallel_.load()) return;
    parallel_.store(count);
    pool_ = nullptr;  // ends once the launches that use it have returned
  }

 private:
  // Threads start with the first launch that has work for them.
  std::shared_ptr<support::ThreadPool> pool() {
    const std::lock_guard lock(mutex_);
    if (!pool_) pool_ = std::make_shared<support::ThreadPool>(parallel_.load());
    return pool_;
  }

  DeviceInfo info_;
  std::mutex mutex_;
  std::atomic<int> parallel_;
  std::shared_ptr<support::ThreadPool> pool_;  // guarded by mutex_
};

class CpuDriver final : public Driver {
 public:
  std::string kind() const override { return "cpu"; }
  std::vector<DeviceInfo> devices() override { return {describe(initial_threads())}; }
  std::unique_ptr<DriverDevice> open(int) override { return std::make_unique<CpuDevice>(); }
};

}  // namespace

std::unique_ptr<Driver> make_cpu_driver() { return std::make_unique<CpuDriver>(); }

}  // namespace teeny::runtime
