// Packages: what one process made ahead of time, another runs without a compiler.
#include <gtest/gtest.h>

#include <fstream>

#include <teeny/error.hpp>
#include <teeny/package.hpp>

#include "environment.hpp"
#include "kernels.hpp"

namespace {

using namespace teeny;
using test::output_of;

// Every step is a process of its own.
class Packages : public testing::Test {
 protected:
  std::string make(const std::string& targets, const std::string& arguments = {}) const {
    return output_of("TEENY_CACHE=off TEENY_COMPILER_LIBRARY=" FAKE_COMPILER " MAKE_PACKAGE=" + file() + " TARGETS=" + targets +
                     " " PROBE " " + arguments);
  }
  std::string load(const std::string& settings = {}, const std::string& arguments = {}) const {
    return output_of("export TEENY_CACHE=off TEENY_COMPILER_LIBRARY=/nowhere.so TEENY_DEVICE=cpu LOAD_PACKAGE=" + file() + "; " +
                     settings + " " PROBE " " + arguments);
  }
  std::string file() const { return (folder_.path / "kernels.teeny").string(); }
  test::Folder folder_;
};

TEST_F(Packages, HoldTheGeneralProgramAndTheCommonOne) {
  const std::string target = Device::open("cpu").info().target;
  EXPECT_EQ(make(target), target + " compiles=2\n");
  EXPECT_EQ(load(), "right=1 compiles=0 hits=1 rebuilds=0 compiler=0\n");
  // Another constant is another kernel, and the package does not have it.
  EXPECT_NE(load("", "fill 1").find("compiler_missing: compiler: a kernel that is in no cache"), std::string::npos);
}

TEST_F(Packages, AreOfOneTarget) {
  make("cpu:x86-64");
  EXPECT_NE(load().find("compiler_missing"), std::string::npos);
}

TEST_F(Packages, AreWholeAndOfThisBuild) {
  const std::string target = Device::open("cpu").info().target;
  EXPECT_NE(load().find("which cannot be opened"), std::string::npos);
  make(target);
  {
    std::fstream file(this->file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('!');
  }
  EXPECT_NE(load().find("io: load_package: the file must be a package of this build; got"), std::string::npos);
  EXPECT_NE(load().find("which is damaged"), std::string::npos);
  std::ofstream(file()) << "no package";
  EXPECT_NE(load().find("another file"), std::string::npos);
}

TEST(Package, TakesTargetsAlone) {
  EXPECT_THROW(Package({"cuda:sm_90a", "no target"}), Error);
  EXPECT_EQ(Package({"cuda:sm_90a"}).targets(), (std::vector<std::string>{"cuda:sm_90a", "cuda:sm_80"}));
  EXPECT_EQ(Package({"cuda:sm_75"}).targets(), (std::vector<std::string>{"cuda:sm_75"}));
  EXPECT_EQ(Package({"cuda:sm_80", "cuda:sm_90"}).targets(), (std::vector<std::string>{"cuda:sm_80", "cuda:sm_90"}));
  EXPECT_EQ(Package({"cpu:x86-64-v3"}).targets(), (std::vector<std::string>{"cpu:x86-64-v3"}));
}

TEST(Package, ARefusedKernelLeavesItAsItWas) {
  const test::Variable compiler("TEENY_COMPILER_LIBRARY", FAKE_COMPILER);
  Package package({"cpu:x86-64"});
  EXPECT_THROW(package.add(test::make_kernel("broken")), Error);
}

}  // namespace
