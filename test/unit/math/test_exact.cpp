// What expand_exact gives against the meanings of lang/operations.def, computed here in plain C++.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/transforms/expand_exact.hpp"
#include "formats.hpp"
#include "jit.hpp"

namespace teeny::test {
namespace {

using compiler::ExactFacts;

template <typename T>
std::string type_name() {
  return (std::is_floating_point_v<T> ? "f" : "i") + std::to_string(sizeof(T) * 8);
}

int count_operations(mlir::ModuleOp module, llvm::StringRef name = "") {
  int count = 0;
  module.walk([&](mlir::Operation* op) { count += name.empty() || op->getName().getStringRef() == name; });
  return count;
}

Jit compile(const std::string& in, const std::string& out, const std::string& body, int operands, ExactFacts facts,
            bool vectors = true) {
  return Jit(in, out, body, vectors, operands, [&](mlir::ModuleOp module) -> mlir::LogicalResult {
    if (failed(compiler::expand_exact(module, facts))) return mlir::failure();
    const int count = count_operations(module);
    if (failed(compiler::expand_exact(module, facts))) return mlir::failure();
    EXPECT_EQ(count_operations(module), count) << "a second run changed something";
    return mlir::success();
  });
}

// Values at the edges of the type, small ones and random ones.
template <typename T>
std::vector<T> interesting_integers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (int d = -9; d <= 9; ++d)
    values.insert(values.end(),
                  {static_cast<T>(d), static_cast<T>(Limits::min() + d), static_cast<T>(Limits::max() - d)});
  for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit)
    values.push_back(static_cast<T>(std::make_unsigned_t<T>{1} << bit));
  std::mt19937_64 random(7);
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<T>(random() >> (random() % 64)));
  return values;
}

template <typename T>
struct Pairs {
  std::vector<T> x, y;
};

template <typename T>
Pairs<T> all_pairs(const std::vector<T>& values) {
  Pairs<T> pairs;
  for (T a : values)
    for (T b : values) pairs.x.push_back(a), pairs.y.push_back(b);
  while (pairs.x.size() % Jit::lanes) pairs.x.push_back(1), pairs.y.push_back(1);
  return pairs;
}

template <typename T>
void check_binary(const std::string& op, ExactFacts facts, const std::function<T(T, T)>& meaning) {
  Pairs<T> pairs = all_pairs(interesting_integers<T>());
  for (bool vectors : {true, false}) {
    Jit jit = compile(type_name<T>(), type_name<T>(), "%y = " + op + " %x, %x2 : IN", 2, facts, vectors);
    ASSERT_TRUE(jit.valid());
    std::vector<T> result(pairs.x.size());
    jit.run(pairs.x.data(), pairs.y.data(), result.data(), static_cast<std::int64_t>(result.size()));
    for (std::size_t i = 0; i < result.size(); ++i)
      ASSERT_EQ(+result[i], +meaning(pairs.x[i], pairs.y[i])) << op << " of " << +pairs.x[i] << " and " << +pairs.y[i];
  }
}

template <typename T>
T divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  return static_cast<T>(a / b);
}

template <typename T>
T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

template <typename T>
void check_division() {
  const std::string sign = std::is_signed_v<T> ? "si" : "ui";
  check_binary<T>("arith.div" + sign, {}, divide<T>);
  check_binary<T>("arith.rem" + sign, {}, remainder<T>);
  check_binary<T>("arith.rem" + sign, {.signed_remainder = false}, remainder<T>);
}

TEST(ExactTest, division_by_zero_and_of_the_lowest_integer_is_defined) {
  check_division<std::int8_t>();
  check_division<std::uint8_t>();
  check_division<std::int16_t>();
  check_division<std::int32_t>();
  check_division<std::uint32_t>();
  check_division<std::int64_t>();
  check_division<std::uint64_t>();
}

TEST(ExactTest, constant_divisors_are_guarded_only_where_needed) {
  std::vector<std::int32_t> x = interesting_integers<std::int32_t>();
  while (x.size() % Jit::lanes) x.push_back(1);
  for (std::int32_t divisor : {2, 3, -2, 512, -1, 0}) {
    std::string body = "%d = arith.constant dense<" + std::to_string(divisor) + "> : IN\n";
    std::vector<std::int32_t> quotient(x.size()), rest(x.size());
    Jit divides = compile("i32", "i32", body + "%y = arith.divsi %x, %d : IN", 1, {});
    Jit leaves = compile("i32", "i32", body + "%y = arith.remsi %x, %d : IN", 1, {.signed_remainder = false});
    ASSERT_TRUE(divides.valid() && leaves.valid());
    divides.run(x.data(), nullptr, quotient.data(), static_cast<std::int64_t>(x.size()));
    leaves.run(x.data(), nullptr, rest.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(quotient[i], divide(x[i], divisor)) << x[i] << " / " << divisor;
      EXPECT_EQ(rest[i], remainder(x[i], divisor)) << x[i] << " % " << divisor;
    }
  }
}

TEST(ExactTest, harmless_constants_add_nothing) {
  const std::string constants = "%d = arith.constant dense<3> : IN\n";
  for (const char* op :
       {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.shli", "arith.shrsi", "arith.shrui"}) {
    Jit jit("i32", "i32", constants + "%y = " + op + " %x, %d : IN", true, 1,
            [&](mlir::ModuleOp module) -> mlir::LogicalResult {
              const int count = count_operations(module);
              EXPECT_EQ(count_operations(module, op), 1);
              if (failed(compiler::expand_exact(module, {}))) return mlir::failure();
              EXPECT_EQ(count_operations(module), count) << op;
              return mlir::success();
            });
    EXPECT_TRUE(jit.valid());
  }
}

template <typename T>
void check_shifts() {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr Unsigned width = sizeof(T) * 8;
  check_binary<T>("arith.shli", {},
                  [](T a, T b) { return static_cast<T>(Unsigned(b) < width ? Unsigned(a) << Unsigned(b) : 0); });
  if constexpr (std::is_signed_v<T>)
    check_binary<T>("arith.shrsi", {},
                    [](T a, T b) { return static_cast<T>(a >> (Unsigned(b) < width ? Unsigned(b) : width - 1)); });
  else
    check_binary<T>("arith.shrui", {}, [](T a, T b) { return static_cast<T>(b < width ? a >> b : 0); });
}

TEST(ExactTest, shifts_by_the_width_or_more_are_defined) {
  check_shifts<std::int8_t>();
  check_shifts<std::uint8_t>();
  check_shifts<std::int32_t>();
  check_shifts<std::uint32_t>();
  check_shifts<std::int64_t>();
  check_shifts<std::uint64_t>();
}

template <typename T>
std::vector<T> interesting_floats() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<T> values = {0,
                           T(-0.0),
                           T(-0.5),
                           T(-0.9),
                           T(-1.5),
                           T(127.9),
                           T(-128.9),
                           T(255.9),
                           T(0.9),
                           T(510),
                           T(-200),
                           T(3e9),
                           T(4294967040.0),
                           T(1e18),
                           T(1e19),
                           T(2251799813685249.5),
                           T(65504),
                           T(65519),
                           T(65520),
                           T(65536),
                           T(2049),
                           T(2051),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::denorm_min()};
  for (int k = -160; k <= 140; ++k)
    for (T factor :
         {T(1), T(1.5), T(-1), T(-1.5), T(1 + 1.0 / 256), T(1 + 3.0 / 256), T(1 + 1.0 / 2048), T(1 + 3.0 / 2048)})
      for (int d = -2; d <= 2; ++d) {
        T value = factor * static_cast<T>(std::ldexp(1.0, k));
        values.push_back(std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(value) + Bits(d))));
      }
  std::mt19937_64 random(3);
  for (int i = 0; i < 300000; ++i) values.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
  for (int i = 0; i < 100000; ++i)
    values.push_back(static_cast<T>(
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -static_cast<int>(random() % 96))));
  while (values.size() % Jit::lanes) values.push_back(1);
  return values;
}

template <typename T, typename N>
void check_float_to_integer() {
  std::vector<T> x = interesting_floats<T>();
  std::vector<N> y(x.size());
  for (bool vectors : {true, false}) {
    Jit jit = compile(type_name<T>(), type_name<N>(),
                      std::string("%y = arith.fpto") + (std::is_signed_v<N> ? "si" : "ui") + " %x : IN to OUT", 1, {},
                      vectors);
    ASSERT_TRUE(jit.valid());
    jit.run(x.data(), nullptr, y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double whole = std::trunc(static_cast<long double>(x[i]));
      N expected = 0;
      if (whole >= static_cast<long double>(std::numeric_limits<N>::max()))
        expected = std::numeric_limits<N>::max();
      else if (whole <= static_cast<long double>(std::numeric_limits<N>::min()))
        expected = std::numeric_limits<N>::min();
      else if (!std::isnan(x[i]))
        expected = static_cast<N>(whole);
      ASSERT_EQ(+y[i], +expected) << x[i] << " to " << type_name<N>();
    }
  }
}

template <typename T>
void check_float_to_every_integer() {
  check_float_to_integer<T, std::int8_t>();
  check_float_to_integer<T, std::uint8_t>();
  check_float_to_integer<T, std::int16_t>();
  check_float_to_integer<T, std::uint16_t>();
  check_float_to_integer<T, std::int32_t>();
  check_float_to_integer<T, std::uint32_t>();
  check_float_to_integer<T, std::int64_t>();
  check_float_to_integer<T, std::uint64_t>();
}

TEST(ExactTest, floats_saturate_to_integers) {
  check_float_to_every_integer<float>();
  check_float_to_every_integer<double>();
}

void expect_rounded(std::uint16_t got, long double exact, const Format& format, const std::string& what) {
  const double value = decode(got, format);
  const long double expected = round_to(exact, format);
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(value)) << what;
    return;
  }
  ASSERT_EQ(value, static_cast<double>(expected)) << what;
  ASSERT_EQ(std::signbit(value), std::signbit(expected)) << what;
}

template <typename T>
void check_truncation(const Format& format, ExactFacts facts) {
  std::vector<T> x = interesting_floats<T>();
  std::vector<std::uint16_t> y(x.size());
  Jit jit = compile(type_name<T>(), format.name, "%y = arith.truncf %x : IN to OUT", 1, facts);
  ASSERT_TRUE(jit.valid());
  jit.run(x.data(), nullptr, y.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    expect_rounded(y[i], x[i], format, std::to_string(x[i]) + " to " + format.name);
}

TEST(ExactTest, floats_are_narrowed_with_one_rounding) {
  check_truncation<float>(bf16, {});
  check_truncation<float>(f16, {});
  check_truncation<float>(f16, {.truncates_to_f16 = false});
  check_truncation<double>(bf16, {});
  check_truncation<double>(f16, {});
  check_truncation<double>(f16, {.truncates_to_f16 = false});
}

TEST(ExactTest, f32_to_bf16_has_the_known_bits) {
  const std::uint32_t in[] = {0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0x3E89CCD5, 0xBF808000,
                              0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF, 0x00008000, 0x00018000, 0x80000001,
                              0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF};
  const std::uint16_t expected[] = {0x3F80, 0x3F82, 0x3F81, 0x3F80, 0x3E8A, 0xBF80, 0x7F7F,
                                    0x7F80, 0x7F80, 0x0000, 0x0002, 0x8000, 0x7F80, 0xFF80};
  std::uint16_t out[16];
  Jit jit = compile("f32", "bf16", "%y = arith.truncf %x : IN to OUT", 1, {});
  ASSERT_TRUE(jit.valid());
  jit.run(in, nullptr, out, 16);
  for (int i = 0; i < 14; ++i) EXPECT_EQ(out[i], expected[i]) << i;
  for (int i = 14; i < 16; ++i) EXPECT_TRUE(std::isnan(decode(out[i], bf16))) << i;
}

template <typename N>
void check_integer_to_16_bits(const Format& format) {
  std::vector<N> x = interesting_integers<N>();
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) x.push_back(static_cast<N>(random() >> (random() % 64)));
  for (unsigned bit = 9; bit < sizeof(N) * 8 - 1; ++bit)  // beside the middles between two bf16 numbers
    for (int d = -2; d <= 2; ++d) x.push_back(static_cast<N>((N{1} << bit) + (N{1} << (bit - 8)) + d));
  while (x.size() % Jit::lanes) x.push_back(1);
  std::vector<std::uint16_t> y(x.size());
  Jit jit = compile(type_name<N>(), format.name,
                    std::string("%y = arith.") + (std::is_signed_v<N> ? "si" : "ui") + "tofp %x : IN to OUT", 1, {});
  ASSERT_TRUE(jit.valid());
  jit.run(x.data(), nullptr, y.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    expect_rounded(y[i], static_cast<long double>(x[i]), format, std::to_string(x[i]) + " to " + format.name);
}

TEST(ExactTest, integers_are_rounded_once) {
  for (const Format& format : {f16, bf16}) {
    check_integer_to_16_bits<std::int32_t>(format);
    check_integer_to_16_bits<std::uint32_t>(format);
    check_integer_to_16_bits<std::int64_t>(format);
    check_integer_to_16_bits<std::uint64_t>(format);
  }
}

template <typename T>
void check_fma(ExactFacts facts, const std::string& remaining) {
  std::vector<T> x = interesting_floats<T>(), y = x;
  std::shuffle(y.begin(), y.end(), std::mt19937_64(11));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  // The addend is x, or the rounded product's negative, so that only what rounding lost is left.
  for (bool cancels : {false, true}) {
    std::string body =
        cancels ? "%product = arith.mulf %x, %x2 : IN\n%z = arith.negf %product : IN\n%y = math.fma %x, %x2, %z : IN"
                : "%y = math.fma %x, %x2, %x : IN";
    Jit jit = compile(type_name<T>(), type_name<T>(), body, 2, facts);
    ASSERT_TRUE(jit.valid());
    EXPECT_EQ(jit.remaining_math(), remaining);
    std::vector<T> got(x.size());
    jit.run(x.data(), y.data(), got.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T expected = std::fma(x[i], y[i], cancels ? -(x[i] * y[i]) : x[i]);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(got[i])) << x[i] << " " << y[i];
      else
        ASSERT_EQ(std::bit_cast<Bits>(got[i]), std::bit_cast<Bits>(expected)) << x[i] << " " << y[i];
    }
  }
}

TEST(ExactTest, fma_rounds_once_without_a_fused_instruction) {
  check_fma<float>({.fma_fused = false}, "");
  check_fma<float>({.fma_fused = false, .has_f64 = false}, "math.ctlz");
  check_fma<double>({.fma_fused = false}, "math.ctlz");
}

// Here the machine's own f32 operations are right: the other forms must agree with them.
void check_quotients_and_roots(bool has_f64) {
  std::vector<float> x = interesting_floats<float>(), y = x, quotient(x.size()), root(x.size());
  std::shuffle(y.begin(), y.end(), std::mt19937_64(13));
  Jit divides = compile("f32", "f32", "%y = arith.divf %x, %x2 : IN", 2, {.division_rounds = false, .has_f64 = has_f64});
  Jit roots = compile("f32", "f32", "%y = math.sqrt %x : IN", 1, {.sqrt_rounds = false, .has_f64 = has_f64});
  ASSERT_TRUE(divides.valid() && roots.valid());
  divides.run(x.data(), y.data(), quotient.data(), static_cast<std::int64_t>(x.size()));
  roots.run(x.data(), nullptr, root.data(), static_cast<std::int64_t>(x.size()));
  auto expect_same = [](float got, float expected) {
    if (std::isnan(expected)) return std::isnan(got);
    return std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(expected);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(expect_same(quotient[i], x[i] / y[i])) << x[i] << " / " << y[i];
    ASSERT_TRUE(expect_same(root[i], std::sqrt(x[i]))) << x[i];
  }
}

TEST(ExactTest, quotients_and_roots_through_f64_are_correctly_rounded) { check_quotients_and_roots(true); }
TEST(ExactTest, quotients_and_roots_from_integers_are_correctly_rounded) { check_quotients_and_roots(false); }

TEST(ExactTest, remainders_of_floats_are_exact) {
  std::vector<float> x = interesting_floats<float>(), y = x;
  std::shuffle(y.begin(), y.end(), std::mt19937_64(17));
  const float infinity = std::numeric_limits<float>::infinity(), smallest = std::numeric_limits<float>::denorm_min();
  for (float a : {0.0f, -0.0f, -6.0f, infinity, smallest, std::numeric_limits<float>::max(), 5.5f, -1e30f})
    for (float b :
         {3.0f, 0.0f, infinity, -infinity, smallest, -3 * smallest, 1e-30f, std::numeric_limits<float>::max()})
      x.push_back(a), y.push_back(b);
  std::vector<float> got(x.size());
  Jit jit = compile("f32", "f32", "%y = arith.remf %x, %x2 : IN", 2, {});
  ASSERT_TRUE(jit.valid());
  EXPECT_EQ(jit.remaining_math(), "math.absf math.floor");
  jit.run(x.data(), y.data(), got.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float expected = std::fmod(x[i], y[i]);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(got[i])) << x[i] << " % " << y[i];
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected)) << x[i] << " % " << y[i];
  }
}

TEST(ExactTest, minimum_and_maximum_follow_the_nan_rules) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {nan, 3, -infinity, infinity, 0.0f, -0.0f, 1, -2};
  Pairs<float> pairs = all_pairs(values);
  for (bool is_maximum : {true, false})
    for (bool propagates : {true, false}) {
      std::string op = std::string("arith.") + (is_maximum ? "max" : "min") + (propagates ? "imumf" : "numf");
      Jit jit = compile("f32", "f32", "%y = " + op + " %x, %x2 : IN", 2, {.orders_min_max = false});
      ASSERT_TRUE(jit.valid());
      std::vector<float> got(pairs.x.size());
      jit.run(pairs.x.data(), pairs.y.data(), got.data(), static_cast<std::int64_t>(got.size()));
      for (std::size_t i = 0; i < got.size(); ++i) {
        const float a = pairs.x[i], b = pairs.y[i];
        if (std::isnan(a) || std::isnan(b)) {
          const bool is_nan = propagates || (std::isnan(a) && std::isnan(b));
          if (is_nan)
            EXPECT_TRUE(std::isnan(got[i])) << op << " " << a << " " << b;
          else
            EXPECT_EQ(got[i], std::isnan(a) ? b : a) << op << " " << a << " " << b;
          continue;
        }
        const bool first = a == b ? std::signbit(a) != is_maximum : (a > b) == is_maximum;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(first ? a : b))
            << op << " " << a << " " << b;
      }
    }
}

}  // namespace
}  // namespace teeny::test
