// The kernel suite, recorded and run by the tensor machine, against plain C++ in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "../../kernels/suite.hpp"
#include "tensor_machine.hpp"

namespace {

using teeny::DType;
using tensor_machine::Machine;
using tensor_machine::Memory;

Memory floats(std::size_t size, unsigned seed, DType type = DType::f32) {
  Memory memory(type, size);
  std::mt19937 random(seed);
  for (double& v : memory.floats) v = tensor_machine::rounded(type, static_cast<int>(random() % 2001) / 500.0 - 2);
  return memory;
}
Memory integers(std::size_t size, unsigned seed, DType type, int low, int high) {
  Memory memory(type, size);
  std::mt19937 random(seed);
  for (std::int64_t& v : memory.integers) v = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  return memory;
}
void run(const teeny::detail::RecordedKernelPtr& kernel, std::vector<Memory*> buffers,
         const std::vector<double>& numbers, int x = 1, int y = 1) {
  Machine(kernel->trace().body, std::move(buffers)).run(numbers, x, y);
}
void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                 std::size_t first = 0) {
  ASSERT_LE(first + expected.size(), got.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got[first + i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

TEST(Kernels, VectorAddAndMap) {
  Memory x = floats(150, 1), y = floats(150, 2), out(DType::f32, 150);
  run(teeny::record<float>(kernels::VectorAdd{.BLOCK = 64}), {&x, &y, &out}, {150}, 3);
  for (int i = 0; i < 150; ++i) EXPECT_EQ(out.floats[i], static_cast<float>(x.floats[i] + y.floats[i]));
  Memory z = floats(128, 3), before = z;
  run(teeny::record(kernels::Map{.BLOCK = 64, .f = [](auto v) { return v * 2; }}), {&z}, {}, 2);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(z.floats[i], before.floats[i] * 2);
}

std::vector<double> softmax(const double* row, int n, bool log) {
  const double largest = *std::max_element(row, row + n);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::exp(row[i] - largest);
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(log ? row[i] - largest - std::log(sum) : std::exp(row[i] - largest) / sum);
  return out;
}
TEST(Kernels, Softmax) {
  const int rows = 5, n = 37;
  Memory x = floats(rows * n, 4), y(DType::f32, rows * n);
  const auto check = [&](bool log) {
    for (int r = 0; r < rows; ++r) expect_near(y.floats, softmax(&x.floats[r * n], n, log), 1e-5, r * n);
    std::fill(y.floats.begin(), y.floats.end(), 0);
  };
  run(teeny::record<float>(kernels::Softmax{.BLOCK = 64}), {&x, &y}, {n}, rows);
  check(false);
  run(teeny::record<float>(kernels::SoftmaxPersistent{.BLOCK = 64}), {&y, &x}, {n, n, rows, n}, 2);
  check(false);
  run(teeny::record<float>(kernels::SoftmaxTile{.ROWS = 4, .BLOCK = 64}), {&y, &x}, {rows, n}, 2);
  check(false);
  run(teeny::record<float>(kernels::SoftmaxTile{.ROWS = 2, .BLOCK = 64, .LOG = true}), {&y, &x}, {rows, n}, 3);
  check(true);
}

TEST(Kernels, LayerNorm) {
  const int rows = 3, n = 50;
  Memory x = floats(rows * n, 5), y(DType::f32, rows * n), w = floats(n, 6), b = floats(n, 7), mean(DType::f32, rows),
         rstd(DType::f32, rows);
  run(teeny::record<float>(kernels::LayerNorm{.BLOCK = 16}), {&x, &y, &w, &b, &mean, &rstd}, {n, n, 1e-5}, rows);
  for (int r = 0; r < rows; ++r) {
    const double* row = &x.floats[r * n];
    const double m = std::accumulate(row, row + n, 0.0) / n;
    double variance = 0;
    for (int i = 0; i < n; ++i) variance += (row[i] - m) * (row[i] - m) / n;
    EXPECT_NEAR(mean.floats[r], m, 1e-5);
    std::vector<double> expected;
    for (int i = 0; i < n; ++i)
      expected.push_back((row[i] - m) / std::sqrt(variance + 1e-5) * w.floats[i] + b.floats[i]);
    expect_near(y.floats, expected, 1e-4, r * n);
  }
}

TEST(Kernels, LayerNormBackwardSumsOverRows) {
  const int rows = 6, n = 20;
  Memory x = floats(rows * n, 8), dy = floats(rows * n, 9), dx(DType::f32, rows * n), w = floats(n, 10),
         mean(DType::f32, rows), rstd(DType::f32, rows);
  Memory dw(DType::f32, 2 * n), db(DType::f32, 2 * n), locks(DType::i32, 4);
  std::vector<double> expected_db(n, 0), expected_dw(n, 0);
  for (int r = 0; r < rows; ++r) {
    const double* row = &x.floats[r * n];
    const double m = std::accumulate(row, row + n, 0.0) / n;
    double variance = 0;
    for (int i = 0; i < n; ++i) variance += (row[i] - m) * (row[i] - m) / n;
    mean.floats[r] = static_cast<float>(m), rstd.floats[r] = static_cast<float>(1 / std::sqrt(variance));
    for (int i = 0; i < n; ++i) {
      expected_db[i] += dy.floats[r * n + i];
      expected_dw[i] += dy.floats[r * n + i] * (row[i] - mean.floats[r]) * rstd.floats[r];
    }
  }
  run(teeny::record<float>(kernels::LayerNormBackward{.GROUP = 2, .BLOCK = 32}),
      {&dx, &dy, &dw, &db, &x, &w, &mean, &rstd, &locks}, {n, n}, rows);
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(db.floats[i] + db.floats[n + i], expected_db[i], 1e-4);
    EXPECT_NEAR(dw.floats[i] + dw.floats[n + i], expected_dw[i], 1e-4);
  }
  // The gradient of a normalised row is orthogonal to a constant.
  for (int r = 0; r < rows; ++r) EXPECT_NEAR(std::accumulate(&dx.floats[r * n], &dx.floats[r * n] + n, 0.0), 0, 1e-4);
  EXPECT_EQ(locks.integers, (std::vector<std::int64_t>{0, 0, 1, 1}));
}

TEST(Kernels, CrossEntropyAndTopK) {
  const int rows = 4, n = 30;
  Memory x = floats(rows * n, 11), target = integers(rows, 12, DType::i64, 0, n - 1), loss = floats(rows, 13);
  target.integers[2] = -100;
  run(teeny::record<float>(kernels::CrossEntropy{.BLOCK = 32}), {&x, &target, &loss}, {n}, rows);
  Memory best(DType::f32, rows * 3), at(DType::i32, rows * 3);
  run(teeny::record<float>(kernels::TopK{.BLOCK = 32, .K = 3}), {&x, &best, &at}, {n}, rows);
  for (int r = 0; r < rows; ++r) {
    const double* row = &x.floats[r * n];
    const std::int64_t t = target.integers[r];
    EXPECT_NEAR(loss.floats[r], t < 0 ? 0 : -softmax(row, n, true)[t], 1e-5);
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(best.floats[r * 3 + k], row[order[k]]);
      EXPECT_EQ(at.integers[r * 3 + k], order[k]);
    }
  }
}

TEST(Kernels, LinearRecurrenceAndArgExtremes) {
  const int n = 70;
  Memory a = floats(n, 14), b = floats(n, 15), h(DType::f32, n);
  for (double& v : a.floats) v = tensor_machine::rounded(DType::f32, v / 2.5);
  run(teeny::record(kernels::LinearRecurrence{.BLOCK = 16}), {&a, &b, &h}, {n});
  double last = 0;
  for (int i = 0; i < n; ++i) {
    last = a.floats[i] * last + b.floats[i];
    EXPECT_NEAR(h.floats[i], last, 1e-4) << i;
  }
  Memory x(DType::f32, 64), largest(DType::i32, 8), smallest(DType::i32, 8), sums(DType::f32, 64);
  for (int i = 0; i < 64; ++i) x.floats[i] = (7 * (i / 8) + 3 * (i % 8)) % 5;  // every column has ties
  run(teeny::record(kernels::ArgExtremes{}), {&x, &largest, &smallest, &sums}, {});
  for (int c = 0; c < 8; ++c) {
    int low = 0, high = 0;
    for (int r = 1; r < 8; ++r) {
      if (x.floats[r * 8 + c] > x.floats[high * 8 + c]) high = r;
      if (x.floats[r * 8 + c] < x.floats[low * 8 + c]) low = r;
    }
    EXPECT_EQ(largest.integers[c], high);
    EXPECT_EQ(smallest.integers[c], low);
  }
  for (int r = 0; r < 8; ++r)
    EXPECT_EQ(sums.floats[r * 8 + 7], std::accumulate(&x.floats[r * 8], &x.floats[r * 8] + 8, 0.0));
}

TEST(Kernels, MatrixProducts) {
  const int m = 21, n = 19, k = 27;
  Memory a = floats(m * k, 16), b = floats(k * n, 17), c(DType::f32, m * n), bt(DType::f32, n * k);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < k; ++i) bt.floats[j * k + i] = b.floats[i * n + j];
  std::vector<double> expected(m * n, 0);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int p = 0; p < k; ++p) expected[i * n + j] += a.floats[i * k + p] * b.floats[p * n + j];
  const int programs = ((m + 7) / 8) * ((n + 7) / 8);
  run(teeny::record<float, float>(kernels::MatMul{.BM = 8, .BN = 8, .BK = 8, .GROUP_M = 2}), {&a, &b, &c},
      {m, n, k, k, n, n}, programs);
  expect_near(c.floats, expected, 1e-4);
  run(teeny::record<float, float>(kernels::MatMul<kernels::Gelu>{.BM = 8, .BN = 8, .BK = 8, .GROUP_M = 2}),
      {&a, &b, &c}, {m, n, k, k, n, n}, programs);
  std::vector<double> gelu;
  for (const double v : expected) gelu.push_back(0.5 * v * (1 + std::erf(v * 0.70710678)));
  expect_near(c.floats, gelu, 1e-4);
  std::fill(c.floats.begin(), c.floats.end(), 0);
  run(teeny::record<float>(kernels::MatMulDescriptor{.BM = 8, .BN = 8, .BK = 8}), {&a, &bt, &c}, {m, n, k}, 3, 3);
  expect_near(c.floats, expected, 1e-4);
}

TEST(Kernels, Attention) {
  const int heads = 2, seq = 13, head = 8;
  const std::size_t size = heads * seq * head;
  Memory q = floats(size, 18), k = floats(size, 19), v = floats(size, 20), out(DType::f32, size),
         lse(DType::f32, heads * seq);
  for (const bool causal : {false, true}) {
    run(teeny::record<float>(kernels::Attention{.BM = 8, .BN = 4, .HEAD = head, .CAUSAL = causal}),
        {&q, &k, &v, &out, &lse}, {seq, 0.25}, 2, heads);
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < seq; ++i) {
        std::vector<double> scores;
        for (int j = 0; j < (causal ? i + 1 : seq); ++j) {
          double s = 0;
          for (int d = 0; d < head; ++d) s += q.floats[(h * seq + i) * head + d] * k.floats[(h * seq + j) * head + d];
          scores.push_back(s * 0.25);
        }
        const std::vector<double> p = softmax(scores.data(), static_cast<int>(scores.size()), false);
        std::vector<double> expected(head, 0);
        for (std::size_t j = 0; j < p.size(); ++j)
          for (int d = 0; d < head; ++d) expected[d] += p[j] * v.floats[(h * seq + static_cast<int>(j)) * head + d];
        expect_near(out.floats, expected, 1e-4, (h * seq + i) * head);
      }
  }
}

TEST(Kernels, DropoutIsPhilox) {
  const int n = 100;
  Memory x = floats(n, 21), y(DType::f32, n);
  const std::uint64_t seed = 0x123456789;
  run(teeny::record<float>(kernels::Dropout{.BLOCK = 64}), {&x, &y}, {n, 0.25, static_cast<double>(seed)}, 2);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint32_t c[4] = {i, 0, 0, 0},
                  k[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
      const std::uint32_t next[4] = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
                                     static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1],
                                     static_cast<std::uint32_t>(p0)};
      std::copy(next, next + 4, c);
      k[0] += 0x9E3779B9, k[1] += 0xBB67AE85;
    }
    const auto word = static_cast<std::int32_t>(c[0]);
    const float u = static_cast<float>(word < 0 ? ~word : word) * 4.6566127342e-10f;
    EXPECT_NEAR(y.floats[i], u > 0.25f ? x.floats[i] / 0.75 : 0, 1e-5) << i;
  }
}

TEST(Kernels, HistogramRotaryAndInt4) {
  Memory x = integers(200, 22, DType::u8, 0, 9), bins(DType::i32, 10);
  run(teeny::record(kernels::Histogram{.BLOCK = 64}), {&x, &bins}, {200}, 4);
  for (int v = 0; v < 10; ++v) EXPECT_EQ(bins.integers[v], std::count(x.integers.begin(), x.integers.end(), v));

  Memory r = floats(64, 23), before = r, cos = floats(32, 24), sin = floats(32, 25);
  run(teeny::record<float>(kernels::Rotary{.HALF = 16}), {&r, &cos, &sin}, {32}, 2);
  for (int i = 0; i < 32; ++i) {
    const double a = before.floats[i / 16 * 32 + i % 16], b = before.floats[i / 16 * 32 + 16 + i % 16];
    EXPECT_NEAR(r.floats[i / 16 * 32 + i % 16], a * cos.floats[i] - b * sin.floats[i], 1e-5);
    EXPECT_NEAR(r.floats[i / 16 * 32 + 16 + i % 16], b * cos.floats[i] + a * sin.floats[i], 1e-5);
  }

  const int m = 5, n = 8, k = 16;
  Memory a = floats(m * k, 26, DType::f16), scale(DType::f16, n), c(DType::f16, m * n), q(DType::i32, k / 8 * n);
  std::fill(scale.floats.begin(), scale.floats.end(), 0.5);
  std::mt19937 random(27);
  for (std::int64_t& word : q.integers) word = static_cast<std::int32_t>(random());
  run(teeny::record(kernels::Int4MatMul{.BM = 8, .BN = 8, .BK = 16}), {&a, &q, &scale, &c}, {m, n, k});
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int p = 0; p < k; ++p)
        sum += a.floats[i * k + p] * 0.5 * ((q.integers[p / 8 * n + j] >> (p % 8 * 4) & 15) - 8);
      EXPECT_NEAR(c.floats[i * n + j], sum, 0.02 * (1 + std::abs(sum)));
    }
}

TEST(Kernels, ShapesReductionsAndAtomics) {
  Memory x = floats(32, 28), y(DType::f32, 160);
  run(teeny::record(kernels::EveryShape{}), {&x, &y}, {});
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 8; ++c) {
      EXPECT_EQ(y.floats[c * 4 + r], x.floats[r * 8 + c]);
      EXPECT_EQ(y.floats[32 + r * 8 + c], x.floats[r * 8 + c]);
      EXPECT_EQ(y.floats[64 + r * 8 + c], c);
      EXPECT_EQ(y.floats[96 + r * 8 + c], 1.5);
      EXPECT_EQ(y.floats[128 + r * 8 + c], x.floats[r * 8 + c]);
    }
  Memory folded(DType::f32, 160), where(DType::i32, 14);
  run(teeny::record(kernels::EveryReduction{}), {&x, &folded, &where}, {});
  const auto largest = std::max_element(x.floats.begin(), x.floats.end()),
             smallest = std::min_element(x.floats.begin(), x.floats.end());
  EXPECT_NEAR(folded.floats[0], std::accumulate(x.floats.begin(), x.floats.end(), 0.0), 1e-4);
  EXPECT_EQ(folded.floats[1], *largest);
  EXPECT_EQ(folded.floats[2], *smallest);
  EXPECT_EQ(where.integers[0], largest - x.floats.begin());
  EXPECT_EQ(where.integers[1], smallest - x.floats.begin());
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(where.integers[2 + r], std::max_element(&x.floats[r * 8], &x.floats[r * 8] + 8) - &x.floats[r * 8]);
  for (int c = 0; c < 8; ++c) {
    double sum = 0, product = 1, running = 0;
    for (int r = 0; r < 4; ++r) sum += x.floats[r * 8 + c], product *= x.floats[r * 8 + c];
    EXPECT_NEAR(folded.floats[3 + c], sum, 1e-5);
    EXPECT_NEAR(folded.floats[15 + c], product, 1e-5);
    for (int r = 3; r >= 0; --r) EXPECT_NEAR(folded.floats[64 + 32 + r * 8 + c], running += x.floats[r * 8 + c], 1e-5);
  }
  Memory cells(DType::i32, 8), old(DType::i32, 8);
  cells.integers = {1, 2, 3, 10, 12, 5, 4, 0};
  run(teeny::record(kernels::EveryAtomic{}), {&cells, &old}, {});
  EXPECT_EQ(cells.integers, (std::vector<std::int64_t>{6, 7, -7, 8, 15, 3, 9, 1}));
  EXPECT_EQ(old.integers, (std::vector<std::int64_t>{1, 2, 3, 10, 12, 5, 4, 0}));
}

TEST(Kernels, EveryFunctionMeansItsName) {
  const int n = 16;
  Memory x(DType::f64, n), y(DType::f64, kernels::EveryFloatFunction::functions * n);
  for (int i = 0; i < n; ++i) x.floats[i] = 0.125 + 0.25 * i;
  run(teeny::record<double>(kernels::EveryFloatFunction{.BLOCK = n}), {&x, &y}, {});
  for (int i = 0; i < n; ++i) {
    const double v = x.floats[i], w = x.floats[n - 1 - i];
    const double expected[] = {std::exp(v),
                               std::exp2(v),
                               std::log(v),
                               std::log2(v),
                               std::sqrt(v),
                               1 / std::sqrt(v),
                               std::sin(v),
                               std::cos(v),
                               std::erf(v),
                               std::tanh(v),
                               1 / (1 + std::exp(-v)),
                               std::floor(v),
                               std::ceil(v),
                               v,
                               -v,
                               v + w,
                               v - w,
                               v * w,
                               v / w,
                               std::fmod(v, w),
                               std::min(v, w),
                               std::max(v, w),
                               std::min(v, w),
                               std::max(v, w),
                               v * w + 1,
                               std::min(v, 1.0),
                               std::min(v, w),
                               v < w ? v : w,
                               v <= w ? 1 : w,
                               v >= w ? v : 0,
                               v >= w ? v : std::numeric_limits<double>::infinity()};
    static_assert(std::size(expected) == kernels::EveryFloatFunction::functions);
    for (std::size_t f = 0; f < std::size(expected); ++f)
      EXPECT_DOUBLE_EQ(y.floats[f * n + i], expected[f]) << "function " << f;
  }
  Memory a = integers(n, 29, DType::i32, -50, 50), b(DType::i32, kernels::EveryIntegerFunction::functions * n);
  run(teeny::record<std::int32_t>(kernels::EveryIntegerFunction{.BLOCK = n}), {&a, &b}, {});
  for (int i = 0; i < n; ++i) {
    const std::int64_t v = a.integers[i], w = a.integers[n - 1 - i];
    const auto divided = [](std::int64_t p, std::int64_t q) { return q == 0 ? 0 : p / q; };
    const std::int64_t expected[] = {
        v + w,
        v - w,
        v * w,
        divided(v, w),
        w == 0 ? 0 : v % w,
        v & w,
        v | w,
        v ^ w,
        v << (w & 3),
        v >> (w & 3),
        ~v,
        -v,
        std::abs(v),
        std::min(v, w),
        std::max(v, w),
        divided(v + w - 1, w),
        v < w ? v : w,
        v >= w ? v : 1,
        static_cast<std::int32_t>(
            static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)) * static_cast<std::uint32_t>(w) >> 32)};
    static_assert(std::size(expected) == kernels::EveryIntegerFunction::functions);
    for (std::size_t f = 0; f < std::size(expected); ++f)
      EXPECT_EQ(b.integers[f * n + i], expected[f]) << "function " << f << " of " << v << ", " << w;
  }
}

TEST(Kernels, VariablesOfEveryKind) {
  const int n = 5;
  Memory x = floats(n * n, 30), out(DType::f32, 10);
  run(teeny::record(kernels::Statistics{}), {&x, &out}, {n});
  double mean = 0, m2 = 0, array[2] = {0, 1}, v[3] = {0, 1.5, 2}, y = 0;
  for (int i = 0; i < n; ++i) {
    const double xi = x.floats[i], d = xi - mean;
    mean += d / (i + 1), m2 += d * (xi - mean);
    for (double& e : array) e += xi;
    v[1] *= xi, std::swap(v[0], v[2]), y += array[1];
  }
  expect_near(out.floats, {mean, m2, 0, array[0], array[1], v[0], v[1], v[2], y, y + 1}, 1e-5);

  run(teeny::record(kernels::Nested{}), {&x, &out}, {n});
  double acc = 0, keep = 0;
  int count = 0;
  for (int i = 0; i < n; ++i) {
    const double before = acc;
    for (int j = 0; j < i; ++j) {
      const double e = x.floats[i * n + j];
      if (e > 0) acc += e, ++count;
      else if (e < -1) acc -= e;
    }
    keep = before;
    while (acc > 100) acc /= 2;
  }
  expect_near(out.floats, {acc, keep, 0, static_cast<double>(count), acc + acc * 0 + acc * 2}, 1e-5);

  Memory rows = floats(150, 31), kept(DType::f32, 150);
  for (int i = 64; i < 128; ++i) rows.floats[i] = -1;  // the second program returns
  run(teeny::record(kernels::EarlyReturn{}), {&rows, &kept}, {150}, 4);
  for (int i = 0; i < 150; ++i) EXPECT_EQ(kept.floats[i], i >= 64 && i < 128 ? 0 : rows.floats[i]) << i;
}

}  // namespace
