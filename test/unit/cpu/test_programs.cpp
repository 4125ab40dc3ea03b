// Larger programs: online softmax with two products, softmax of a block, layer norm in passes, shapes of high rank.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "kernel.hpp"

namespace teeny::compiler::cpu::testing {

namespace {

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> result(count);
  for (float& value : result) value = uniform(generator);
  return result;
}

const char* block_pointers = R"(
      %NAME_r = tt.make_range {end = ROWS : i32, start = 0 : i32} : tensor<ROWSxi32>
      %NAME_re = tt.expand_dims %NAME_r {axis = 1 : i32} : tensor<ROWSxi32> -> tensor<ROWSx1xi32>
      %NAME_w = arith.constant dense<COLS> : tensor<ROWSx1xi32>
      %NAME_rw = arith.muli %NAME_re, %NAME_w : tensor<ROWSx1xi32>
      %NAME_rb = tt.broadcast %NAME_rw : tensor<ROWSx1xi32> -> tensor<ROWSxCOLSxi32>
      %NAME_c = tt.make_range {end = COLS : i32, start = 0 : i32} : tensor<COLSxi32>
      %NAME_ce = tt.expand_dims %NAME_c {axis = 0 : i32} : tensor<COLSxi32> -> tensor<1xCOLSxi32>
      %NAME_cb = tt.broadcast %NAME_ce : tensor<1xCOLSxi32> -> tensor<ROWSxCOLSxi32>
      %NAME_o = arith.addi %NAME_rb, %NAME_cb : tensor<ROWSxCOLSxi32>
      %NAME_s = tt.splat %BASE : !tt.ptr<f32> -> tensor<ROWSxCOLSx!tt.ptr<f32>>
      %NAME = tt.addptr %NAME_s, %NAME_o : tensor<ROWSxCOLSx!tt.ptr<f32>>, tensor<ROWSxCOLSxi32>
)";

std::string substitute(std::string text, std::vector<std::pair<std::string, std::string>> pairs) {
  for (auto& [what, with] : pairs)
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  return text;
}

std::string block(const std::string& name, const std::string& base, int rows, int columns) {
  return substitute(
      block_pointers,
      {{"NAME", name}, {"BASE", base}, {"ROWS", std::to_string(rows)}, {"COLS", std::to_string(columns)}});
}

std::string fold(const std::string& result, const std::string& source, int axis, const std::string& operation,
                 const std::string& from, const std::string& to) {
  return "%" + result + " = \"tt.reduce\"(%" + source + ") <{axis = " + std::to_string(axis) +
         " : i32}> ({\n^bb0(%a: f32, %b: f32):\n%folded = " + operation +
         " %a, %b : f32\ntt.reduce.return %folded : f32\n}) : (" + from + ") -> " + to + "\n";
}

}  // namespace

TEST(Programs, attention_with_an_online_softmax) {
  const int keys = 96;
  std::string text =
      "tt.func public @attention(%q: !tt.ptr<f32>, %k: !tt.ptr<f32>, %v: !tt.ptr<f32>, %o: !tt.ptr<f32>, %n: i32) {\n" +
      block("qp", "q", 16, 24) + block("kp0", "k", 32, 24) + block("vp0", "v", 32, 24) + block("op", "o", 16, 24) + R"(
      %c0 = arith.constant 0 : i32
      %c32 = arith.constant 32 : i32
      %low = arith.constant dense<0xFF800000> : tensor<16xf32>
      %none = arith.constant dense<0.0> : tensor<16xf32>
      %acc0 = arith.constant dense<0.0> : tensor<16x24xf32>
      %zero = arith.constant dense<0.0> : tensor<16x32xf32>
      %step = arith.constant dense<768> : tensor<32x24xi32>
      %qv = tt.load %qp : tensor<16x24x!tt.ptr<f32>>
      %r:5 = scf.for %i = %c0 to %n step %c32 iter_args(%m = %low, %l = %none, %acc = %acc0, %kp = %kp0, %vp = %vp0)
          -> (tensor<16xf32>, tensor<16xf32>, tensor<16x24xf32>, tensor<32x24x!tt.ptr<f32>>, tensor<32x24x!tt.ptr<f32>>) : i32 {
        %kv = tt.load %kp : tensor<32x24x!tt.ptr<f32>>
        %kt = tt.trans %kv {order = array<i32: 1, 0>} : tensor<32x24xf32> -> tensor<24x32xf32>
        %s = tt.dot %qv, %kt, %zero : tensor<16x24xf32> * tensor<24x32xf32> -> tensor<16x32xf32>
)" + fold("top", "s", 1, "arith.maxnumf", "tensor<16x32xf32>", "tensor<16xf32>") +
      R"(
        %mn = arith.maxnumf %m, %top : tensor<16xf32>
        %md = arith.subf %m, %mn : tensor<16xf32>
        %alpha = math.exp %md : tensor<16xf32>
        %mne = tt.expand_dims %mn {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
        %mnb = tt.broadcast %mne : tensor<16x1xf32> -> tensor<16x32xf32>
        %sd = arith.subf %s, %mnb : tensor<16x32xf32>
        %p = math.exp %sd : tensor<16x32xf32>
)" + fold("sum", "p", 1, "arith.addf", "tensor<16x32xf32>", "tensor<16xf32>") +
      R"(
        %ls = arith.mulf %l, %alpha : tensor<16xf32>
        %ln = arith.addf %ls, %sum : tensor<16xf32>
        %ae = tt.expand_dims %alpha {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
        %ab = tt.broadcast %ae : tensor<16x1xf32> -> tensor<16x24xf32>
        %scaled = arith.mulf %acc, %ab : tensor<16x24xf32>
        %vv = tt.load %vp : tensor<32x24x!tt.ptr<f32>>
        %an = tt.dot %p, %vv, %scaled : tensor<16x32xf32> * tensor<32x24xf32> -> tensor<16x24xf32>
        %kn = tt.addptr %kp, %step : tensor<32x24x!tt.ptr<f32>>, tensor<32x24xi32>
        %vn = tt.addptr %vp, %step : tensor<32x24x!tt.ptr<f32>>, tensor<32x24xi32>
        scf.yield %mn, %ln, %an, %kn, %vn : tensor<16xf32>, tensor<16xf32>, tensor<16x24xf32>, tensor<32x24x!tt.ptr<f32>>, tensor<32x24x!tt.ptr<f32>>
      }
      %le = tt.expand_dims %r#1 {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
      %lb = tt.broadcast %le : tensor<16x1xf32> -> tensor<16x24xf32>
      %out = arith.divf %r#2, %lb : tensor<16x24xf32>
      tt.store %op, %out : tensor<16x24x!tt.ptr<f32>>
      tt.return
    })";
  for (bool reproducible : {false, true}) {
    CpuOptions options;
    options.reproducible = reproducible;
    Kernel kernel(text, options);
    auto q = random_floats(16 * 24, 1), k = random_floats(keys * 24, 2), v = random_floats(keys * 24, 3);
    std::vector<float> o(16 * 24);
    kernel.run({1}, q.data(), k.data(), v.data(), o.data(), keys);
    for (int i = 0; i < 16; ++i) {
      std::vector<double> p(keys);
      double top = -INFINITY, total = 0;
      for (int j = 0; j < keys; ++j) {
        for (int d = 0; d < 24; ++d) p[j] += double(q[i * 24 + d]) * k[j * 24 + d];
        top = std::max(top, p[j]);
      }
      for (double& value : p) total += value = std::exp(value - top);
      for (int d = 0; d < 24; ++d) {
        double expected = 0;
        for (int j = 0; j < keys; ++j) expected += p[j] * v[j * 24 + d] / total;
        ASSERT_NEAR(o[i * 24 + d], expected, 1e-4) << i << " " << d;
      }
    }
  }
}

TEST(Programs, softmax_of_a_block_in_place) {
  std::string shape = "tensor<20x50xf32>";
  Kernel kernel("tt.func public @k(%x: !tt.ptr<f32>) {\n" + block("p", "x", 20, 50) +
                "%v = tt.load %p : tensor<20x50x!tt.ptr<f32>>\n" +
                fold("m", "v", 1, "arith.maxnumf", shape, "tensor<20xf32>") + R"(
      %me = tt.expand_dims %m {axis = 1 : i32} : tensor<20xf32> -> tensor<20x1xf32>
      %mb = tt.broadcast %me : tensor<20x1xf32> -> tensor<20x50xf32>
      %d = arith.subf %v, %mb : tensor<20x50xf32>
      %e = math.exp %d : tensor<20x50xf32>
)" + fold("t", "e", 1, "arith.addf", shape, "tensor<20xf32>") +
                R"(
      %te = tt.expand_dims %t {axis = 1 : i32} : tensor<20xf32> -> tensor<20x1xf32>
      %tb = tt.broadcast %te : tensor<20x1xf32> -> tensor<20x50xf32>
      %q = arith.divf %e, %tb : tensor<20x50xf32>
      tt.store %p, %q : tensor<20x50x!tt.ptr<f32>>
      tt.return
    })");
  auto x = random_floats(1000, 4), before = x;
  kernel.run({1}, x.data());
  for (int i = 0; i < 20; ++i) {
    double total = 0;
    for (int j = 0; j < 50; ++j) total += std::exp(double(before[i * 50 + j]));
    for (int j = 0; j < 50; ++j) ASSERT_NEAR(x[i * 50 + j], std::exp(double(before[i * 50 + j])) / total, 1e-6);
  }
}

TEST(Programs, layer_norm_in_passes_over_a_long_row) {
  Kernel kernel(R"(tt.func public @k(%x: !tt.ptr<f32>, %w: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c64 = arith.constant 64 : i32
      %pid = tt.get_program_id x : i32
      %start = arith.muli %pid, %n : i32
      %xr = tt.addptr %x, %start : !tt.ptr<f32>, i32
      %yr = tt.addptr %y, %start : !tt.ptr<f32>, i32
      %xs = tt.splat %xr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
      %ys = tt.splat %yr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
      %ws = tt.splat %w : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
      %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
      %ns = tt.splat %n : i32 -> tensor<64xi32>
      %zero = arith.constant dense<0.0> : tensor<64xf32>
      %sums:2 = scf.for %i = %c0 to %n step %c64 iter_args(%a = %zero, %b = %zero) -> (tensor<64xf32>, tensor<64xf32>) : i32 {
        %is = tt.splat %i : i32 -> tensor<64xi32>
        %o = arith.addi %is, %r : tensor<64xi32>
        %m = arith.cmpi slt, %o, %ns : tensor<64xi32>
        %p = tt.addptr %xs, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
        %v = tt.load %p, %m, %zero : tensor<64x!tt.ptr<f32>>
        %an = arith.addf %a, %v : tensor<64xf32>
        %v2 = arith.mulf %v, %v : tensor<64xf32>
        %bn = arith.addf %b, %v2 : tensor<64xf32>
        scf.yield %an, %bn : tensor<64xf32>, tensor<64xf32>
      }
)" + fold("sum", "sums#0", 0, "arith.addf", "tensor<64xf32>", "f32") +
                fold("squares", "sums#1", 0, "arith.addf", "tensor<64xf32>", "f32") + R"(
      %nf = arith.sitofp %n : i32 to f32
      %mean = arith.divf %sum, %nf : f32
      %power = arith.divf %squares, %nf : f32
      %mm = arith.mulf %mean, %mean : f32
      %var = arith.subf %power, %mm : f32
      %eps = arith.constant 1.0e-5 : f32
      %ve = arith.addf %var, %eps : f32
      %rstd = math.rsqrt %ve : f32
      %means = tt.splat %mean : f32 -> tensor<64xf32>
      %rs = tt.splat %rstd : f32 -> tensor<64xf32>
      scf.for %i = %c0 to %n step %c64 : i32 {
        %is = tt.splat %i : i32 -> tensor<64xi32>
        %o = arith.addi %is, %r : tensor<64xi32>
        %m = arith.cmpi slt, %o, %ns : tensor<64xi32>
        %p = tt.addptr %xs, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
        %q = tt.addptr %ys, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
        %u = tt.addptr %ws, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
        %v = tt.load %p, %m, %zero : tensor<64x!tt.ptr<f32>>
        %g = tt.load %u, %m, %zero : tensor<64x!tt.ptr<f32>>
        %d = arith.subf %v, %means : tensor<64xf32>
        %e = arith.mulf %d, %rs : tensor<64xf32>
        %f = arith.mulf %e, %g : tensor<64xf32>
        tt.store %q, %f, %m : tensor<64x!tt.ptr<f32>>
      }
      tt.return
    })");
  const int n = 1000;
  auto x = random_floats(3 * n, 5), w = random_floats(n, 6);
  std::vector<float> y(3 * n + 1, 8);
  kernel.run({3}, x.data(), w.data(), y.data(), n);
  for (int row = 0; row < 3; ++row) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; ++i)
      mean += x[row * n + i] / double(n), square += double(x[row * n + i]) * x[row * n + i] / n;
    for (int i = 0; i < n; ++i)
      ASSERT_NEAR(y[row * n + i], (x[row * n + i] - mean) / std::sqrt(square - mean * mean + 1e-5) * w[i], 1e-4);
  }
  EXPECT_EQ(y.back(), 8);
}

TEST(Programs, batched_product_and_rank_five) {
  Kernel kernel(R"(tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
      %r = tt.make_range {end = 120 : i32, start = 0 : i32} : tensor<120xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<120x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %r : tensor<120x!tt.ptr<f32>>, tensor<120xi32>
      %v = tt.load %xp : tensor<120x!tt.ptr<f32>>
      %a = tt.reshape %v : tensor<120xf32> -> tensor<2x3x2x5x2xf32>
      %t = tt.trans %a {order = array<i32: 3, 0, 4, 1, 2>} : tensor<2x3x2x5x2xf32> -> tensor<5x2x2x3x2xf32>
      %b = tt.reshape %t : tensor<5x2x2x3x2xf32> -> tensor<5x4x6xf32>
      %c = tt.trans %b {order = array<i32: 0, 2, 1>} : tensor<5x4x6xf32> -> tensor<5x6x4xf32>
      %zero = arith.constant dense<1.0> : tensor<5x4x4xf32>
      %d = tt.dot %b, %c, %zero : tensor<5x4x6xf32> * tensor<5x6x4xf32> -> tensor<5x4x4xf32>
      %f = tt.reshape %d : tensor<5x4x4xf32> -> tensor<80xf32>
      %q = tt.make_range {end = 80 : i32, start = 0 : i32} : tensor<80xi32>
      %ys = tt.splat %y : !tt.ptr<f32> -> tensor<80x!tt.ptr<f32>>
      %yp = tt.addptr %ys, %q : tensor<80x!tt.ptr<f32>>, tensor<80xi32>
      tt.store %yp, %f : tensor<80x!tt.ptr<f32>>
      tt.return
    })");
  auto x = random_floats(120, 7);
  std::vector<float> y(80), b(120);
  kernel.run({1}, x.data(), y.data());
  int n = 0;
  for (int i3 = 0; i3 < 5; ++i3)
    for (int i0 = 0; i0 < 2; ++i0)
      for (int i4 = 0; i4 < 2; ++i4)
        for (int i1 = 0; i1 < 3; ++i1)
          for (int i2 = 0; i2 < 2; ++i2) b[n++] = x[(((i0 * 3 + i1) * 2 + i2) * 5 + i3) * 2 + i4];
  for (int batch = 0; batch < 5; ++batch)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        double sum = 1;
        for (int k = 0; k < 6; ++k) sum += double(b[batch * 24 + i * 6 + k]) * b[batch * 24 + j * 6 + k];
        ASSERT_NEAR(y[batch * 16 + i * 4 + j], sum, 1e-5) << batch << i << j;
      }
}

TEST(Programs, a_value_behind_a_write_is_the_old_one_in_every_use) {
  // In place and used again after the store: the second use must not read memory anew.
  Kernel kernel(R"(tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
      %r = tt.make_range {end = 100 : i32, start = 0 : i32} : tensor<100xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<100x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %r : tensor<100x!tt.ptr<f32>>, tensor<100xi32>
      %ys = tt.splat %y : !tt.ptr<f32> -> tensor<100x!tt.ptr<f32>>
      %yp = tt.addptr %ys, %r : tensor<100x!tt.ptr<f32>>, tensor<100xi32>
      %v = tt.load %xp : tensor<100x!tt.ptr<f32>>
      %w = arith.addf %v, %v : tensor<100xf32>
      tt.store %xp, %w : tensor<100x!tt.ptr<f32>>
      %u = arith.subf %w, %v : tensor<100xf32>
      tt.store %yp, %u : tensor<100x!tt.ptr<f32>>
      tt.return
    })");
  auto x = random_floats(100, 8), before = x;
  std::vector<float> y(100);
  kernel.run({1}, x.data(), y.data());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(x[i], before[i] + before[i]);
    ASSERT_EQ(y[i], before[i]);
  }
}

}  // namespace teeny::compiler::cpu::testing
