// Graphs on every kind of device: what they replay, keep alive and refuse.
#include "fixture.hpp"

namespace {

using namespace teeny;
using test::Fake;
using test::make_kernel;
using test::message_of;

class Graphs : public test::CudaTest, public testing::WithParamInterface<const char*> {
 protected:
  Graphs() { device_ = Device::open(GetParam()); }
};

TEST_P(Graphs, ReplayLaunchesAndCopiesInOrder) {
  auto x = device_.upload(std::vector<float>(8, -1));
  const auto result = device_.host_buffer<float>(8), start = device_.host_buffer<float>(8);
  std::fill(start.begin(), start.end(), 7.0f);
  const auto kernel = make_kernel("fill", fresh());  // compiled within the capture
  const Graph graph = device_.capture([&](const Stream& stream) {
    x.upload_async(start, stream);
    test::launch(device_, {4}, kernel, x, 3, {.stream = stream});
    test::launch(device_, {2}, kernel, x, 5, {.stream = stream});
    test::launch(device_, {0}, kernel, x, 9, {.stream = stream});
    x.download_async(result, stream);
  });
  EXPECT_EQ(graph.size(), 4u);
  EXPECT_EQ(x.download()[0], -1.0f);  // nothing has run
  for (const Stream& stream : {Stream(), device_.stream()}) {
    std::fill(result.begin(), result.end(), 0.0f);
    graph.launch(stream);
    device_.synchronize();
    EXPECT_EQ(std::vector<float>(result.begin(), result.end()), (std::vector<float>{5, 6, 5, 6, 7, 7, 7, 7}));
    start[0] = 100;  // is read anew, and written over by the first launch
  }
}

TEST_P(Graphs, KeepWhatTheyNeed) {
  const auto result = device_.host_buffer<float>(4);
  Graph graph;
  EXPECT_TRUE(graph.is_null());
  graph.launch();
  {
    auto x = device_.buffer<float>(4);
    graph = device_.capture([&](const Stream& stream) {
      auto inner = device_.buffer<float>(4);
      test::launch(device_, {4}, make_kernel("fill", fresh()), inner, 1, {.stream = stream});
      test::launch(device_, {4}, make_kernel("fill", fresh()), x, 2, {.stream = stream});
      x.download_async(result, stream);
    });
  }
  const Stream stream = device_.stream();
  graph.launch(stream);
  graph = Graph();  // with the replay under way
  stream.synchronize();
  EXPECT_EQ(result[3], 5.0f);
}

TEST_P(Graphs, RefuseWhatTheyCannotHold) {
  auto x = device_.buffer<float>(4);
  const auto kernel = make_kernel("fill", fresh());
  const Stream other = device_.stream();
  const Graph some = device_.capture([&](const Stream& s) { test::launch(device_, {4}, kernel, x, 1, {.stream = s}); });
  const auto refusal = [&](auto&& work) {
    return message_of(ErrorCode::invalid_argument, [&] { device_.capture(work); });
  };
  const std::string text = refusal([&](const Stream&) { test::launch(device_, {4}, kernel, x, 1); });
  EXPECT_HAS(text, "got a launch on another stream");
  EXPECT_HAS(text, "{.stream = stream}");
  EXPECT_HAS(refusal([&](const Stream&) { test::launch(device_, {4}, kernel, x, 1, {.stream = other}); }),
             "another stream");
  EXPECT_HAS(refusal([&](const Stream&) { x.upload_async(device_.host_buffer<float>(4)); }),
             "got a copy on another stream");
  EXPECT_HAS(refusal([&](const Stream&) { x.download(); }), "got a wait for the device's work");
  EXPECT_HAS(refusal([&](const Stream& stream) { stream.synchronize(); }), "got synchronize()");
  EXPECT_HAS(refusal([&](const Stream& stream) { stream.record(); }), "got an event");
  EXPECT_HAS(refusal([&](const Stream& stream) { stream.wait(other.record()); }), "got a wait for an event");
  EXPECT_HAS(refusal([&](const Stream& stream) { some.launch(stream); }), "got another graph");
  EXPECT_HAS(refusal([&](const Stream&) { some.launch(); }), "got a graph's launch on another stream");
  EXPECT_HAS(refusal([&](const Stream&) { device_.capture([](const Stream&) {}); }), "a capture within a capture");
  Stream kept;
  device_.capture([&](const Stream& stream) { kept = stream; });
  EXPECT_HAS(
      message_of(ErrorCode::invalid_argument, [&] { test::launch(device_, {4}, kernel, x, 1, {.stream = kept}); }),
      "got work after the capture's end");
  test::launch(device_, {4}, kernel, x, 1);  // and the device is as before
  EXPECT_EQ(x.download()[3], 4.0f);
}

TEST_P(Graphs, LetOtherDevicesBe) {
  const Device other = Device::open(device_.info().spec == "cpu" ? "interpreter" : "cpu");
  auto x = device_.buffer<float>(4), y = other.buffer<float>(4);
  const Graph graph = device_.capture([&](const Stream& stream) {
    test::launch(other, {4}, make_kernel("fill", fresh()), y, 1);
    test::launch(device_, {4}, make_kernel("fill", fresh()), x, 1, {.stream = stream});
  });
  EXPECT_EQ(y.download()[3], 4.0f);
  EXPECT_HAS(message_of(ErrorCode::invalid_argument, [&] { graph.launch(other.stream()); }),
             "the stream must be of the graph's device");
}

TEST_P(Graphs, PassOnWhatTheFunctionThrows) {
  EXPECT_THROW(device_.capture([](const Stream&) { throw std::runtime_error("mine"); }), std::runtime_error);
  EXPECT_EQ(device_.capture([](const Stream&) {}).size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Graphs, testing::Values("cuda:0", "cuda:1", "cpu", "interpreter"));

class CudaGraphs : public test::CudaTest {
 protected:
  Graph fill(const Buffer<float>& x) {
    return device_.capture(
        [&](const Stream& s) { test::launch(device_, {1}, make_kernel("fill", fresh()), x, 1, {.stream = s}); });
  }
};

TEST_F(CudaGraphs, AreOneLaunchOfTheDriver) {
  auto x = device_.buffer<float>(1);
  const auto kernel = make_kernel("fill", fresh());
  const Graph graph = device_.capture([&](const Stream& stream) {
    for (int i = 0; i < 1000; ++i) test::launch(device_, {1}, kernel, x, i, {.stream = stream});
  });
  EXPECT_EQ(Fake::get("runs"), 0);
  const long long launches = Fake::get("calls.cuLaunchKernel");
  graph.launch();
  graph.launch();
  EXPECT_EQ(Fake::get("calls.cuGraphLaunch"), 2);
  EXPECT_EQ(Fake::get("calls.cuLaunchKernel"), launches);
  device_.synchronize();
  EXPECT_EQ(Fake::get("runs"), 2000);
  EXPECT_EQ(x.download()[0], 999.0f);
}

TEST_F(CudaGraphs, SayWhatTheirLaunchesWouldSay) {
  auto x = device_.buffer<float>(1);
  {
    const test::Variable metadata("FAKE_CUDA_NEEDS", R"("threads": 2048)");
    EXPECT_HAS(message_of(ErrorCode::unsupported, [&] { fill(x); }), "launch fill: a program's threads must fit");
  }
  Fake::set("fail.cuGraphInstantiateWithFlags", 2);
  EXPECT_HAS(message_of(ErrorCode::device_failed, [&] { fill(x); }), "cuGraphInstantiate");
  Fake::set("fail.cuStreamBeginCapture_v2", 1);
  EXPECT_HAS(message_of(ErrorCode::device_failed, [&] { fill(x); }), "cuStreamBeginCapture");
  const auto plain = Device::open("cpu").host_buffer<float>(1);
  EXPECT_HAS(message_of(ErrorCode::invalid_argument,
                        [&] { device_.capture([&](const Stream& s) { x.upload_async(plain, s); }); }),
             "expected pinned memory");
  fill(x).launch();
  EXPECT_EQ(x.download()[0], 1.0f);
}

}  // namespace
