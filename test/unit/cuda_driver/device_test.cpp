// Which devices there are, and why there are none.
#include "fixture.hpp"

namespace {

using namespace teeny;
using test::Fake;
using test::message_of;

class CudaDevices : public test::CudaTest {};

TEST_F(CudaDevices, AreListedFirst) {
  const std::vector<DeviceInfo> list = devices();
  ASSERT_EQ(list.size(), 5u);  // three GPUs, the CPU, the interpreter
  EXPECT_EQ(list[0].spec, "cuda:0");
  EXPECT_EQ(list[0].name, "Fake GPU 0");
  EXPECT_EQ(list[0].target, "cuda:sm_90a");
  EXPECT_EQ(list[1].target, "cuda:sm_86");
  EXPECT_EQ(list[0].memory_bytes, 1u << 30);
  EXPECT_EQ(list[0].max_grid[1], 65535u);
  EXPECT_EQ(list[0].parallel, 4);
  EXPECT_FALSE(list[0].any_extent);
  EXPECT_EQ(list[3].spec, "cpu");
  EXPECT_EQ(Device::open().info().spec, "cuda:0");
}

TEST_F(CudaDevices, OneThatFailsIsListedAsSuch) {
  Fake::set("fail.cuDeviceTotalMem_v2", 2);
  const std::vector<DeviceInfo> list = devices();
  ASSERT_EQ(list.size(), 5u);
  EXPECT_TRUE(list[0].name.starts_with("out of order: ")) << list[0].name;
  EXPECT_TRUE(list[0].target.empty());
  EXPECT_EQ(list[1].target, "cuda:sm_86");
}

TEST_F(CudaDevices, ANumberThatIsNotThereIsAnError) {
  const std::string text = message_of(ErrorCode::unsupported, [] { Device::open("cuda:7"); });
  EXPECT_HAS(text, "'cuda:0', 'cuda:1'");
}

TEST_F(CudaDevices, ThreadsKeepTheContextsOfTheirEngine) {
  const Device other = Device::open("cuda:1");
  const auto a = device_.upload(std::vector<int>{1, 2});
  auto b = other.buffer<int>(2);
  b.copy_from(a);
  EXPECT_EQ(b.download(), (std::vector<int>{1, 2}));
  EXPECT_EQ(b.device(), other);
}

std::string probe(const std::string& variables) {
  return test::output_of(variables + " TEENY_COMPILER_LIBRARY=" FAKE_COMPILER
                                     " TEENY_CACHE=off TEENY_DEVICE=cuda:0 " PROBE);
}

TEST(CudaLibrary, IsLookedForWhereTheVariableSays) {
  EXPECT_HAS(probe("TEENY_CUDA_LIBRARY=" FAKE_LIBCUDA), "compiles=1");
  EXPECT_HAS(probe("TEENY_CUDA_LIBRARY=/nowhere/libcuda.so"), "unsupported: ");
  EXPECT_HAS(probe("TEENY_CUDA_LIBRARY=" OLD_LIBCUDA), "unsupported: ");
  EXPECT_HAS(probe("FAKE_CUDA_INIT=100 TEENY_CUDA_LIBRARY=" FAKE_LIBCUDA), "unsupported: ");
}

}  // namespace
