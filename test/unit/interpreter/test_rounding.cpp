// Formats and element-wise operations against independent references: every f16 and bf16 pattern, cast tables, zeros,
// NaN, subnormals, fused and separate rounding.
#include <cmath>
#include <random>

#include "compiler/interpreter/values.hpp"
#include "fixture.hpp"

namespace teeny::compiler::interpreter {
namespace {

// Nearest value of a format with p bits and exponents low … high, ties to even, by scaling to integers.
double nearest(double x, int p, int low, int high) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double quantum = std::ldexp(1.0, std::max(std::ilogb(x), low) - (p - 1));
  const double rounded = std::nearbyint(x / quantum) * quantum;
  return std::fabs(rounded) >= std::ldexp(1.0, high + 1) ? std::copysign(INFINITY, x) : std::copysign(rounded, x);
}
double nearest_half(double x) { return nearest(x, 11, -14, 15); }
double nearest_bfloat(double x) { return nearest(x, 8, -126, 127); }

TEST(interpreter_rounding, every_pattern_of_the_small_formats_survives_a_round_trip) {
  for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
    const double half = Element<Kind::f16>::get(bits), bfloat = Element<Kind::bf16>::get(bits);
    if (half == half)
      EXPECT_EQ(Element<Kind::f16>::put(half), bits);
    else
      EXPECT_NE(Element<Kind::f16>::put(half) & 0x3ff, 0u);
    if (bfloat == bfloat)
      EXPECT_EQ(Element<Kind::bf16>::put(bfloat), bits);
    else
      EXPECT_NE(Element<Kind::bf16>::put(bfloat) & 0x7f, 0u);
  }
}

TEST(interpreter_rounding, random_doubles_round_to_nearest_even) {
  std::mt19937_64 generator(7);
  for (int i = 0; i < 200000; ++i) {
    const double x =
        std::ldexp(std::uniform_real_distribution<double>(-2, 2)(generator), static_cast<int>(generator() % 60) - 40);
    const float coarse = static_cast<float>(std::ldexp(std::floor(std::ldexp(x, 12)), -12));  // many ties
    for (const double y : {x, static_cast<double>(coarse)}) {
      EXPECT_EQ(Element<Kind::f16>::get(Element<Kind::f16>::put(y)), nearest_half(y)) << y;
      EXPECT_EQ(Element<Kind::bf16>::get(Element<Kind::bf16>::put(y)), nearest_bfloat(y)) << y;
    }
  }
}

TEST(interpreter_rounding, f16_fma_rounds_once) {
  std::mt19937 generator(11);
  for (int i = 0; i < 200000; ++i) {
    const double a = Element<Kind::f16>::get(generator() & 0x7bff), b = Element<Kind::f16>::get(generator() & 0xfbff);
    const double c = Element<Kind::f16>::get((generator() & 0x3ff) | 0x3c00);
    // 22 + 11 bits and an exponent range of 80 fit the 64-bit mantissa of long double only by chance: compare where
    // they do.
    const long double exact = static_cast<long double>(a) * b + c;
    if (exact - c != static_cast<long double>(a) * b) continue;
    const double toward = static_cast<double>(exact);
    const long double rest = exact - toward;
    const double odd = rest == 0 || (std::bit_cast<std::uint64_t>(toward) & 1)
                           ? toward
                           : std::nextafter(toward, rest > 0 ? INFINITY : -INFINITY);
    if (std::fabs(odd) > 65504) continue;
    EXPECT_EQ(Element<Kind::f16>::get(Element<Kind::f16>::fused(a, b, c)), nearest_half(odd));
  }
}

template <class To, class From>
std::vector<To> mapped(const std::vector<std::string>& inputs, const std::string& output, const std::string& body,
                       std::vector<From> x, std::vector<From> y = {}) {
  std::vector<To> out(x.size(), To{});
  Launch launch(map_kernel(static_cast<int>(x.size()), inputs, output, body));
  launch.buffer(x);
  if (inputs.size() > 1) launch.buffer(y);
  Result result = launch.buffer(out, false).clean();
  for (double radius : result.radii) EXPECT_EQ(radius, 0.0);
  return out;
}

TEST(interpreter_rounding, casts_f32_to_bf16) {
  const std::vector<std::uint32_t> x = {0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0x3E89CCD5, 0xBF808000,
                                        0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF, 0x00008000, 0x00018000, 0x80000001,
                                        0x7F800000, 0xFF800000, 0x7F800001, 0x7FFF8C22};
  const auto got =
      mapped<std::uint16_t>({"f32"}, "bf16", "  %r = arith.truncf %x0 : tensor<16xf32> to tensor<16xbf16>\n", x);
  const std::vector<std::uint16_t> expected = {0x3F80, 0x3F82, 0x3F81, 0x3F80, 0x3E8A, 0xBF80, 0x7F7F,
                                               0x7F80, 0x7F80, 0x0000, 0x0002, 0x8000, 0x7F80, 0xFF80};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(got[i], expected[i]) << i;
  for (std::size_t i = expected.size(); i < got.size(); ++i)
    EXPECT_TRUE((got[i] & 0x7F80) == 0x7F80 && (got[i] & 0x7F)) << i;
}

TEST(interpreter_rounding, casts_f32_to_f16) {
  const std::vector<float> x = {65504,
                                65519,
                                std::bit_cast<float>(0x477FEFFFu),
                                65520,
                                65536,
                                -1e30f,
                                2049,
                                2051,
                                std::bit_cast<float>(0x3F801000u),
                                std::bit_cast<float>(0x3F803000u),
                                std::bit_cast<float>(0x3F801008u),
                                0x1p-24f,
                                0x1p-25f,
                                std::bit_cast<float>(0x33000008u),
                                std::bit_cast<float>(0x387FE000u),
                                0.1f};
  const auto got =
      mapped<std::uint16_t>({"f32"}, "f16", "  %r = arith.truncf %x0 : tensor<16xf32> to tensor<16xf16>\n", x);
  const std::vector<std::uint16_t> expected = {0x7BFF, 0x7BFF, 0x7BFF, 0x7C00, 0x7C00, 0xFC00, 0x6800, 0x6802,
                                               0x3C00, 0x3C02, 0x3C01, 0x0001, 0x0000, 0x0001, 0x0400, 0x2E66};
  EXPECT_EQ(got, expected);
}

TEST(interpreter_rounding, casts_toward_zero_where_asked) {
  const std::vector<float> x = {65519, -65536, 0x1.ffcp-25f, 1 + 0x1.8p-10f};
  const auto got = mapped<std::uint16_t>(
      {"f32"}, "f16", "  %r = tt.fp_to_fp %x0, rounding = rtz : tensor<4xf32> -> tensor<4xf16>\n", x);
  EXPECT_EQ(got, (std::vector<std::uint16_t>{0x7BFF, 0xFBFF, 0x0000, 0x3C01}));
}

TEST(interpreter_rounding, casts_floats_to_integers_truncate_and_saturate) {
  const std::vector<float> x = {-128.9f, -0.9f, 127.9f, NAN, INFINITY, -INFINITY, 510, -200};
  EXPECT_EQ((mapped<std::int8_t>({"f32"}, "i8", "  %r = arith.fptosi %x0 : tensor<8xf32> to tensor<8xi8>\n", x)),
            (std::vector<std::int8_t>{-128, 0, 127, 0, 127, -128, 127, -128}));
  const std::vector<float> y = {255.9f, 0.9f, -0.5f, -1.5f, 256, NAN, 3, 4};
  EXPECT_EQ((mapped<std::uint8_t>({"f32"}, "i8", "  %r = arith.fptoui %x0 : tensor<8xf32> to tensor<8xi8>\n", y)),
            (std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0, 3, 4}));
  const std::vector<double> z = {1e19, -1, 0x1p64, 2251799813685249.5};
  EXPECT_EQ((mapped<std::uint64_t>({"f64"}, "i64", "  %r = arith.fptoui %x0 : tensor<4xf64> to tensor<4xi64>\n", z)),
            (std::vector<std::uint64_t>{10000000000000000000u, 0, ~std::uint64_t{0}, 2251799813685249u}));
  const std::vector<float> w = {1e18f, 3e9f, -0x1p63f, 0x1p63f};
  EXPECT_EQ((mapped<std::int64_t>({"f32"}, "i64", "  %r = arith.fptosi %x0 : tensor<4xf32> to tensor<4xi64>\n", w)),
            (std::vector<std::int64_t>{999999984306749440, 3000000000, INT64_MIN, INT64_MAX}));
}

TEST(interpreter_rounding, casts_integers_to_floats_round_once) {
  const std::vector<std::uint32_t> x = {4294967295u, 2147483649u, 200, 0};
  EXPECT_EQ((mapped<float>({"i32"}, "f32", "  %r = arith.uitofp %x0 : tensor<4xi32> to tensor<4xf32>\n", x)),
            (std::vector<float>{4294967296.0f, 2147483648.0f, 200, 0}));
  // 2049 + 2^-40 of it: rounding to f64 first would make a tie.
  const std::vector<std::uint64_t> y = {(std::uint64_t{2049} << 52) + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}, 7};
  EXPECT_EQ((mapped<std::uint16_t>(
                {"i64"}, "bf16", "  %r = arith.uitofp %x0 : tensor<4xi64> to tensor<4xbf16>\n",
                std::vector<std::uint64_t>{(std::uint64_t{0x101} << 54) + 1, 257, 3, std::uint64_t{1} << 63})),
            (std::vector<std::uint16_t>{0x5E81, 0x4380, 0x4040, 0x5F00}));
  EXPECT_EQ((mapped<double>({"i64"}, "f64", "  %r = arith.uitofp %x0 : tensor<4xi64> to tensor<4xf64>\n", y))[2],
            0x1p64);
}

TEST(interpreter_rounding, f16_arithmetic_rounds_every_operation) {
  // 1 + 2^-11 is a tie in f16 and goes to 1; f32 arithmetic with a late rounding would keep it.
  const std::vector<std::uint16_t> x = {0x3C00, 0x7BFF, 0x0001, 0x3C01}, y = {0x1000, 0x7BFF, 0x3800, 0x3C01};
  EXPECT_EQ((mapped<std::uint16_t>({"f16", "f16"}, "f16", "  %r = arith.addf %x0, %x1 : tensor<4xf16>\n", x, y)),
            (std::vector<std::uint16_t>{0x3C00, 0x7C00, 0x3800, 0x4001}));
  EXPECT_EQ((mapped<std::uint16_t>({"f16", "f16"}, "f16", "  %r = arith.mulf %x0, %x1 : tensor<4xf16>\n", x, y)),
            (std::vector<std::uint16_t>{0x1000, 0x7C00, 0x0000, 0x3C02}));
}

TEST(interpreter_rounding, nothing_is_contracted) {
  const std::vector<float> x = {1.1f, 0.75f}, y = {1.1f, 0.75f};
  const auto got =
      mapped<float>({"f32", "f32"}, "f32",
                    "  %a = arith.mulf %x0, %x0 : tensor<2xf32>\n  %b = arith.mulf %x1, %x1 : tensor<2xf32>\n"
                    "  %r = arith.subf %a, %b : tensor<2xf32>\n",
                    x, y);
  EXPECT_EQ(got, (std::vector<float>{0, 0}));
  const auto fused = mapped<float>({"f32", "f32"}, "f32",
                                   "  %a = arith.mulf %x0, %x0 : tensor<2xf32>\n  %n = arith.negf %a : tensor<2xf32>\n"
                                   "  %r = math.fma %x1, %x1, %n : tensor<2xf32>\n",
                                   x, y);
  EXPECT_EQ(fused[0], std::fma(1.1f, 1.1f, -(1.1f * 1.1f)));
  EXPECT_NE(fused[0], 0.0f);
}

TEST(interpreter_rounding, nan_loses_or_wins_as_the_operation_says) {
  const std::vector<float> x = {NAN, 3, NAN, -INFINITY, INFINITY, NAN, -0.0f, 0.0f},
                           y = {3, NAN, NAN, NAN, NAN, INFINITY, 0.0f, -0.0f};
  const auto loses = mapped<float>({"f32", "f32"}, "f32", "  %r = arith.maxnumf %x0, %x1 : tensor<8xf32>\n", x, y);
  const std::vector<float> expected = {3, 3, NAN, -INFINITY, INFINITY, INFINITY, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(loses[i] == expected[i] || (loses[i] != loses[i] && expected[i] != expected[i])) << i;
    EXPECT_FALSE(loses[i] == 0 && std::signbit(loses[i])) << i;
  }
  const auto wins = mapped<float>({"f32", "f32"}, "f32", "  %r = arith.minimumf %x0, %x1 : tensor<8xf32>\n", x, y);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(wins[i])) << i;
  EXPECT_TRUE(std::signbit(wins[6]) && std::signbit(wins[7]));
  const std::vector<float> z = {NAN, 5, -INFINITY, 0.5f};
  const std::string bounds =
      "  %lo = arith.constant dense<-1.0> : tensor<4xf32>\n  %hi = arith.constant dense<1.0> : tensor<4xf32>\n";
  EXPECT_EQ((mapped<float>({"f32"}, "f32",
                           bounds + "  %r = tt.clampf %x0, %lo, %hi, propagateNan = none : tensor<4xf32>\n", z)),
            (std::vector<float>{-1, 1, -1, 0.5f}));
  EXPECT_TRUE(std::isnan((mapped<float>(
      {"f32"}, "f32", bounds + "  %r = tt.clampf %x0, %lo, %hi, propagateNan = all : tensor<4xf32>\n", z))[0]));
}

TEST(interpreter_rounding, comparisons_follow_their_predicate) {
  const std::vector<float> x = {1, 2, 2, NAN}, y = {2, 2, 1, 1};
  const struct {
    const char* predicate;
    std::vector<std::uint8_t> expected;
  } rows[] = {{"oeq", {0, 1, 0, 0}}, {"ogt", {0, 0, 1, 0}}, {"oge", {0, 1, 1, 0}}, {"olt", {1, 0, 0, 0}},
              {"ole", {1, 1, 0, 0}}, {"one", {1, 0, 1, 0}}, {"ord", {1, 1, 1, 0}}, {"ueq", {0, 1, 0, 1}},
              {"ugt", {0, 0, 1, 1}}, {"uge", {0, 1, 1, 1}}, {"ult", {1, 0, 0, 1}}, {"ule", {1, 1, 0, 1}},
              {"une", {1, 0, 1, 1}}, {"uno", {0, 0, 0, 1}}};
  for (const auto& row : rows)
    EXPECT_EQ((mapped<std::uint8_t>({"f32", "f32"}, "i1",
                                    std::string("  %r = arith.cmpf ") + row.predicate + ", %x0, %x1 : tensor<4xf32>\n",
                                    x, y)),
              row.expected)
        << row.predicate;
}

TEST(interpreter_rounding, negative_zero_and_subnormals_are_kept) {
  const std::vector<std::uint32_t> x = {0x80000000, 0x00000001, 0x00400000, 0x1E3CE508},
                                   y = {0x00000000, 0x00000001, 0x40000000, 0x1E3CE508};
  EXPECT_EQ((mapped<std::uint32_t>({"f32", "f32"}, "f32", "  %r = arith.addf %x0, %x1 : tensor<4xf32>\n", x, y))[0],
            0u);
  EXPECT_EQ((mapped<std::uint32_t>({"f32", "f32"}, "f32", "  %r = arith.addf %x0, %x1 : tensor<4xf32>\n", x, y))[1],
            2u);
  const auto products =
      mapped<std::uint32_t>({"f32", "f32"}, "f32", "  %r = arith.mulf %x0, %x1 : tensor<4xf32>\n", x, y);
  EXPECT_EQ(products[2], 0x00800000u);
  EXPECT_EQ(products[3], 0x000116C2u);  // 1e-20 squared
  EXPECT_EQ((mapped<std::uint32_t>({"f32"}, "f32", "  %r = math.sqrt %x0 : tensor<4xf32>\n", x))[1], 0x1A3504F3u);
  EXPECT_EQ((mapped<std::uint32_t>({"f32"}, "f32", "  %r = math.sqrt %x0 : tensor<4xf32>\n", x))[0], 0x80000000u);
}

TEST(interpreter_rounding, mathematical_functions_run_through_their_expansion) {
  const std::vector<float> x = {-88, -1, 0, 1e-8f, 1, 88.72283f, INFINITY, -INFINITY};
  const auto e = mapped<float>({"f32"}, "f32", "  %r = math.exp %x0 : tensor<8xf32>\n", x);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(e[i], std::exp(double(x[i])), 4 * 0x1p-24 * std::exp(double(x[i])) + 0x1p-149) << i;
  EXPECT_EQ(e[6], INFINITY);
  EXPECT_EQ(e[7], 0);
  const std::vector<double> y = {-3, -0.5, 0.25, 1.5};
  const auto t = mapped<double>({"f64"}, "f64", "  %r = math.tanh %x0 : tensor<4xf64>\n", y);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(t[i], std::tanh(y[i]), 4 * 0x1p-53);
}

}  // namespace
}  // namespace teeny::compiler::interpreter
