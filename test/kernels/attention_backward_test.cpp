// The library's gradients of attention beside a float64 reference that holds the whole matrix of scores.
#include "kernels/attention_backward.hpp"

#include <cmath>
#include <vector>

#include "kernels/attention.hpp"
#include "library_kernels.hpp"

namespace teeny {
namespace {

struct Shape {
  int heads = 2, seq = 64, head = 32, block_m = 32, block_n = 32;
  bool causal = false;
  double scale() const { return 0.3; }
  std::size_t size() const { return std::size_t(heads) * std::size_t(seq) * std::size_t(head); }
};

struct Gradients {
  Reals q, k, v;
};

// softmax(scale q kᵀ) v and its gradients by the chain rule, one head after another.
Gradients reference(const Shape& shape, const Reals& q, const Reals& k, const Reals& v, const Reals& dout) {
  Gradients result{Reals(shape.size()), Reals(shape.size()), Reals(shape.size())};
  const auto n = std::size_t(shape.seq), d = std::size_t(shape.head);
  for (std::size_t head = 0; head < std::size_t(shape.heads); ++head)
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t keys = shape.causal ? i + 1 : n, row = (head * n + i) * d;
      Reals p(keys), dp(keys);
      double highest = -INFINITY, total = 0, mean = 0;
      const auto dot = [&](const Reals& a, const Reals& b, std::size_t j) {
        double sum = 0;
        for (std::size_t c = 0; c < d; ++c) sum += a[row + c] * b[(head * n + j) * d + c];
        return sum;
      };
      for (std::size_t j = 0; j < keys; ++j) highest = std::max(highest, p[j] = shape.scale() * dot(q, k, j));
      for (double& one : p) total += one = std::exp(one - highest);
      for (std::size_t j = 0; j < keys; ++j) mean += (p[j] /= total) * (dp[j] = dot(dout, v, j));
      for (std::size_t j = 0; j < keys; ++j)
        for (std::size_t c = 0; c < d; ++c) {
          const std::size_t column = (head * n + j) * d + c;
          const double ds = shape.scale() * p[j] * (dp[j] - mean);
          result.v[column] += p[j] * dout[row + c];
          result.q[row + c] += ds * k[column];
          result.k[column] += ds * q[row + c];
        }
    }
  return result;
}

class AttentionGradients : public ::testing::TestWithParam<std::string> {
 protected:
  // Of elements D; `bound`: of the error's norm beside the reference's.
  template <class D>
  void check(const Shape& shape, double bound) {
    const auto q = numbers<D>(shape.size(), 1), k = numbers<D>(shape.size(), 2), v = numbers<D>(shape.size(), 3),
               dout = numbers<D>(shape.size(), 4);
    const Device device = Device::open(GetParam());
    const std::int64_t rows = std::int64_t(shape.heads) * shape.seq;
    auto on_q = device.upload(q), on_k = device.upload(k), on_v = device.upload(v), on_dout = device.upload(dout);
    auto out = device.upload(std::vector<D>(shape.size())), dq = device.upload(std::vector<D>(shape.size(), D(99.0f)));
    auto dk = device.upload(std::vector<D>(shape.size(), D(99.0f))), dv = device.upload(std::vector<D>(shape.size(), D(99.0f)));
    auto lse = device.upload(std::vector<float>(std::size_t(rows))), delta = device.upload(std::vector<float>(std::size_t(rows)));
    const auto scale = float(shape.scale());
    const auto programs = [&](int block) { return Grid((shape.seq + block - 1) / block, shape.heads); };
    launch(device, programs(32), kernels::Attention{.BM = 32, .BN = 32, .HEAD = shape.head, .CAUSAL = shape.causal, .LSE = true},
           on_q, on_k, on_v, out, lse, shape.seq, scale);
    launch(device, programs(16), kernels::AttentionDelta{.BM = 16, .HEAD = shape.head}, out, on_dout, delta, shape.seq);
    launch(device, programs(shape.block_n),
           kernels::AttentionBackwardKeys{.BM = shape.block_m, .BN = shape.block_n, .HEAD = shape.head, .CAUSAL = shape.causal},
           on_q, on_k, on_v, on_dout, lse, delta, dk, dv, shape.seq, scale);
    launch(device, programs(shape.block_n),
           kernels::AttentionBackwardQueries{.BM = shape.block_n, .BN = shape.block_m, .HEAD = shape.head, .CAUSAL = shape.causal},
           on_q, on_k, on_v, on_dout, lse, delta, dq, shape.seq, scale);
    const Gradients expected = reference(shape, reals(q), reals(k), reals(v), reals(dout));
    EXPECT_LE(relative_error(reals(dq.download()), expected.q), bound) << "dq";
    EXPECT_LE(relative_error(reals(dk.download()), expected.k), bound) << "dk";
    EXPECT_LE(relative_error(reals(dv.download()), expected.v), bound) << "dv";
  }
};

// f32: rounding of sums of up to a few hundred terms; f16 and bf16: of the scores' gradients to the element type (2^-11
// and 2^-8 of each) and of the forward pass's result, which delta takes.
constexpr double of_f32 = 4e-6, of_f16 = 2e-3, of_bf16 = 1.6e-2;

TEST_P(AttentionGradients, FullAndCausal) {
  for (bool causal : {false, true}) {
    check<float>({.causal = causal}, of_f32);
    check<half>({.causal = causal}, of_f16);
    check<bfloat16>({.causal = causal}, of_bf16);
  }
}

TEST_P(AttentionGradients, SizesThatAreNoMultiplesOfBlocks) {
  for (int seq : {1, 31, 33, 75, 100})
    for (bool causal : {false, true}) {
      check<float>({.seq = seq, .causal = causal}, of_f32);
      check<half>({.seq = seq, .block_m = 16, .causal = causal}, of_f16);
    }
}

// Several turns of the loop that needs no masks, and the units of larger blocks.
TEST_P(AttentionGradients, ManyTurns) {
  for (bool causal : {false, true}) {
    check<half>({.heads = 1, .seq = 200, .head = 64, .block_m = 32, .block_n = 64, .causal = causal}, of_f16);
    check<bfloat16>({.heads = 1, .seq = 256, .head = 64, .block_m = 64, .block_n = 64, .causal = causal}, of_bf16);
  }
}

INSTANTIATE_TEST_SUITE_P(devices, AttentionGradients, ::testing::ValuesIn(kernel_devices()), name_of_device);

}  // namespace
}  // namespace teeny
