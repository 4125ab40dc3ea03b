// Whole kernels against independent references in double.
#include <cmath>
#include <random>

#include "fixture.hpp"
#include "kernels.hpp"

namespace teeny::compiler::interpreter {
namespace {

std::vector<float> random_floats(std::size_t count, float low, float high, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(generator);
  return values;
}

TEST(interpreter_kernels, vector_add_is_exact_and_clean) {
  auto x = random_floats(150, -4, 4, 1), y = random_floats(150, -4, 4, 2);
  std::vector<float> z(150, -1);
  Launch launch(kernels::vector_add);
  Result result = launch.buffer(x).buffer(y).buffer(z, false).integer(150).grid(3).clean();
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], x[i] + y[i]);
  ASSERT_EQ(result.radii.size(), 150u);
  for (double radius : result.radii) EXPECT_EQ(radius, 0.0);
  for (std::uint8_t written : launch.initialised(2)) EXPECT_EQ(written, 1);
}

TEST(interpreter_kernels, softmax_agrees_with_double_within_its_radius) {
  constexpr int rows = 3, columns = 100;
  auto x = random_floats(rows * columns, -8, 8, 3);
  std::vector<float> y(rows * columns, -1);
  Result result = Launch(kernels::softmax).buffer(x).buffer(y, false).integer(columns).grid(rows).clean();
  for (int row = 0; row < rows; ++row) {
    double largest = -INFINITY, sum = 0;
    for (int i = 0; i < columns; ++i) largest = std::max<double>(largest, x[row * columns + i]);
    for (int i = 0; i < columns; ++i) sum += std::exp(x[row * columns + i] - largest);
    for (int i = 0; i < columns; ++i) {
      const float& got = y[row * columns + i];
      const double expected = std::exp(x[row * columns + i] - largest) / sum;
      const double radius = radius_of(result, got);
      EXPECT_GT(radius, 0.0);
      EXPECT_LT(radius, 2.1 * 128 * 0x1p-24 * expected + 1e-37);  // 127 additions, then rounding
      EXPECT_NEAR(got, expected, radius + 8 * 0x1p-24 * expected);
    }
  }
}

TEST(interpreter_kernels, matmul_of_random_numbers_lies_within_its_radius) {
  constexpr int n = 37;
  auto a = random_floats(n * n, -1, 1, 4), b = random_floats(n * n, -1, 1, 5);
  std::vector<float> c(n * n, NAN);
  Result result = Launch(kernels::matmul).buffer(a).buffer(b).buffer(c, false).integer(n).grid(3, 3).clean();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < n; ++k) {
        sum += double(a[i * n + k]) * b[k * n + j];
        magnitude += std::fabs(double(a[i * n + k]) * b[k * n + j]);
      }
      const double radius = radius_of(result, c[i * n + j]);
      EXPECT_NEAR(c[i * n + j], sum, radius);
      EXPECT_GT(radius, 0.0);
      EXPECT_LT(radius, 2.5 * 52 * 0x1p-24 * magnitude);
    }
}

TEST(interpreter_kernels, matmul_of_integers_is_exact_with_radius_zero) {
  constexpr int n = 37;
  std::vector<float> a(n * n), b(n * n), c(n * n, NAN);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) a[i * n + k] = float(i - 2 * k), b[i * n + k] = float(i + 3 * k);
  Result result = Launch(kernels::matmul).buffer(a).buffer(b).buffer(c, false).integer(n).grid(3, 3).clean();
  EXPECT_EQ(c[0], -32412.0f);
  EXPECT_EQ(c[2 * n + 5], -49950.0f);
  EXPECT_EQ(c[15 * n + 15], -57387.0f);
  for (double radius : result.radii) EXPECT_EQ(radius, 0.0);
}

}  // namespace
}  // namespace teeny::compiler::interpreter
