// A small network reads handwritten digits: two fused products (bias and GELU in the first) on real data.
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <zlib.h>

#include "demo.hpp"
#include "kernels/matmul.hpp"

namespace teeny::demo {

namespace {

constexpr int pixels = 64, hidden = 128, classes = 10, training_rows = 1347, all_rows = 1797;

// Pixels in [0, 1] and the labels of the digits that the network was not trained on.
struct Digits {
  std::vector<float> x;
  std::vector<int> labels;
};

std::string data_file(const char* name) { return std::string(TEENY_EXAMPLE_DATA) + "/" + name; }

Digits load_digits() {
  std::string path = data_file("digits.csv.gz");
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("digits: " + path + " could not be read");
  Digits digits;
  std::array<char, 4096> line;
  for (int row = 0; row < all_rows; ++row) {
    if (!gzgets(file, line.data(), line.size())) throw std::runtime_error("digits: " + path + " ends early");
    if (row < training_rows) continue;
    char* at = line.data();
    for (int i = 0; i < pixels; ++i, ++at) digits.x.push_back(std::strtof(at, &at) / 16);
    digits.labels.push_back(static_cast<int>(std::strtol(at, &at, 10)));
  }
  gzclose(file);
  return digits;
}

struct Weights {
  std::vector<float> w1, b1, w2, b2;
};

Weights load_weights() {
  std::ifstream file(data_file("digits_mlp.bin"), std::ios::binary);
  auto read = [&](std::size_t count) {
    std::vector<float> values(count);
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(float)));
    if (!file) throw std::runtime_error("digits: digits_mlp.bin could not be read");
    return values;
  };
  Weights w;
  w.w1 = read(pixels * hidden), w.b1 = read(hidden), w.w2 = read(hidden * classes), w.b2 = read(classes);
  return w;
}

std::vector<double> logits_in_double(const Weights& w, const float* x) {
  std::vector<double> h(w.b1.begin(), w.b1.end()), out(w.b2.begin(), w.b2.end());
  for (int i = 0; i < pixels; ++i)
    for (int j = 0; j < hidden; ++j) h[j] += double(x[i]) * w.w1[i * hidden + j];
  for (int j = 0; j < hidden; ++j) {
    double active = 0.5 * h[j] * (1 + std::erf(h[j] * std::sqrt(0.5)));
    for (int c = 0; c < classes; ++c) out[c] += active * w.w2[j * classes + c];
  }
  return out;
}

}  // namespace

Line run_digits(const Device& device, int rows) {
  Digits digits = load_digits();
  Weights weights = load_weights();
  digits.x.resize(std::size_t(rows) * pixels);
  auto x = device.upload(digits.x), w1 = device.upload(weights.w1), b1 = device.upload(weights.b1);
  auto w2 = device.upload(weights.w2), b2 = device.upload(weights.b2);
  auto active = device.buffer<float>(std::size_t(rows) * hidden),
       logits = device.buffer<float>(std::size_t(rows) * classes);
  kernels::MatMul<kernels::Gelu> first{.BM = 64, .BN = 64, .BK = 64, .BIAS = true};
  kernels::MatMul<> second{.BM = 64, .BN = 16, .BK = 64, .BIAS = true};
  auto layer1 = device.compile(first, x, w1, b1, active, rows, hidden, pixels, pixels, hidden, hidden);
  auto layer2 = device.compile(second, active, w2, b2, logits, rows, classes, hidden, hidden, classes, classes);
  const int row_blocks = (rows + 63) / 64;
  double seconds = time_launch(device, [&] {
    layer1({hidden / 64, row_blocks}, x, w1, b1, active, rows, hidden, pixels, pixels, hidden, hidden);
    layer2({1, row_blocks}, active, w2, b2, logits, rows, classes, hidden, hidden, classes, classes);
  });
  std::vector<float> got = logits.download();
  std::vector<double> expected;
  int right = 0;
  for (int r = 0; r < rows; ++r) {
    auto row = logits_in_double(weights, &digits.x[std::size_t(r) * pixels]);
    expected.insert(expected.end(), row.begin(), row.end());
    int best = static_cast<int>(std::max_element(&got[r * classes], &got[r * classes] + classes) - &got[r * classes]);
    right += best == digits.labels[r];
  }
  double error = max_error(got, [&](std::size_t i) { return expected[i]; });
  char remark[96];
  std::snprintf(remark, sizeof remark, "%d of %d unseen digits read = %.1f %%", right, rows, 100.0 * right / rows);
  double operations = 2.0 * rows * (pixels * hidden + hidden * classes);
  return {"digits MLP 64-128-10", std::to_string(rows) + " digits", error, 1e-4, seconds, operations, false, remark};
}

}  // namespace teeny::demo
