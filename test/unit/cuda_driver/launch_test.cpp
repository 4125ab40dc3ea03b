// Launches on a CUDA device: their order, and what they say when they fail.
#include "fixture.hpp"

namespace {

using namespace teeny;
using test::Fake;
using test::make_kernel;
using test::message_of;

class CudaLaunch : public test::CudaTest {};

TEST_F(CudaLaunch, RunsKernelsInOrder) {
  auto out = device_.buffer<float>(24);
  test::launch(device_, {2, 3, 4}, make_kernel("fill", fresh()), out, 5);
  EXPECT_EQ(Fake::get("runs"), 0);  // nothing waited yet
  const std::vector<float> host = out.download();
  for (std::size_t i = 0; i < 24; ++i) ASSERT_EQ(host[i], static_cast<float>(i + 5));
  test::launch(device_, {0}, make_kernel("fill", fresh()), out, 5);
  EXPECT_EQ(Fake::get("calls.cuLaunchKernel"), 1);
}

TEST_F(CudaLaunch, StreamsWaitForEvents) {
  auto out = device_.buffer<float>(4);
  const auto kernel = make_kernel("fill", fresh());
  const Stream first = device_.stream(), second = device_.stream();
  test::launch(device_, {4}, kernel, out, 1, {.stream = first});
  const Event event = first.record();
  EXPECT_FALSE(event.done());
  second.wait(event);
  test::launch(device_, {4}, kernel, out, 2, {.stream = second});
  second.synchronize();
  EXPECT_EQ(out.download()[0], 2.0f);
  EXPECT_TRUE(event.done());
  EXPECT_EQ(second.record().milliseconds_since(event), 1.5);
}

TEST_F(CudaLaunch, TakesAnEnginesStream) {
  auto out = device_.buffer<float>(4);
  void* handle = nullptr;
  using Create = int(void**, unsigned);
  void* library = ::dlopen(FAKE_LIBCUDA, RTLD_NOW);
  ASSERT_EQ(reinterpret_cast<Create*>(::dlsym(library, "cuStreamCreate"))(&handle, 1), 0);
  const Stream engines = cuda::wrap_stream(device_, handle);
  test::launch(device_, {4}, make_kernel("fill", fresh()), out, 1, {.stream = engines});
  engines.synchronize();
  EXPECT_EQ(out.download()[3], 4.0f);
  EXPECT_EQ(Fake::get("calls.cuStreamDestroy_v2"), 0);
  EXPECT_THROW(cuda::wrap_stream(Device::open("cpu"), handle), Error);
}

TEST_F(CudaLaunch, FaultsOfEarlierWorkSurfaceOnce) {
  auto out = device_.buffer<float>(4);
  test::launch(device_, {1 << 20}, make_kernel("fill", fresh()), out, 1);
  expected_faults_ = 1;
  const std::string text = message_of(ErrorCode::device_failed, [&] { device_.synchronize(); });
  EXPECT_HAS(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_HAS(text, "start the process anew");
}

TEST_F(CudaLaunch, KeepsWhatTheDriverAssembled) {
  auto out = device_.buffer<float>(4);
  const auto kernel = make_kernel("fill", fresh());
  test::launch(device_, {4}, kernel, out, 3);
  EXPECT_EQ(Fake::get("calls.cuLinkComplete"), 1);
  test::launch(device_, {4}, make_kernel("fill", fresh()), out, 3);
  EXPECT_EQ(Fake::get("calls.cuLinkComplete"), 2);
  Fake::set("fail.cuLinkAddData_v2", 222);
  EXPECT_HAS(
      message_of(ErrorCode::device_failed, [&] { test::launch(device_, {4}, make_kernel("fill", fresh()), out, 3); }),
      "assemble: the driver must take the program's PTX; got");
}

// What a launch of a program with these needs says.
class CudaLimits : public CudaLaunch {
 protected:
  std::string refusal(const char* needs, Grid grid = {3, 2}, ErrorCode code = ErrorCode::unsupported) {
    const test::Variable metadata("FAKE_CUDA_NEEDS", needs);
    const auto kernel = make_kernel("fill", fresh());
    return message_of(code, [&] { test::launch(device_, grid, kernel, out_, 3); });
  }
  Buffer<float> out_ = device_.buffer<float>(64);
};

TEST_F(CudaLimits, SharedMemory) {
  const std::string text = refusal(R"("threads": 128, "shared_bytes": 262144)");
  EXPECT_HAS(text,
             "launch fill: a program's shared memory must fit the device's; got 262144 bytes for a grid of 3 × 2 × 1, "
             "expected at most 232448 bytes");
  EXPECT_HAS(text, "smaller blocks or fewer stages");
  Fake::set("function.static_shared", 1024);
  EXPECT_HAS(refusal(R"("threads": 128, "shared_bytes": 232000)"), "got 233024 bytes");
}

TEST_F(CudaLimits, SharedMemoryBeyondTheFirst48KiBIsAskedFor) {
  const test::Variable metadata("FAKE_CUDA_NEEDS", R"("threads": 128, "shared_bytes": 100000)");
  test::launch(device_, {4}, make_kernel("fill", fresh()), out_, 3);
  EXPECT_EQ(out_.download()[3], 6.0f);
}

TEST_F(CudaLimits, Threads) {
  const std::string text = refusal(R"("threads": 2048, "shared_bytes": 0)");
  EXPECT_HAS(text,
             "launch fill: a program's threads must fit the device's; got 2048 threads for a grid of 3 × 2 × 1, "
             "expected at most 1024");
  EXPECT_HAS(text, "at most 32 warps");
}

TEST_F(CudaLimits, Registers) {
  Fake::set("function.registers", 255);
  const std::string text = refusal(R"("threads": 512, "shared_bytes": 0)");
  EXPECT_HAS(text, "got 512 threads × 255 registers for a grid of 3 × 2 × 1, expected at most 65536 registers");
  EXPECT_HAS(text, "at most 128 registers a thread");
  Fake::set("function.registers", 100);
  Fake::set("function.max_threads", 256);
  EXPECT_HAS(refusal(R"("threads": 512, "shared_bytes": 0)"), "256 threads with this many each");
}

TEST_F(CudaLimits, GridAxis) {
  const std::string text = refusal(R"("threads": 128)", {1, 70000}, ErrorCode::invalid_argument);
  EXPECT_HAS(text,
             "launch fill: the grid must be within the device's limits; got 70000 along y of 1 × 70000 × 1, "
             "expected 0 … 65535 on cuda:0");
  EXPECT_HAS(text, "use the axis x");
}

TEST_F(CudaLimits, WhatOnlyTheDeviceFindsOut) {
  Fake::set("fail.cuLaunchKernel", 701);
  const std::string text = refusal(R"("threads": 256, "shared_bytes": 4096)", {3, 2}, ErrorCode::device_failed);
  EXPECT_HAS(text, "launch fill: the device must take it; got CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  EXPECT_HAS(text,
             "for a grid of 3 × 2 × 1 with 256 threads of 32 registers and 4096 bytes of shared memory a program");
  EXPECT_HAS(text, "fewer warps");
  Fake::set("fail.cuLaunchKernel", 700);
  EXPECT_HAS(refusal(R"("threads": 256)", {3, 2}, ErrorCode::device_failed), "earlier work touched memory");
}

}  // namespace
