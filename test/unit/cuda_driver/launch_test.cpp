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
      "a newer driver takes newer versions of PTX");
  device_.synchronize();
}

}  // namespace
