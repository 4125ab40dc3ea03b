// Packages on NVIDIA's GPUs: a list of programs for one kernel ends in one that newer devices assemble for themselves.
#include "fixture.hpp"
#include "support/cuda_architectures.hpp"

namespace {

using namespace teeny;

class CudaPackages : public testing::Test {
 protected:
  CudaPackages() {
    made_ = test::output_of("TEENY_CACHE=off TEENY_COMPILER_LIBRARY=" FAKE_COMPILER " MAKE_PACKAGE=" + file() +
                            " TARGETS=cuda:sm_90a " PROBE);
  }
  std::string file() const { return (folder_.path / "kernels.teeny").string(); }
  // On a device of this compute capability, without a compiler.
  std::string run(const std::string& capability, const std::string& settings = {}) const {
    return test::output_of("TEENY_CACHE=off TEENY_COMPILER_LIBRARY=/nowhere.so TEENY_DEVICE=cuda:0 TEENY_CUDA_LIBRARY=" FAKE_LIBCUDA
                           " FAKE_CUDA_SAY=1 FAKE_CUDA_DEVICES=" + capability + " LOAD_PACKAGE=" + file() + " " + settings + " " PROBE);
  }
  test::Folder folder_;
  std::string made_;
};

const std::string ran = "\nright=0 compiles=0 hits=1 rebuilds=0 compiler=0\n";  // right: of the fake program for CPUs

TEST_F(CudaPackages, RunTheBestProgramOfTheList) {
  EXPECT_EQ(made_, "cuda:sm_90a cuda:sm_80 compiles=4\n");
  EXPECT_HAS(run("9.0"), "// cuda:sm_90a" + ran);
  EXPECT_HAS(run("8.6"), "// cuda:sm_80" + ran);
  EXPECT_HAS(run("12.0"), "// cuda:sm_80" + ran);
  EXPECT_HAS(run("19.0"), "// cuda:sm_80" + ran);  // newer than anything known
  EXPECT_HAS(run("7.5"), "compiler_missing");
  // A driver that does not know sm_90a's PTX runs the other.
  EXPECT_HAS(run("9.0", "FAKE_CUDA_VERSION=11080"), "// cuda:sm_80" + ran);
}

TEST(CudaTargets, FollowTheDeviceAndTheDriver) {
  using support::cuda_targets;
  EXPECT_EQ(cuda_targets(90, 87), (std::vector<std::string>{"cuda:sm_90a", "cuda:sm_90", "cuda:sm_89", "cuda:sm_87", "cuda:sm_86",
                                                            "cuda:sm_80", "cuda:sm_75"}));
  EXPECT_EQ(cuda_targets(90, 78).front(), "cuda:sm_90");
  EXPECT_EQ(cuda_targets(90, 70).front(), "cuda:sm_80");
  EXPECT_EQ(cuda_targets(121, 88).front(), "cuda:sm_121a");
  EXPECT_EQ(cuda_targets(121, 87).front(), "cuda:sm_90");
  EXPECT_EQ(cuda_targets(130, 90).front(), "cuda:sm_90");
  EXPECT_EQ(cuda_targets(75, 87), (std::vector<std::string>{"cuda:sm_75"}));
  EXPECT_TRUE(cuda_targets(70, 87).empty());
  EXPECT_TRUE(cuda_targets(90, 60).empty());
}

// PTX ISA, "Release Notes": 8.5 came with CUDA 12.5 and stayed for 12.6.
TEST(CudaTargets, DriversTakeThePtxOfTheirTime) {
  for (const auto [driver, ptx] : {std::pair{10000, 63}, {10020, 65}, {11000, 70}, {11080, 78}, {12000, 80}, {12050, 85}, {12060, 85},
                                   {12080, 87}, {12090, 88}, {13000, 90}})
    EXPECT_EQ(support::accepted_ptx(driver), ptx) << driver;
}

class CudaVersions : public test::CudaTest {};

TEST_F(CudaVersions, ANewerPtxIsRefusedWithBothVersions) {
  const test::Variable newer("FAKE_PTX", "\n.version 8.8\n");
  auto out = device_.buffer<float>(4);
  const std::string text = test::message_of(
      ErrorCode::unsupported, [&] { test::launch(device_, {4}, test::make_kernel("fill", fresh()), out, 3); });
  EXPECT_HAS(text, "the driver must know the program's version of PTX; got 8.8, expected at most 8.7, which CUDA 12.8 takes");
}

}  // namespace
