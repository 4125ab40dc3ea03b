// Copies between host buffers and a device's memory in a stream's order, on every kind of device.
#include "fixture.hpp"

namespace {

using namespace teeny;
using test::Fake;
using test::make_kernel;
using test::message_of;

class Copies : public test::CudaTest, public testing::WithParamInterface<const char*> {
 protected:
  Copies() { device_ = Device::open(GetParam()); }
};

TEST_P(Copies, KeepTheOrderOfTheirStream) {
  for (const Stream& stream : {Stream(), device_.stream()}) {
    auto in = device_.host_buffer<float>(64), result = device_.host_buffer<float>(64);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = -1;
    auto x = device_.buffer<float>(64);
    x.upload_async(in, stream);
    test::launch(device_, {32}, make_kernel("fill", fresh()), x, 5, {.stream = stream});
    x.download_async(result, stream);
    device_.synchronize();
    EXPECT_EQ(result[31], 36.0f);
    EXPECT_EQ(result[32], -1.0f);
    EXPECT_EQ(result.span().size(), 64u);
  }
}

TEST_P(Copies, KeepBothSidesAlive) {
  const Stream stream = device_.stream();
  const auto result = device_.host_buffer<float>(8);
  {
    auto x = device_.buffer<float>(8);
    {
      const auto in = device_.host_buffer<float>(8);
      std::fill(in.begin(), in.end(), 3.0f);
      x.upload_async(in, stream);
    }
    x.download_async(result, stream);
  }
  stream.synchronize();
  EXPECT_EQ(result[7], 3.0f);
}

TEST_P(Copies, OfParts) {
  const auto host = device_.host_buffer<std::int32_t>(6);
  for (int i = 0; i < 6; ++i) host[static_cast<std::size_t>(i)] = i;
  auto x = device_.upload(std::vector<std::int32_t>{9, 9, 9, 9});
  x.slice(1, 2).upload_async(host.slice(4, 2));
  EXPECT_EQ(x.download(), (std::vector<std::int32_t>{9, 4, 5, 9}));
  device_.buffer<float>(0).upload_async(device_.host_buffer<float>(0));
}

TEST_P(Copies, WrongUsesAreErrors) {
  const auto host = device_.host_buffer<float>(4);
  auto x = device_.buffer<float>(4);
  EXPECT_HAS(message_of(ErrorCode::invalid_argument, [&] { x.upload_async(host.slice(0, 3)); }),
             "upload_async: both sides must have one size; got 12 bytes of the host's, expected 16 bytes");
  EXPECT_HAS(message_of(ErrorCode::invalid_argument, [&] { x.download_async(HostBuffer<float>()); }), "a null one");
  EXPECT_HAS(message_of(ErrorCode::invalid_argument, [&] { Buffer<float>().upload_async(host); }), "a null buffer");
  EXPECT_HAS(message_of(ErrorCode::invalid_argument, [&] { host.slice(3, 2); }), "inside of the buffer");
  const Device other = Device::open(device_.info().spec == "cpu" ? "interpreter" : "cpu");
  EXPECT_HAS(message_of(ErrorCode::invalid_argument, [&] { x.upload_async(host, other.stream()); }),
             "the stream must be of the buffer's device");
  EXPECT_THROW(device_.host_buffer<float>(std::size_t(-1)), Error);
}

TEST_P(Copies, ServeEveryDevice) {
  const auto host = device_.host_buffer<float>(2);
  for (const char* spec : {"cuda:0", "cuda:1", "cpu", "interpreter"}) {
    const Device other = Device::open(spec);
    const Stream stream = other.stream();
    host[0] = 1, host[1] = 2;
    auto x = other.buffer<float>(2);
    x.upload_async(host, stream);
    x.download_async(host.slice(0, 2), stream);
    stream.synchronize();
    EXPECT_EQ(x.download(), (std::vector<float>{1, 2})) << spec;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Copies, testing::Values("cuda:0", "cuda:1", "cpu", "interpreter"));

class PinnedMemory : public test::CudaTest {};

TEST_F(PinnedMemory, IsFreedOnceItsCopiesAreDone) {
  const long long before = Fake::get("host blocks");
  auto x = device_.buffer<float>(8);
  {
    const auto in = device_.host_buffer<float>(8);
    EXPECT_EQ(Fake::get("host blocks"), before + 1);
    x.upload_async(in);
    x.upload_async(in, device_.stream());
  }
  EXPECT_EQ(Fake::get("host blocks"), before);
}

TEST_F(PinnedMemory, IsLimited) {
  Fake::set("fail.cuMemHostAlloc", 2);
  EXPECT_HAS(message_of(ErrorCode::out_of_memory, [&] { device_.host_buffer<float>(1000); }),
             "host_buffer: page-locked memory must be available; got a request for 4000 bytes for cuda:0");
}

}  // namespace
