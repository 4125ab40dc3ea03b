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
  EXPECT_EQ(list[0].name, "a GPU out of order");
  EXPECT_HAS(list[0].unusable, "cuDeviceTotalMem: the device must carry it out; got CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_TRUE(list[0].target.empty());
  EXPECT_EQ(list[1].target, "cuda:sm_86");
}

TEST_F(CudaDevices, ANumberThatIsNotThereIsAnError) {
  const std::string text = message_of(ErrorCode::unsupported, [] { Device::open("cuda:7"); });
  EXPECT_HAS(text, "'cuda:0', 'cuda:1', 'cpu', 'interpreter'");
}

TEST_F(CudaDevices, AreOpenedByUuid) {
  const std::string first = "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", second = devices()[1].uuid;
  EXPECT_EQ(devices()[0].uuid, first);
  EXPECT_EQ(Device::open("cuda:" + first), device_);
  EXPECT_EQ(Device::open("cuda:" + second), Device::open("cuda:1"));
  EXPECT_EQ(Device::open("cuda:" + second.substr(0, 8)), Device::open("cuda:1"));
  EXPECT_HAS(message_of(ErrorCode::invalid_argument, [] { Device::open("cuda:GPU-0"); }), "must fit one device");
  EXPECT_HAS(message_of(ErrorCode::unsupported, [] { Device::open("cuda:GPU-ff"); }),
             "must be here; got 'cuda:GPU-ff'");
  for (const char* wrong : {"cuda:GPU", "cuda:GPU-", "cuda:-GPU", "cuda:GPU-1 ", "cuda:0-1"})
    message_of(ErrorCode::invalid_argument, [&] { Device::open(wrong); });
}

TEST_F(CudaDevices, OnesThatAreTooOldAreListedAndRefused) {
  const DeviceInfo old = devices()[2];
  EXPECT_EQ(old.name, "Fake GPU 2");
  EXPECT_HAS(old.unusable, "compute capability 7.5 or newer; got 7.0");
  const std::string text = message_of(ErrorCode::unsupported, [] { Device::open("cuda:2"); });
  EXPECT_HAS(text, "a GPU must have compute capability 7.5 or newer; got 7.0 of Fake GPU 2, cuda:2");
}

TEST_F(CudaDevices, TellAProfilerWhenToLook) {
  auto out = device_.buffer<float>(4);
  test::launch(device_, {4}, test::make_kernel("fill", fresh()), out, 1);
  {
    const cuda::ProfilerRange range(device_);
    EXPECT_EQ(Fake::get("runs"), 1);
    EXPECT_EQ(Fake::get("calls.cuProfilerStart"), 1);
    test::launch(device_, {4}, test::make_kernel("fill", fresh()), out, 1);
    EXPECT_EQ(Fake::get("calls.cuProfilerStop"), 0);
  }
  EXPECT_EQ(Fake::get("runs"), 2);
  EXPECT_EQ(Fake::get("calls.cuProfilerStop"), 1);
  EXPECT_THROW(cuda::ProfilerRange(Device::open("cpu")), Error);
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

TEST(CudaLibrary, IsLookedForWhereTheVariableSaysAndSaysWhyItIsNotThere) {
  EXPECT_HAS(probe("TEENY_CUDA_LIBRARY=" FAKE_LIBCUDA), "compiles=1");
  const std::string absent = probe("TEENY_CUDA_LIBRARY=/nowhere/libcuda.so");
  EXPECT_HAS(absent, "unsupported: Device::open: the device must be here; got 'cuda:0'");
  EXPECT_HAS(absent, "the CUDA driver is not installed (/nowhere/libcuda.so");
  EXPECT_HAS(probe("TEENY_CUDA_LIBRARY=" OLD_LIBCUDA), "the CUDA driver is too old: it has no cuDriverGetVersion");
  EXPECT_HAS(probe("CUDA_VISIBLE_DEVICES=7 FAKE_CUDA_INIT=100 TEENY_CUDA_LIBRARY=" FAKE_LIBCUDA),
             "the CUDA driver sees no GPU (CUDA_VISIBLE_DEVICES is '7')");
  EXPECT_HAS(probe("FAKE_CUDA_INIT=2 TEENY_CUDA_LIBRARY=" FAKE_LIBCUDA),
             "did not start (cuInit: CUDA_ERROR_OUT_OF_MEMORY");
}

TEST(CudaLibrary, IsNoMissingKindWhereItIs) {
  for (const MissingKind& missing : missing_kinds()) EXPECT_NE(missing.kind, "cuda") << missing.reason;
}

}  // namespace
