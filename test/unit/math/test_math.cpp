// The expansion's error against the C library's long double functions, in units in the last place: the bounds here are
// those of docs/math.md.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/transforms/expand_exact.hpp"
#include "compiler/transforms/expand_math.hpp"
#include "formats.hpp"
#include "jit.hpp"

namespace teeny::test {
namespace {

using compiler::MathFacts;

struct Function {
  const char* name;
  const char* op;  // "" for sigmoid, which is a call
  long double (*reference)(long double);
  double bound[2][2];  // [f32, f64][fused, not fused], in ulp
};

long double sigmoid(long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
long double rsqrt(long double x) { return 1 / std::sqrt(x); }

void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }

const Function functions[] = {
    {"exp", "math.exp", std::exp, {{1.25, 1.25}, {1.25, 1.25}}},
    {"exp2", "math.exp2", std::exp2, {{1.25, 1.5}, {1.25, 1.5}}},
    {"log", "math.log", std::log, {{1.25, 1.25}, {1.25, 1.25}}},
    {"log2", "math.log2", std::log2, {{1.75, 2.25}, {1.75, 2.25}}},
    {"sin", "math.sin", std::sin, {{2.5, 3}, {2.5, 3}}},
    {"cos", "math.cos", std::cos, {{2.5, 3}, {2.5, 3}}},
    {"erf", "math.erf", std::erf, {{2, 2.5}, {2, 2.5}}},
    {"tanh", "math.tanh", std::tanh, {{2.25, 2.25}, {2.25, 2.25}}},
    {"rsqrt", "math.rsqrt", rsqrt, {{1.5, 1.5}, {1.5, 1.5}}},
    {"sigmoid", "", sigmoid, {{2.5, 2.5}, {2.5, 2.5}}},
};

// Distance of `got` from `exact` in units of the last place of `exact`. Infinity stands for the power of two that
// follows the largest number, so that overflow is measured as well.
double error_in_ulp(long double got, long double exact, const Format& format) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : HUGE_VAL;
  if (got == exact) return 0;
  const long double beyond = std::exp2(static_cast<long double>(1 - format.lowest_exponent + 1));
  if (std::isinf(got) && std::abs(exact) > format.largest && std::signbit(got) == std::signbit(exact)) {
    if (std::abs(exact) >= beyond) return 0;
    got = std::copysign(beyond, got);
  }
  if (std::isinf(got) || std::isinf(exact)) {
    if (!std::isinf(got) || std::abs(exact) < format.largest) return HUGE_VAL;
    got = std::copysign(beyond, got);
  }
  int exponent = exact == 0 ? format.lowest_exponent : std::max(std::ilogb(exact), format.lowest_exponent);
  return static_cast<double>(std::abs(got - exact) / std::ldexp(1.0L, exponent - (format.significant - 1)));
}

Jit compile(const Function& function, const char* type, bool vectors, MathFacts facts) {
  std::string body = std::string("      %y = ") + (*function.op ? function.op : "math.absf") + " %x : IN";
  return Jit(type, type, body, vectors, 1, [&](mlir::ModuleOp module) -> mlir::LogicalResult {
    if (!*function.op)
      module.walk([&](mlir::Operation* op) {
        if (op->getName().getStringRef() != "math.absf") return;
        mlir::OpBuilder builder(op);
        op->getResult(0).replaceAllUsesWith(compiler::expand_sigmoid(builder, op->getLoc(), op->getOperand(0), facts));
        op->erase();
      });
    if (failed(compiler::expand_math(module, facts))) return mlir::failure();
    // Without the conversions' own expansion, some machines flush bf16 results below the normal range.
    return compiler::expand_exact(module, {});
  });
}

template <typename T, typename Bits>
void add_special_values(std::vector<T>& x) {
  const Bits top = Bits{1} << (sizeof(Bits) * 8 - 1),
             infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  for (Bits sign : {Bits{0}, top})
    for (Bits around :
         {Bits{0}, std::bit_cast<Bits>(std::numeric_limits<T>::min()), infinity, std::bit_cast<Bits>(T(1)),
          std::bit_cast<Bits>(T(0.5)), std::bit_cast<Bits>(T(4)), std::bit_cast<Bits>(T(2.0 / 3)),
          std::bit_cast<Bits>(T(4.0 / 3)), Bits(top - 64), Bits(infinity / 2)})
      for (int d = -64; d < 64; ++d) x.push_back(std::bit_cast<T>(Bits((around + Bits(d)) | sign)));
  for (int k = -1100; k <= 1100; ++k)
    for (T step : {T(-0.5), T(0), T(0.5)}) x.push_back(T(k) + step);
  for (int k = -2000; k <= 2000; ++k) {  // beside multiples of pi/2, of ln 2 and their powers of two
    for (double unit : {1.57079632679489661923, 0.69314718055994530942}) {
      Bits bits = std::bit_cast<Bits>(T(k * unit));
      for (int d = -2; d <= 2; ++d) x.push_back(std::bit_cast<T>(Bits(bits + Bits(d))));
    }
  }
}

std::vector<float> samples(float) {
  std::vector<float> x;
  add_special_values<float, std::uint32_t>(x);
  // TEENY_TEST_STRIDE=1 walks through all of f32.
  const char* text = std::getenv("TEENY_TEST_STRIDE");
  const std::uint64_t stride = text ? std::strtoull(text, nullptr, 10) : 4099;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += std::max<std::uint64_t>(stride, 1))
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return x;
}

std::vector<double> samples(double) {
  std::vector<double> x;
  add_special_values<double, std::uint64_t>(x);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) x.push_back(std::bit_cast<double>(random()));
  for (double range : {1e-3, 1.0, 5.0, 40.0, 750.0, 1e5, 1e9})
    for (int i = 0; i < 50000; ++i) x.push_back((static_cast<double>(random() >> 11) * 0x1p-52 - 1) * range);
  return x;
}

template <typename T>
double measure(const Function& function, bool vectors, MathFacts facts, const Format& format) {
  Jit jit = compile(function, format.name, vectors, facts);
  if (!jit.valid()) return HUGE_VAL;
  const bool needs_sqrt = std::string(function.name) == "rsqrt";
  EXPECT_EQ(jit.remaining_math(), needs_sqrt ? "math.sqrt" : facts.fma_fused ? "math.fma" : "");
  std::vector<T> x = samples(T{});
  while (x.size() % Jit::lanes) x.push_back(1);
  std::vector<T> y(x.size());
  jit.run(x.data(), nullptr, y.data(), static_cast<std::int64_t>(x.size()));
  double worst = 0;
  T where = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double error = error_in_ulp(y[i], function.reference(x[i]), format);
    if (error > worst) worst = error, where = x[i];
  }
  std::printf("  %-8s %s %s %-9s %.3f ulp at %a\n", function.name, format.name, vectors ? "vector" : "scalar",
              facts.fma_fused ? "fused" : "not fused", worst, static_cast<double>(where));
  return worst;
}

class MathTest : public testing::TestWithParam<Function> {};

TEST_P(MathTest, f32_stays_within_its_bound) {
  for (bool fused : {true, false})
    for (bool vectors : {true, false})
      EXPECT_LE(measure<float>(GetParam(), vectors, {.fma_fused = fused}, f32), GetParam().bound[0][fused ? 0 : 1]);
}

TEST_P(MathTest, f64_stays_within_its_bound) {
  for (bool fused : {true, false})
    for (bool vectors : {true, false})
      EXPECT_LE(measure<double>(GetParam(), vectors, {.fma_fused = fused}, f64), GetParam().bound[1][fused ? 0 : 1]);
}

TEST_P(MathTest, every_16_bit_value_is_all_but_correctly_rounded) {
  for (const Format& format : {f16, bf16}) {
    Jit jit = compile(GetParam(), format.name, true, {});
    ASSERT_TRUE(jit.valid());
    std::vector<std::uint16_t> x(65536), y(65536);
    for (int i = 0; i < 65536; ++i) x[i] = static_cast<std::uint16_t>(i);
    jit.run(x.data(), nullptr, y.data(), 65536);
    double worst = 0;
    for (int i = 0; i < 65536; ++i)
      worst = std::max(worst, error_in_ulp(decode(y[i], format), GetParam().reference(decode(x[i], format)), format));
    std::printf("  %-8s %s: %.4f ulp\n", GetParam().name, format.name, worst);
    EXPECT_LE(worst, 0.501);
  }
}

// A division that is wrong by a few units would not show here; that the residual step does no harm does.
TEST(MathValueTest, the_residual_step_keeps_the_bounds) {
  for (const Function& function : functions)
    EXPECT_LE(measure<float>(function, true, {.division_rounds = false}, f32), function.bound[0][0]);
}

struct KnownValue {
  const char* function;
  float x;
  double expected;  // exact where bound is 0
  double bound;     // in ulp
};

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(MathValueTest, known_values) {
  const double inf = HUGE_VAL, nan = NAN;
  const KnownValue values[] = {
      {"exp2", -126, 0x1p-126, 0},
      {"exp2", -127, 0x1p-127, 0},
      {"exp2", -148, 0x1p-148, 0},
      {"exp2", -149, 0x1p-149, 0},
      {"exp2", -150, 0, 0},
      {"exp2", 127, 0x1p127, 0},
      {"exp2", 128, inf, 0},
      {"exp2", 0, 1, 0},
      {"exp", -88, from_bits(0x0041EDC4), 2},
      {"exp", 88.72283172607422f, from_bits(0x7F7FFF84), 1},
      {"exp", 88.72284698486328f, inf, 0},
      {"exp", -HUGE_VALF, 0, 0},
      {"exp", 1e-8f, 1, 0},
      {"exp", HUGE_VALF, inf, 0},
      {"exp", 0, 1, 0},
      {"log", 0, -inf, 0},
      {"log", -0.0f, -inf, 0},
      {"log", -1, nan, 0},
      {"log", from_bits(1), -103.27893, 1},
      {"log", from_bits(0x3F800001), 1.1920928244535389e-7, 1},
      {"log", 1, 0, 0},
      {"log", HUGE_VALF, inf, 0},
      {"log2", 8, 3, 0},
      {"log2", from_bits(1), -149, 0},
      {"log2", 0x1p-126f, -126, 0},
      {"sin", 1e-10f, 1e-10f, 0},
      {"sin", 1e-7f, 1e-7f, 0},
      {"sin", 100, -0.50636564, 3},
      {"sin", 1e5f, 0.035748798, 3},
      {"sin", 1e6f, -0.3499935, 3},
      {"sin", 1e7f, 0.4205478, 3},
      {"sin", 6.7e8f, -0.7221810, 3},
      {"sin", 1e15f, 0.9944343, 3},
      {"sin", 3.4e38f, -0.2440849, 3},
      {"sin", HUGE_VALF, nan, 0},
      {"cos", 1e6f, 0.93675214, 3},
      {"cos", 6.7e8f, 0.6917041, 3},
      {"cos", 0, 1, 0},
      {"cos", -HUGE_VALF, nan, 0},
      {"tanh", 20, 1, 0},
      {"tanh", 50, 1, 0},
      {"tanh", 89, 1, 0},
      {"tanh", -50, -1, 0},
      {"tanh", 1e-5f, 1e-5f, 0},
      {"tanh", HUGE_VALF, 1, 0},
      {"erf", 1e-10f, 1.1283792e-10, 1.5},
      {"erf", 0.5f, 0.5204999, 1.5},
      {"erf", 6, 1, 0},
      {"erf", -HUGE_VALF, -1, 0},
      {"sigmoid", 100, 1, 0},
      {"sigmoid", -100, 3.72e-44, 1},
      {"sigmoid", -20, 2.0611536e-9, 2},
      {"sigmoid", -HUGE_VALF, 0, 0},
      {"rsqrt", 0, inf, 0},
      {"rsqrt", -0.0f, -inf, 0},
      {"rsqrt", 4, 0.5, 0},
      {"rsqrt", -1, nan, 0},
      {"rsqrt", HUGE_VALF, 0, 0},
  };
  for (const Function& function : functions) {
    for (bool fused : {true, false}) {
      Jit jit = compile(function, "f32", false, {.fma_fused = fused});
      ASSERT_TRUE(jit.valid());
      for (const KnownValue& value : values) {
        if (std::string(value.function) != function.name) continue;
        float result = 0;
        jit.run(&value.x, nullptr, &result, 1);
        EXPECT_LE(error_in_ulp(result, value.expected, f32), value.bound)
            << value.function << "(" << value.x << ") = " << result;
      }
    }
  }
}

// Odd functions keep the sign of zero and of everything else; magnitudes stay within 1.
TEST(MathValueTest, symmetry_and_range) {
  for (const Function& function : functions) {
    const std::string name = function.name;
    if (name != "sin" && name != "cos" && name != "tanh" && name != "erf") continue;
    Jit jit = compile(function, "f32", true, {});
    ASSERT_TRUE(jit.valid());
    std::vector<float> x = samples(0.0f);
    while (x.size() % Jit::lanes) x.push_back(0);
    std::vector<float> y(x.size()), mirrored(x.size());
    jit.run(x.data(), nullptr, y.data(), static_cast<std::int64_t>(x.size()));
    for (float& value : x) value = -value;
    jit.run(x.data(), nullptr, mirrored.data(), static_cast<std::int64_t>(x.size()));
    const std::uint32_t flip = name == "cos" ? 0 : 0x80000000;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(y[i])) continue;
      ASSERT_LE(std::abs(y[i]), 1) << name << "(" << x[i] << ")";
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]) ^ flip, std::bit_cast<std::uint32_t>(mirrored[i]))
          << name << "(" << x[i] << ")";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, MathTest, testing::ValuesIn(functions),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace teeny::test
