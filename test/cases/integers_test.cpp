// Division, overflow, narrow types, masks as numbers.
#include <numeric>

#include "fixture.hpp"

namespace teeny::cases {
namespace {

using Integers = Cases;
TEENY_ON_EACH_DEVICE(Integers);
constexpr std::int32_t low = INT32_MIN;

TEST_P(Integers, DIV_1_quotients_truncate) {
  const auto a = in<std::int32_t>({7, -7, 7, -7, 1, -1, -1, -513, low, low, 1, -6, 1000000, 65536, 0, -8});
  const auto b = in<std::int32_t>({2, 2, -2, -2, 512, 512, 2, 512, 2, low, low, low, low, low, -3, 3});
  EXPECT_EQ(map<std::int32_t>([](auto x, auto y) { return tl::div(x, y); }, a, b),
            (Host<std::int32_t>{3, -3, -3, 3, 0, 0, 0, -1, -1073741824, 1, 0, 0, 0, 0, 0, -2}));
  EXPECT_EQ(map<std::int32_t>([](auto x, auto y) { return x % y; }, a, b),
            (Host<std::int32_t>{1, -1, 1, -1, 1, -1, -1, -1, 0, 0, 1, -6, 1000000, 65536, 0, -2}));
}

TEST_P(Integers, DIV_1_constant_divisors) {
  const auto a = in<std::int32_t>({-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5});
  EXPECT_EQ(map<std::int32_t>([](auto x) { return tl::div(x, 2); }, a),
            (Host<std::int32_t>{-2, -2, -1, -1, 0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(map<std::int32_t>([](auto x) { return tl::div(x, 3); }, a),
            (Host<std::int32_t>{-1, -1, -1, 0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(map<std::int32_t>([](auto x) { return tl::div(x, -2); }, a),
            (Host<std::int32_t>{2, 2, 1, 1, 0, 0, 0, -1, -1, -2, -2}));
  EXPECT_EQ(map<std::int32_t>([](auto x) { return tl::div(x, 512); }, a), Host<std::int32_t>(11, 0));
}

TEST_P(Integers, DIV_2_remainders_of_negative_scalars) {
  const std::pair<int, Host<std::int32_t>> rows[] = {{2, {-1, 0, -1, 0, -1, 0, 1, 0, 1, 0, 1}},
                                                     {3, {-2, -1, 0, -2, -1, 0, 1, 2, 0, 1, 2}},
                                                     {-3, {-2, -1, 0, -2, -1, 0, 1, 2, 0, 1, 2}},
                                                     {7, {-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5}}};
  const auto loaded = in<std::int32_t>({-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5});
  for (const auto& [b, expected] : rows) {
    auto y = blank<std::int32_t>(device, 11), z = blank<std::int32_t>(device, 11);
    launch(
        device, {11},
        [](tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> y, tl::Ptr<std::int32_t> z, tl::i32 b) {
          auto p = tl::program_id(0);
          tl::store(y + p, (p - 5) % b);
          tl::store(z + p, tl::load(x + p) % b);
        },
        loaded, y, z, b);
    EXPECT_EQ(download(y), expected) << b;
    EXPECT_EQ(download(z), expected) << b;
  }
  EXPECT_EQ(map<std::int64_t>([](auto x, auto b) { return x % b; },
                              in<std::int64_t>({-1099511627777, -1099511627776, -1099511627775}),
                              in<std::int64_t>({3, 3, 3})),
            (Host<std::int64_t>{-2, -1, 0}));
}

auto ok(tl::Tensor<std::int32_t, 1> x, tl::Tensor<std::int32_t, 1> y) {
  return (y != 0) & ~((x == INT32_MIN) & (y == -1));
}

TEST_P(Integers, DIV_3_division_by_zero_and_overflow_do_not_trap) {
  const auto a = in<std::int32_t>({10, 20, 30, 40, low, 7, 0, -9}), b = in<std::int32_t>({2, 0, 5, 0, -1, 0, 0, 4});
  const Host<std::int32_t> quotients = {5, -1, 6, -1, -1, -1, -1, -2}, remainders = {0, -1, 0, -1, -1, -1, -1, -1};
  EXPECT_EQ(map<std::int32_t>([](auto x, auto y) { return tl::where(ok(x, y), tl::div(x, y), -1); }, a, b), quotients);
  EXPECT_EQ(map<std::int32_t>([](auto x, auto y) { return tl::where(ok(x, y), x % y, -1); }, a, b), remainders);
  auto q = blank<std::int32_t>(device, 8), r = blank<std::int32_t>(device, 8);
  launch(
      device, {1},
      [](tl::Ptr<const std::int32_t> a, tl::Ptr<const std::int32_t> b, tl::Ptr<std::int32_t> q,
         tl::Ptr<std::int32_t> r) {
        auto at = tl::arange(0, 8);
        auto x = tl::load(a + at), y = tl::load(b + at);
        tl::store(q + at, tl::where(ok(x, y), tl::div(x, y), -1));
        tl::store(r + at, tl::where(ok(x, y), x % y, -1));
      },
      a, b, q, r);
  EXPECT_EQ(download(q), quotients);
  EXPECT_EQ(download(r), remainders);
  auto masked = blank<std::int32_t>(device, 8);
  launch(
      device, {1},
      [](tl::Ptr<const std::int32_t> a, tl::Ptr<std::int32_t> q) {
        auto at = tl::arange(0, 8);
        auto mask = at < 5;
        tl::store(q + at,
                  tl::div(tl::load(a + at, {.mask = mask, .other = 0}), tl::load(a + at, {.mask = mask, .other = 0})),
                  {.mask = mask});
      },
      a, masked);
  EXPECT_EQ(download(masked), (Host<std::int32_t>{1, 1, 1, 1, 1, 0x5A5A5A5A, 0x5A5A5A5A, 0x5A5A5A5A}));
}

// Once in one expression, and once with the intermediate through memory.
struct Twice {
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::Ptr<D> z, tl::i32 distance) const {
    auto at = tl::program_id(0);
    auto d = tl::cast<D>(distance);
    tl::store(y + at, (tl::load(x + at) << d) >> d);
    tl::store(z + at, tl::load(x + at) << d);
    tl::store(z + at, tl::load(z + at) >> d);
  }
};

TEST_P(Integers, OVF_1_narrow_integers_stay_narrow) {
  Host<std::uint8_t> u(256), u_expected(256);
  Host<std::int8_t> s(256), s_expected(256);
  for (int i = 0; i < 256; ++i) {
    u[i] = i;
    u_expected[i] = i & 15;
    s[i] = static_cast<std::int8_t>(i - 128);
    s_expected[i] = static_cast<std::int8_t>((s[i] & 15) >= 8 ? (s[i] & 15) - 16 : (s[i] & 15));
  }
  auto y = blank<std::uint8_t>(device, 256), z = blank<std::uint8_t>(device, 256);
  launch(device, {256}, Twice{}, in<std::uint8_t>(u), y, z, 4);
  EXPECT_EQ(download(y), u_expected);
  EXPECT_EQ(download(z), u_expected);
  EXPECT_EQ(map<std::uint8_t>([](auto x) { return (x << 4) >> 4; }, in<std::uint8_t>(u)), u_expected);
  EXPECT_EQ(map<std::int8_t>([](auto x) { return (x << 4) >> 4; }, in<std::int8_t>(s)), s_expected);
  EXPECT_EQ(map<std::int16_t>([](auto x) { return (x << 12) >> 12; }, in<std::int16_t>({8, 7, -1})),
            (Host<std::int16_t>{-8, 7, -1}));
  EXPECT_EQ(map<std::uint8_t>([](auto x) { return -x; }, in<std::uint8_t>({0, 1, 128, 255})),
            (Host<std::uint8_t>{0, 255, 128, 1}));
  const auto x = in<std::uint8_t>({200}), w = in<std::uint8_t>({100});
  EXPECT_EQ(map<std::uint8_t>([](auto a, auto b) { return a + b; }, x, w), Host<std::uint8_t>{44});
  EXPECT_EQ(map<bool>([](auto a, auto b) { return a + b < b; }, x, w), Host<bool>{1});
  EXPECT_EQ(map<std::int8_t>([](auto a) { return a + a; }, in<std::int8_t>({100})), Host<std::int8_t>{-56});
  EXPECT_EQ(map<std::int16_t>([](auto a) { return a * a; }, in<std::int16_t>({300})), Host<std::int16_t>{24464});
  EXPECT_EQ(map<std::int8_t>([](auto a) { return tl::abs(a); }, in<std::int8_t>({-128})), Host<std::int8_t>{-128});
  EXPECT_EQ(map<std::int32_t>([](auto a) { return a + 1; }, in<std::int32_t>({INT32_MAX})), Host<std::int32_t>{low});
  EXPECT_EQ(map<bool>([](auto a) { return a + 1 > a; }, in<std::int32_t>({INT32_MAX})), Host<bool>{0});
  EXPECT_EQ(map<std::int32_t>([](auto a) { return a * a; }, in<std::int32_t>({65536})), Host<std::int32_t>{0});
  EXPECT_EQ(map<std::uint32_t>([](auto a) { return tl::umulhi(a, a); }, in<std::uint32_t>({0xFFFFFFFF})),
            Host<std::uint32_t>{0xFFFFFFFE});
}

TEST_P(Integers, OVF_2_offsets_are_widened_by_their_own_sign) {
  Host<std::uint8_t> b(4096);
  for (int i = 0; i < 4096; ++i) b[i] = i % 251;
  const auto buffer = in<std::uint8_t>(b);
  auto out = blank<std::int64_t>(device, 16);
  launch(
      device, {1},
      [](tl::Ptr<const std::uint8_t> b, tl::Ptr<std::int64_t> out, tl::i32 r, tl::i32 s, tl::i64 far, tl::i64 back,
         tl::i64 half, tl::u32 forth, tl::i8 small) {
        tl::store(out, tl::load(b + far - back));
        tl::store(out + 1, tl::cast<std::int64_t>(r) * s);
        tl::store(out + 2, r * s);
        tl::store(out + 3, tl::load((b - half) + forth));
        tl::store(out + 4, tl::load((b + 256) + (r * 0 - 3)));
        tl::store(out + 5, tl::load((b + 256) + small));
        tl::store(out + 6 + tl::arange(0, 8), 10 - tl::arange(0, 8));
      },
      buffer, out, 32768, 65536, std::int64_t{3000000000}, std::int64_t{2999999995}, std::int64_t{2147483648},
      2147483655u, -3);
  const Host<std::int64_t> got = download(out);
  EXPECT_EQ(Host<std::int64_t>(got.begin(), got.begin() + 14),
            (Host<std::int64_t>{5, 2147483648, -2147483648, 7, 2, 2, 10, 9, 8, 7, 6, 5, 4, 3}));
}

TEST_P(Integers, BOOL_1_true_converts_to_plus_one) {
  const auto x = in<std::int32_t>({1, 1, 0, 0}), y = in<std::int32_t>({1, 0, 1, 0});
  EXPECT_EQ(map<std::int32_t>([](auto a, auto b) { return tl::cast<std::int32_t>((a > 0) & (b > 0)); }, x, y),
            (Host<std::int32_t>{1, 0, 0, 0}));
  EXPECT_EQ(map<std::int32_t>([](auto a, auto b) { return (a > 0) | (b > 0); }, x, y),
            (Host<std::int32_t>{1, 1, 1, 0}));
  EXPECT_EQ(map<std::int32_t>([](auto a, auto b) { return (a > 0) ^ (b > 0); }, x, y),
            (Host<std::int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(map<std::int32_t>([](auto a) { return ~(a > 0); }, x), (Host<std::int32_t>{0, 0, 1, 1}));
  conformance::for_each_type(Types<std::int8_t, std::int32_t, std::int64_t, half, bfloat16, float, double>{},
                             [&]<class E> {
                               EXPECT_EQ(map<E>([](auto a) { return a > 0; }, x), (Host<E>{E(1), E(1), E(0), E(0)}))
                                   << conformance::dtype_name<E>();
                             });
  EXPECT_EQ(map<float>([](auto a) { return (a > 0) * 7.0f; }, x), (Host<float>{7, 7, 0, 0}));
  auto sum = blank<std::int32_t>(device, 1);
  launch(
      device, {1}, [](tl::Ptr<std::int32_t> sum) { tl::store(sum, tl::sum(tl::arange(0, 256) >= 0)); }, sum);
  EXPECT_EQ(download(sum)[0], 256);
}

struct CountTrue {
  int N = 1;
  bool SQUARE = false;
  void operator()(tl::Ptr<const bool> x, tl::Ptr<std::int32_t> sum, tl::Ptr<bool> any) const {
    if (SQUARE) {
      auto rows = tl::load(x + (tl::arange(0, 128)(tl::all, tl::none) * 2 + tl::arange(0, 2)(tl::none, tl::all)));
      auto total = tl::sum(tl::sum(rows, {.axis = 1}), {.axis = 0});
      tl::store(sum, total);
      tl::store(any, total);
    } else {
      auto total = tl::sum(tl::load(x + tl::arange(0, N)));
      tl::store(sum, total);
      tl::store(any, total);
    }
  }
};

TEST_P(Integers, BOOL_2_anything_but_zero_is_true) {
  for (int n : {1, 128, 255, 256, 512, -256}) {
    auto sum = blank<std::int32_t>(device, 1);
    auto any = blank<bool>(device, 1);
    launch(device, {1}, CountTrue{std::abs(n), n < 0}, in<bool>(Host<bool>(std::abs(n), 1)), sum, any);
    EXPECT_EQ(download(sum)[0], std::abs(n));
    EXPECT_EQ(download(any)[0], 1) << n;
  }
  EXPECT_EQ(map_bits<bool>([](auto x) { return x; }, in<std::int32_t>({0, 1, 2, 256, -1, 512, 65536})),
            (std::vector<std::uint8_t>{0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(map_bits<bool>([](auto x) { return x; }, in<float>({0.5f, -0.0f, NAN})),
            (std::vector<std::uint8_t>{1, 0, 1}));
  EXPECT_EQ(map_bits<bool>([](auto x) { return x <= 0; }, in<std::int32_t>({-1, 2})),
            (std::vector<std::uint8_t>{1, 0}));
}

}  // namespace
}  // namespace teeny::cases
