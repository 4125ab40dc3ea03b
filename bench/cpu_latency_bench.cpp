// Compile times, first kernel of a process, warm start, launch cost.
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <teeny/teeny.hpp>

#include "bench/cpu_suite.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "kernels/normalise.hpp"

namespace teeny::bench {

namespace {

// Eight arguments that do nothing but arrive.
struct Nothing {
  int VALUE = 1;
  void operator()(tl::Ptr<float> out, tl::i32 a, tl::i32 b, tl::i32 c, tl::f32 d, tl::f32 e, tl::i64 f, tl::i64 g) const {
    tl::store(out, tl::cast<float>(a + b + c) + d + e + tl::cast<float>(f + g) + VALUE);
  }
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Compiles kernels that no cache has seen: `make(i)` differs in a constant for each i.
template <class Make>
void add_compile_row(Suite& suite, const char* name, double limit_ms, Make make) {
  if (!suite.wants(name)) return;
  static int serial = 0;
  std::vector<double> samples;
  for (int i = 0; i < (suite.options.quick ? 2 : 9); ++i) {
    double start = now();
    make(++serial);
    samples.push_back(now() - start);
  }
  std::sort(samples.begin(), samples.end());
  double median = samples[samples.size() / 2];
  suite.results.push_back({.name = name, .size = "a new kernel", .peer = "–", .seconds = median, .figure = median * 1e3,
                           .unit = "ms", .wanted = limit_ms});
}

void add_launch_row(Suite& suite) {
  if (!suite.wants("launch of a handle")) return;
  auto out = suite.device.buffer<float>(1);
  auto handle = suite.device.compile(Nothing{}, out, 1, 2, 3, 4.0f, 5.0f, 6ll, 7ll);
  MeasureOptions options = suite.measure;
  options.calls_per_sample = 1000;
  Measurement time = measure([&] { handle({1}, out, 1, 2, 3, 4.0f, 5.0f, 6ll, 7ll); }, options);
  suite.results.push_back({.name = "launch of a handle", .size = "8 arguments, grid of 1", .peer = "–", .seconds = time.median,
                           .figure = time.median * 1e6, .unit = "us", .wanted = 0.5});
}

}  // namespace

void latency_benchmarks(Suite& suite) {
  const Device& device = suite.device;
  auto x = device.buffer<float>(1 << 16), y = device.buffer<float>(1 << 16), z = device.buffer<float>(1 << 16);
  add_compile_row(suite, "compile vector add", 20, [&](int i) { device.compile(kernels::VectorAdd{.BLOCK = 4096 + 16 * i}, x, y, z, 100); });
  add_compile_row(suite, "compile softmax", 35, [&](int i) { device.compile(kernels::Softmax{.BLOCK = 1024 + 16 * i}, x, y, 1000); });
  add_compile_row(suite, "compile matmul", 60, [&](int i) {
    device.compile(kernels::MatMul<>{.BK = 128 + 4 * i}, x, y, z, z, 128, 128, 128, 128, 128, 128); });
  add_launch_row(suite);
}

}  // namespace teeny::bench
