#include "bench/launch_cost.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include <teeny/teeny.hpp>

#include "bench/bare_cuda.hpp"

namespace tl = teeny::tl;

namespace {

// One scalar, stored under a mask that is false: as good as nothing.
struct Touch {
  TEENY_PARAMETERS(x, y, out, n);
  void operator()(tl::Ptr<const float> x, tl::Ptr<const float> y, tl::Ptr<float> out, tl::i32 n) const {
    tl::store(out, tl::load(x, {.mask = n < 0, .other = 0}) + tl::load(y, {.mask = n < 0, .other = 0}),
              {.mask = n < 0});
  }
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

int number_of(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  if (spec.substr(0, colon) != "cuda") throw std::runtime_error("launch costs are CUDA's; got device " + spec);
  return colon == std::string::npos ? 0 : std::stoi(spec.substr(colon + 1));
}

// The operands and the compiled kernel.
struct Work {
  explicit Work(const std::string& spec) : device(teeny::Device::open(spec)) {}
  teeny::Device device;
  teeny::Buffer<float> x = device.upload(std::vector<float>(1024)), y = device.upload(std::vector<float>(1024));
  teeny::Buffer<float> out = device.buffer<float>(1024);
  teeny::CompileOptions one_warp{.warps = 1};
};

}  // namespace

namespace teeny::bench {

LaunchCost measure_launches(const std::string& spec, int launches, int samples) {
  Work work(spec);
  BareCuda bare(number_of(work.device.info().spec));
  const auto handle = work.device.compile(work.one_warp, Touch{}, work.x, work.y, work.out, 1);
  const LaunchOptions options{.compile = work.one_warp};
  const std::uint64_t a = work.x.view().address, b = work.y.view().address, c = work.out.view().address;
  std::vector<double> of_bare, of_handle, of_launch;
  const auto sample = [&](std::vector<double>& list, auto&& launch, auto&& wait) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < launches; ++i) launch();
    list.push_back(seconds_since(start) / launches);
    wait();  // the driver's queue is empty when the next sample starts
  };
  const auto wait = [&] { work.device.synchronize(); };
  for (int i = 0; i <= samples; ++i) {
    sample(
        of_bare, [&] { bare.launch(a, b, c, 1); }, [&] { bare.synchronize(); });
    sample(
        of_handle, [&] { handle({1}, work.x, work.y, work.out, 1); }, wait);
    sample(
        of_launch, [&] { teeny::launch(work.device, {1}, options, Touch{}, work.x, work.y, work.out, 1); }, wait);
    if (i == 0) of_bare.clear(), of_handle.clear(), of_launch.clear();  // warm now
  }
  return {.bare = median(of_bare), .handle = median(of_handle), .launch = median(of_launch)};
}

GraphCost measure_graphs(const std::string& spec, int launches, int samples) {
  Work work(spec);
  BareCuda bare(number_of(work.device.info().spec));
  const auto handle = work.device.compile(work.one_warp, Touch{}, work.x, work.y, work.out, 1);
  bare.capture(launches);
  const Graph graph = work.device.capture([&](const Stream& stream) {
    for (int i = 0; i < launches; ++i) handle({1}, {.stream = stream}, work.x, work.y, work.out, 1);
  });
  const Stream stream = work.device.stream();
  std::vector<double> of_bare, of_graph;
  for (int i = 0; i <= samples; ++i) {
    Clock::time_point start = Clock::now();
    bare.replay();
    bare.synchronize();
    of_bare.push_back(seconds_since(start));
    start = Clock::now();
    graph.launch(stream);
    stream.synchronize();
    of_graph.push_back(seconds_since(start));
    if (i == 0) of_bare.clear(), of_graph.clear();
  }
  return {.bare = median(of_bare), .graph = median(of_graph)};
}

}  // namespace teeny::bench
