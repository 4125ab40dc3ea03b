// Matrix products beside OpenBLAS, and as a share of the dot instructions' measured peak.
#include <teeny/teeny.hpp>

#include "bench/cpu_suite.hpp"
#include "bench/machine_limits.hpp"
#include "bench/openblas.hpp"
#include "kernels/matmul.hpp"

namespace teeny::bench {

namespace {

int blocks(int count, int block) { return (count + block - 1) / block; }

std::string cube(int n) { return std::to_string(n) + "³"; }

template <class D, class Acc>
struct Product {
  Product(const Device& device, int n)
      : n(n),
        a(device.buffer<D>(std::size_t(n) * n)),
        b(device.buffer<D>(std::size_t(n) * n)),
        bias(device.buffer<Acc>(1)),
        c(device.buffer<Acc>(std::size_t(n) * n)),
        handle(device.compile(kernel, a, b, bias, c, n, n, n, n, n, n)) {
    auto left = random_floats(std::size_t(n) * n, 6), right = random_floats(std::size_t(n) * n, 7);
    float scale = std::is_integral_v<D> ? 100.0f : 1.0f;
    for (std::size_t i = 0; i < left.size(); ++i) {
      a.host_data()[i] = static_cast<D>(left[i] * scale);
      b.host_data()[i] = static_cast<D>(right[i] * scale);
    }
  }
  void operator()() { handle({blocks(n, kernel.BN), blocks(n, kernel.BM)}, a, b, bias, c, n, n, n, n, n, n); }
  double operations() const { return 2.0 * n * n * n; }

  int n;
  kernels::MatMul<> kernel{.BM = 256, .BN = 512, .BK = 128};
  Buffer<D> a, b;
  Buffer<Acc> bias, c;
  decltype(std::declval<Device>().compile(kernel, a, b, bias, c, 0, 0, 0, 0, 0, 0)) handle;
};

void f32_products(Suite& suite, const OpenBlas& blas) {
  const int all = suite.device.parallel();
  for (int threads = 1; threads <= std::min(all, 2); ++threads) {
    suite.device.set_parallel(threads);
    blas.set_threads(threads);
    for (int n : {512, 1024, 2048, 1000}) {
      Product<float, float> product(suite.device, n);
      auto peer_c = suite.device.template buffer<float>(std::size_t(n) * n);
      PairMeasurement pair =
          measure_pair([&] { product(); },
                       [&] { blas.sgemm(n, n, n, product.a.host_data(), product.b.host_data(), peer_c.host_data()); },
                       suite.measure);
      suite.results.push_back({.name = "matmul f32",
                               .size = cube(n),
                               .peer = blas.version(),
                               .threads = threads,
                               .seconds = pair.first.median,
                               .figure = product.operations() / pair.first.median * 1e-9,
                               .unit = "GFLOP/s",
                               .ratio = pair.ratio,
                               .wanted = 0.95});
    }
  }
  suite.device.set_parallel(all);
}

template <class D, class Acc>
void dot_instruction_product(Suite& suite, const char* name, const char* unit, double peak, const char* instruction) {
  if (peak == 0 || !suite.wants(name)) return;
  Product<D, Acc> product(suite.device, 1024);
  Measurement time = measure([&] { product(); }, suite.measure);
  double rate = product.operations() / time.median;
  suite.results.push_back({.name = name,
                           .size = cube(1024),
                           .peer = std::string("measured peak of ") + instruction,
                           .threads = suite.threads,
                           .seconds = time.median,
                           .figure = rate * 1e-9,
                           .unit = unit,
                           .ratio = rate / peak,
                           .wanted = 0.7});
}

}  // namespace

void matmul_benchmarks(Suite& suite) {
  if (suite.wants("matmul f32")) {
    if (auto blas = OpenBlas::load())
      f32_products(suite, *blas);
    else if (suite.options.progress)
      suite.options.progress("matmul f32 skipped: no libopenblas.so.0 is installed");
  }
  dot_instruction_product<bfloat16, float>(suite, "matmul bf16", "GFLOP/s", bf16_dot_peak(suite.threads), "vdpbf16ps");
  dot_instruction_product<std::int8_t, std::int32_t>(suite, "matmul i8", "GOP/s", i8_dot_peak(suite.threads),
                                                     "vpdpbusd");
}

}  // namespace teeny::bench
