// Launching kernels and compiling them ahead.
//
//   teeny::launch(device, {n_rows}, Softmax{.BLOCK = 1024}, x, y, n_cols);
//   auto softmax = device.compile(Softmax{}, x, y, n_cols);   softmax({n_rows}, {.stream = s}, x, y, n_cols);
//
// Everything here may be called from several threads at once, also with the same kernel: it is compiled once. A launch on
// the default stream of a CPU has finished when the call returns. A launch that throws has started nothing, except for
// assertion_failed, check_failed and device_failed.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

#include <teeny/device.hpp>
#include <teeny/kernel.hpp>
#include <teeny/options.hpp>

namespace teeny::runtime {
class Program;
struct PendingState;
}  // namespace teeny::runtime

namespace teeny {

// How many programs a launch runs along each axis. An axis of zero is a launch of nothing.
struct Grid {
  std::int64_t axis[3] = {1, 1, 1};

  template <std::integral X>
  constexpr Grid(X x) : axis{clamp(x), 1, 1} {}
  template <std::integral X, std::integral Y>
  constexpr Grid(X x, Y y) : axis{clamp(x), clamp(y), 1} {}
  template <std::integral X, std::integral Y, std::integral Z>
  constexpr Grid(X x, Y y, Z z) : axis{clamp(x), clamp(y), clamp(z)} {}

 private:
  // What is too large stays too large.
  template <std::integral I>
  static constexpr std::int64_t clamp(I value) {
    if constexpr (std::is_unsigned_v<I> && sizeof(I) == 8)
      return value > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(value);
    else
      return value;
  }
};

struct LaunchOptions {
  Stream stream;           // the device's default stream where it is not given
  CompileOptions compile;  // a handle has its own: launches of handles do not look at it
};

namespace detail {

inline constexpr std::size_t max_arguments = 64;

// A kernel argument of a launch: a number in the low bytes, or a buffer and its address.
struct LaunchArgument {
  std::uint64_t bits = 0;
  const BufferView* buffer = nullptr;
};

// What a handle takes for a pointer: any Buffer<T> that may be written, or any at all for const T.
template <class T>
class BufferReference {
 public:
  BufferReference(Buffer<T>& buffer) : view_(&buffer.view()) {}
  BufferReference(Buffer<T>&& buffer) : view_(&buffer.view()) {}
  const BufferView& view() const { return *view_; }

 private:
  const BufferView* view_;
};
template <class T>
class BufferReference<const T> {
 public:
  BufferReference(const Buffer<T>& buffer) : view_(&buffer.view()) {}
  const BufferView& view() const { return *view_; }

 private:
  const BufferView* view_;
};

template <class T>
LaunchArgument to_argument(const RecordedKernel&, std::size_t, const BufferReference<T>& buffer) {
  return {buffer.view().address, &buffer.view()};
}
template <class T>
LaunchArgument to_argument(const RecordedKernel&, std::size_t, const Buffer<T>& buffer) {
  return {buffer.view().address, &buffer.view()};
}
template <NumberArgument T>
LaunchArgument to_argument(const RecordedKernel& kernel, std::size_t index, T value) {
  LaunchArgument argument;
  if (kernel.parameters()[index].dtype == dtype_of<tl::host_t<T>>) {
    std::memcpy(&argument.bits, &value, sizeof value);
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    argument.bits = kernel.argument(index, static_cast<Wide>(value));
  } else {
    argument.bits = kernel.argument(index, static_cast<double>(value));
  }
  return argument;
}

// The program of a recorded kernel on a device; made without a compile, lives to the end of the process.
TEENY_EXPORT runtime::Program* find_program(runtime::DeviceState* device, const RecordedKernelPtr& kernel,
                                            const CompileOptions& options);
TEENY_EXPORT void launch_program(runtime::DeviceState* device, runtime::Program* program,
                                 const RecordedKernelPtr& kernel, const Grid& grid, const Stream* stream,
                                 const LaunchArgument* arguments, std::size_t count);
// Compiles the variant that a launch with these arguments would take; with none, the general one.
TEENY_EXPORT void compile_program(runtime::DeviceState* device, runtime::Program* program,
                                  const RecordedKernelPtr& kernel, const LaunchArgument* arguments, std::size_t count);
// The same on a thread of its own.
TEENY_EXPORT std::shared_ptr<runtime::PendingState> compile_in_background(runtime::DeviceState* device,
                                                                          runtime::Program* program,
                                                                          const RecordedKernelPtr& kernel,
                                                                          const LaunchArgument* arguments,
                                                                          std::size_t count);
TEENY_EXPORT bool pending_ready(const runtime::PendingState& state);
TEENY_EXPORT void pending_wait(runtime::PendingState& state);  // throws the compile's error

// The C++ type of a handle's parameter, from a launch argument's type or from the kernel's own parameter type.
template <class A>
struct HandleParameter {
  using type = A;
};
template <class T>
struct HandleParameter<Buffer<T>> {
  using type = BufferReference<T>;
};
template <class T>
struct HandleParameter<const Buffer<T>> {
  using type = BufferReference<const T>;
};
template <class T>
  requires NumberArgument<T>
struct HandleParameter<const T> {
  using type = T;
};
template <class D>
struct HandleParameter<tl::Tensor<D*, 0>> {
  using type = BufferReference<D>;
};
template <Element D>
struct HandleParameter<tl::Tensor<D, 0>> {
  using type = D;
};
template <class A>
using handle_parameter_t = typename HandleParameter<std::remove_reference_t<A>>::type;

// Calls use(arguments, count) with the arguments in their launch form.
template <class Use, class... A>
decltype(auto) with_arguments(const RecordedKernel& kernel, Use&& use, const A&... values) {
  static_assert(sizeof...(A) <= max_arguments, "teeny: a kernel takes at most 64 arguments; put tables into a buffer");
  std::size_t index = 0;
  const LaunchArgument arguments[sizeof...(A) + 1] = {to_argument(kernel, index++, values)..., LaunchArgument{}};
  return use(arguments, sizeof...(A));
}

}  // namespace detail

// A compiled kernel with its parameters' types: a launch looks nothing up. A handle may be copied and used by several
// threads.
template <class... P>
class Handle {
 public:
  void operator()(Grid grid, std::type_identity_t<P>... arguments) const { run(grid, nullptr, arguments...); }
  void operator()(Grid grid, const LaunchOptions& options, std::type_identity_t<P>... arguments) const {
    run(grid, &options.stream, arguments...);
  }

  Device device() const { return Device(device_); }

  Handle(runtime::DeviceState* device, runtime::Program* program, detail::RecordedKernelPtr kernel)
      : device_(device), program_(program), kernel_(std::move(kernel)) {}

 private:
  void run(const Grid& grid, const Stream* stream, const P&... values) const {
    detail::with_arguments(
        *kernel_,
        [&](const detail::LaunchArgument* arguments, std::size_t count) {
          detail::launch_program(device_, program_, kernel_, grid, stream, arguments, count);
        },
        values...);
  }

  runtime::DeviceState* device_;
  runtime::Program* program_;
  detail::RecordedKernelPtr kernel_;
};

// A handle whose compile is under way.
template <class H>
class Pending {
 public:
  bool ready() const { return detail::pending_ready(*state_); }
  // Waits; throws the compile's error.
  H get() const {
    detail::pending_wait(*state_);
    return handle_;
  }

  Pending(H handle, std::shared_ptr<runtime::PendingState> state)
      : handle_(std::move(handle)), state_(std::move(state)) {}

 private:
  H handle_;
  std::shared_ptr<runtime::PendingState> state_;
};

// Runs a kernel over a grid. The kernel is recorded once for its constants and argument types and compiled once for a
// device; arguments are buffers of this device and numbers.
template <class K, class... A>
void launch(const Device& device, Grid grid, const LaunchOptions& options, const K& kernel, A&&... values) {
  const detail::RecordedKernelPtr& recorded = detail::recorded<A...>(kernel);
  runtime::Program* program = detail::find_program(device.state(), recorded, options.compile);
  detail::with_arguments(
      *recorded,
      [&](const detail::LaunchArgument* arguments, std::size_t count) {
        detail::launch_program(device.state(), program, recorded, grid, &options.stream, arguments, count);
      },
      values...);
}

template <class K, class... A>
  requires(!std::same_as<K, LaunchOptions>)
void launch(const Device& device, Grid grid, const K& kernel, A&&... values) {
  launch(device, grid, LaunchOptions{}, kernel, std::forward<A>(values)...);
}

template <class K, class... A>
  requires(sizeof...(A) > 0 && detail::NoOptions<K, A...>)
auto Device::compile(const K& kernel, A&&... values) const {
  return compile(CompileOptions{}, kernel, std::forward<A>(values)...);
}

template <class K, class... A>
  requires(sizeof...(A) > 0)
auto Device::compile(const CompileOptions& options, const K& kernel, A&&... values) const {
  detail::RecordedKernelPtr recorded = detail::recorded<A...>(kernel);
  runtime::Program* program = detail::find_program(state_, recorded, options);
  detail::with_arguments(
      *recorded,
      [&](const detail::LaunchArgument* arguments, std::size_t count) {
        detail::compile_program(state_, program, recorded, arguments, count);
      },
      values...);
  return Handle<detail::handle_parameter_t<A>...>(state_, program, std::move(recorded));
}

namespace detail {
template <class Parameters>
struct HandleOf;
template <class... P>
struct HandleOf<std::tuple<P...>> {
  using type = Handle<handle_parameter_t<P>...>;
};
}  // namespace detail

template <class... D, class K>
auto Device::compile(const K& kernel, const CompileOptions& options) const {
  using Signature = detail::signature_of<K, D...>;
  detail::RecordedKernelPtr recorded = Signature::record(kernel);
  runtime::Program* program = detail::find_program(state_, recorded, options);
  detail::compile_program(state_, program, recorded, nullptr, 0);
  return typename detail::HandleOf<typename Signature::parameters>::type(state_, program, std::move(recorded));
}

template <class K, class... A>
  requires(sizeof...(A) > 0 && detail::NoOptions<A...>)
auto Device::compile_async(const K& kernel, A&&... values) const {
  detail::RecordedKernelPtr recorded = detail::recorded<A...>(kernel);
  runtime::Program* program = detail::find_program(state_, recorded, CompileOptions{});
  using H = Handle<detail::handle_parameter_t<A>...>;
  return detail::with_arguments(
      *recorded,
      [&](const detail::LaunchArgument* arguments, std::size_t count) {
        auto pending = detail::compile_in_background(state_, program, recorded, arguments, count);
        return Pending<H>(H(state_, program, recorded), std::move(pending));
      },
      values...);
}

template <class... D, class K>
auto Device::compile_async(const K& kernel, const CompileOptions& options) const {
  using Signature = detail::signature_of<K, D...>;
  detail::RecordedKernelPtr recorded = Signature::record(kernel);
  runtime::Program* program = detail::find_program(state_, recorded, options);
  using H = typename detail::HandleOf<typename Signature::parameters>::type;
  auto pending = detail::compile_in_background(state_, program, recorded, nullptr, 0);
  return Pending<H>(H(state_, program, std::move(recorded)), std::move(pending));
}

}  // namespace teeny
