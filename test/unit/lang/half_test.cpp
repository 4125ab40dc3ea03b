// teeny::half and teeny::bfloat16: every pattern, and rounding against a definition by comparison.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <unordered_set>

#include <teeny/element.hpp>
#include <teeny/half.hpp>

namespace {

using teeny::bfloat16;
using teeny::half;

template <class T>
class Sixteen : public testing::Test {};
using Both = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(Sixteen, Both);

TYPED_TEST(Sixteen, EveryPatternComesBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const TypeParam value = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    const TypeParam back(static_cast<float>(value));
    if (std::isnan(static_cast<float>(value))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back)));
      EXPECT_EQ(back.bits() & 0x8000, bits & 0x8000);
    } else {
      EXPECT_EQ(back.bits(), bits);
      EXPECT_EQ(TypeParam(static_cast<double>(static_cast<float>(value))).bits(), bits);
    }
  }
}

// Nearest, ties to even, by the two neighbours: shares nothing with the conversion.
template <class T>
bool is_nearest(double x, T got) {
  const double distance = std::abs(x - static_cast<double>(static_cast<float>(got)));
  for (const int step : {-1, 1}) {
    const T other = T::from_bits(static_cast<std::uint16_t>(got.bits() + step));
    if (!std::isfinite(static_cast<float>(other)) || (other.bits() & 0x8000) != (got.bits() & 0x8000)) continue;
    const double rival = std::abs(x - static_cast<double>(static_cast<float>(other)));
    if (rival < distance || (rival == distance && (got.bits() & 1))) return false;
  }
  return true;
}
TYPED_TEST(Sixteen, RoundsOnceToNearestEven) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53, static_cast<int>(random() % 44) - 28) *
                     (random() & 1 ? -1 : 1);
    const TypeParam got(x);
    EXPECT_TRUE(!std::isfinite(static_cast<float>(got)) || is_nearest(x, got)) << x << " gave " << got;
  }
  // Halfway between two neighbours, and a hair beside it, where rounding to float first would go wrong.
  for (unsigned bits = 1; bits < 0x7b00; bits += 37) {
    const double low = static_cast<float>(TypeParam::from_bits(static_cast<std::uint16_t>(bits))),
                 high = static_cast<float>(TypeParam::from_bits(static_cast<std::uint16_t>(bits + 1)));
    const double middle = (low + high) / 2;
    EXPECT_EQ(TypeParam(middle).bits(), bits & 1 ? bits + 1 : bits);
    EXPECT_EQ(TypeParam(std::nextafter(middle, high)).bits(), bits + 1);
    EXPECT_EQ(TypeParam(std::nextafter(middle, low)).bits(), bits);
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(half(65504.0).bits(), 0x7bff);
  EXPECT_EQ(half(65519.0).bits(), 0x7bff);
  EXPECT_EQ(half(65520.0).bits(), 0x7c00);
  EXPECT_EQ(half(-1e30f).bits(), 0xfc00);
  EXPECT_EQ(half(2049).bits(), 0x6800);
  EXPECT_EQ(half(2051).bits(), 0x6802);
  EXPECT_EQ(half(0x1p-24).bits(), 1);
  EXPECT_EQ(half(0x1p-25).bits(), 0);
  EXPECT_EQ(half(0x1.00001p-25).bits(), 1);
  EXPECT_EQ(half(1 + 0x1p-11).bits(), 0x3c00);
  EXPECT_EQ(half(1 + 3 * 0x1p-11).bits(), 0x3c02);
  EXPECT_EQ(half(-0.0f).bits(), 0x8000);
  EXPECT_EQ(half(0.1f).bits(), 0x2e66);
  EXPECT_EQ(half((1ll << 62) + 1).bits(), 0x7c00);
  static_assert(half(1.5f).bits() == 0x3e00 && static_cast<float>(half(1.5f)) == 1.5f);
}

TEST(BFloat16, KnownValues) {
  const auto from = [](std::uint32_t bits) { return bfloat16(std::bit_cast<float>(bits)).bits(); };
  EXPECT_EQ(from(0x3f808000), 0x3f80);
  EXPECT_EQ(from(0x3f818000), 0x3f82);
  EXPECT_EQ(from(0x3f808001), 0x3f81);
  EXPECT_EQ(from(0x3f807fff), 0x3f80);
  EXPECT_EQ(from(0x7f7fffff), 0x7f80);
  EXPECT_EQ(from(0x00000001), 0x0000);
  EXPECT_EQ(from(0x00008001), 0x0001);
  EXPECT_EQ(from(0xff800000), 0xff80);
  // 2^56 + 2^48 + 1 is above the tie; a double in between would lose the one.
  EXPECT_EQ(bfloat16((1ll << 56) + (1ll << 48) + 1).bits(), bfloat16(0x1.02p56).bits());
  EXPECT_EQ(bfloat16((1ll << 56) + (1ll << 48)).bits(), bfloat16(0x1p56).bits());
}

TYPED_TEST(Sixteen, BehavesAsANumber) {
  using limits = std::numeric_limits<TypeParam>;
  EXPECT_TRUE(limits::is_specialized && limits::has_infinity && !limits::is_integer);
  EXPECT_EQ(TypeParam(1) + limits::epsilon(),
            static_cast<float>(TypeParam::from_bits(static_cast<std::uint16_t>(TypeParam(1).bits() + 1))));
  EXPECT_TRUE(std::isinf(static_cast<float>(limits::infinity())) &&
              std::isnan(static_cast<float>(limits::quiet_NaN())));
  EXPECT_EQ(-limits::max(), limits::lowest());
  EXPECT_EQ(static_cast<float>(limits::min()), std::ldexp(1.0f, limits::min_exponent - 1));
  EXPECT_FALSE(limits::quiet_NaN() == limits::quiet_NaN());
  EXPECT_TRUE(TypeParam(-0.0f) == TypeParam(0) && TypeParam(1) < TypeParam(2) && TypeParam(3) >= TypeParam(3));
  std::unordered_set<TypeParam> set{TypeParam(0), TypeParam(-0.0f), TypeParam(1)};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_EQ(TypeParam(3) * 2 + 1, 7.0f);
}

}  // namespace
