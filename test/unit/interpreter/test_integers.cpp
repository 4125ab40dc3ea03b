// Integer operations: truncating division, wrapping, shifts, widening, booleans in memory.
#include "fixture.hpp"

namespace teeny::compiler::interpreter {
namespace {

template <class T>
std::vector<T> mapped(const std::string& type, const std::string& body, std::vector<T> x, std::vector<T> y,
                      bool expect_clean = true) {
  std::vector<T> out(x.size(), T{});
  Launch launch(map_kernel(static_cast<int>(x.size()), {type, type}, type, body));
  launch.buffer(x).buffer(y).buffer(out, false);
  if (expect_clean)
    launch.clean();
  else
    launch.without_check().clean();
  return out;
}

TEST(interpreter_integers, division_truncates_toward_zero) {
  const std::int32_t low = INT32_MIN;
  const std::vector<std::int32_t> a = {7, -7, 7, -7, 1, -1, -1, -513, low, low, 1, -6, 1000000, 65536, 0, -8};
  const std::vector<std::int32_t> b = {2, 2, -2, -2, 512, 512, 2, 512, 2, low, low, low, low, low, -3, 3};
  EXPECT_EQ(mapped("i32", "  %r = arith.divsi %x0, %x1 : tensor<16xi32>\n", a, b),
            (std::vector<std::int32_t>{3, -3, -3, 3, 0, 0, 0, -1, -1073741824, 1, 0, 0, 0, 0, 0, -2}));
  EXPECT_EQ(mapped("i32", "  %r = arith.remsi %x0, %x1 : tensor<16xi32>\n", a, b),
            (std::vector<std::int32_t>{1, -1, 1, -1, 1, -1, -1, -1, 0, 0, 1, -6, 1000000, 65536, 0, -2}));
}

TEST(interpreter_integers, division_by_zero_and_of_the_lowest_are_defined) {
  const std::vector<std::int32_t> a = {10, 20, INT32_MIN, 0}, b = {2, 0, -1, 0};
  EXPECT_EQ(mapped("i32", "  %r = arith.divsi %x0, %x1 : tensor<4xi32>\n", a, b, false),
            (std::vector<std::int32_t>{5, 0, INT32_MIN, 0}));
  EXPECT_EQ(mapped("i32", "  %r = arith.remsi %x0, %x1 : tensor<4xi32>\n", a, b, false),
            (std::vector<std::int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(mapped("i32", "  %r = arith.divui %x0, %x1 : tensor<4xi32>\n", a, b, false),
            (std::vector<std::int32_t>{5, 0, 0, 0}));
}

// A divisor of zero whose quotient is not used is no fault.
TEST(interpreter_integers, unused_division_by_zero_is_clean) {
  const std::vector<std::int32_t> a = {10, 20, INT32_MIN, 7}, b = {2, 0, -1, 4};
  EXPECT_EQ(
      mapped("i32",
             "  %zero = arith.constant dense<0> : tensor<4xi32>\n  %one = arith.constant dense<-1> : tensor<4xi32>\n"
             "  %ok = arith.cmpi ne, %x1, %zero : tensor<4xi32>\n  %q = arith.divsi %x0, %x1 : tensor<4xi32>\n"
             "  %r = arith.select %ok, %q, %one : tensor<4xi1>, tensor<4xi32>\n",
             a, b),
      (std::vector<std::int32_t>{5, -1, INT32_MIN, 1}));
}

TEST(interpreter_integers, narrow_arithmetic_wraps_at_its_width) {
  EXPECT_EQ(
      mapped<std::uint8_t>("i8", "  %r = arith.addi %x0, %x1 : tensor<4xi8>\n", {200, 0, 255, 100}, {100, 0, 1, 100}),
      (std::vector<std::uint8_t>{44, 0, 0, 200}));
  EXPECT_EQ(mapped<std::int16_t>("i16", "  %r = arith.muli %x0, %x1 : tensor<2xi16>\n", {300, -1}, {300, 7}),
            (std::vector<std::int16_t>{24464, -7}));
  std::vector<std::uint8_t> all(256), fours(256, 4);
  for (int i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  const std::string shifts =
      "  %a = arith.shli %x0, %x1 : tensor<256xi8>\n  %r = arith.shrui %a, %x1 : tensor<256xi8>\n";
  const auto low = mapped("i8", shifts, all, fours);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(low[i], i & 15);
  std::vector<std::int8_t> some = {8, 127, -128}, four(3, 4);
  EXPECT_EQ(mapped("i8", "  %a = arith.shli %x0, %x1 : tensor<3xi8>\n  %r = arith.shrsi %a, %x1 : tensor<3xi8>\n", some,
                   four),
            (std::vector<std::int8_t>{-8, -1, 0}));
}

TEST(interpreter_integers, shifts_by_the_width_or_more_are_defined) {
  const std::vector<std::int32_t> a = {1, -8, -8, 5}, b = {32, 32, 40, 31};
  EXPECT_EQ(mapped("i32", "  %r = arith.shli %x0, %x1 : tensor<4xi32>\n", a, b),
            (std::vector<std::int32_t>{0, 0, 0, INT32_MIN}));
  EXPECT_EQ(mapped("i32", "  %r = arith.shrsi %x0, %x1 : tensor<4xi32>\n", a, b),
            (std::vector<std::int32_t>{0, -1, -1, 0}));
  EXPECT_EQ(mapped("i32", "  %r = arith.shrui %x0, %x1 : tensor<4xi32>\n", a, b),
            (std::vector<std::int32_t>{0, 0, 0, 0}));
}

TEST(interpreter_integers, high_halves_of_products) {
  const std::vector<std::uint32_t> a = {0xffffffffu, 0x80000000u}, b = {0xffffffffu, 2};
  EXPECT_EQ(mapped("i32", "  %r = tt.mulhiui %x0, %x1 : tensor<2xi32>\n", a, b),
            (std::vector<std::uint32_t>{0xfffffffeu, 1}));
  EXPECT_EQ(mapped("i32", "  %low, %r = arith.mulsi_extended %x0, %x1 : tensor<2xi32>\n", a, b),
            (std::vector<std::uint32_t>{0, 0xffffffffu}));
  const std::vector<std::uint64_t> c = {~std::uint64_t{0}, 3}, d = {~std::uint64_t{0}, 5};
  EXPECT_EQ(mapped("i64", "  %r = tt.mulhiui %x0, %x1 : tensor<2xi64>\n", c, d),
            (std::vector<std::uint64_t>{~std::uint64_t{0} - 1, 0}));
}

TEST(interpreter_integers, booleans_take_a_byte_and_any_other_byte_is_true) {
  std::vector<std::uint8_t> bytes = {0, 1, 2, 255}, flags(4, 9);
  std::vector<std::int32_t> numbers(4, -1);
  Launch(map_kernel(4, {"i1"}, "i32", "  %r = arith.extui %x0 : tensor<4xi1> to tensor<4xi32>\n"))
      .buffer(bytes)
      .buffer(numbers, false)
      .clean();
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{0, 1, 1, 1}));
  Launch(map_kernel(4, {"i1"}, "i1",
                    "  %one = arith.constant dense<true> : tensor<4xi1>\n  %r = arith.xori %x0, %one : tensor<4xi1>\n"))
      .buffer(bytes)
      .buffer(flags, false)
      .clean();
  EXPECT_EQ(flags, (std::vector<std::uint8_t>{1, 0, 0, 0}));
}

TEST(interpreter_integers, scalar_arguments_of_every_width) {
  std::vector<double> out(1);
  const std::string body =
      "  %a = arith.extf %x0 : f16 to f64\n  %b = arith.uitofp %x1 : i1 to f64\n  %c = arith.sitofp %x2 : i8 to f64\n"
      "  %d = arith.extf %x4 : f32 to f64\n  %e = arith.addf %a, %b : f64\n  %f = arith.addf %e, %c : f64\n"
      "  %g = arith.addf %f, %x3 : f64\n  %r = arith.addf %g, %d : f64\n";
  Launch(scalar_kernel({"f16", "i1", "i8", "f64", "f32"}, "f64", body))
      .raw(0x5140)
      .raw(1)
      .raw(0xfb)
      .raw(std::bit_cast<std::uint64_t>(0.5))
      .real(0.125f)
      .buffer(out, false)
      .clean();
  EXPECT_EQ(out[0], 42 + 1 - 5 + 0.5 + 0.125);
}

}  // namespace
}  // namespace teeny::compiler::interpreter
