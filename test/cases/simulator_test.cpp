// Simulators of GPUs as devices: what they compute at every width, and what they say about a kernel.
#include <teeny/error.hpp>

#include "fixture.hpp"

namespace teeny::cases {
namespace {

class Simulators : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(widths, Simulators,
                         ::testing::Values("simulator:cuda:sm_90a", "simulator:cuda:sm_75", "simulator:cuda:sm_90a:lanes=1",
                                           "simulator:cuda:sm_90a:lanes=8", "simulator:cuda:sm_90a:lanes=64",
                                           "simulator:cuda:sm_90a:seed=7", "simulator:cuda:sm_90a:lanes=8:seed=0"));

// Reversed prefix sums of rows: loads, a scan, a reduction and stores.
struct Sums {
  void operator()(tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> y, tl::i32 n) const {
    auto at = tl::arange(0, 256);
    auto v = tl::load(x + tl::program_id(0) * n + at, {.mask = at < n, .other = 0});
    tl::store(y + tl::program_id(0) * n + (n - 1 - at), tl::cumsum(v, {.axis = 0}) + tl::sum(v), {.mask = at < n});
  }
};

TEST_P(Simulators, compute_what_the_kernel_says) {
  const Device device = Device::open(GetParam());
  EXPECT_EQ(device.info().spec, GetParam());
  const int rows = 3, n = 200;
  std::vector<std::int32_t> x(rows * n);
  for (int i = 0; i < rows * n; ++i) x[i] = i % 17 - 5;
  auto y = device.buffer<std::int32_t>(x.size());
  launch(device, {rows}, Sums{}, device.upload(x), y, n);
  const std::vector<std::int32_t> got = y.download();
  for (int row = 0; row < rows; ++row) {
    int sum = 0, all = 0;
    for (int i = 0; i < n; ++i) all += x[row * n + i];
    for (int i = 0; i < n; ++i) {
      sum += x[row * n + i];
      ASSERT_EQ(got[row * n + n - 1 - i], sum + all) << row << " " << i;
    }
  }
}

template <class Work>
Error error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::io, "");
}

void expect_says(const Error& error, ErrorCode code, std::initializer_list<const char*> words) {
  EXPECT_EQ(error.code(), code) << error.what();
  for (const char* word : words) EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << word << "\n" << error.what();
}

// Two positions of the block write one element.
struct TwoToOne {
  void operator()(tl::Ptr<std::int32_t> y) const {
    auto at = tl::arange(0, 64);
    tl::store(y + tl::div(at, 2), at);
  }
};

TEST(Simulator, finds_positions_that_write_one_element) {
  const Device device = Device::open("simulator:cuda:sm_90a");
  auto y = device.buffer<std::int32_t>(64);
  expect_says(error_of([&] { launch(device, {1}, TwoToOne{}, y); }), ErrorCode::check_failed,
              {"simulator_test.cpp:", "lanes must be ordered", "global memory", "help: let one element of the block write it"});
}

TEST(Simulator, finds_accesses_outside_of_buffers) {
  const Device device = Device::open("simulator:cuda:sm_90a:lanes=8");
  auto x = device.buffer<std::int32_t>(100), y = device.buffer<std::int32_t>(256);
  expect_says(error_of([&] { launch(device, {1}, Sums{}, x, y, 200); }), ErrorCode::check_failed,
              {"simulator_test.cpp:", "load: an access must lie inside a buffer", "help: mask the access"});
}


TEST(Simulator, names_what_it_cannot_be) {
  expect_says(error_of([] { Device::open("simulator:cuda:sm_90a:seed=x"); }), ErrorCode::invalid_argument, {"a seed is a number", "got 'x'"});
  const auto launched = [](const char* spec) {
    return error_of([&] {
      const Device device = Device::open(spec);
      auto y = device.buffer<std::int32_t>(64);
      launch(device, {1}, TwoToOne{}, y);
    });
  };
  expect_says(launched("simulator:cuda:sm_90a:lanes=3"), ErrorCode::compile_failed, {"a width is a power of two from 1 to 64", "got '3'"});
  expect_says(launched("simulator:cuda:sm_1"), ErrorCode::compile_failed, {"names an architecture", "cuda:sm_90a"});
  expect_says(launched("simulator:abacus"), ErrorCode::compile_failed, {"names a GPU", "got 'abacus'"});
}

TEST(Simulator, is_made_when_it_is_asked_for) {
  for (const DeviceInfo& info : devices()) EXPECT_FALSE(info.spec.starts_with("simulator")) << info.spec;
  EXPECT_FALSE(Device::open("simulator:cuda:sm_80").info().any_extent);
}

}  // namespace
}  // namespace teeny::cases
