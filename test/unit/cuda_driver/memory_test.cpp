// Memory of a CUDA device: what is copied, held and freed.
#include "fixture.hpp"

namespace {

using namespace teeny;
using test::Fake;
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
  EXPECT_HAS(text, "holds 1048576");
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

}  // namespace
