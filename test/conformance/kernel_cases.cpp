// Whole kernels of the suite at sizes that leave tails.
#include "kernels/elementwise.hpp"
#include "kernels/matrix.hpp"
#include "kernels/rows.hpp"
#include "kernels/variables.hpp"
#include "layout.hpp"

namespace teeny::conformance {

namespace {

// Ordinary numbers: no infinities, no NaN.
template <class D>
Host<D> ordinary(std::size_t count, unsigned seed, double scale = 1) {
  Host<D> list;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    list.push_back(D((static_cast<double>(state >> 33) * 0x1p-30 - 1) * scale));
  }
  return list;
}

template <class D>
Buffer<D> input(const Device& device, std::size_t count, unsigned seed, double scale = 1) {
  return upload<D>(device, ordinary<D>(count, seed, scale));
}

template <class D>
void elementwise(const Device& device, Verdict& verdict) {
  const int n = 5000;
  const Buffer<D> x = input<D>(device, n, 1), y = input<D>(device, n, 2);
  Buffer<D> out = blank<D>(device, n + 8);
  expect_same(verdict, device, {5}, kernels::VectorAdd{}, x, y, out, n);
  expect_same(verdict, device, {50}, kernels::VectorAdd{.BLOCK = 100}, x, y, out, n);
  expect_same(verdict, device, {5}, kernels::Dropout{}, x, out, n, 0.3f, std::uint64_t{1234567890123});
}

void maps(const Device& device, Verdict& verdict) {
  Buffer<float> x = input<float>(device, 640, 3);
  expect_same(verdict, device, {10}, kernels::Map{.BLOCK = 64, .f = [](auto v) { return v * 2; }}, x);
  expect_same(verdict, device, {10}, kernels::Map{.BLOCK = 64, .f = kernels::Gelu{}}, x);
}

template <class D>
void rotary(const Device& device, Verdict& verdict) {
  Buffer<D> x = input<D>(device, 20 * 80, 4);
  const Buffer<float> c = input<float>(device, 20 * 32, 5), s = input<float>(device, 20 * 32, 6);
  expect_same(verdict, device, {20}, kernels::Rotary{}, x, c, s, 80);
  expect_same(verdict, device, {20}, kernels::Rotary{.BACKWARD = true}, x, c, s, 80);
}

void histogram(const Device& device, Verdict& verdict) {
  const Buffer<std::uint8_t> x = upload<std::uint8_t>(device, values<std::uint8_t>(5000, 7));
  Buffer<std::int32_t> bins = upload<std::int32_t>(device, Host<std::int32_t>(256));
  expect_same(verdict, device, {5}, kernels::Histogram{}, x, bins, 5000);
}

template <class D>
void softmax(const Device& device, Verdict& verdict) {
  const int rows = 13, columns = 700;
  const Buffer<D> x = input<D>(device, rows * columns, 8, 4);
  Buffer<D> y = blank<D>(device, rows * columns);
  expect_same(verdict, device, {rows}, kernels::Softmax{}, x, y, columns);
  expect_same(verdict, device, {4}, kernels::SoftmaxPersistent{}, y, x, columns, columns, rows, columns);
  expect_same(verdict, device, {4}, kernels::SoftmaxTile{}, y, x, rows, 200);
  expect_same(verdict, device, {4}, kernels::SoftmaxTile{.LOG = true}, y, x, rows, 200);
}

template <class D>
void layer_norm(const Device& device, Verdict& verdict) {
  const int rows = 9, columns = 1500;
  const Buffer<D> x = input<D>(device, rows * columns, 9), w = input<D>(device, columns, 10),
                  b = input<D>(device, columns, 11), dy = input<D>(device, rows * columns, 12);
  Buffer<D> y = blank<D>(device, rows * columns);
  Buffer<float> mean = blank<float>(device, rows), rstd = blank<float>(device, rows);
  expect_same(verdict, device, {rows}, kernels::LayerNorm{.BLOCK = 512}, x, y, w, b, mean, rstd, columns, columns,
              1e-5f);
  // At most two rows a lock: a sum of two does not depend on which row comes first.
  constexpr int groups = (rows + 1) / 2;
  Buffer<float> dw = blank<float>(device, groups * columns), db = blank<float>(device, groups * columns);
  Buffer<std::int32_t> locks = upload<std::int32_t>(device, Host<std::int32_t>(2 * groups));
  expect_same(verdict, device, {rows}, kernels::LayerNormBackward{.GROUP = groups, .BLOCK = 2048}, y, dy, dw, db, x, w, mean,
              rstd, locks, columns, columns);
}

template <class D>
void rows(const Device& device, Verdict& verdict) {
  const int count = 11, columns = 333;
  const Buffer<D> x = input<D>(device, count * columns, 13, 3);
  Host<std::int64_t> targets;
  for (int i = 0; i < count; ++i) targets.push_back(i % 4 == 3 ? -1 : i * 29 % columns);
  const Buffer<std::int64_t> target = upload<std::int64_t>(device, targets);
  Buffer<float> loss = blank<float>(device, count), best = blank<float>(device, count * 4);
  Buffer<std::int32_t> at = blank<std::int32_t>(device, count * 4);
  expect_same(verdict, device, {count}, kernels::CrossEntropy{}, x, target, loss, columns);
  expect_same(verdict, device, {count}, kernels::TopK{.BLOCK = 512}, x, best, at, columns);
}

void scans(const Device& device, Verdict& verdict) {
  const Buffer<float> a = input<float>(device, 1000, 14), b = input<float>(device, 1000, 15);
  Buffer<float> h = blank<float>(device, 1000), sums = blank<float>(device, 64);
  expect_same(verdict, device, {1}, kernels::LinearRecurrence{}, a, b, h, 1000);
  Buffer<std::int32_t> largest = blank<std::int32_t>(device, 8), smallest = blank<std::int32_t>(device, 8);
  expect_same(verdict, device, {1}, kernels::ArgExtremes{}, a, largest, smallest, sums);
}

template <class D, class C, class Epilogue>
void product(const Device& device, Verdict& verdict, const kernels::MatMul<Epilogue>& kernel, bool whole) {
  for (const auto& [m, n, k] : {std::array{100, 70, 90}, std::array{128, 128, 64}, std::array{1, 257, 33}}) {
    const Buffer<D> a = whole ? upload<D>(device, whole_numbers<D>(m * k, 16, 3)) : input<D>(device, m * k, 16);
    const Buffer<D> b = whole ? upload<D>(device, whole_numbers<D>(k * n, 17, 3)) : input<D>(device, k * n, 17);
    Buffer<C> c = blank<C>(device, m * n);
    const int programs = ((m + kernel.BM - 1) / kernel.BM) * ((n + kernel.BN - 1) / kernel.BN);
    expect_same(verdict, device, {programs}, kernel, a, b, c, m, n, k, k, n, n);
  }
}

void products(const Device& device, Verdict& verdict) {
  product<float, float>(device, verdict, kernels::MatMul<>{.BM = 64, .BN = 64}, false);
  product<bfloat16, float>(device, verdict, kernels::MatMul<>{}, false);
  product<half, half>(device, verdict, kernels::MatMul<kernels::Gelu>{.BM = 32, .BN = 64}, false);
  product<float, float>(device, verdict,
                        kernels::MatMul<kernels::Relu>{.BM = 64, .BN = 32, .PRECISION = tl::Precision::fast}, false);
  product<std::int8_t, std::int32_t>(device, verdict, kernels::MatMul<>{}, true);
}

// Blocks and strides that units which read shared memory themselves take: in rings of copies, for 128, 64 and 32 bytes of
// swizzle, with operands along the depth and across it, and with one product's result in another.
template <class D>
void wide_products(const Device& device, Verdict& verdict) {
  const int m = 128, n = 256, k = 192;
  const Buffer<D> a = input<D>(device, m * k, 30), b = input<D>(device, k * n, 31), turned = input<D>(device, n * k, 32);
  Buffer<float> c = blank<float>(device, m * n);
  for (const auto& [rows, columns, depth, stages] : {std::array{128, 128, 64, 4}, std::array{64, 256, 32, 3},
                                                     std::array{64, 32, 64, 2}, std::array{64, 16, 16, 5}}) {
    const kernels::MatMul<> kernel{.BM = rows, .BN = columns, .BK = depth, .STAGES = stages};
    expect_same(verdict, device, {m / rows * (n / columns)}, kernel, a, b, c, m, n, k, k, n, n);
  }
  expect_same(verdict, device, {2, 4}, kernels::MatMulDescriptor{.BK = 64}, a, turned, c, m, n, k);
}

// One product's result in another, which runs beside the next turn: no turn, one, two and many of them, whole blocks and parts.
template <class D>
void wide_attention(const Device& device, Verdict& verdict) {
  const int heads = 1, head = 64;
  for (int sequence : {32, 64, 256, 200}) {
    const Buffer<D> q = input<D>(device, heads * sequence * head, 33), key = input<D>(device, heads * sequence * head, 34),
                    v = input<D>(device, heads * sequence * head, 35);
    Buffer<D> out = blank<D>(device, heads * sequence * head);
    Buffer<float> lse = blank<float>(device, heads * sequence);
    for (bool causal : {false, true})
      expect_same(verdict, device, {(sequence + 63) / 64, heads},
                  kernels::Attention{.BM = 64, .BN = 32, .HEAD = head, .CAUSAL = causal}, q, key, v, out, lse, sequence, 0.17f);
  }
}

template <class D>
void descriptors(const Device& device, Verdict& verdict) {
  const int m = 100, n = 70, k = 90;
  const Buffer<D> a = input<D>(device, m * k, 18), b = input<D>(device, n * k, 19);
  Buffer<float> c = blank<float>(device, m * n);
  expect_same(verdict, device, {2, 2}, kernels::MatMulDescriptor{}, a, b, c, m, n, k);
}

void batch_and_int4(const Device& device, Verdict& verdict) {
  const Buffer<half> a = input<half>(device, 2 * 16 * 32, 20), b = input<half>(device, 2 * 32 * 16, 21);
  Buffer<float> c = blank<float>(device, 2 * 16 * 16);
  expect_same(verdict, device, {1}, kernels::BatchMatMul{}, a, b, c);
  const int m = 21, n = 128, k = 128;
  const Buffer<half> x = input<half>(device, m * k, 22), scale = input<half>(device, n, 23, 0.1);
  const Buffer<std::int32_t> packed = upload<std::int32_t>(device, values<std::int32_t>(k / 8 * n, 24));
  Buffer<half> y = blank<half>(device, m * n);
  expect_same(verdict, device, {2, 2}, kernels::Int4MatMul{}, x, packed, scale, y, m, n, k);
}

template <class D>
void attention(const Device& device, Verdict& verdict, bool causal) {
  const int heads = 2, sequence = 75, head = 32;
  const Buffer<D> q = input<D>(device, heads * sequence * head, 25), k = input<D>(device, heads * sequence * head, 26),
                  v = input<D>(device, heads * sequence * head, 27);
  Buffer<D> out = blank<D>(device, heads * sequence * head);
  Buffer<float> lse = blank<float>(device, heads * sequence);
  expect_same(verdict, device, {3, heads}, kernels::Attention{.BM = 32, .BN = 16, .HEAD = head, .CAUSAL = causal}, q, k,
              v, out, lse, sequence, 0.17f);
}

void variables(const Device& device, Verdict& verdict) {
  const Buffer<float> x = input<float>(device, 400, 28);
  Buffer<float> out = blank<float>(device, 1024);
  for (int n : {0, 1, 3, 17}) {
    expect_same(verdict, device, {1}, kernels::Statistics{}, x, out, n);
    expect_same(verdict, device, {1}, kernels::Nested{}, x, out, n);
  }
  expect_same(verdict, device, {16}, kernels::EarlyReturn{}, x, out, 384);
}

}  // namespace

void add_kernel_cases(Cases& cases) {
  cases.push_back({"kernel.elementwise.f32", elementwise<float>});
  cases.push_back({"kernel.elementwise.f16", elementwise<half>});
  cases.push_back({"kernel.elementwise.bf16", elementwise<bfloat16>});
  cases.push_back({"kernel.map", maps});
  cases.push_back({"kernel.rotary.f32", rotary<float>});
  cases.push_back({"kernel.rotary.bf16", rotary<bfloat16>});
  cases.push_back({"kernel.histogram", histogram});
  cases.push_back({"kernel.softmax.f32", softmax<float>});
  cases.push_back({"kernel.softmax.f16", softmax<half>});
  cases.push_back({"kernel.layer_norm.f32", layer_norm<float>});
  cases.push_back({"kernel.layer_norm.f16", layer_norm<half>});
  cases.push_back({"kernel.rows.bf16", rows<bfloat16>});
  cases.push_back({"kernel.scans", scans});
  cases.push_back({"kernel.products", products});
  cases.push_back({"kernel.wide_products.f16", wide_products<half>});
  cases.push_back({"kernel.wide_products.bf16", wide_products<bfloat16>});
  cases.push_back({"kernel.wide_attention.f16", wide_attention<half>});
  cases.push_back({"kernel.wide_attention.bf16", wide_attention<bfloat16>});
  cases.push_back({"kernel.descriptors.bf16", descriptors<bfloat16>});
  cases.push_back({"kernel.batch_and_int4", batch_and_int4});
  cases.push_back({"kernel.attention.f16",
                   [](const Device& device, Verdict& verdict) { attention<half>(device, verdict, false); }});
  cases.push_back({"kernel.attention.causal.f32",
                   [](const Device& device, Verdict& verdict) { attention<float>(device, verdict, true); }});
  cases.push_back({"kernel.variables", variables});
}

}  // namespace teeny::conformance
