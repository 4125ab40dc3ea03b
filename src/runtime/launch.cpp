#include <teeny/launch.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <teeny/dispatch.hpp>
#include <teeny/error.hpp>

#include "runtime/device_state.hpp"

namespace teeny {

namespace runtime {

// A compile on a thread of its own. The thread is joined by the last holder.
struct PendingState {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr failure;
  std::thread thread;
  ~PendingState() {
    if (thread.joinable()) thread.join();
  }
};

}  // namespace runtime

namespace detail {

namespace {

[[noreturn]] void wrong(const RecordedKernel& kernel, const std::string& rule, const std::string& help) {
  throw Error(ErrorCode::invalid_argument, "launch " + kernel.name() + ": " + rule + "\nhelp: " + help);
}

std::string grid_text(const Grid& grid) {
  return std::to_string(grid.axis[0]) + " × " + std::to_string(grid.axis[1]) + " × " + std::to_string(grid.axis[2]);
}

// False: there is nothing to run.
bool check_grid(const RecordedKernel& kernel, const Grid& grid, const DeviceInfo& info,
                std::array<std::uint32_t, 3>& checked) {
  static const char axes[] = {'x', 'y', 'z'};
  bool empty = false;
  double total = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t size = grid.axis[i];
    if (size < 0 || static_cast<std::uint64_t>(size) > info.max_grid[i])
      wrong(kernel,
            std::string("the grid must be within the device's limits; got ") + std::to_string(size) + " along " +
                axes[i] + " of " + grid_text(grid) + ", expected 0 … " + std::to_string(info.max_grid[i]) + " on " +
                info.spec,
            i == 0 ? "let one program do more" : "let one program do more, or use the axis x, which may be longer");
    checked[i] = static_cast<std::uint32_t>(size);
    empty = empty || size == 0;
    total *= static_cast<double>(size);
  }
  if (total > 0x1p62)
    wrong(kernel, "the grid must be countable; got more than 2^62 programs, expected fewer", "use fewer axes");
  return !empty;
}

void check_buffer(const RecordedKernel& kernel, std::size_t index, const BufferView& view,
                  const runtime::DeviceState* device) {
  if (view.memory == nullptr)
    wrong(kernel, kernel.parameter_name(index) + " must have memory; got a null buffer, expected one of the device",
          "make it with device.buffer<T>(n) or device.upload(host)");
  if (view.device != device)
    wrong(kernel,
          kernel.parameter_name(index) + " must be of the launch's device; got a buffer of " +
              view.device->driver->info().spec + ", expected " + device->driver->info().spec,
          "upload it there, or launch on the buffer's device");
}

void check_arguments(const RecordedKernel& kernel, const runtime::DeviceState* device, const LaunchArgument* arguments,
                     std::size_t count) {
  if (count != kernel.parameters().size())
    wrong(kernel,
          "one argument a parameter; got " + std::to_string(count) + ", expected " +
              std::to_string(kernel.parameters().size()),
          "compare with the kernel's call operator");
  for (std::size_t i = 0; i < count; ++i)
    if (arguments[i].buffer != nullptr) check_buffer(kernel, i, *arguments[i].buffer, device);
}

}  // namespace

runtime::Program* find_program(runtime::DeviceState* device, const RecordedKernelPtr& kernel,
                               const CompileOptions& options) {
  return device->find_program(kernel, options);
}

void launch_program(runtime::DeviceState* device, runtime::Program* program, const RecordedKernelPtr& kernel,
                    const Grid& grid, const Stream* stream, const LaunchArgument* arguments, std::size_t count) {
  launch_with_radii(device, program, kernel, grid, stream, arguments, count, nullptr);
}

void launch_with_radii(runtime::DeviceState* device, runtime::Program* program, const RecordedKernelPtr& kernel,
                       const Grid& grid, const Stream* stream, const LaunchArgument* arguments, std::size_t count,
                       runtime::Radii* radii) {
  runtime::DriverDevice& driver = *device->driver;
  runtime::Launch launch{.arguments = arguments, .argument_count = count, .kernel = &kernel, .radii = radii};
  check_arguments(*kernel, device, arguments, count);
  runtime::DriverStream* order = stream != nullptr ? stream->state() : nullptr;
  if (order != nullptr && stream->device() != device)
    wrong(*kernel,
          "the stream must be of the launch's device; got one of " + stream->device()->driver->info().spec +
              ", expected " + driver.info().spec,
          "make it with device.stream()");
  if (!check_grid(*kernel, grid, driver.info(), launch.grid)) return;
  std::uint64_t slots[max_arguments];
  for (std::size_t i = 0; i < count; ++i) slots[i] = arguments[i].bits;
  launch.slots = slots;
  launch.executable = &program->choose(arguments, *kernel);
  device->check_capture(order, "a launch on another stream");
  (order != nullptr ? *order : driver.default_stream()).launch(launch);
}

void compile_program(runtime::DeviceState* device, runtime::Program* program, const RecordedKernelPtr& kernel,
                     const LaunchArgument* arguments, std::size_t count) {
  if (count == 0) {
    program->prepare_general(*kernel);
    return;
  }
  check_arguments(*kernel, device, arguments, count);
  program->choose(arguments, *kernel);
}

std::shared_ptr<runtime::PendingState> compile_in_background(runtime::DeviceState* device, runtime::Program* program,
                                                             const RecordedKernelPtr& kernel,
                                                             const LaunchArgument* arguments, std::size_t count) {
  auto pending = std::make_shared<runtime::PendingState>();
  // The caller's buffers may be gone by the time: the thread has its own views of them.
  std::vector<LaunchArgument> held(arguments, arguments + count);
  auto views = std::make_shared<std::vector<BufferView>>(count);
  for (std::size_t i = 0; i < count; ++i)
    if (held[i].buffer != nullptr) (*views)[i] = *held[i].buffer, held[i].buffer = &(*views)[i];
  pending->thread = std::thread([state = pending.get(), device, program, kernel, held = std::move(held), views] {
    std::exception_ptr failure;
    try {
      compile_program(device, program, kernel, held.data(), held.size());
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(state->mutex);
    state->failure = failure;
    state->done = true;
    state->changed.notify_all();
  });
  return pending;
}

bool pending_ready(const runtime::PendingState& state) {
  auto& open = const_cast<runtime::PendingState&>(state);
  const std::lock_guard lock(open.mutex);
  return state.done;
}

void pending_wait(runtime::PendingState& state) {
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.done; });
  if (state.failure) std::rethrow_exception(state.failure);
}

void no_such_type(DType dtype, const DType* list, int count) {
  std::string types;
  for (int i = 0; i < count; ++i) types += (i == 0 ? "" : ", ") + std::string(teeny::name_of(list[i]));
  throw Error(ErrorCode::invalid_argument, std::string("dispatch: the type must be of the list; got ") +
                                               teeny::name_of(dtype) + ", expected one of " + types +
                                               "\nhelp: convert the buffer, or name a longer list");
}

}  // namespace detail
}  // namespace teeny
