// What kernels, streams, graphs and memory do on a Vulkan device.
#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include <teeny/teeny.hpp>

namespace {

using namespace teeny;

std::optional<Device> vulkan_device() try {
  return Device::open("vulkan:0");
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return std::nullopt;
}

class VulkanDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!found_) GTEST_SKIP() << "there is no Vulkan device here";
  }
  const std::optional<Device> found_ = vulkan_device();
  const Device& device() const { return *found_; }
};

struct AddOne {
  template <class D>
  void operator()(tl::Ptr<D> x, tl::i32 n) const {
    auto at = tl::program_id(0) * 64 + tl::arange(0, 64);
    tl::store(x + at, tl::load(x + at, {.mask = at < n}) + 1, {.mask = at < n});
  }
};

std::vector<std::int32_t> numbers(std::size_t count) {
  std::vector<std::int32_t> list(count);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

TEST_F(VulkanDevice, DescribesItself) {
  const DeviceInfo& info = device().info();
  EXPECT_EQ(info.spec, "vulkan:0");
  EXPECT_TRUE(info.target.starts_with("vulkan:1.3")) << info.target;
  EXPECT_FALSE(info.name.empty() || info.driver.empty() || info.type.empty());
  EXPECT_EQ(Device::open("vulkan:" + info.uuid), device());
}

TEST_F(VulkanDevice, LaunchesOfOneStreamAreInOrder) {
  const int count = 300;
  auto x = device().upload(numbers(1000));
  for (int i = 0; i < count; ++i) launch(device(), {16}, AddOne{}, x, 1000);
  device().synchronize();
  const auto got = x.download();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(got[i], i + count);
}

TEST_F(VulkanDevice, StreamsWaitForEventsAndEventsHaveTimes) {
  const Stream first = device().stream(), second = device().stream();
  auto x = device().upload(numbers(64));
  const Event begin = first.record();
  for (int i = 0; i < 20; ++i) launch(device(), {1}, LaunchOptions{.stream = first}, AddOne{}, x, 64);
  const Event end = first.record();
  second.wait(end);
  launch(device(), {1}, LaunchOptions{.stream = second}, AddOne{}, x, 64);
  second.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_EQ(x.download()[5], 26);
  EXPECT_GE(end.milliseconds_since(begin), 0);
  EXPECT_LT(end.milliseconds_since(begin), 60e3);
}

TEST_F(VulkanDevice, MemoryThatIsFreedWhileItIsInUseStaysUntilItIsNot) {
  for (int round = 0; round < 100; ++round) {
    auto x = device().upload(std::vector<std::int32_t>(64, round));
    auto kept = device().buffer<std::int32_t>(64);
    launch(device(), {1}, AddOne{}, x, 64);
    launch(
        device(), {1},
        [](tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> y) {
          auto at = tl::arange(0, 64);
          tl::store(y + at, tl::load(x + at));
        },
        x, kept);
    x = {};
    device().synchronize();
    ASSERT_EQ(kept.download()[63], round + 1);
  }
}

TEST_F(VulkanDevice, CopiesWithinABufferMayOverlap) {
  const std::size_t count = (std::size_t{9} << 20) / sizeof(std::int32_t);  // more than one part
  auto x = device().upload(numbers(count));
  x.slice(1, count - 1).copy_from(x.slice(0, count - 1));
  auto got = x.download();
  for (std::size_t i = 1; i < count; ++i) ASSERT_EQ(got[i], std::int32_t(i - 1));
  x.slice(0, count - 2).copy_from(x.slice(2, count - 2));
  got = x.download();
  for (std::size_t i = 0; i < count - 2; ++i) ASSERT_EQ(got[i], std::int32_t(i + 1));
}

TEST_F(VulkanDevice, GraphsAreReplayed) {
  const Stream stream = device().stream();
  auto x = device().buffer<std::int32_t>(64);
  auto from = device().host_buffer<std::int32_t>(64), to = device().host_buffer<std::int32_t>(64);
  const Graph graph = device().capture([&](const Stream& captured) {
    x.upload_async(from, captured);
    launch(device(), {1}, LaunchOptions{.stream = captured}, AddOne{}, x, 64);
    launch(device(), {1}, LaunchOptions{.stream = captured}, AddOne{}, x, 64);
    x.download_async(to, captured);
  });
  EXPECT_EQ(graph.size(), 4u);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 64; ++i) from[i] = 100 * round + i;
    graph.launch(stream);
    stream.synchronize();
    for (int i = 0; i < 64; ++i) ASSERT_EQ(to[i], 100 * round + i + 2);
  }
}

TEST_F(VulkanDevice, ManyArgumentsStandInABuffer) {
  auto x = device().buffer<std::int32_t>(20);
  for (int round = 0; round < 3; ++round)
    launch(
        device(), {1},
        [](tl::Ptr<std::int32_t> x, tl::i32 a, tl::i32 b, tl::i32 c, tl::i32 d, tl::i32 e, tl::i32 f, tl::i32 g, tl::i32 h,
           tl::i32 i, tl::i32 j, tl::i32 k, tl::i32 l, tl::i32 m, tl::i32 n, tl::i32 o, tl::i32 p) {
          tl::store(x, a + b + c + d + e + f + g + h + i + j + k + l + m + n + o);
          tl::store(x + 1, p);
        },
        x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, round);
  device().synchronize();
  EXPECT_EQ(x.download()[0], 120);
  EXPECT_EQ(x.download()[1], 2);
}

TEST_F(VulkanDevice, GridsMayBeLargerThanADispatch) {
  const int count = 140001;
  auto x = device().upload(std::vector<std::int32_t>(count, 0));
  launch(
      device(), {count},
      [](tl::Ptr<std::int32_t> x) {
        tl::store(x + tl::program_id(0), tl::program_id(0) + tl::num_programs(0));
      },
      x);
  device().synchronize();
  const auto got = x.download();
  for (int i = 0; i < count; ++i) ASSERT_EQ(got[i], i + count);
}

TEST_F(VulkanDevice, RequestsThatNoMemoryIsThereForAreErrors) {
  try {
    device().buffer<float>(std::size_t{1} << 50);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("vulkan:0"), std::string::npos) << error.what();
  }
}

TEST_F(VulkanDevice, KernelsPrintAndAssert) {
  std::string printed;
  set_print_sink([&](std::string_view line) { printed += line; });
  launch(device(), {2}, [](tl::Ptr<std::int32_t>) { tl::device_print("program", tl::program_id(0)); },
         device().buffer<std::int32_t>(1));
  device().synchronize();
  set_print_sink({});
  EXPECT_NE(printed.find("program"), std::string::npos) << printed;
  try {
    launch(device(), {1}, [](tl::Ptr<std::int32_t>) { tl::device_assert(tl::program_id(0) > 0, "above zero"); },
           device().buffer<std::int32_t>(1));
    device().synchronize();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion_failed);
    EXPECT_NE(std::string(error.what()).find("above zero"), std::string::npos) << error.what();
  }
}

}  // namespace
