// Kernels for the runtime's tests, made as traces: a pointer to f32, an i32, and a constant that tells bodies apart.
#pragma once

#include <teeny/launch.hpp>

namespace teeny::test {

// `name` chooses the fake compiler's program.
detail::RecordedKernelPtr make_kernel(const std::string& name, std::uint64_t constant = 0);

// As teeny::launch and Device::compile do once a kernel is recorded.
void launch(const Device& device, Grid grid, const detail::RecordedKernelPtr& kernel, const Buffer<float>& out, int n,
            const LaunchOptions& options = {});
Handle<detail::BufferReference<float>, int> handle(const Device& device, const detail::RecordedKernelPtr& kernel);

}  // namespace teeny::test
