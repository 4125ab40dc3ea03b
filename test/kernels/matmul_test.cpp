// The library's matrix products, whole and with a depth that several programs share, beside float64 references.
#include "kernels/matmul.hpp"

#include "library_kernels.hpp"

namespace teeny {
namespace {

struct Size {
  int m, n, k;
};

template <class D>
Reals product(const Size& size, const std::vector<D>& a, const std::vector<D>& b, const std::vector<D>& bias) {
  Reals c(std::size_t(size.m) * size.n);
  for (int i = 0; i < size.m; ++i)
    for (int j = 0; j < size.n; ++j) {
      double sum = float(bias[j]);
      for (int l = 0; l < size.k; ++l) sum += double(float(a[std::size_t(i) * size.k + l])) * float(b[std::size_t(l) * size.n + j]);
      c[std::size_t(i) * size.n + j] = sum;
    }
  return c;
}

class LibraryMatMul : public ::testing::TestWithParam<std::string> {
 protected:
  template <class D>
  void check(const Size& size, const kernels::SplitMatMul<>& kernel, int split, double bound) {
    const auto [m, n, k] = size;
    const auto a = numbers<D>(std::size_t(m) * k, 1), b = numbers<D>(std::size_t(k) * n, 2), bias = numbers<D>(n, 3);
    const Reals expected = product(size, a, b, bias);
    const Device device = Device::open(GetParam());
    const std::int64_t columns = (n + kernel.BN - 1) / kernel.BN, rows = (m + kernel.BM - 1) / kernel.BM;
    auto on_a = device.upload(a), on_b = device.upload(b), on_bias = device.upload(bias);
    auto c = device.upload(std::vector<D>(expected.size(), D(99.0f)));
    launch(device, {columns, rows}, kernels::MatMul<>{.BM = kernel.BM, .BN = kernel.BN, .BK = kernel.BK, .BIAS = true}, on_a, on_b,
           on_bias, c, m, n, k, k, n, n);
    EXPECT_LE(relative_error(reals(c.download()), expected), bound) << m << " x " << n << " x " << k;
    auto partials = device.upload(std::vector<float>(expected.size() * split));
    auto arrived = device.upload(std::vector<std::int32_t>(columns * rows));
    for (int launches = 0; launches < 2; ++launches) {  // the second one finds the counts as the first one left them
      c.upload(std::vector<D>(expected.size(), D(99.0f)));
      launch(device, {columns, rows, split}, kernel, on_a, on_b, on_bias, c, partials, arrived, m, n, k, k, n, n);
      EXPECT_LE(relative_error(reals(c.download()), expected), bound) << m << " x " << n << " x " << k << " by " << split;
    }
    EXPECT_EQ(arrived.download(), std::vector<std::int32_t>(columns * rows));
  }
};

// The result's rounding (2^-25, 2^-12, 2^-9 of each) and that of sums in f32.
constexpr double of_f32 = 1e-6, of_f16 = 4e-4, of_bf16 = 3e-3;

TEST_P(LibraryMatMul, OddSizes) {
  for (const Size& size : {Size{1, 70, 300}, Size{33, 17, 65}, Size{64, 64, 256}, Size{5, 128, 1}})
    for (int split : {1, 3, 8}) {
      check<float>(size, {.BM = 16, .BN = 32, .BK = 32, .BIAS = true}, split, of_f32);
      check<half>(size, {.BM = 16, .BN = 64, .BK = 32, .BIAS = true}, split, of_f16);
    }
}

TEST_P(LibraryMatMul, BlocksOfLargeUnits) {
  check<bfloat16>({64, 128, 512}, {.BM = 64, .BN = 64, .BK = 64, .BIAS = true}, 2, of_bf16);
  check<half>({130, 64, 320}, {.BM = 64, .BN = 32, .BK = 64, .BIAS = true}, 4, of_f16);
}

TEST(SplitOfProducts, FillsADevice) {
  EXPECT_EQ(kernels::split_of(64, 132, 512, 64), 1) << "eight turns are not shared";
  EXPECT_EQ(kernels::split_of(64, 132, 1024, 64), 2);
  EXPECT_EQ(kernels::split_of(128, 132, 8192, 64), 1);
  EXPECT_EQ(kernels::split_of(1, 132, 1 << 20, 64), 128);
  EXPECT_EQ(kernels::split_of(1, 2, 64, 64), 1);
}

INSTANTIATE_TEST_SUITE_P(devices, LibraryMatMul, ::testing::ValuesIn(kernel_devices()), name_of_device);

}  // namespace
}  // namespace teeny
