// Programs on a CUDA device: what they take of it, and what a launch says that the device does not take.
#include <algorithm>
#include <array>
#include <cstddef>

#include <teeny/error.hpp>

#include "runtime/driver/cuda/cuda_device.hpp"
#include "runtime/gpu_messages.hpp"

namespace teeny::runtime::cuda {

namespace {

// CUfunction_attribute of the driver API.
constexpr int function_max_threads = 0, function_static_shared = 1, function_registers = 4;
constexpr int max_dynamic_shared_bytes = 8;
// A warp's registers are given in blocks of 256: 8 a thread.
constexpr int lanes = 32, register_grain = 8;

std::string times(const std::string& a, const std::string& b) { return a + " × " + b; }

std::string grid_text(const Launch& launch) {
  return times(times(std::to_string(launch.grid[0]), std::to_string(launch.grid[1])), std::to_string(launch.grid[2]));
}

int rounded_up(int value, int grain) { return (value + grain - 1) / grain * grain; }

}  // namespace

CudaExecutable::CudaExecutable(CudaDevice& device, const std::vector<std::uint8_t>& cubin,
                               const ProgramMetadata& metadata)
    : threads(metadata.threads),
      shared_bytes(static_cast<unsigned>(metadata.shared_bytes)),
      meanings(metadata.meanings),
      device_(device) {
  const Symbols& cuda = *symbols();
  const CurrentContext current(device.context());
  check(cuda.module_load(&module_, cubin.data()), "cuModuleLoadData");
  check(cuda.module_function(&function, module_, metadata.entry.c_str()), "cuModuleGetFunction");
  registers_ = read(function_registers);
  max_threads_ = read(function_max_threads);
  static_shared_ = read(function_static_shared);
  fits = excess(device.limits()).empty();
  if (fits && shared_bytes > 48 * 1024)
    check(cuda.function_set(function, max_dynamic_shared_bytes, static_cast<int>(shared_bytes)), "cuFuncSetAttribute");
}

CudaExecutable::~CudaExecutable() {
  if (module_ != nullptr) symbols()->module_unload(module_);
}

int CudaExecutable::read(int attribute) const {
  int value = 0;
  check(symbols()->function_get(&value, attribute, function), "cuFuncGetAttribute");
  return value;
}

// "rule; got …, expected …\nhelp: …" of the first limit that is passed, with '@' where the grid belongs; empty: none.
std::string CudaExecutable::excess(const Limits& limits) const {
  const int count = static_cast<int>(threads);
  const std::string number = std::to_string(threads);
  if (const std::uint64_t shared = std::uint64_t{shared_bytes} + static_cast<std::uint64_t>(static_shared_);
      shared > static_cast<std::uint64_t>(limits.shared_bytes))
    return "a program's shared memory must fit the device's; got " + std::to_string(shared) +
           " bytes@, expected at most " + std::to_string(limits.shared_bytes) +
           " bytes\nhelp: use smaller blocks or fewer stages";
  if (count > limits.threads)
    return "a program's threads must fit the device's; got " + number + " threads@, expected at most " +
           std::to_string(limits.threads) + "\nhelp: compile with at most " + std::to_string(limits.threads / lanes) +
           " warps (CompileOptions::warps)";
  const int needed = rounded_up(registers_, register_grain) * rounded_up(count, lanes);
  if (needed > limits.registers || count > max_threads_) {
    const int fitting = limits.registers / rounded_up(count, lanes) / register_grain * register_grain;
    return "the registers of a program's threads must fit the device's; got " +
           times(number + " threads", std::to_string(registers_) + " registers") + "@, expected at most " +
           std::to_string(limits.registers) + " registers, and " + std::to_string(max_threads_) +
           " threads with this many each\nhelp: use smaller blocks or fewer warps, or compile with at most " +
           std::to_string(fitting) + " registers a thread (CompileOptions::max_registers)";
  }
  return {};
}

// A buffer for this launch alone, read when the launch has ended.
void CudaExecutable::launch_telling(const Launch& launch, CudaStream stream) const {
  constexpr std::uint32_t capacity = 1 << 16;
  constexpr std::size_t head_bytes = offsetof(teeny_gpu_message_buffer, messages);
  const auto buffer = device_.allocate(head_bytes + capacity * sizeof(teeny_gpu_message));
  device_.default_stream().synchronize();  // its memory comes in that stream's order
  std::array<std::uint32_t, head_bytes / sizeof(std::uint32_t)> head{0, capacity};
  device_.copy_in(*buffer, buffer->address, head.data(), sizeof head);
  start(launch, stream, &buffer->address);
  check(symbols()->stream_synchronize(stream), "launch");
  device_.copy_out(*buffer, buffer->address, head.data(), sizeof head);
  std::vector<teeny_gpu_message> messages(std::min(head[0], capacity));
  device_.copy_out(*buffer, buffer->address + head_bytes, messages.data(), messages.size() * sizeof(teeny_gpu_message));
  tell((*launch.kernel)->trace(), launch.grid, *meanings, std::move(messages), head[0]);
}

void CudaExecutable::refuse(const Launch& launch, Result result) const {
  const std::string head = "launch " + (*launch.kernel)->name() + ": ", grid = " for a grid of " + grid_text(launch);
  if (std::string text = excess(device_.limits()); !text.empty()) {
    text.replace(text.find('@'), 1, grid);
    throw Error(ErrorCode::unsupported, head + text);
  }
  const std::string takes = std::to_string(threads) + " threads of " + std::to_string(registers_) + " registers and " +
                            std::to_string(shared_bytes) + " bytes of shared memory a program";
  const Limits& limits = device_.limits();
  std::string help = "look at the device with nvidia-smi";
  if (context_lost(result))
    help =
        "earlier work touched memory outside of its buffers or was stopped, and the device's context is lost: find it "
        "with TEENY_DEVICE=interpreter, then start the process anew";
  else if (result == out_of_resources || result == invalid_value)
    help = "use smaller blocks, fewer warps or fewer stages, or a smaller grid";
  else if (result == out_of_memory)
    help = "a program's spilled registers need memory for every thread at once: release buffers, or use smaller blocks";
  throw Error(ErrorCode::device_failed, head + "the device must take it; got " + text_of(result) + grid + " with " +
                                            takes + ", expected at most " + std::to_string(limits.threads) +
                                            " threads, " + std::to_string(limits.registers) + " registers and " +
                                            std::to_string(limits.shared_bytes) + " bytes\nhelp: " + help);
}

}  // namespace teeny::runtime::cuda
