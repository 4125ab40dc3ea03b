// NaN, negative zero, subnormals, functions at their extremes, contraction.
#include "fixture.hpp"

namespace teeny::cases {
namespace {

using Floats = Cases;
TEENY_ON_EACH_DEVICE(Floats);

template <class D>
void expect_equal_or_nan(const Host<D>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = double(got[i]);
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(value)) << i << ": " << value;
    else
      EXPECT_EQ(value, expected[i]) << i;
  }
}

TEST_P(Floats, NAN_1_numbers_win_unless_told_otherwise) {
  conformance::for_each_type(floating_types, [&]<class D> {
    const D nan = D(NAN), inf = D(INFINITY);
    const auto x = in<D>({nan, D(3), nan, -inf, inf, nan}), y = in<D>({D(3), nan, nan, nan, nan, inf});
    const std::vector<double> numbers = {3, 3, NAN, -INFINITY, INFINITY, INFINITY};
    expect_equal_or_nan<D>(map<D>([](auto a, auto b) { return tl::maximum(a, b); }, x, y), numbers);
    expect_equal_or_nan<D>(map<D>([](auto a, auto b) { return tl::minimum(a, b); }, x, y), numbers);
    expect_equal_or_nan<D>(map<D>([](auto a, auto b) { return tl::maximum(a, b, {.propagate_nan = true}); }, x, y),
                           std::vector<double>(6, NAN));
    expect_equal_or_nan<D>(map<D>([](auto a, auto b) { return tl::minimum(a, b, {.propagate_nan = true}); }, x, y),
                           std::vector<double>(6, NAN));
    expect_equal_or_nan<D>(map<D>([](auto a) { return tl::clamp(a, -1, 1); }, in<D>({nan, D(5), -inf})), {-1, 1, -1});
    expect_equal_or_nan<D>(
        map<D>([](auto a) { return tl::clamp(a, -1, 1, {.propagate_nan = true}); }, in<D>({nan, D(5), -inf})),
        {NAN, 1, -1});
  });
}

struct Extremes {
  int N = 128;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y) const {
    auto p = tl::program_id(0);
    auto v = tl::load(x + p * N + tl::arange(0, N));
    tl::store(y + p * 2, tl::max(v));
    tl::store(y + p * 2 + 1, tl::min(v));
  }
};

TEST_P(Floats, NAN_1_reductions_do_not_depend_on_the_position) {
  Host<float> x(128 * 129, 1);
  for (int p = 0; p < 128; ++p) x[p * 128 + p] = NAN;
  for (int i = 0; i < 128; ++i) x[128 * 128 + i] = NAN;
  auto y = blank<float>(device, 258);
  launch(device, {129}, Extremes{}, in<float>(x), y);
  const Host<float> got = download(y);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(got[i], 1) << i;
  EXPECT_TRUE(std::isnan(got[256]) && std::isnan(got[257]));
  auto one = blank<float>(device, 2);
  launch(device, {1}, Extremes{1}, in<float>({NAN}), one);
  EXPECT_TRUE(std::isnan(download(one)[0]) && std::isnan(download(one)[1]));
}

TEST_P(Floats, NAN_2_constants_and_equal_operands_hide_no_nan) {
  conformance::for_each_type(Types<float, double>{}, [&]<class D> {
    const D nan = std::numeric_limits<D>::quiet_NaN(), inf = std::numeric_limits<D>::infinity();
    const auto x = in<D>({nan, inf, -inf, D(0), D(-3)});
    expect_equal_or_nan<D>(map<D>([](auto v) { return v * D(0); }, x), {NAN, NAN, NAN, 0, 0});
    expect_equal_or_nan<D>(map<D>([](auto v) { return v - v; }, x), {NAN, NAN, NAN, 0, 0});
    expect_equal_or_nan<D>(map<D>([](auto v) { return D(0) / v; }, x), {NAN, 0, 0, NAN, 0});
    expect_equal_or_nan<D>(map<D>([](auto v) { return v + D(0); }, x), {NAN, double(inf), double(-inf), 0, -3});
  });
}

TEST_P(Floats, ZERO_1_the_sign_of_zero_is_kept) {
  const auto x = in_bits<float>({0x80000000});
  const std::uint32_t minus = 0x80000000;
  auto one = [&](auto f) { return map_bits<float>(f, x)[0]; };
  EXPECT_EQ(one([](auto v) { return 1 / v; }), 0xFF800000);
  EXPECT_EQ(one([](auto v) { return -v; }), 0u);
  EXPECT_EQ(one([](auto v) { return -tl::abs(v); }), minus);
  EXPECT_EQ(one([](auto v) { return tl::abs(v); }), 0u);
  EXPECT_EQ(one([](auto v) { return v + 0.0f; }), 0u);
  EXPECT_EQ(one([](auto v) { return v * 0.0f; }), minus);
  EXPECT_EQ(one([](auto v) { return v + -0.0f; }), minus);
  EXPECT_EQ(one([](auto v) { return v - 0.0f; }), minus);
  EXPECT_EQ(one([](auto v) { return v * 1; }), minus);
  EXPECT_EQ(one([](auto v) { return v * -1; }), 0u);
  EXPECT_EQ(one([](auto v) { return tl::sqrt(v); }), minus);
  EXPECT_EQ(one([](auto v) { return tl::floor(v); }), minus);
  EXPECT_EQ(one([](auto v) { return tl::ceil(v - 0.5f); }), minus);
  EXPECT_EQ(one([](auto v) { return v % 3.0f; }), minus);
  EXPECT_EQ(one([](auto v) { return (v - 6) % 3.0f; }), minus);
  EXPECT_EQ(one([](auto v) { return tl::where(v == 0, v, 1.0f); }), minus);
  EXPECT_EQ(map_bits<half>([](auto v) { return v; }, x)[0], 0x8000);
  EXPECT_EQ(map_bits<bfloat16>([](auto v) { return v; }, x)[0], 0x8000);
  EXPECT_EQ(map_bits<double>([](auto v) { return v; }, x)[0], std::uint64_t{1} << 63);
  EXPECT_EQ(map<bool>([](auto v) { return v == 0.0f; }, x)[0], 1);
}

struct SumBits {
  int N = 8;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y) const {
    tl::store(y, tl::sum(tl::load(x + tl::arange(0, N))));
  }
};

TEST_P(Floats, DENORM_1_subnormals_are_kept) {
  auto one = [&](std::uint32_t bits, auto f) { return map_bits<float>(f, in_bits<float>({bits}))[0]; };
  auto two = [&](std::uint32_t a, std::uint32_t b, auto f) {
    return map_bits<float>(f, in_bits<float>({a}), in_bits<float>({b}))[0];
  };
  EXPECT_EQ(one(1, [](auto v) { return v; }), 1u);
  EXPECT_EQ(one(1, [](auto v) { return v + v; }), 2u);
  EXPECT_EQ(two(0x007FFFFF, 1, [](auto a, auto b) { return a + b; }), 0x00800000u);
  EXPECT_EQ(one(0x00800000, [](auto v) { return v * 0.5f; }), 0x00400000u);
  EXPECT_EQ(one(0x00400000, [](auto v) { return v * 2; }), 0x00800000u);
  EXPECT_EQ(map<bool>([](auto v) { return v > 0; }, in_bits<float>({1}))[0], 1);
  EXPECT_EQ(two(1, 0, [](auto a, auto b) { return tl::maximum(a, b); }), 1u);
  auto sum = blank<float>(device, 1);
  launch(device, {1}, SumBits{}, in_bits<float>(std::vector<std::uint32_t>(8, 1)), sum);
  EXPECT_EQ(bits(sum)[0], 8u);
  EXPECT_EQ(map_bits<float>([](auto v) { return v * v; }, in<float>({1e-20f}))[0], 0x000116C2u);
  EXPECT_EQ(map_bits<float>([](auto v) { return tl::exp2(v); }, in<float>({-126, -127, -148, -149, -150})),
            (std::vector<std::uint32_t>{0x00800000, 0x00400000, 2, 1, 0}));
  EXPECT_NEAR(map_bits<float>([](auto v) { return tl::exp(v); }, in<float>({-88}))[0], 0x0041EDC4, 2);
  EXPECT_EQ(map_bits<float>([](auto v) { return v; }, in_bits<bfloat16>({1}))[0], 0x00010000u);
  EXPECT_EQ(map_bits<float>([](auto v) { return v; }, in_bits<half>({1}))[0], 0x33800000u);
  EXPECT_EQ(one(1, [](auto v) { return tl::sqrt(v); }), 0x1A3504F3u);
}

// Within 4 units in the last place.
void expect_close(const Host<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(got[i])) << i;
    else if (std::isinf(expected[i]))
      EXPECT_EQ(got[i], expected[i]) << i;
    else
      EXPECT_NEAR(got[i], expected[i], 4 * (std::nextafter(std::abs(expected[i]), INFINITY) - std::abs(expected[i])))
          << i;
  }
}

TEST_P(Floats, MATH_1_functions_at_their_extremes) {
  auto sines = map<float>([](auto v) { return tl::sin(v); },
                          in<float>({1e-10f, 1e-7f, 100, 1e5f, 1e6f, 1e7f, 6.7e8f, 1e15f, 3.4e38f}));
  expect_close(sines, {1e-10f, 1e-7f, -0.50636566f, 0.035748798f, -0.3499935f, 0.4205478f, -0.7221810f, 0.9944343f,
                       -0.2440849f});
  expect_close(map<float>([](auto v) { return tl::cos(v); }, in<float>({1e6f, 6.7e8f})), {0.93675214f, 0.6917041f});
  expect_close(map<float>([](auto v) { return tl::tanh(v); }, in<float>({20, 50, 89, -50, 1e-5f, INFINITY})),
               {1, 1, 1, -1, 1e-5f, 1});
  expect_close(map<float>([](auto v) { return tl::exp(v); },
                          in<float>({88.72283172607422f, 88.72284698486328f, -INFINITY, 1e-8f})),
               {3.4027985e38f, INFINITY, 0, 1});
  expect_close(map<float>([](auto v) { return tl::log(v); }, in_bits<float>({0, 0xBF800000, 1, 0x3F800001})),
               {-INFINITY, NAN, -103.27893f, 1.1920928e-7f});
  expect_close(map<float>([](auto v) { return tl::erf(v); }, in<float>({1e-10f, 0.5f, 6})),
               {1.1283792e-10f, 0.5204999f, 1});
  expect_close(map<float>([](auto v) { return tl::sigmoid(v); }, in<float>({100, -20})), {1, 2.0611536e-9f});
  EXPECT_NEAR(map<float>([](auto v) { return tl::sigmoid(v); }, in<float>({-100}))[0], 3.72e-44, 1e-45);
  expect_close(map<float>([](auto v) { return tl::rsqrt(v); }, in<float>({0, 4, -1})), {INFINITY, 0.5f, NAN});
}

TEST_P(Floats, FMA_1_products_and_sums_are_rounded_one_by_one_where_asked) {
  auto y = blank<float>(device, 8);
  const auto x = in<float>({0.75f, 1.1f, 1.1f, 0.7f, -0.7f});
  const LaunchOptions forbidden{.compile = {.contract = false}};
  launch(
      device, {1}, forbidden,
      [](tl::Ptr<const float> x, tl::Ptr<float> y) {
        auto s = tl::load(x), a = tl::load(x + 1), b = tl::load(x + 2), p = tl::load(x + 3), q = tl::load(x + 4);
        auto v = (-0.25f / s) * s + 0.25f;
        tl::store(y, v);
        tl::store(y + 1, tl::sqrt(v));
        tl::store(y + 2, a * a - b * b);
        tl::store(y + 3, p / 1e-6f + q / 1e-6f);
        auto e = tl::exp(tl::load(x + tl::arange(1, 3)) * 0);
        tl::store(y + 4 + tl::arange(0, 2), e / tl::sum(e));
      },
      x, y);
  const Host<float> got = download(y);
  EXPECT_EQ(Host<float>(got.begin(), got.begin() + 6), (Host<float>{0, 0, 0, 0, 0.5f, 0.5f}));
}

}  // namespace
}  // namespace teeny::cases
