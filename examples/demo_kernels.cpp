#include <cmath>
#include <random>

#include <teeny/measure.hpp>

#include "demo.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "kernels/normalise.hpp"

namespace teeny::demo {

namespace {

int blocks(int count, int block) { return (count + block - 1) / block; }

int power_of_two_above(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }

// Every row of a large matrix would take a float64 product longer than the kernel's: these rows stand for the rest.
std::vector<int> sampled_rows(int rows) {
  std::vector<int> sample;
  for (int i = 0; i < 48; ++i) sample.push_back(static_cast<int>(static_cast<long>(i) * (rows - 1) / 47));
  return sample;
}

struct MatrixProblem {
  explicit MatrixProblem(int n)
      : n(n),
        a(random_floats(std::size_t(n) * n, 21)),
        b(random_floats(std::size_t(n) * n, 22)),
        bias(random_floats(n, 23)) {}

  // The largest error of c over the sampled rows, where c should be finish(a·b, column).
  template <class Finish>
  double error(const std::vector<float>& c, Finish finish) const {
    double worst = 0;
    for (int row : sampled_rows(n)) {
      std::vector<double> exact(n, 0.0);
      for (int k = 0; k < n; ++k)
        for (int col = 0; col < n; ++col)
          exact[col] += double(a[std::size_t(row) * n + k]) * b[std::size_t(k) * n + col];
      std::vector<float> got(c.begin() + std::size_t(row) * n, c.begin() + std::size_t(row + 1) * n);
      worst =
          std::max(worst, max_error(got, [&](std::size_t col) { return finish(exact[col], static_cast<int>(col)); }));
    }
    return worst;
  }

  int n;
  std::vector<float> a, b, bias;
};

template <class Kernel, class Finish>
Line run_product(const Device& device, const Kernel& kernel, const char* name, int n, Finish finish) {
  MatrixProblem problem(n);
  auto a = device.upload(problem.a), b = device.upload(problem.b), bias = device.upload(problem.bias);
  auto c = device.buffer<float>(std::size_t(n) * n);
  auto handle = device.compile(kernel, a, b, bias, c, n, n, n, n, n, n);
  double seconds = time_launch(device, [&] {
    handle({blocks(n, kernel.BN), blocks(n, kernel.BM)}, a, b, bias, c, n, n, n, n, n, n);
  });
  // n products of numbers below 1, summed in f32 in some order: n·2^-24 times the typical magnitude of a partial sum.
  double tolerance = 4.0 * std::sqrt(double(n)) * n * 0x1p-24;
  return {name,
          std::to_string(n) + "³",
          problem.error(c.download(), [&](double x, int col) { return finish(problem, x, col); }),
          tolerance,
          seconds,
          2.0 * n * n * n,
          false,
          {}};
}

}  // namespace

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

double max_error(const std::vector<float>& results, const std::function<double(std::size_t)>& reference) {
  double worst = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    double expected = reference(i), error = std::abs(results[i] - expected) / std::max(1.0, std::abs(expected));
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

double time_launch(const Device& device, const std::function<void()>& launch) {
  return measure(
             [&] {
               launch();
               device.synchronize();
             },
             {.warm_up_seconds = 0, .minimum_seconds = 0.1, .minimum_samples = 3})
      .median;
}

Line run_vector_add(const Device& device, const Sizes& sizes) {
  const int n = sizes.elements;
  auto host_x = random_floats(n, 1), host_y = random_floats(n, 2);
  auto x = device.upload(host_x), y = device.upload(host_y), out = device.buffer<float>(n);
  kernels::VectorAdd kernel{.BLOCK = n > 100000 ? 4096 : 1024};
  auto handle = device.compile(kernel, x, y, out, n);
  double seconds = time_launch(device, [&] { handle({blocks(n, kernel.BLOCK)}, x, y, out, n); });
  double error = max_error(out.download(), [&](std::size_t i) { return double(host_x[i]) + host_y[i]; });
  return {"vector add", std::to_string(n), error, 0x1p-23, seconds, 3.0 * n * sizeof(float), true, {}};
}

Line run_softmax(const Device& device, const Sizes& sizes) {
  const int rows = sizes.rows, columns = sizes.columns;
  auto host = random_floats(std::size_t(rows) * columns, 3);
  for (float& value : host) value *= 8;
  auto x = device.upload(host), y = device.buffer<float>(host.size());
  auto handle = device.compile(kernels::Softmax{.BLOCK = power_of_two_above(columns)}, x, y, columns);
  double seconds = time_launch(device, [&] { handle({rows}, x, y, columns); });
  std::vector<double> largest(rows, -INFINITY), sum(rows, 0);
  for (int r = 0; r < rows; ++r) {
    const float* row = &host[std::size_t(r) * columns];
    for (int c = 0; c < columns; ++c) largest[r] = std::max(largest[r], double(row[c]));
    for (int c = 0; c < columns; ++c) sum[r] += std::exp(row[c] - largest[r]);
  }
  double error = max_error(y.download(),
                           [&](std::size_t i) { return std::exp(host[i] - largest[i / columns]) / sum[i / columns]; });
  return {"softmax", std::to_string(rows) + " × " + std::to_string(columns),
          error,     1e-6,
          seconds,   2.0 * host.size() * sizeof(float),
          true,      {}};
}

Line run_layer_norm(const Device& device, const Sizes& sizes) {
  const int rows = sizes.rows, columns = sizes.columns;
  auto host = random_floats(std::size_t(rows) * columns, 4), host_w = random_floats(columns, 5),
       host_b = random_floats(columns, 6);
  auto x = device.upload(host), w = device.upload(host_w), b = device.upload(host_b),
       y = device.buffer<float>(host.size());
  auto handle = device.compile(kernels::LayerNorm{.BLOCK = power_of_two_above(columns)}, x, w, b, y, columns, 1e-5f);
  double seconds = time_launch(device, [&] { handle({rows}, x, w, b, y, columns, 1e-5f); });
  std::vector<double> mean(rows, 0), scale(rows, 0);
  for (int r = 0; r < rows; ++r) {
    const float* row = &host[std::size_t(r) * columns];
    for (int c = 0; c < columns; ++c) mean[r] += row[c];
    mean[r] /= columns;
    for (int c = 0; c < columns; ++c) scale[r] += (row[c] - mean[r]) * (row[c] - mean[r]);
    scale[r] = 1 / std::sqrt(scale[r] / columns + 1e-5);
  }
  double error = max_error(y.download(), [&](std::size_t i) {
    return (host[i] - mean[i / columns]) * scale[i / columns] * host_w[i % columns] + host_b[i % columns];
  });
  return {"layer norm", std::to_string(rows) + " × " + std::to_string(columns),
          error,        4e-6,
          seconds,      2.0 * host.size() * sizeof(float),
          true,         {}};
}

// A CPU's program keeps its accumulator in the second-level cache, a GPU's in registers.
template <class Kernel>
void choose_blocks(Kernel& kernel, const Device& device, const Sizes& sizes) {
  if (sizes.matrix < 256) kernel.BM = kernel.BN = kernel.BK = 32;
  else if (device.info().spec == "cpu") kernel.BM = 256, kernel.BN = 512, kernel.BK = 128;
  else kernel.BM = kernel.BN = 64, kernel.BK = 16;
}

Line run_matmul(const Device& device, const Sizes& sizes) {
  kernels::MatMul<> kernel;
  choose_blocks(kernel, device, sizes);
  return run_product(device, kernel, "matmul", sizes.matrix, [](const MatrixProblem&, double x, int) { return x; });
}

Line run_matmul_bias_gelu(const Device& device, const Sizes& sizes) {
  kernels::MatMul<kernels::Gelu> kernel{.BIAS = true};
  choose_blocks(kernel, device, sizes);
  return run_product(device, kernel, "matmul + bias + GELU", sizes.matrix,
                     [](const MatrixProblem& problem, double x, int col) { return gelu(x + problem.bias[col]); });
}

}  // namespace teeny::demo
