// Matrix products with their values written down.
#include "conformance/layout.hpp"
#include "fixture.hpp"

namespace teeny::cases {
namespace {

using conformance::row_major;
using conformance::store_rows;
using Dot = Cases;
TEENY_ON_EACH_DEVICE(Dot);

// A[i, k] = i - 2k and B[k, j] = k + 3j, each stored as it is or transposed.
struct Formula {
  int M = 16, N = 16, K = 16;
  bool A_BY_STRIDES = false, A_IN_REGISTERS = false, B_BY_STRIDES = false, B_IN_REGISTERS = false;
  int START = 0;
  tl::Precision precision = tl::Precision::ieee;
  template <class D, class C>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<C> c) const {
    auto operand = [](tl::Ptr<const D> p, int rows, int columns, bool strides, bool registers) {
      auto r = tl::arange(0, rows), q = tl::arange(0, columns);
      if (registers) return tl::trans(tl::load(p + q(tl::all, tl::none) * rows + r(tl::none, tl::all)));
      if (strides) return tl::load(p + r(tl::all, tl::none) + q(tl::none, tl::all) * rows);
      return tl::load(p + r(tl::all, tl::none) * columns + q(tl::none, tl::all));
    };
    auto acc = tl::full<C>({M, N}, START);
    store_rows(c, tl::dot(operand(a, M, K, A_BY_STRIDES, A_IN_REGISTERS),
                          operand(b, K, N, B_BY_STRIDES, B_IN_REGISTERS), acc, {.precision = precision}));
  }
};

TEST_P(Dot, DOT_1_shapes_and_transposed_operands) {
  auto run = [&]<class D, class C>(std::type_identity<D>, std::type_identity<C>, Formula k) {
    Host<D> a(k.M * k.K), b(k.K * k.N);
    const bool at = k.A_BY_STRIDES || k.A_IN_REGISTERS, bt = k.B_BY_STRIDES || k.B_IN_REGISTERS;
    for (int i = 0; i < k.M; ++i)
      for (int l = 0; l < k.K; ++l) a[at ? l * k.M + i : i * k.K + l] = D(i - 2 * l);
    for (int l = 0; l < k.K; ++l)
      for (int j = 0; j < k.N; ++j) b[bt ? j * k.K + l : l * k.N + j] = D(l + 3 * j);
    auto c = blank<C>(device, k.M * k.N);
    launch(device, {1}, k, in<D>(a), in<D>(b), c);
    const Host<C> got = download(c);
    const int K = k.K, s1 = K * (K - 1) / 2, s2 = (K - 1) * K * (2 * K - 1) / 6;
    for (int i = 0; i < k.M; ++i)
      for (int j = 0; j < k.N; ++j)
        ASSERT_EQ(got[i * k.N + j], C(i * s1 + 3 * i * j * K - 2 * s2 - 6 * j * s1 + k.START))
            << K << " at " << i << ", " << j;
  };
  const std::type_identity<float> f32;
  for (int K : {1, 2, 4, 8, 16, 32, 64}) {
    run(f32, f32, {.K = K});
    run(f32, f32, {.K = K, .precision = tl::Precision::fast});
    run(f32, f32, {.K = K, .precision = tl::Precision::fast_x3});
    run(std::type_identity<half>{}, f32, {.K = K, .B_IN_REGISTERS = true});
    run(std::type_identity<bfloat16>{}, f32, {.K = K, .A_BY_STRIDES = true});
    run(std::type_identity<double>{}, std::type_identity<double>{}, {.K = K});
    run(std::type_identity<std::int8_t>{}, std::type_identity<std::int32_t>{}, {.K = K});
    run(f32, f32, {.K = K, .A_BY_STRIDES = true});
    run(f32, f32, {.K = K, .B_BY_STRIDES = true});
    run(f32, f32, {.K = K, .A_IN_REGISTERS = true, .B_IN_REGISTERS = true});
    run(f32, f32, {.K = K, .A_BY_STRIDES = true, .B_BY_STRIDES = true, .START = 1000});
  }
  run(f32, f32, {.M = 32, .N = 64, .K = 16});
  run(std::type_identity<std::int8_t>{}, std::type_identity<std::int32_t>{},
      {.A_BY_STRIDES = true, .B_IN_REGISTERS = true, .START = 1000});
}

// c = a b, in chunks of 64 along K.
struct Bytes {
  int K = 64;
  void operator()(tl::Ptr<const std::int8_t> a, tl::Ptr<const std::int8_t> b, tl::Ptr<std::int32_t> c) const {
    auto r = tl::arange(0, 16), k = tl::arange(0, K);
    auto acc = tl::zeros<std::int32_t>({16, 16});
    auto av = tl::load(a + r(tl::all, tl::none) * K + k(tl::none, tl::all)),
         bv = tl::load(b + k(tl::all, tl::none) * 16 + r(tl::none, tl::all));
    acc = tl::dot(av, bv, acc);
    store_rows(c, acc);
    store_rows(c + 256, tl::dot(av, bv, acc));
  }
};

TEST_P(Dot, DOT_2_bytes_are_summed_in_32_bits) {
  auto run = [&](const Host<std::int8_t>& a, const Host<std::int8_t>& b) {
    auto c = blank<std::int32_t>(device, 512);
    launch(device, {1}, Bytes{}, in<std::int8_t>(a), in<std::int8_t>(b), c);
    return download(c);
  };
  Host<std::int8_t> a(16 * 64), b(64 * 16);
  a[0] = -44, a[1] = -20, a[64] = -126, a[65] = 6;
  b[0] = 24, b[1] = -75, b[16] = 127, b[17] = -101;
  Host<std::int32_t> c = run(a, b);
  EXPECT_EQ(c[0], -3596);
  EXPECT_EQ(c[1], 5320);
  EXPECT_EQ(c[16], -2262);
  EXPECT_EQ(c[17], 8844);
  EXPECT_EQ(c[2], 0);
  EXPECT_EQ(c[256], -7192);
  c = run(Host<std::int8_t>(16 * 64, -128), Host<std::int8_t>(64 * 16, -128));
  EXPECT_EQ(c[0], 1048576);
  EXPECT_EQ(c[255], 1048576);
  EXPECT_EQ(c[511], 2097152);
  c = run(Host<std::int8_t>(16 * 64, -128), Host<std::int8_t>(64 * 16, 127));
  EXPECT_EQ(c[100], -1040384);
}

TEST_P(Dot, DOT_3_precision_is_what_was_said) {
  auto run = [&]<class D, class C>(std::type_identity<D>, std::type_identity<C>, D x, D y, tl::Precision precision) {
    auto c = blank<C>(device, 256);
    launch(device, {1}, Formula{.precision = precision}, in<D>(Host<D>(256, x)), in<D>(Host<D>(256, y)), c);
    for (int i = 1; i < 256; ++i) EXPECT_EQ(bits(c)[i], bits(c)[0]);
    return bits(c)[0];
  };
  const std::type_identity<float> f32;
  EXPECT_EQ(run(f32, f32, std::bit_cast<float>(0x3F800800u), 1.0f, tl::Precision::ieee), 0x41800800u);
  EXPECT_EQ(run(f32, f32, std::bit_cast<float>(0x3F800800u), 1.0f, tl::Precision::fast), 0x41800000u);
  EXPECT_EQ(run(std::type_identity<double>{}, std::type_identity<double>{}, 1 + 0x1p-40, 1.0, tl::Precision::ieee),
            0x4030000000001000u);
  EXPECT_EQ(run(std::type_identity<half>{}, f32, half(1 + 0x1p-10), half(1 + 0x1p-10), tl::Precision::ieee),
            0x41804008u);
}

struct Tail {
  template <class D>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<float> c, tl::i32 k, tl::i32 pitch) const {
    auto r = tl::arange(0, 16);
    auto acc = tl::zeros<float>({16, 16});
    for (auto k0 : tl::range(0, k, 16)) {
      auto kk = k0 + r;
      auto av = tl::load(a + r(tl::all, tl::none) * pitch + kk(tl::none, tl::all),
                         {.mask = kk(tl::none, tl::all) < k, .other = 0});
      auto bv = tl::load(b + kk(tl::all, tl::none) * 16 + r(tl::none, tl::all),
                         {.mask = kk(tl::all, tl::none) < k, .other = 0});
      acc = tl::dot(av, bv, acc, {.precision = tl::Precision::ieee});
    }
    store_rows(c, acc);
  }
};

TEST_P(Dot, DOT_4_tails_and_padding_rows) {
  conformance::for_each_type(Types<float, half, bfloat16>{}, [&]<class D> {
    Host<D> a(16 * 48, D(NAN)), b(48 * 16, D(NAN));
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < 37; ++k) {
        a[i * 48 + k] = D(i - 2 * k);
        b[k * 16 + i] = D(k + 3 * i);
      }
    auto c = blank<float>(device, 256);
    launch(device, {1}, Tail{}, in<D>(a), in<D>(b), c, 37, 48);
    const Host<float> got = download(c);
    EXPECT_EQ(got[0], -32412);
    EXPECT_EQ(got[2 * 16 + 5], -49950);
    EXPECT_EQ(got[255], -57387);
  });
  auto rows = blank<bfloat16>(device, 256);
  launch(
      device, {1},
      [](tl::Ptr<const float> a, tl::Ptr<const float> b, tl::Ptr<bfloat16> c) {
        auto r = tl::arange(0, 16);
        auto av = tl::load(a + r(tl::all, tl::none) * 16 + r(tl::none, tl::all),
                           {.mask = r(tl::all, tl::none) < 3, .other = 0});
        store_rows(c, tl::cast<bfloat16>(
                          tl::dot(av, tl::load(b + row_major<2>({16, 16})), {.precision = tl::Precision::ieee})));
      },
      in<float>(Host<float>(48, 1)), in<float>(Host<float>(256, 1)), rows);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(bits(rows)[i], i < 48 ? 0x4180 : 0) << i;
}

}  // namespace
}  // namespace teeny::cases
