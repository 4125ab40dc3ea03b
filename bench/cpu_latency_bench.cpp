// Compile times, first kernel of a process, warm start, launch cost.
#include <algorithm>
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
  void operator()(tl::Ptr<float> out, tl::i32 a, tl::i32 b, tl::i32 c, tl::f32 d, tl::f32 e, tl::i64 f,
                  tl::i64 g) const {
    tl::store(out, tl::cast<float>(a + b + c) + d + e + tl::cast<float>(f + g) + VALUE);
  }
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

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
  suite.results.push_back({.name = name,
                           .size = "a new kernel",
                           .peer = "–",
                           .seconds = median,
                           .figure = median * 1e3,
                           .unit = "ms",
                           .wanted = limit_ms});
}

// A folder of this benchmark's own for a program cache.
class CacheFolder {
 public:
  CacheFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "teeny-bench-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~CacheFolder() { empty(); }
  void empty() const {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void add_start_row(Suite& suite, const char* name, double limit_ms, bool warm) {
  if (!suite.options.in_new_process || !suite.wants(name)) return;
  CacheFolder folder;
  if (warm) suite.options.in_new_process(folder.path());
  std::vector<double> samples;
  for (int i = 0; i < (suite.options.quick ? 2 : 9); ++i) {
    if (!warm) folder.empty();
    double seconds = suite.options.in_new_process(folder.path());
    if (seconds < 0)
      throw Error(
          ErrorCode::device_failed,
          "bench: a new process did not run its kernel\nhelp: run `teeny bench --filter compile` for the reason");
    samples.push_back(seconds);
  }
  std::sort(samples.begin(), samples.end());
  double median = samples[samples.size() / 2];
  suite.results.push_back({.name = name,
                           .size = "vector add",
                           .peer = "–",
                           .seconds = median,
                           .figure = median * 1e3,
                           .unit = "ms",
                           .wanted = limit_ms});
}

void add_launch_row(Suite& suite) {
  if (!suite.wants("launch of a handle")) return;
  auto out = suite.device.buffer<float>(1);
  auto handle = suite.device.compile(Nothing{}, out, 1, 2, 3, 4.0f, 5.0f, 6ll, 7ll);
  MeasureOptions options = suite.measure;
  options.calls_per_sample = 1000;
  options.pause_seconds = options.rouse_seconds = 0;
  Measurement time = measure([&] { handle({1}, out, 1, 2, 3, 4.0f, 5.0f, 6ll, 7ll); }, options);
  suite.results.push_back({.name = "launch of a handle",
                           .size = "8 arguments, grid of 1",
                           .peer = "–",
                           .seconds = time.median,
                           .figure = time.median * 1e6,
                           .unit = "us",
                           .wanted = 0.5});
}

}  // namespace

double first_kernel_seconds() {
  double start = now();
  Device device = Device::open("cpu");
  std::vector<float> host(4096, 1.0f);
  auto x = device.upload(host), y = device.upload(host), out = device.buffer<float>(host.size());
  teeny::launch(device, {1}, kernels::VectorAdd{}, x, y, out, 4096);
  double seconds = now() - start;
  return out.download()[4095] == 2.0f ? seconds : -1;
}

void latency_benchmarks(Suite& suite) {
  const Device& device = suite.device;
  auto x = device.buffer<float>(1 << 16), y = device.buffer<float>(1 << 16), z = device.buffer<float>(1 << 16);
  add_compile_row(suite, "compile vector add", 20,
                  [&](int i) { device.compile(kernels::VectorAdd{.BLOCK = 4096 + 16 * i}, x, y, z, 100); });
  add_compile_row(suite, "compile softmax", 35,
                  [&](int i) { device.compile(kernels::Softmax{.BLOCK = 1024 + 16 * i}, x, y, 1000); });
  add_compile_row(suite, "compile matmul", 60, [&](int i) {
    device.compile(kernels::MatMul<>{.BM = 256, .BN = 512, .BK = 128 + 4 * i}, x, y, z, z, 128, 128, 128, 128, 128,
                   128);
  });
  add_start_row(suite, "first kernel of a process", 60, false);
  add_start_row(suite, "warm start from disk", 1, true);
  add_launch_row(suite);
}

}  // namespace teeny::bench
