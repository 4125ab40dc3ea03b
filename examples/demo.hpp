// The demonstration: every kernel on every device found, each result checked against a float64 reference.
#pragma once

#include <functional>
#include <string>

#include <teeny/teeny.hpp>

namespace teeny::demo {

// One line of the table. `work` is bytes for GB/s or operations for GFLOP/s.
struct Line {
  std::string kernel, size;
  double max_error = 0;   // largest |result - reference| / max(1, |reference|)
  double tolerance = 0;   // what max_error must not exceed
  double seconds = 0;
  double work = 0;
  bool counts_bytes = true;
  std::string remark;
  bool passed() const { return max_error <= tolerance; }
};

// How large the problems are: real sizes for a device, small ones for the interpreter.
struct Sizes {
  int elements, rows, columns, matrix;
};

Line run_vector_add(const Device& device, const Sizes& sizes);
Line run_softmax(const Device& device, const Sizes& sizes);
Line run_layer_norm(const Device& device, const Sizes& sizes);
Line run_matmul(const Device& device, const Sizes& sizes);
Line run_matmul_bias_gelu(const Device& device, const Sizes& sizes);
// The network of examples/data/digits_mlp.bin on `rows` of the digits that it was not trained on; the remark is its accuracy.
Line run_digits(const Device& device, int rows);

// Uniform in [-1, 1), the same for the same seed.
std::vector<float> random_floats(std::size_t count, unsigned seed);
// Line::max_error of results against a reference given element by element.
double max_error(const std::vector<float>& results, const std::function<double(std::size_t)>& reference);
// The median time of a launch and the wait for it.
double time_launch(const Device& device, const std::function<void()>& launch);

}  // namespace teeny::demo
