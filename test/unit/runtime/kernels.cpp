#include "kernels.hpp"

#include <functional>

#include "lang/trace.hpp"

namespace teeny::test {

detail::RecordedKernelPtr make_kernel(const std::string& name, std::uint64_t constant) {
  trace::Trace trace;
  trace.body.types = {
      {.dtype = DType::f32, .form = trace::Type::Form::pointer}, {.dtype = DType::i32}, {.dtype = DType::i64}};
  trace.body.parameters = {0, 1};
  std::uint64_t bits = constant;
  for (const char c : name) bits = bits * 31 + static_cast<unsigned char>(c);
  trace.body.region.operations.push_back({.opcode = trace::Opcode::constant,
                                          .site = 0,
                                          .operands = {},
                                          .results = {2},
                                          .integers = {static_cast<std::int64_t>(bits)}});
  trace.sites = {{.file = "kernels.cpp", .line = 42, .function = name}};
  trace.kernel = name;
  trace.parameter_names = {"out", "n"};
  return std::make_shared<const detail::RecordedKernel>(std::move(trace));
}

void launch(const Device& device, Grid grid, const detail::RecordedKernelPtr& kernel, const Buffer<float>& out, int n,
            const LaunchOptions& options) {
  const detail::LaunchArgument arguments[] = {{out.view().address, &out.view()},
                                              {static_cast<std::uint32_t>(n), nullptr}};
  runtime::Program* program = detail::find_program(device.state(), kernel, options.compile);
  detail::launch_program(device.state(), program, kernel, grid, &options.stream, arguments, 2);
}

Handle<detail::BufferReference<float>, int> handle(const Device& device, const detail::RecordedKernelPtr& kernel) {
  runtime::Program* program = detail::find_program(device.state(), kernel, {});
  return {device.state(), program, kernel};
}

}  // namespace teeny::test
