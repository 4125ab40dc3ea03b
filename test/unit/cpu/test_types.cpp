// Element types: every operation is rounded, whatever the width; booleans are bytes in memory.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "kernel.hpp"

namespace teeny::compiler::cpu::testing {

namespace {

// z[i] = BODY(x[i], y[i]) for i < n, in blocks of 128.
std::string binary(const std::string& from, const std::string& to, const std::string& body) {
  std::string t = R"(tt.func public @k(%x: !tt.ptr<FROM>, %y: !tt.ptr<FROM>, %z: !tt.ptr<TO>, %n: i32) {
      %c128 = arith.constant 128 : i32
      %pid = tt.get_program_id x : i32
      %start = arith.muli %pid, %c128 : i32
      %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
      %s = tt.splat %start : i32 -> tensor<128xi32>
      %o = arith.addi %s, %r : tensor<128xi32>
      %ns = tt.splat %n : i32 -> tensor<128xi32>
      %m = arith.cmpi slt, %o, %ns : tensor<128xi32>
      %xs = tt.splat %x : !tt.ptr<FROM> -> tensor<128x!tt.ptr<FROM>>
      %xp = tt.addptr %xs, %o : tensor<128x!tt.ptr<FROM>>, tensor<128xi32>
      %ys = tt.splat %y : !tt.ptr<FROM> -> tensor<128x!tt.ptr<FROM>>
      %yp = tt.addptr %ys, %o : tensor<128x!tt.ptr<FROM>>, tensor<128xi32>
      %zs = tt.splat %z : !tt.ptr<TO> -> tensor<128x!tt.ptr<TO>>
      %zp = tt.addptr %zs, %o : tensor<128x!tt.ptr<TO>>, tensor<128xi32>
      %a = tt.load %xp, %m : tensor<128x!tt.ptr<FROM>>
      %b = tt.load %yp, %m : tensor<128x!tt.ptr<FROM>>
      BODY
      tt.store %zp, %result, %m : tensor<128x!tt.ptr<TO>>
      tt.return
    })";
  auto replace = [&](const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = t.find(what, at)) != std::string::npos; at += with.size())
      t.replace(at, what.size(), with);
  };
  replace("BODY", body), replace("FROM", from), replace("TO", to);
  return t;
}

float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// Nearest even, by exact comparison with both neighbours in f64.
std::uint16_t float_to_bf16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  auto low = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
  if (std::isinf(static_cast<float>(value))) return low;
  std::uint16_t best = low;
  for (int step = -2; step <= 2; ++step) {
    auto candidate = static_cast<std::uint16_t>(low + step);
    if (((candidate ^ low) & 0x8000) || std::isnan(bf16_to_float(candidate))) continue;
    double here = bf16_to_float(candidate), there = bf16_to_float(best);
    if (!std::isfinite(here)) here = std::copysign(std::ldexp(1, 128), here);
    if (!std::isfinite(there)) there = std::copysign(std::ldexp(1, 128), there);
    double d = std::fabs(here - value), e = std::fabs(there - value);
    if (d < e || (d == e && !(candidate & 1))) best = candidate;
  }
  return best;
}

}  // namespace

TEST(Types, bf16_is_rounded_after_every_operation) {
  for (const char* operation : {"addf", "subf", "mulf", "divf"}) {
    Kernel kernel(binary("bf16", "bf16", std::string("%result = arith.") + operation + " %a, %b : tensor<128xbf16>"));
    std::mt19937 generator(3);
    const int n = 5000;
    std::vector<std::uint16_t> x(n), y(n), z(n);
    for (int i = 0; i < n; ++i)
      x[i] = static_cast<std::uint16_t>(generator()), y[i] = static_cast<std::uint16_t>(generator());
    kernel.run({(n + 127) / 128}, x.data(), y.data(), z.data(), n);
    for (int i = 0; i < n; ++i) {
      double a = bf16_to_float(x[i]), b = bf16_to_float(y[i]);
      float exact = operation[0] == 'a'   ? float(a) + float(b)
                    : operation[0] == 's' ? float(a) - float(b)
                    : operation[0] == 'm' ? float(a) * float(b)
                                          : float(a) / float(b);
      std::uint16_t expected = float_to_bf16(exact);
      if (std::isnan(exact))
        ASSERT_TRUE(std::isnan(bf16_to_float(z[i])));
      else
        ASSERT_EQ(z[i], expected) << operation << " " << a << " " << b;
    }
  }
}

TEST(Types, conversions_to_16_bits_round_once) {
  // Halfway cases beyond what f32 holds: rounding through f32 would go to the wrong side.
  Kernel kernel(binary("f64", "f16", "%result = arith.truncf %a : tensor<128xf64> to tensor<128xf16>"));
  double just_above = 1.0 + std::ldexp(1, -11) + std::ldexp(1, -40),
         just_below = 1.0 + std::ldexp(1, -11) - std::ldexp(1, -40);
  std::vector<double> x = {just_above,         just_below, 1.0 + std::ldexp(1, -11),
                           65519.99999999,     65520.0,    std::ldexp(1, -25) * 1.0000001,
                           std::ldexp(1, -25), -just_above};
  std::vector<double> y(x.size());
  std::vector<std::uint16_t> z(x.size());
  kernel.run({1}, x.data(), y.data(), z.data(), static_cast<int>(x.size()));
  EXPECT_EQ(z, (std::vector<std::uint16_t>{0x3c01, 0x3c00, 0x3c00, 0x7bff, 0x7c00, 1, 0, 0xbc01}));
  Kernel integers(binary("i64", "bf16", "%result = arith.sitofp %a : tensor<128xi64> to tensor<128xbf16>"));
  std::vector<std::int64_t> i = {(1ll << 62) + (1ll << 54),
                                 (1ll << 62) + (1ll << 54) + 1,
                                 -((1ll << 62) + (1ll << 54) + 1),
                                 257,
                                 258,
                                 std::numeric_limits<std::int64_t>::min()};
  std::vector<std::int64_t> j(i.size());
  std::vector<std::uint16_t> k(i.size());
  integers.run({1}, i.data(), j.data(), k.data(), static_cast<int>(i.size()));
  EXPECT_EQ(k, (std::vector<std::uint16_t>{0x5e80, 0x5e81, 0xde81, 0x4380, 0x4381, 0xdf00}));
}

TEST(Types, integers_of_every_width) {
  auto check = [](auto zero, const std::string& type) {
    using T = decltype(zero);
    std::string body =
        "%p = arith.muli %a, %b : tensor<128xT>\n%q = arith.divsi %a, %b : tensor<128xT>\n%result = arith.subi %p, %q "
        ": tensor<128xT>";
    for (std::size_t at = 0; (at = body.find("xT>", at)) != std::string::npos;) body.replace(at, 3, "x" + type + ">");
    Kernel kernel(binary(type, type, body));
    const int n = 300;
    std::mt19937_64 generator(4);
    std::vector<T> x(n), y(n), z(n);
    for (int i = 0; i < n; ++i) x[i] = static_cast<T>(generator()), y[i] = static_cast<T>(generator() >> (i % 60));
    y[0] = 0, x[1] = std::numeric_limits<T>::min(), y[1] = -1;
    kernel.run({3}, x.data(), y.data(), z.data(), n);
    for (int i = 0; i < n; ++i) {
      auto wide = static_cast<std::uint64_t>(x[i]) * static_cast<std::uint64_t>(y[i]);
      T quotient = y[i] == 0       ? T(0)
                   : y[i] == T(-1) ? static_cast<T>(0 - static_cast<std::uint64_t>(x[i]))
                                   : static_cast<T>(x[i] / y[i]);
      ASSERT_EQ(z[i], static_cast<T>(wide - static_cast<std::uint64_t>(quotient)))
          << type << " " << +x[i] << " " << +y[i];
    }
  };
  check(std::int8_t{}, "i8"), check(std::int16_t{}, "i16"), check(std::int32_t{}, "i32"), check(std::int64_t{}, "i64");
}

TEST(Types, booleans_are_bytes_and_any_other_byte_is_true) {
  Kernel kernel(binary("i1", "i1", "%result = arith.xori %a, %b : tensor<128xi1>"));
  std::vector<std::uint8_t> x(200), y(200), z(201, 9);
  for (int i = 0; i < 200; ++i)
    x[i] = static_cast<std::uint8_t>(i % 3 * 85), y[i] = static_cast<std::uint8_t>(i % 5 == 0 ? 2 : 0);
  kernel.run({2}, x.data(), y.data(), z.data(), 200);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(z[i], (x[i] != 0) != (y[i] != 0));
  EXPECT_EQ(z[200], 9);
}

TEST(Types, float_to_integer_saturates) {
  Kernel kernel(binary("f32", "i8", "%result = arith.fptosi %a : tensor<128xf32> to tensor<128xi8>"));
  std::vector<float> x = {1.9f, -1.9f, 127.5f, 128, 1e10f, -1e10f, NAN, -128.9f}, y(8);
  std::vector<std::int8_t> z(8);
  kernel.run({1}, x.data(), y.data(), z.data(), 8);
  EXPECT_EQ(z, (std::vector<std::int8_t>{1, -1, 127, 127, 127, -128, 0, -128}));
}

TEST(Types, minima_order_zeros_and_skip_nan) {
  Kernel kernel(binary("f32", "f32", "%result = arith.maxnumf %a, %b : tensor<128xf32>"));
  std::vector<float> x = {-0.f, 0.f, NAN, 1}, y = {0.f, -0.f, 2, NAN}, z(4);
  kernel.run({1}, x.data(), y.data(), z.data(), 4);
  EXPECT_FALSE(std::signbit(z[0]));
  EXPECT_FALSE(std::signbit(z[1]));
  EXPECT_EQ(z[2], 2);
  EXPECT_EQ(z[3], 1);
}

TEST(Types, division_by_one_number_is_correctly_rounded) {
  Kernel kernel(R"(tt.func public @k(%x: !tt.ptr<f32>, %d: !tt.ptr<f32>, %z: !tt.ptr<f32>) {
      %r = tt.make_range {end = 4096 : i32, start = 0 : i32} : tensor<4096xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<4096x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %r : tensor<4096x!tt.ptr<f32>>, tensor<4096xi32>
      %zs = tt.splat %z : !tt.ptr<f32> -> tensor<4096x!tt.ptr<f32>>
      %zp = tt.addptr %zs, %r : tensor<4096x!tt.ptr<f32>>, tensor<4096xi32>
      %a = tt.load %xp : tensor<4096x!tt.ptr<f32>>
      %s = tt.load %d : !tt.ptr<f32>
      %b = tt.splat %s : f32 -> tensor<4096xf32>
      %q = arith.divf %a, %b : tensor<4096xf32>
      tt.store %zp, %q : tensor<4096x!tt.ptr<f32>>
      tt.return
    })");
  std::mt19937 generator(17);
  std::vector<float> x(4096), z(4096);
  for (int round = 0; round < 200; ++round) {
    // Any bits in the first rounds; then all exponents near 1, where the reciprocal is used.
    auto draw = [&] {
      auto bits = static_cast<std::uint32_t>(generator());
      return std::bit_cast<float>(round < 20 ? bits : (bits & 0x807fffffu) | (127u - 3 + bits % 7) << 23);
    };
    for (float& value : x) value = draw();
    x[5] = 0, x[6] = round % 2 ? -0.f : 0.f;
    float divisor = round % 10 == 9 ? std::bit_cast<float>(0x3fffffffu - round) : draw();
    kernel.run({1}, x.data(), &divisor, z.data());
    for (int i = 0; i < 4096; ++i) {
      float expected = x[i] / divisor;
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(z[i]));
      else
        ASSERT_EQ(std::bit_cast<std::uint32_t>(z[i]), std::bit_cast<std::uint32_t>(expected))
            << x[i] << " / " << divisor;
    }
  }
}

TEST(Tiles, of_a_million_elements_are_loops) {
  std::string text = binary("f32", "f32", "%result = arith.addf %a, %b : tensor<128xf32>");
  for (std::size_t at = 0; (at = text.find("128", at)) != std::string::npos; at += 7) text.replace(at, 3, "1048576");
  Kernel kernel(text);
  EXPECT_LT(kernel.llvm_text().size(), 20000u);
  const int n = 1000001;
  std::vector<float> x(n, 1.5f), y(n, 2), z(n + 1);
  kernel.run({1}, x.data(), y.data(), z.data(), n);
  for (int i = 0; i < n; ++i) ASSERT_EQ(z[i], 3.5f);
  EXPECT_EQ(z[n], 0);
}

TEST(Tiles, buffers_beyond_the_cache_are_stored_past_it) {
  std::string text = binary("f32", "f32", "%result = arith.addf %a, %b : tensor<128xf32>");
  text.replace(text.find("%z: !tt.ptr<f32>"), 16, "%z: !tt.ptr<f32> {teeny.exceeds_cache}");
  Kernel kernel(text);
  EXPECT_NE(kernel.llvm_text().find("!nontemporal"), std::string::npos);
  alignas(64) float x[301], y[301], z[302] = {};
  for (int i = 0; i < 301; ++i) x[i] = static_cast<float>(i), y[i] = 1;
  for (int shift : {0, 1}) {
    kernel.run({3}, x, y, z + shift, 300);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(z[i + shift], i + 1);
    EXPECT_EQ(z[301], 0);
  }
}

TEST(Tiles, line_tables_name_the_operations) {
  CpuOptions options;
  options.debug_info = true;
  Kernel kernel(binary("f32", "f32", "%result = arith.addf %a, %b : tensor<128xf32>"), options);
  EXPECT_NE(kernel.llvm_text().find("!DILocation"), std::string::npos);
}

TEST(Tiles, other_levels_of_the_machine_give_the_same) {
  for (const char* target : {"cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"}) {
    if (describe_host_cpu().vector_bytes < parse_target(target).vector_bytes) continue;
    Kernel kernel(
        binary("f16", "f16", "%t = arith.addf %a, %b : tensor<128xf16>\n%result = arith.mulf %t, %b : tensor<128xf16>"),
        {}, target);
    std::vector<std::uint16_t> x(100, 0x3c00), y(100, 0x4000), z(100);
    kernel.run({1}, x.data(), y.data(), z.data(), 100);
    for (std::uint16_t value : z) ASSERT_EQ(value, 0x4600) << target;
  }
}

}  // namespace teeny::compiler::cpu::testing
