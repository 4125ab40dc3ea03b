#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include <teeny/error.hpp>
#include <teeny/measure.hpp>

#include "environment.hpp"
#include "kernels.hpp"
#include "runtime/device_state.hpp"

namespace {

using namespace teeny;
using test::make_kernel;

// Every test compiles for itself: a cache folder of its own and constants that no other test uses.
class Programs : public testing::Test {
 protected:
  static std::uint64_t fresh() {
    static std::uint64_t next = 1000;
    return ++next;
  }
  std::uint64_t compiles() const { return program_statistics().compiles - before_; }

  test::Folder folder_;
  test::Variable compiler_{"TEENY_COMPILER_LIBRARY", FAKE_COMPILER};
  test::Variable cache_{"TEENY_CACHE", folder_.path.string()};
  std::uint64_t before_ = program_statistics().compiles;
  Device device_ = Device::open("cpu");
};

TEST_F(Programs, LaunchComputes) {
  const auto kernel = make_kernel("fill", fresh());
  auto out = device_.buffer<float>(1000);
  test::launch(device_, {10, 10, 10}, kernel, out, 3);
  const std::vector<float> host = out.download();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(host[i], static_cast<float>(i + 3));
}

TEST_F(Programs, VariantsFollowTheFacts) {
  const auto kernel = make_kernel("fill", fresh());
  auto out = device_.buffer<float>(4);
  const auto first = [&](int n) {
    test::launch(device_, {4}, kernel, out, n);
    return out.download()[0];
  };
  EXPECT_EQ(first(3), 3.0f);      // fits 32 bits
  EXPECT_EQ(first(32), 1032.0f);  // and is divisible by 16
  EXPECT_EQ(first(64), 1064.0f);
  EXPECT_EQ(first(1), 1.0f);  // and is one
  EXPECT_EQ(compiles(), 3u);
  for (const int n : {3, 32, 1, 5}) first(n);
  EXPECT_EQ(compiles(), 3u);
}

TEST_F(Programs, AtMostFourVariantsAndTheGeneralOneAlwaysFits) {
  const auto kernel = make_kernel("fill", fresh());
  std::vector<float> host(64);
  const auto run = [&](std::uint64_t bytes, int n) {
    // Views that only pretend to be large: the launch of one program touches the first element alone.
    detail::BufferView view = Buffer<float>::wrap(device_, host.data(), host.size()).view();
    view.bytes = bytes;
    const Buffer<float> out(view);
    test::launch(device_, {1}, kernel, out, n);
    return host[0];
  };
  const std::uint64_t large = std::uint64_t{1} << 31;
  EXPECT_EQ(run(256, 3), 3.0f);
  EXPECT_EQ(run(256, 16), 1016.0f);
  EXPECT_EQ(run(256, 1), 1.0f);
  EXPECT_EQ(run(large, 16), 16.0f);  // no place left but the general variant's
  EXPECT_EQ(compiles(), 4u);
  EXPECT_EQ(run(large, 1), 1.0f);
  EXPECT_EQ(run(large, 3), 3.0f);
  EXPECT_EQ(compiles(), 4u);
  const runtime::Program* program = detail::find_program(device_.state(), kernel, {});
  EXPECT_EQ(program->variant_count(), 4u);
}

TEST_F(Programs, EqualBodiesShareAProgram) {
  const std::uint64_t constant = fresh();
  auto out = device_.buffer<float>(4);
  test::launch(device_, {4}, make_kernel("fill", constant), out, 3);
  test::launch(device_, {4}, make_kernel("fill", constant), out, 3);
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(Programs, OptionsMakeAnotherProgram) {
  const auto kernel = make_kernel("fill", fresh());
  auto out = device_.buffer<float>(4);
  test::launch(device_, {4}, kernel, out, 3);
  test::launch(device_, {4}, kernel, out, 3, {.compile = {.reproducible = true}});
  EXPECT_EQ(compiles(), 2u);
}

TEST_F(Programs, SixteenThreadsCompileOnce) {
  const auto kernel = make_kernel("nothing", fresh());
  const auto other = make_kernel("fill", fresh());
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      auto out = device_.buffer<float>(100);
      for (int round = 0; round < 20; ++round) {
        test::launch(device_, {2}, kernel, out, 0);
        test::launch(device_, {100}, other, out, 3 + t * 32);
        ASSERT_EQ(out.download()[99], static_cast<float>(102 + t * 32));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiles(), 2u);
}

TEST_F(Programs, HandleLaunches) {
  const auto handle = test::handle(device_, make_kernel("fill", fresh()));
  auto out = device_.buffer<float>(8);
  handle({8}, out, 5);
  EXPECT_EQ(out.download()[7], 12.0f);
  const Stream stream = device_.stream();
  handle({8}, {.stream = stream}, out.slice(4, 4), 100);
  stream.synchronize();
  EXPECT_EQ(out.download()[4], 100.0f);
}

TEST_F(Programs, CompileInBackground) {
  const auto kernel = make_kernel("fill", fresh());
  runtime::Program* program = detail::find_program(device_.state(), kernel, {});
  const auto pending = detail::compile_in_background(device_.state(), program, kernel, nullptr, 0);
  detail::pending_wait(*pending);
  EXPECT_TRUE(detail::pending_ready(*pending));
  EXPECT_EQ(program->variant_count(), 1u);
  const auto broken = make_kernel("broken", fresh());
  const auto failing = detail::compile_in_background(device_.state(), detail::find_program(device_.state(), broken, {}),
                                                     broken, nullptr, 0);
  EXPECT_THROW(detail::pending_wait(*failing), Error);
}

template <class Function>
Error error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::io, "");
}

TEST_F(Programs, WrongLaunchesWriteNothing) {
  const auto kernel = make_kernel("fill", fresh());
  auto out = device_.upload(std::vector<float>(8, -1.0f));
  const auto launch = [&](Grid grid, const Buffer<float>& buffer, const LaunchOptions& options = {}) {
    return error_of([&] { test::launch(device_, grid, kernel, buffer, 1, options); });
  };
  EXPECT_EQ(launch({-1}, out).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(launch({1, -1}, out).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(launch({std::size_t(-1)}, out).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(launch({std::int64_t{1} << 31}, out).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(launch({0x7fffffff, 0x7fffffff, 0x7fffffff}, out).code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(launch({1}, Buffer<float>()).what()).find("out must have memory"), std::string::npos);
  const Device interpreter = Device::open("interpreter");
  EXPECT_NE(std::string(launch({1}, interpreter.buffer<float>(8)).what()).find("got a buffer of interpreter"),
            std::string::npos);
  EXPECT_EQ(launch({1}, out, {.stream = interpreter.stream()}).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(out.download(), std::vector<float>(8, -1.0f));
  EXPECT_EQ(compiles(), 0u);
}

TEST_F(Programs, AnEmptyGridIsAnEmptyLaunch) {
  const auto kernel = make_kernel("fill", fresh());
  auto out = device_.upload(std::vector<float>(8, -1.0f));
  test::launch(device_, {0}, kernel, out, 1);
  test::launch(device_, {8, 0, 8}, kernel, out, 1);
  EXPECT_EQ(out.download(), std::vector<float>(8, -1.0f));
}

TEST_F(Programs, CompileErrorsNameKernelLineAndReproducer) {
  const auto kernel = make_kernel("broken", fresh());
  auto out = device_.buffer<float>(8);
  const Error error = error_of([&] { test::launch(device_, {1}, kernel, out, 1); });
  EXPECT_EQ(error.code(), ErrorCode::compile_failed);
  EXPECT_EQ(error.file(), "kernels.cpp");
  EXPECT_EQ(error.line(), 42u);
  const std::string text = error.what();
  EXPECT_NE(text.find("broken: kernels.cpp:42: dot: shapes must agree; got 3, expected 4\nhelp: pad the block"),
            std::string::npos)
      << text;
  const std::size_t place = text.find("reproducer ");
  ASSERT_NE(place, std::string::npos) << text;
  EXPECT_TRUE(std::filesystem::exists(text.substr(place + 11))) << text;
  EXPECT_EQ(error_of([&] { test::launch(device_, {1}, make_kernel("refused", fresh()), out, 1); }).code(),
            ErrorCode::unsupported);
}

TEST_F(Programs, AssertionsReachTheHostAndTheProcessGoesOn) {
  const auto kernel = make_kernel("trip", fresh());
  auto out = device_.buffer<float>(1000);
  const Error error = error_of([&] { test::launch(device_, {10, 100}, kernel, out, 123); });
  EXPECT_EQ(error.code(), ErrorCode::assertion_failed);
  const std::string text = error.what();
  EXPECT_NE(text.find("trip: kernels.cpp:42: device_assert"), std::string::npos) << text;
  EXPECT_NE(text.find("p must not be n [program (3, 12, 0), lane 5]"), std::string::npos) << text;
  test::launch(device_, {10, 100}, kernel, out, 5000);
  EXPECT_EQ(out.download()[999], 5999.0f);
}

TEST_F(Programs, PrintReachesTheSink) {
  std::string text;
  set_print_sink([&](std::string_view part) { text += part; });
  auto out = device_.buffer<float>(1);
  test::launch(device_, {2, 2}, make_kernel("shout", fresh()), out, 0);
  set_print_sink(nullptr);
  for (const char* line : {"shout: kernels.cpp:42: program (0, 0, 0), lane 0: p = 0\n",
                           "program (1, 1, 0), lane 0: p = 3\n", "program (1, 1, 0), lane 1: p = -1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST_F(Programs, ArenasArePrivateAndAligned) {
  auto out = device_.buffer<float>(4000);
  const int before = device_.parallel();
  device_.set_parallel(4);
  test::launch(device_, {4000}, make_kernel("scratch", fresh()), out, 0);
  device_.set_parallel(before);
  EXPECT_EQ(out.download(), std::vector<float>(4000, 1.0f));
}

TEST_F(Programs, StreamsKeepTheirOrderAndEventsOrderThem) {
  const auto kernel = make_kernel("fill", fresh());
  auto out = device_.buffer<float>(2000);
  const Stream first = device_.stream(), second = device_.stream();
  for (int i = 0; i < 50; ++i) test::launch(device_, {2000}, kernel, out, i, {.stream = first});
  const Event event = first.record();
  second.wait(event);
  test::launch(device_, {1000}, kernel, out, 70, {.stream = second});
  device_.synchronize();
  EXPECT_TRUE(event.done());
  const std::vector<float> host = out.download();
  EXPECT_EQ(host[999], 1069.0f);
  EXPECT_EQ(host[1999], 2048.0f);
}

TEST_F(Programs, FailuresOnAStreamSurfaceOnce) {
  const auto kernel = make_kernel("trip", fresh());
  auto out = device_.upload(std::vector<float>(8, -1.0f));
  const Stream stream = device_.stream();
  test::launch(device_, {8}, kernel, out, 0, {.stream = stream});
  EXPECT_EQ(error_of([&] { stream.synchronize(); }).code(), ErrorCode::assertion_failed);
  EXPECT_NO_THROW(stream.synchronize());
  test::launch(device_, {8}, kernel, out, 10, {.stream = stream});
  EXPECT_NO_THROW(stream.synchronize());
  EXPECT_EQ(out.download()[7], 17.0f);
}

TEST_F(Programs, BuffersLiveUntilTheirLaunchesAreDone) {
  const auto kernel = make_kernel("fill", fresh());
  const Stream stream = device_.stream();
  for (int i = 0; i < 20; ++i)
    test::launch(device_, {5000}, kernel, device_.buffer<float>(5000), i, {.stream = stream});
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(Programs, InterpreterChecksMemory) {
  const Device interpreter = Device::open("interpreter");
  auto out = interpreter.buffer<float>(8);
  const auto reads = make_kernel("trip", fresh());
  const Error unwritten = error_of([&] { test::launch(interpreter, {1}, reads, out, 0); });
  EXPECT_EQ(unwritten.code(), ErrorCode::check_failed);
  EXPECT_NE(std::string(unwritten.what()).find("trip: load: never written"), std::string::npos);
  const auto kernel = make_kernel("fill", fresh());
  test::launch(interpreter, {8}, kernel, out, 2);
  EXPECT_EQ(out.download()[7], 9.0f);
  EXPECT_NO_THROW(test::launch(interpreter, {1}, reads, out, 0));
  const Error outside = error_of([&] { test::launch(interpreter, {9}, kernel, out, 2); });
  const std::string text = outside.what();
  EXPECT_NE(text.find("fill: kernels.cpp:42: store: an address outside"), std::string::npos) << text;
  EXPECT_NE(text.find("[program (8, 0, 0), lane 3, address 0x"), std::string::npos) << text;
  // A failed assertion has one code on every device.
  const Error assertion = error_of([&] { test::launch(interpreter, {1}, make_kernel("scratch", fresh()), out, 0); });
  EXPECT_EQ(assertion.code(), ErrorCode::assertion_failed);
  auto uploaded = interpreter.upload(std::vector<float>(8));
  EXPECT_NO_THROW(test::launch(interpreter, {1}, reads, uploaded, 0));
  std::vector<float> host(8);
  EXPECT_NO_THROW(test::launch(interpreter, {1}, reads, Buffer<float>::wrap(interpreter, host.data(), 8), 0));
}

// The launch of a handle against a call through a function pointer: reported, and bounded only within one run.
TEST_F(Programs, HandleLaunchIsCheap) {
  const auto handle = test::handle(device_, make_kernel("nothing", fresh()));
  auto out = device_.buffer<float>(8);
  handle({1}, out, 3);
  void (*volatile nothing)(std::uint64_t) = [](std::uint64_t) {};
  const PairMeasurement pair = measure_pair([&] { handle({1}, out, 3); }, [&] { nothing(1); },
                                            {.minimum_seconds = 0.02, .calls_per_sample = 1000});
  RecordProperty("launch_nanoseconds", std::to_string(pair.first.median * 1e9));
  std::printf("launch of a handle: %.0f ns, a call: %.1f ns\n", pair.first.median * 1e9, pair.second.median * 1e9);
  // A launch that looked its kernel up, locked or woke a thread would cost a thousand calls.
  EXPECT_LT(pair.first.median, 1000 * pair.second.median);
}

}  // namespace
