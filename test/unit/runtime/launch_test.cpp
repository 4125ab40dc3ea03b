// The typed faces of a launch, with kernels of the language: what compiles, what reaches the program.
#include <gtest/gtest.h>

#include <vector>

#include <teeny/teeny.hpp>

#include "environment.hpp"

namespace tl = teeny::tl;

// Named as the fake compiler's programs are.
struct fill {
  int salt = 0;
  template <tl::Float D>
  void operator()(tl::Ptr<D> out, tl::i32 n) const {
    tl::store(out + tl::program_id(0), tl::cast<D>(tl::program_id(0) + n + salt));
  }
};

struct nothing {
  void operator()(tl::Ptr<const float> a, tl::Ptr<float> b, tl::i64 wide, tl::f32 single, tl::Scalar<bool> flag,
                  tl::u8 byte, tl::Scalar<teeny::half> small, tl::i32 n) const {
    tl::store(b, tl::load(a) * single + tl::cast<float>(wide + n) + tl::cast<float>(byte) + tl::cast<float>(small),
              {.mask = flag});
  }
};

namespace {

using namespace teeny;

class Launches : public testing::Test {
 protected:
  test::Folder folder_;
  test::Variable compiler_{"TEENY_COMPILER_LIBRARY", FAKE_COMPILER};
  test::Variable cache_{"TEENY_CACHE", folder_.path.string()};
  Device device_ = Device::open("cpu");
};

TEST_F(Launches, KernelsLaunch) {
  auto out = device_.buffer<float>(8);
  launch(device_, {8}, fill{}, out, 3);
  EXPECT_EQ(out.download()[7], 10.0f);
  launch(device_, {std::size_t{8}}, fill{}, out, std::size_t{4});  // a wider number fits the i32 parameter
  EXPECT_EQ(out.download()[7], 11.0f);
  launch(device_, {4}, fill{}, out.slice(4, 4), 5);
  EXPECT_EQ(out.download()[7], 8.0f);
  const Stream stream = device_.stream();
  launch(device_, {8}, {.stream = stream}, fill{}, out, 6);
  stream.synchronize();
  EXPECT_EQ(out.download()[7], 13.0f);
  launch(device_, {8}, {.stream = stream, .compile = {.reproducible = true}}, fill{}, out, 7);
  EXPECT_EQ(out.download()[7], 14.0f);
}

TEST_F(Launches, OneRecordingAndOneProgramForEqualConstants) {
  auto out = device_.buffer<float>(8);
  launch(device_, {8}, fill{.salt = 1}, out, 3);
  const std::uint64_t before = program_statistics().compiles;
  for (int i = 0; i < 5; ++i) launch(device_, {8}, fill{.salt = 1}, out, 3);
  EXPECT_EQ(program_statistics().compiles, before);
  launch(device_, {8}, fill{.salt = 2}, out, 3);
  EXPECT_EQ(program_statistics().compiles, before + 1);
}

TEST_F(Launches, NumbersThatDoNotFitAreErrors) {
  auto out = device_.buffer<float>(8);
  try {
    launch(device_, {8}, fill{}, out, std::int64_t{1} << 40);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

TEST_F(Launches, HandlesFromArgumentsAndFromTypes) {
  auto out = device_.buffer<float>(8);
  const auto from_arguments = device_.compile(fill{.salt = 3}, out, 3);
  from_arguments({8}, out, 3);
  EXPECT_EQ(out.download()[7], 10.0f);
  const auto from_types = device_.compile<float>(fill{.salt = 4});
  from_types({8}, out, 5);
  EXPECT_EQ(out.download()[7], 12.0f);
  const auto with_options = device_.compile({.debug_info = true}, fill{.salt = 5}, out, 3);
  with_options({8}, {.stream = device_.stream()}, out.slice(0, 8), 6);
  device_.synchronize();
  EXPECT_EQ(out.download()[7], 13.0f);
  const auto types_and_options = device_.compile<float>(fill{.salt = 6}, {.contract = false});
  types_and_options({8}, out, 7);
  EXPECT_EQ(out.download()[7], 14.0f);
}

TEST_F(Launches, HandlesCompiledInTheBackground) {
  auto out = device_.buffer<float>(8);
  const auto pending = device_.compile_async(fill{.salt = 7}, out, 3);
  const auto other = device_.compile_async<float>(fill{.salt = 8});
  pending.get()({8}, out, 3);
  EXPECT_EQ(out.download()[7], 10.0f);
  other.get()({8}, out, 4);
  EXPECT_TRUE(pending.ready() && other.ready());
  EXPECT_EQ(out.download()[7], 11.0f);
}

TEST_F(Launches, EveryKindOfArgument) {
  const auto a = device_.upload(std::vector<float>{1});
  auto b = device_.buffer<float>(1);
  launch(device_, {1}, nothing{}, a, b, 1, 2.0f, true, 255, half(3.0f), 7);
  const auto handle = device_.compile(nothing{});
  handle({1}, a, b, 1, 2.0f, true, 255, half(3.0f), 7);
  EXPECT_THROW(launch(device_, {1}, nothing{}, a, b, 1, 2.0f, true, 256, half(3.0f), 7), Error);
}

}  // namespace
