// Memory of a CUDA device: what is copied, held and freed.
#include <thread>

#include "fixture.hpp"

namespace {

using namespace teeny;
using test::Fake;
using test::make_kernel;
using test::message_of;

class CudaMemory : public test::CudaTest {};

TEST_F(CudaMemory, RoundTripsSlicesAndCopies) {
  const std::vector<std::int32_t> host = {1, 2, 3, 4, 5};
  auto buffer = device_.upload(host);
  EXPECT_EQ(buffer.download(), host);
  auto part = buffer.slice(1, 3);
  part.upload(std::vector<std::int32_t>{7, 8, 9});
  EXPECT_EQ(buffer.download(), (std::vector<std::int32_t>{1, 7, 8, 9, 5}));
  auto copy = device_.buffer<std::int32_t>(3);
  copy.copy_from(part);
  EXPECT_EQ(copy.download(), (std::vector<std::int32_t>{7, 8, 9}));
  EXPECT_TRUE(device_.buffer<float>(0).download().empty());
}

TEST_F(CudaMemory, IsNotTheHosts) {
  std::vector<float> host(4);
  EXPECT_HAS(message_of(ErrorCode::unsupported, [&] { Buffer<float>::wrap(device_, host.data(), 4); }),
             "device.upload(host)");
  EXPECT_HAS(message_of(ErrorCode::unsupported, [&] { device_.buffer<float>(4).host_data(); }), "download()");
}

TEST_F(CudaMemory, OutOfMemorySaysWhatIsAskedFreeAndHeld) {
  device_.synchronize();
  const auto kept = device_.buffer<std::uint8_t>(1 << 20);
  const std::string text =
      message_of(ErrorCode::out_of_memory, [&] { device_.buffer<std::uint8_t>(std::size_t{2} << 30); });
  EXPECT_HAS(text, "2147483648 bytes on cuda:0");
  EXPECT_HAS(text, std::to_string((1 << 30) - Fake::get("used")) + " bytes, which are free of 1073741824");
  EXPECT_HAS(text, "holds 1048576 in teeny's buffers");
  EXPECT_EQ(device_.buffer<int>(1).size(), 1u);  // and the device goes on
}

TEST_F(CudaMemory, OfAnEngineIsTakenAsItIs) {
  const auto owner = device_.upload(std::vector<float>{1, 2, 3, 4});
  {
    const auto view = cuda::wrap_buffer<float>(device_, owner.view().address + 4, 2);
    EXPECT_EQ(view.download(), (std::vector<float>{2, 3}));
  }
  EXPECT_EQ(owner.download()[1], 2.0f);  // still there
  EXPECT_THROW(cuda::wrap_buffer<float>(Device::open("cpu"), 4096, 2), Error);
}

// Streams run nothing before someone waits: freed too early, the memory is gone when the work comes to it, which is a
// fault that the fixture counts.
TEST_F(CudaMemory, IsFreedAfterTheWorkThatUsesIt) {
  const auto kernel = make_kernel("fill", fresh());
  for (const char* with_and_without_pools : {"cuda:0", "cuda:1"}) {
    device_ = Device::open(with_and_without_pools);
    const Stream stream = device_.stream(), other = device_.stream();
    for (int round = 0; round < 3; ++round) {
      auto out = device_.buffer<float>(1000);
      test::launch(device_, {1000}, kernel, out, 1);
      if (round > 0) test::launch(device_, {1000}, kernel, out, 1, {.stream = stream});
      if (round > 1) test::launch(device_, {1000}, kernel, out, 1, {.stream = other});
    }
    device_.synchronize();
  }
  EXPECT_EQ(Fake::get("runs"), 12);
}

TEST_F(CudaMemory, IsFreedInOrderWithoutAWaitOfTheHost) {
  const auto kernel = make_kernel("fill", fresh());
  test::launch(device_, {1}, kernel, device_.buffer<float>(1), 1);
  device_.synchronize();
  Fake::reset();
  for (int i = 0; i < 5; ++i) test::launch(device_, {100}, kernel, device_.buffer<float>(100), 1);
  EXPECT_EQ(Fake::get("runs"), 0);
  EXPECT_EQ(Fake::get("calls.cuMemAlloc_v2") + Fake::get("calls.cuStreamSynchronize"), 0);
  device_.synchronize();
  EXPECT_EQ(Fake::get("runs"), 5);
}

TEST_F(CudaMemory, IsReachedBeforeAnotherStreamUsesIt) {
  const auto kernel = make_kernel("fill", fresh());
  const Stream stream = device_.stream();
  const auto late = device_.buffer<float>(10);  // a place in the default stream, which nobody waits for
  test::launch(device_, {10}, kernel, late, 1, {.stream = stream});
  stream.synchronize();
  EXPECT_EQ(Fake::get("runs"), 1);
  const long long waits = Fake::get("calls.cuStreamWaitEvent");
  test::launch(device_, {10}, kernel, late, 1, {.stream = stream});
  EXPECT_EQ(Fake::get("calls.cuStreamWaitEvent"), waits);  // once is enough
  const auto known = device_.upload(std::vector<float>(10));
  test::launch(device_, {10}, kernel, known, 1, {.stream = stream});
  EXPECT_EQ(Fake::get("calls.cuStreamWaitEvent"), waits);  // the host has seen its allocation done
}

TEST_F(CudaMemory, OutlivesAnEnginesStream) {
  void* handle = nullptr;
  void* library = ::dlopen(FAKE_LIBCUDA, RTLD_NOW);
  reinterpret_cast<int (*)(void**, unsigned)>(::dlsym(library, "cuStreamCreate"))(&handle, 1);
  {
    auto out = device_.buffer<float>(10);
    test::launch(device_, {10}, make_kernel("fill", fresh()), out, 1, {.stream = cuda::wrap_stream(device_, handle)});
    // The wrapper goes first, with its work still ahead.
  }
  cuda::release_memory(device_);
  EXPECT_EQ(Fake::get("runs"), 1);
  EXPECT_THROW(cuda::release_memory(Device::open("cpu")), Error);
}

TEST_F(CudaMemory, IsSharedByThreads) {
  const auto kernel = make_kernel("fill", fresh());
  const auto shared = device_.buffer<float>(100);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, stream = t % 2 == 0 ? device_.stream() : Stream()] {
      const auto host = device_.host_buffer<float>(100);
      for (int i = 0; i < 100; ++i) {
        const auto own = device_.buffer<float>(100);
        test::launch(device_, {100}, kernel, own, i, {.stream = stream});
        test::launch(device_, {100}, kernel, shared, 7, {.stream = stream});
        own.download_async(host, stream);
        if (i % 10 == 0) device_.synchronize();
      }
      device_.synchronize();
      EXPECT_EQ(host[99], 198.0f);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.download()[99], 106.0f);
  EXPECT_EQ(Fake::get("runs"), 800);
}

// The process has to end well with these: the test's exit status says so.
TEST_F(CudaMemory, MayHaveStaticStorage) {
  static Buffer<float> buffer;
  static HostBuffer<float> host;
  static Stream stream;
  static Graph graph;
  buffer = device_.buffer<float>(10), host = device_.host_buffer<float>(10), stream = device_.stream();
  const auto kernel = make_kernel("fill", fresh());
  graph = device_.capture([&](const Stream& s) { test::launch(device_, {10}, kernel, buffer, 1, {.stream = s}); });
  graph.launch(stream);
  buffer.download_async(host, stream);
  stream.synchronize();
  EXPECT_EQ(host[9], 10.0f);
}

TEST_F(CudaMemory, OfFreedBuffersIsKeptAndGivenBack) {
  cuda::release_memory(device_);
  const long long before = Fake::get("used");
  device_.buffer<std::uint8_t>(600 << 20);
  device_.synchronize();
  EXPECT_EQ(Fake::get("used") - before, 600 << 20);
  const auto larger = device_.buffer<std::uint8_t>(700 << 20);  // has room once the pool gives it back
  EXPECT_EQ(Fake::get("used") - before, 700 << 20);
}

}  // namespace
