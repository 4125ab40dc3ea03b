// Reductions by the defined tree, scans in order, matrix products as ascending chains.
#include <cmath>
#include <functional>
#include <random>

#include "fixture.hpp"

namespace teeny::compiler::interpreter {
namespace {

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(generator);
  return values;
}

// One tensor of `shape` ("4x8x") folded along an axis by `combine` (%a, %b to %c of `type`) into `result` elements.
std::string fold_kernel(const std::string& op, const std::string& shape, const std::string& out_shape, int count,
                        int out_count, const std::string& type, int axis, const std::string& combine,
                        bool reverse = false) {
  const std::string flat = std::to_string(count) + "x", out = std::to_string(out_count) + "x";
  const std::string in = "tensor<" + shape + type + ">",
                    result = out_shape.empty() ? type : "tensor<" + out_shape + type + ">";
  std::string text = "tt.func @fold(%x: !tt.ptr<" + type + ">, %y: !tt.ptr<" + type + ">) {\n";
  auto pointers = [&](const std::string& name, const std::string& n, int size) {
    const std::string pointer = "tensor<" + n + "!tt.ptr<" + type + ">>";
    text += "  %l" + name + " = tt.make_range {end = " + std::to_string(size) + " : i32, start = 0 : i32} : tensor<" +
            n + "i32>\n";
    text += "  %s" + name + " = tt.splat %" + name + " : !tt.ptr<" + type + "> -> " + pointer + "\n";
    text += "  %p" + name + " = tt.addptr %s" + name + ", %l" + name + " : " + pointer + ", tensor<" + n + "i32>\n";
    return pointer;
  };
  const std::string px = pointers("x", flat, count), py = pointers("y", out, out_count);
  text += "  %f = tt.load %px : " + px + "\n  %t = tt.reshape %f : tensor<" + flat + type + "> -> " + in + "\n";
  text += "  %r = \"tt." + op + "\"(%t) <{axis = " + std::to_string(axis) + " : i32" +
          (op == "scan" ? std::string(", reverse = ") + (reverse ? "true" : "false") : "") +
          "}> ({\n  ^bb0(%a: " + type + ", %b: " + type + "):\n" + combine + "    tt." + op + ".return %c : " + type +
          "\n  }) : (" + in + ") -> " + result + "\n";
  text += out_shape.empty() ? "  %o = tt.splat %r : " + type + " -> tensor<" + out + type + ">\n"
                            : "  %o = tt.reshape %r : " + result + " -> tensor<" + out + type + ">\n";
  return text + "  tt.store %py, %o : " + py + "\n  tt.return\n}\n";
}

constexpr const char* add_f32 = "    %c = arith.addf %a, %b : f32\n";

// The definition, written as recursion: pairs over the highest bit of the index, what has no partner passes through.
float tree_sum(std::vector<float> x) {
  if (x.size() == 1) return x[0];
  std::size_t half = 1;
  while (2 * half < x.size()) half *= 2;
  std::vector<float> next(x.begin(), x.begin() + static_cast<long>(half));
  for (std::size_t i = half; i < x.size(); ++i) next[i - half] = x[i - half] + x[i];
  return tree_sum(next);
}

TEST(interpreter_folds, sums_follow_the_tree_for_any_length) {
  for (int n : {1, 2, 3, 5, 8, 13, 64, 100, 127, 1000}) {
    auto x = random_floats(n, n);
    std::vector<float> y(1);
    Result result = Launch(fold_kernel("reduce", std::to_string(n) + "x", "", n, 1, "f32", 0, add_f32))
                        .buffer(x)
                        .buffer(y, false)
                        .clean();
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y[0]), std::bit_cast<std::uint32_t>(tree_sum(x))) << n;
    double magnitude = 0;
    float chain = x[0];
    for (int i = 0; i < n; ++i) magnitude += std::fabs(x[i]);
    for (int i = 1; i < n; ++i) chain += x[i];
    const double radius = radius_of(result, y[0]);
    EXPECT_NEAR(y[0], chain, radius);
    EXPECT_LE(radius, 2.01 * (n - 1) * 0x1p-24 * magnitude);
    if (n > 3) EXPECT_GT(radius, 0);
  }
}

TEST(interpreter_folds, reductions_along_every_axis_of_three) {
  std::vector<std::int32_t> x(4 * 8 * 16);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 16; ++k) x[(i * 8 + j) * 16 + k] = 10000 * i + 100 * j + k;
  const std::string add = "    %c = arith.addi %a, %b : i32\n";
  std::vector<std::int32_t> y0(128), y1(64), y2(32), largest(64);
  Launch(fold_kernel("reduce", "4x8x16x", "8x16x", 512, 128, "i32", 0, add)).buffer(x).buffer(y0, false).clean();
  Launch(fold_kernel("reduce", "4x8x16x", "4x16x", 512, 64, "i32", 1, add)).buffer(x).buffer(y1, false).clean();
  Launch(fold_kernel("reduce", "4x8x16x", "4x8x", 512, 32, "i32", 2, add)).buffer(x).buffer(y2, false).clean();
  Launch(fold_kernel("reduce", "4x8x16x", "4x16x", 512, 64, "i32", 1, "    %c = arith.maxsi %a, %b : i32\n"))
      .buffer(x)
      .buffer(largest, false)
      .clean();
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 16; ++k) {
        EXPECT_EQ(y0[j * 16 + k], 60000 + 4 * (100 * j + k));
        EXPECT_EQ(y1[i * 16 + k], 80000 * i + 2800 + 8 * k);
        EXPECT_EQ(y2[i * 8 + j], 16 * (10000 * i + 100 * j) + 120);
        EXPECT_EQ(largest[i * 16 + k], 10000 * i + 700 + k);
      }
}

TEST(interpreter_folds, size_one_axes_and_integer_valued_floats_are_exact) {
  std::vector<float> x(16), y(16), one(1);
  for (int i = 0; i < 16; ++i) x[i] = 0.5f * static_cast<float>(i) - 3;
  Launch(fold_kernel("reduce", "16x1x", "16x", 16, 16, "f32", 1, add_f32)).buffer(x).buffer(y, false).clean();
  EXPECT_EQ(y, x);
  Result result =
      Launch(fold_kernel("reduce", "16x1x", "1x", 16, 1, "f32", 0, add_f32)).buffer(x).buffer(one, false).clean();
  EXPECT_EQ(one[0], 12.0f);
  EXPECT_EQ(radius_of(result, one[0]), 0.0);  // multiples of 1/2 far below 2^24 halves
}

TEST(interpreter_folds, a_maximum_is_exact_and_a_product_is_not) {
  auto x = random_floats(40, 9);
  std::vector<float> y(1);
  Result largest = Launch(fold_kernel("reduce", "40x", "", 40, 1, "f32", 0, "    %c = arith.maxnumf %a, %b : f32\n"))
                       .buffer(x)
                       .buffer(y, false)
                       .clean();
  EXPECT_EQ(y[0], *std::max_element(x.begin(), x.end()));
  EXPECT_EQ(radius_of(largest, y[0]), 0.0);
  for (float& value : x) value = 1 + value / 8;
  Result product = Launch(fold_kernel("reduce", "40x", "", 40, 1, "f32", 0, "    %c = arith.mulf %a, %b : f32\n"))
                       .buffer(x)
                       .buffer(y, false)
                       .clean();
  float chain = 1;
  for (float value : x) chain *= value;
  const double radius = radius_of(product, y[0]);
  EXPECT_NEAR(y[0], chain, radius);
  EXPECT_GT(radius, 0.0);
  EXPECT_LT(radius, 4 * 40 * 0x1p-24 * y[0]);
}

TEST(interpreter_folds, argmax_takes_the_first_of_equals) {
  const std::string kernel = R"(
tt.func @argmax(%x: !tt.ptr<f32>, %y: !tt.ptr<i32>) {
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %w = arith.constant dense<8> : tensor<8x1xi32>
  %i = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %j = tt.expand_dims %r {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %iw = arith.muli %i, %w : tensor<8x1xi32>
  %ib = tt.broadcast %iw : tensor<8x1xi32> -> tensor<8x8xi32>
  %jb = tt.broadcast %j : tensor<1x8xi32> -> tensor<8x8xi32>
  %o = arith.addi %ib, %jb : tensor<8x8xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
  %p = tt.addptr %xs, %o : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
  %v = tt.load %p : tensor<8x8x!tt.ptr<f32>>
  %best:2 = "tt.reduce"(%v, %jb) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %gt = arith.cmpf ogt, %a, %b : f32
    %eq = arith.cmpf oeq, %a, %b : f32
    %lt = arith.cmpi slt, %ai, %bi : i32
    %tie = arith.andi %eq, %lt : i1
    %left = arith.ori %gt, %tie : i1
    %cv = arith.select %left, %a, %b : f32
    %ci = arith.select %left, %ai, %bi : i32
    tt.reduce.return %cv, %ci : f32, i32
  }) : (tensor<8x8xf32>, tensor<8x8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  %ys = tt.splat %y : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
  %q = tt.addptr %ys, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  tt.store %q, %best#1 : tensor<8x!tt.ptr<i32>>
  tt.return
})";
  std::vector<float> x(64);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) x[i * 8 + j] = static_cast<float>((7 * i + 3 * j) % 5);
  std::vector<std::int32_t> y(8);
  Launch(kernel).buffer(x).buffer(y, false).clean();
  EXPECT_EQ(y, (std::vector<std::int32_t>{3, 4, 0, 1, 2, 3, 4, 0}));
}

TEST(interpreter_folds, combine_regions_may_branch) {
  std::vector<std::int32_t> x = {5, 3, 9, 1, 7}, y(1);
  const std::string combine = R"(
    %less = arith.cmpi slt, %a, %b : i32
    %c = scf.if %less -> (i32) {
      scf.yield %a : i32
    } else {
      scf.yield %b : i32
    }
)";
  Launch(fold_kernel("reduce", "5x", "", 5, 1, "i32", 0, combine)).buffer(x).buffer(y, false).clean();
  EXPECT_EQ(y[0], 1);
}

TEST(interpreter_folds, scans_keep_their_order_in_both_directions) {
  auto x = random_floats(100, 21);
  std::vector<float> y(100), z(100);
  Result result =
      Launch(fold_kernel("scan", "100x", "100x", 100, 100, "f32", 0, add_f32)).buffer(x).buffer(y, false).clean();
  Launch(fold_kernel("scan", "100x", "100x", 100, 100, "f32", 0, add_f32, true)).buffer(x).buffer(z, false).clean();
  float forward = 0, backward = 0;
  for (int i = 0; i < 100; ++i) {
    forward = i ? forward + x[i] : x[0];
    backward = i ? backward + x[99 - i] : x[99];
    EXPECT_EQ(y[i], forward);
    EXPECT_EQ(z[99 - i], backward);
  }
  EXPECT_EQ(radius_of(result, y[0]), 0.0);
  EXPECT_GT(radius_of(result, y[99]), radius_of(result, y[10]));
  std::vector<std::int32_t> table(16 * 32), columns(16 * 32);
  for (int i = 0; i < 512; ++i) table[i] = i;
  Launch(fold_kernel("scan", "16x32x", "16x32x", 512, 512, "i32", 0, "    %c = arith.addi %a, %b : i32\n"))
      .buffer(table)
      .buffer(columns, false)
      .clean();
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 32; ++j) EXPECT_EQ(columns[i * 32 + j], 16 * i * (i + 1) + (i + 1) * j);
}

TEST(interpreter_folds, scans_of_pairs_do_not_commute) {
  const std::string kernel = R"(
tt.func @pairs(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>) {
  %three = arith.constant dense<3> : tensor<128xi32>
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %s:2 = "tt.scan"(%three, %r) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%al: i32, %bl: i32, %ar: i32, %br: i32):
    %a = arith.muli %al, %ar : i32
    %m = arith.muli %ar, %bl : i32
    %b = arith.addi %m, %br : i32
    tt.scan.return %a, %b : i32, i32
  }) : (tensor<128xi32>, tensor<128xi32>) -> (tensor<128xi32>, tensor<128xi32>)
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>>
  %xp = tt.addptr %xs, %r : tensor<128x!tt.ptr<i32>>, tensor<128xi32>
  tt.store %xp, %s#0 : tensor<128x!tt.ptr<i32>>
  %ys = tt.splat %y : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>>
  %yp = tt.addptr %ys, %r : tensor<128x!tt.ptr<i32>>, tensor<128xi32>
  tt.store %yp, %s#1 : tensor<128x!tt.ptr<i32>>
  tt.return
})";
  std::vector<std::int32_t> a(128), b(128);
  Launch(kernel).buffer(a, false).buffer(b, false).clean();
  EXPECT_EQ(a[3], 81);
  EXPECT_EQ(b[3], 18);
  EXPECT_EQ(a[64], 1820079875);
  EXPECT_EQ(b[127], 1654758976);
}

// ---- matrix products

std::string dot_kernel(int m, int n, int k, const std::string& in, const std::string& out,
                       const std::string& precision) {
  auto pointers = [](const std::string& name, int rows, int columns, const std::string& type) {
    const std::string r = std::to_string(rows), c = std::to_string(columns), flat = std::to_string(rows * columns);
    return "  %l" + name + " = tt.make_range {end = " + flat + " : i32, start = 0 : i32} : tensor<" + flat +
           "xi32>\n  %s" + name + " = tt.splat %" + name + " : !tt.ptr<" + type + "> -> tensor<" + flat + "x!tt.ptr<" +
           type + ">>\n  %p" + name + " = tt.addptr %s" + name + ", %l" + name + " : tensor<" + flat + "x!tt.ptr<" +
           type + ">>, tensor<" + flat + "xi32>\n  %v" + name + " = tt.load %p" + name + " : tensor<" + flat +
           "x!tt.ptr<" + type + ">>\n  %t" + name + " = tt.reshape %v" + name + " : tensor<" + flat + "x" + type +
           "> -> tensor<" + r + "x" + c + "x" + type + ">\n";
  };
  const std::string ms = std::to_string(m), ns = std::to_string(n), ks = std::to_string(k),
                    flat = std::to_string(m * n);
  return "tt.func @dot(%a: !tt.ptr<" + in + ">, %b: !tt.ptr<" + in + ">, %c: !tt.ptr<" + out + ">) {\n" +
         pointers("a", m, k, in) + pointers("b", k, n, in) + pointers("c", m, n, out) +
         "  %d = tt.dot %ta, %tb, %tc, inputPrecision = " + precision + " : tensor<" + ms + "x" + ks + "x" + in +
         "> * tensor<" + ks + "x" + ns + "x" + in + "> -> tensor<" + ms + "x" + ns + "x" + out +
         ">\n  %o = tt.reshape %d : tensor<" + ms + "x" + ns + "x" + out + "> -> tensor<" + flat + "x" + out +
         ">\n  tt.store %pc, %o : tensor<" + flat + "x!tt.ptr<" + out + ">>\n  tt.return\n}\n";
}

TEST(interpreter_folds, dot_is_an_ascending_fused_chain_from_the_accumulator) {
  auto a = random_floats(4 * 33, 1), b = random_floats(33 * 5, 2), c = random_floats(20, 3);
  auto expected = c;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 33; ++k) expected[i * 5 + j] = std::fma(a[i * 33 + k], b[k * 5 + j], expected[i * 5 + j]);
  Launch(dot_kernel(4, 5, 33, "f32", "f32", "ieee")).buffer(a).buffer(b).buffer(c).clean();
  EXPECT_EQ(c, expected);
}

TEST(interpreter_folds, dot_precision_is_what_it_says) {
  std::vector<float> a(256, std::bit_cast<float>(0x3F800800u)), b(256, 1), c(256, 0);
  Launch(dot_kernel(16, 16, 16, "f32", "f32", "ieee")).buffer(a).buffer(b).buffer(c).clean();
  EXPECT_EQ(std::bit_cast<std::uint32_t>(c[0]), 0x41800800u);
  std::fill(c.begin(), c.end(), 0.0f);
  Launch(dot_kernel(16, 16, 16, "f32", "f32", "tf32")).buffer(a).buffer(b).buffer(c).clean();
  EXPECT_EQ(c[0], 16.0f);
  std::fill(c.begin(), c.end(), 0.0f);
  Result three = Launch(dot_kernel(16, 16, 16, "f32", "f32", "tf32x3")).buffer(a).buffer(b).buffer(c).clean();
  EXPECT_NEAR(c[0], 16.00390625, radius_of(three, c[0]));
  EXPECT_LT(radius_of(three, c[0]), 1.2e-4);
  // A tie of the 10-bit mantissa goes away from zero.
  std::vector<float> tie(256, 1 + 0x1p-11f);
  std::fill(c.begin(), c.end(), 0.0f);
  Launch(dot_kernel(16, 16, 16, "f32", "f32", "tf32")).buffer(tie).buffer(b).buffer(c).clean();
  EXPECT_EQ(c[0], 16 * (1 + 0x1p-10f));
  std::vector<double> da(256, 1 + 0x1p-40), db(256, 1), dc(256, 0);
  Launch(dot_kernel(16, 16, 16, "f64", "f64", "ieee")).buffer(da).buffer(db).buffer(dc).clean();
  EXPECT_EQ(std::bit_cast<std::uint64_t>(dc[0]), 0x4030000000001000u);
  std::vector<std::uint16_t> ha(256, 0x3C01), hb(256, 0x3C01);
  std::fill(c.begin(), c.end(), 0.0f);
  Launch(dot_kernel(16, 16, 16, "f16", "f32", "ieee")).buffer(ha).buffer(hb).buffer(c).clean();
  EXPECT_EQ(std::bit_cast<std::uint32_t>(c[0]), 0x41804008u);
}

TEST(interpreter_folds, infinities_decide_a_sum_in_every_order_and_bf16_units_may_flush) {
  std::vector<float> x = {1.1f, INFINITY, -0.3f, 2.7f, 0.9f}, y(1);
  Result sum = Launch(fold_kernel("reduce", "5x", "", 5, 1, "f32", 0, add_f32)).buffer(x).buffer(y, false).clean();
  EXPECT_EQ(y[0], INFINITY);
  EXPECT_EQ(radius_of(sum, y[0]), 0.0);
  std::vector<float> a(256, 0.1f), b(256, 0.3f), c(256, 0);
  a[3] = -INFINITY;
  Result product = Launch(dot_kernel(16, 16, 16, "f32", "f32", "ieee")).buffer(a).buffer(b).buffer(c).clean();
  EXPECT_EQ(c[5], -INFINITY);
  EXPECT_EQ(radius_of(product, c[5]), 0.0);
  EXPECT_GT(radius_of(product, c[16]), 0.0);
  std::vector<std::uint16_t> ha(256, 0x0010), hb(256, 0x3F80);  // 2^-129 times 1
  std::fill(c.begin(), c.end(), 0.0f);
  Result flushed = Launch(dot_kernel(16, 16, 16, "bf16", "f32", "ieee")).buffer(ha).buffer(hb).buffer(c).clean();
  EXPECT_EQ(c[0], 0x1p-125f);
  EXPECT_GE(radius_of(flushed, c[0]), 0x1p-125);
  EXPECT_LT(radius_of(flushed, c[0]), 0x1p-120);
}

TEST(interpreter_folds, dot_of_bytes_accumulates_in_32_bits) {
  std::vector<std::int8_t> a(16 * 64, -128), b(64 * 16, -128);
  std::vector<std::int32_t> c(256, 1000);
  Launch(dot_kernel(16, 16, 64, "i8", "i32", "ieee")).buffer(a).buffer(b).buffer(c).clean();
  EXPECT_EQ(c[0], 1048576 + 1000);
  EXPECT_EQ(c[255], 1048576 + 1000);
}

}  // namespace
}  // namespace teeny::compiler::interpreter
