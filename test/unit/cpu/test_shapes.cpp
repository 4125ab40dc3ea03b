// Shapes, reductions, scans, matrix products and control flow against plain loops.
#include <cmath>
#include <numeric>
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

// Text that computes pointers base + row * width + column for a block of r x c, as %NAME : tensor<RxCx!tt.ptr<T>>.
std::string pointers(const std::string& name, const std::string& base, int r, int c, int width,
                     const std::string& type) {
  auto R = std::to_string(r), C = std::to_string(c), shape = R + "x" + C;
  std::string t =
      "%NAME_r = tt.make_range {end = R : i32, start = 0 : i32} : tensor<Rxi32>\n"
      "%NAME_re = tt.expand_dims %NAME_r {axis = 1 : i32} : tensor<Rxi32> -> tensor<Rx1xi32>\n"
      "%NAME_w = arith.constant dense<WIDTH> : tensor<Rx1xi32>\n"
      "%NAME_rw = arith.muli %NAME_re, %NAME_w : tensor<Rx1xi32>\n"
      "%NAME_rb = tt.broadcast %NAME_rw : tensor<Rx1xi32> -> tensor<RxCxi32>\n"
      "%NAME_c = tt.make_range {end = C : i32, start = 0 : i32} : tensor<Cxi32>\n"
      "%NAME_ce = tt.expand_dims %NAME_c {axis = 0 : i32} : tensor<Cxi32> -> tensor<1xCxi32>\n"
      "%NAME_cb = tt.broadcast %NAME_ce : tensor<1xCxi32> -> tensor<RxCxi32>\n"
      "%NAME_o = arith.addi %NAME_rb, %NAME_cb : tensor<RxCxi32>\n"
      "%NAME_s = tt.splat BASE : !tt.ptr<TYPE> -> tensor<RxCx!tt.ptr<TYPE>>\n"
      "%NAME = tt.addptr %NAME_s, %NAME_o : tensor<RxCx!tt.ptr<TYPE>>, tensor<RxCxi32>\n";
  auto replace = [&](const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = t.find(what, at)) != std::string::npos; at += with.size())
      t.replace(at, what.size(), with);
  };
  replace("tensor<RxCx", "tensor<" + shape + "x"), replace("tensor<Rx", "tensor<" + R + "x"),
      replace("tensor<Cx", "tensor<" + C + "x");
  replace("1xCx", "1x" + C + "x"), replace("end = R ", "end = " + R + " "), replace("end = C ", "end = " + C + " ");
  replace("WIDTH", std::to_string(width)), replace("BASE", base), replace("TYPE", type), replace("%NAME", "%" + name);
  return t;
}

std::string row(const std::string& name, const std::string& base, int n, const std::string& type) {
  auto N = std::to_string(n);
  return "%" + name + "_r = tt.make_range {end = " + N + " : i32, start = 0 : i32} : tensor<" + N + "xi32>\n%" + name +
         "_s = tt.splat " + base + " : !tt.ptr<" + type + "> -> tensor<" + N + "x!tt.ptr<" + type + ">>\n%" + name +
         " = tt.addptr %" + name + "_s, %" + name + "_r : tensor<" + N + "x!tt.ptr<" + type + ">>, tensor<" + N +
         "xi32>\n";
}

std::string fold(const std::string& result, const std::string& source, int axis, const std::string& operation,
                 const std::string& element, const std::string& from, const std::string& to) {
  return "%" + result + " = \"tt.reduce\"(%" + source + ") <{axis = " + std::to_string(axis) +
         " : i32}> ({\n^bb0(%a: " + element + ", %b: " + element + "):\n%r = " + operation + " %a, %b : " + element +
         "\ntt.reduce.return %r : " + element + "\n}) : (" + from + ") -> " + to + "\n";
}

}  // namespace

TEST(Reduce, both_axes_of_odd_shapes) {
  for (auto [r, c] : {std::pair{1, 1}, {5, 7}, {16, 64}, {33, 100}, {3, 1}, {1, 37}}) {
    for (bool reproducible : {false, true}) {
      auto shape = std::to_string(r) + "x" + std::to_string(c), R = std::to_string(r), C = std::to_string(c);
      CpuOptions options;
      options.reproducible = reproducible;
      Kernel kernel(
          "tt.func public @k(%x: !tt.ptr<f32>, %rows: !tt.ptr<f32>, %columns: !tt.ptr<f32>) {\n" +
              pointers("p", "%x", r, c, c, "f32") + "%v = tt.load %p : tensor<" + shape + "x!tt.ptr<f32>>\n" +
              fold("sum", "v", 1, "arith.addf", "f32", "tensor<" + shape + "xf32>", "tensor<" + R + "xf32>") +
              fold("top", "v", 0, "arith.maxnumf", "f32", "tensor<" + shape + "xf32>", "tensor<" + C + "xf32>") +
              row("rp", "%rows", r, "f32") + row("cp", "%columns", c, "f32") + "tt.store %rp, %sum : tensor<" + R +
              "x!tt.ptr<f32>>\ntt.store %cp, %top : tensor<" + C + "x!tt.ptr<f32>>\ntt.return\n}",
          options);
      auto x = random_floats(r * c, 5);
      std::vector<float> rows(r), columns(c);
      kernel.run({1}, x.data(), rows.data(), columns.data());
      for (int i = 0; i < r; ++i) {
        double sum = 0;
        for (int j = 0; j < c; ++j) sum += x[i * c + j];
        EXPECT_NEAR(rows[i], sum, 1e-4) << shape;
      }
      for (int j = 0; j < c; ++j) {
        float top = -INFINITY;
        for (int i = 0; i < r; ++i) top = std::max(top, x[i * c + j]);
        EXPECT_EQ(columns[j], top) << shape;
      }
    }
  }
}

TEST(Reduce, argmax_takes_the_first_of_equals) {
  Kernel kernel("tt.func public @k(%x: !tt.ptr<f32>, %out: !tt.ptr<i32>) {\n" + row("p", "%x", 100, "f32") + R"(
      %v = tt.load %p : tensor<100x!tt.ptr<f32>>
      %m:2 = "tt.reduce"(%v, %p_r) <{axis = 0 : i32}> ({
      ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
        %greater = arith.cmpf ogt, %a, %b : f32
        %equal = arith.cmpf oeq, %a, %b : f32
        %before = arith.cmpi slt, %i, %j : i32
        %tie = arith.andi %equal, %before : i1
        %take = arith.ori %greater, %tie : i1
        %r = arith.select %take, %a, %b : f32
        %k = arith.select %take, %i, %j : i32
        tt.reduce.return %r, %k : f32, i32
      }) : (tensor<100xf32>, tensor<100xi32>) -> (f32, i32)
      tt.store %out, %m#1 : !tt.ptr<i32>
      tt.return
    })");
  for (int where : {0, 3, 50, 98, 99}) {
    auto x = random_floats(100, 6);
    x[where] = 10;
    if (where < 90) x[where + 9] = 10;
    std::int32_t found = -1;
    kernel.run({1}, x.data(), &found);
    EXPECT_EQ(found, where);
  }
  // Beside a NaN the order of comparisons shows: it is the tree's.
  auto x = random_floats(100, 6);
  x[40] = NAN;
  std::vector<std::pair<float, int>> tree;
  for (int i = 0; i < 100; ++i) tree.push_back({x[i], i});
  for (int half = 64; half >= 1; half /= 2) {
    for (int i = 0; i + half < static_cast<int>(tree.size()); ++i) {
      auto a = tree[i], b = tree[i + half];
      bool take = a.first > b.first || (a.first == b.first && a.second < b.second);
      tree[i] = take ? a : b;
    }
    if (static_cast<int>(tree.size()) > half) tree.resize(half);
  }
  std::int32_t found = -1;
  kernel.run({1}, x.data(), &found);
  EXPECT_EQ(found, tree[0].second);
}

TEST(Scan, running_sums_forwards_and_backwards) {
  for (int axis : {0, 1}) {
    for (bool reverse : {false, true}) {
      Kernel kernel("tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>) {\n" +
                    pointers("p", "%x", 9, 21, 21, "i32") + pointers("q", "%y", 9, 21, 21, "i32") +
                    "%v = tt.load %p : tensor<9x21x!tt.ptr<i32>>\n%s = \"tt.scan\"(%v) <{axis = " +
                    std::to_string(axis) + " : i32, reverse = " + (reverse ? "true" : "false") + R"(}> ({
        ^bb0(%a: i32, %b: i32):
          %r = arith.addi %a, %b : i32
          tt.scan.return %r : i32
        }) : (tensor<9x21xi32>) -> tensor<9x21xi32>
        tt.store %q, %s : tensor<9x21x!tt.ptr<i32>>
        tt.return
      })");
      std::vector<std::int32_t> x(9 * 21), y(9 * 21), expected;
      std::iota(x.begin(), x.end(), -50);
      kernel.run({1}, x.data(), y.data());
      expected = x;
      int step = axis == 0 ? 21 : 1;
      auto along = [&](int i) { return axis == 0 ? i / 21 : i % 21; };
      int extent = axis == 0 ? 9 : 21;
      for (int n = 0; n < 9 * 21; ++n) {
        int i = reverse ? 9 * 21 - 1 - n : n;
        if (!reverse && along(i) > 0) expected[i] += expected[i - step];
        if (reverse && along(i) + 1 < extent) expected[i] += expected[i + step];
      }
      EXPECT_EQ(y, expected) << axis << reverse;
    }
  }
}

TEST(Shape, transposed_and_reshaped_copies) {
  Kernel kernel("tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>) {\n" +
                pointers("p", "%x", 12, 40, 40, "f32") +
                "%v = tt.load %p : tensor<12x40x!tt.ptr<f32>>\n%t = tt.trans %v {order = array<i32: 1, 0>} : "
                "tensor<12x40xf32> -> tensor<40x12xf32>\n" +
                pointers("q", "%y", 40, 12, 12, "f32") + "tt.store %q, %t : tensor<40x12x!tt.ptr<f32>>\n" +
                "%f = tt.reshape %t : tensor<40x12xf32> -> tensor<480xf32>\n" + row("o", "%z", 480, "f32") +
                "tt.store %o, %f : tensor<480x!tt.ptr<f32>>\ntt.return\n}");
  auto x = random_floats(480, 7);
  std::vector<float> y(480), z(480);
  kernel.run({1}, x.data(), y.data(), z.data());
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 40; ++j) {
      ASSERT_EQ(y[j * 12 + i], x[i * 40 + j]);
      ASSERT_EQ(z[j * 12 + i], x[i * 40 + j]);
    }
}

TEST(Order, a_shifted_load_reads_the_whole_tile_first) {
  Kernel kernel("tt.func public @k(%x: !tt.ptr<f32>) {\n" + row("p", "%x", 256, "f32") + R"(
      %v = tt.load %p : tensor<256x!tt.ptr<f32>>
      %one = arith.constant dense<1> : tensor<256xi32>
      %q = tt.addptr %p, %one : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
      tt.store %q, %v : tensor<256x!tt.ptr<f32>>
      tt.return
    })");
  auto x = random_floats(257, 8);
  auto before = x;
  kernel.run({1}, x.data());
  EXPECT_EQ(x[0], before[0]);
  for (int i = 0; i < 256; ++i) ASSERT_EQ(x[i + 1], before[i]);
}

TEST(Order, a_load_sees_the_store_before_it_and_not_the_one_after) {
  Kernel kernel("tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>) {\n" +
                row("p", "%x", 64, "f32") + row("q", "%y", 64, "f32") + row("s", "%z", 64, "f32") + R"(
      %old = tt.load %q : tensor<64x!tt.ptr<f32>>
      %v = tt.load %p : tensor<64x!tt.ptr<f32>>
      tt.store %q, %v : tensor<64x!tt.ptr<f32>>
      %new = tt.load %q : tensor<64x!tt.ptr<f32>>
      %d = arith.subf %new, %old : tensor<64xf32>
      tt.store %s, %d : tensor<64x!tt.ptr<f32>>
      tt.return
    })");
  auto x = random_floats(64, 9), y = random_floats(64, 10), old = y;
  std::vector<float> z(64);
  kernel.run({1}, x.data(), y.data(), z.data());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(z[i], x[i] - old[i]);
}

TEST(Control, loops_carry_scalars_tensors_and_pointers) {
  Kernel kernel("tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {\n" + row("p", "%x", 48, "f32") +
                row("q", "%y", 48, "f32") + R"(
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %step = arith.constant dense<48> : tensor<48xi32>
      %zero = arith.constant dense<0.0> : tensor<48xf32>
      %one = arith.constant dense<1.0> : tensor<48xf32>
      %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %one, %ptr = %p) -> (tensor<48xf32>, tensor<48xf32>, tensor<48x!tt.ptr<f32>>) : i32 {
        %v = tt.load %ptr : tensor<48x!tt.ptr<f32>>
        %s = arith.addf %b, %v : tensor<48xf32>
        %next = tt.addptr %ptr, %step : tensor<48x!tt.ptr<f32>>, tensor<48xi32>
        scf.yield %s, %a, %next : tensor<48xf32>, tensor<48xf32>, tensor<48x!tt.ptr<f32>>
      }
      %d = arith.subf %r#0, %r#1 : tensor<48xf32>
      tt.store %q, %d : tensor<48x!tt.ptr<f32>>
      tt.return
    })");
  for (int n : {0, 1, 2, 5}) {
    auto x = random_floats(48 * 5, 11);
    std::vector<float> y(48);
    kernel.run({1}, x.data(), y.data(), n);
    for (int i = 0; i < 48; ++i) {
      float a = 0, b = 1;
      for (int k = 0; k < n; ++k) {
        float s = b + x[k * 48 + i];
        b = a, a = s;
      }
      ASSERT_EQ(y[i], a - b) << n;
    }
  }
}

TEST(Control, conditions_and_while_loops) {
  Kernel kernel("tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {\n" + row("p", "%x", 20, "f32") +
                row("q", "%y", 20, "f32") + R"(
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c3 = arith.constant 3 : i32
      %v = tt.load %p : tensor<20x!tt.ptr<f32>>
      %is = arith.cmpi sgt, %n, %c3 : i32
      %w = scf.if %is -> (tensor<20xf32>) {
        %two = arith.addf %v, %v : tensor<20xf32>
        scf.yield %two : tensor<20xf32>
      } else {
        scf.yield %v : tensor<20xf32>
      }
      %r:2 = scf.while (%i = %c0, %t = %w) : (i32, tensor<20xf32>) -> (i32, tensor<20xf32>) {
        %go = arith.cmpi slt, %i, %n : i32
        scf.condition(%go) %i, %t : i32, tensor<20xf32>
      } do {
      ^bb0(%i: i32, %t: tensor<20xf32>):
        %u = arith.addf %t, %v : tensor<20xf32>
        %j = arith.addi %i, %c1 : i32
        scf.yield %j, %u : i32, tensor<20xf32>
      }
      tt.store %q, %r#1 : tensor<20x!tt.ptr<f32>>
      tt.return
    })");
  for (int n : {0, 2, 6}) {
    auto x = random_floats(20, 12);
    std::vector<float> y(20);
    kernel.run({1}, x.data(), y.data(), n);
    for (int i = 0; i < 20; ++i) {
      float t = n > 3 ? x[i] + x[i] : x[i];
      for (int k = 0; k < n; ++k) t += x[i];
      ASSERT_EQ(y[i], t) << n;
    }
  }
}

TEST(Control, an_early_return_skips_the_rest) {
  Kernel kernel(R"(tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
      %pid = tt.get_program_id x : i32
      %out = arith.cmpi sge, %pid, %n : i32
      cf.cond_br %out, ^end, ^work
    ^end:
      tt.return
    ^work:
      %p = tt.addptr %x, %pid : !tt.ptr<i32>, i32
      %y = tt.get_program_id y : i32
      %count = tt.get_num_programs y : i32
      %v = arith.muli %y, %count : i32
      tt.store %p, %v : !tt.ptr<i32>
      tt.return
    })");
  std::vector<std::int32_t> x(6, -1);
  kernel.run({6, 3}, x.data(), 4);
  EXPECT_EQ(x, (std::vector<std::int32_t>{6, 6, 6, 6, -1, -1}));
}

TEST(Memory, gathers_atomics_and_compare_exchange) {
  Kernel kernel(
      "tt.func public @k(%i: !tt.ptr<i32>, %x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %h: !tt.ptr<i32>, %f: !tt.ptr<f32>) "
      "{\n" +
      row("ip", "%i", 50, "i32") + row("q", "%y", 50, "f32") + R"(
      %at = tt.load %ip : tensor<50x!tt.ptr<i32>>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<50x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %at : tensor<50x!tt.ptr<f32>>, tensor<50xi32>
      %lim = arith.constant dense<30> : tensor<50xi32>
      %mask = arith.cmpi slt, %at, %lim : tensor<50xi32>
      %other = arith.constant dense<-1.0> : tensor<50xf32>
      %v = tt.load %xp, %mask, %other : tensor<50x!tt.ptr<f32>>
      tt.store %q, %v : tensor<50x!tt.ptr<f32>>
      %hs = tt.splat %h : !tt.ptr<i32> -> tensor<50x!tt.ptr<i32>>
      %hp = tt.addptr %hs, %at : tensor<50x!tt.ptr<i32>>, tensor<50xi32>
      %ones = arith.constant dense<1> : tensor<50xi32>
      %o = tt.atomic_rmw add, acq_rel, gpu, %hp, %ones, %mask : (tensor<50x!tt.ptr<i32>>, tensor<50xi32>, tensor<50xi1>) -> tensor<50xi32>
      %half = arith.constant 0.5 : f32
      %old = tt.atomic_rmw fadd, relaxed, gpu, %f, %half : (!tt.ptr<f32>, f32) -> f32
      %c0 = arith.constant 0 : i32
      %c7 = arith.constant 7 : i32
      %end = arith.constant 40 : i32
      %hq = tt.addptr %h, %end : !tt.ptr<i32>, i32
      %cas = tt.atomic_cas acq_rel, gpu, %hq, %c0, %c7 : (!tt.ptr<i32>, i32, i32) -> i32
      tt.return
    })");
  std::vector<std::int32_t> at(50), histogram(41);
  for (int i = 0; i < 50; ++i) at[i] = (i * 17) % 40;
  auto x = random_floats(40, 13);
  std::vector<float> y(50);
  float total = 1;
  kernel.run({2}, at.data(), x.data(), y.data(), histogram.data(), &total);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(y[i], at[i] < 30 ? x[at[i]] : -1) << i;
  std::vector<std::int32_t> expected(41);
  for (int i = 0; i < 50; ++i) expected[at[i]] += at[i] < 30 ? 2 : 0;
  expected[40] = 7;
  EXPECT_EQ(histogram, expected);
  EXPECT_EQ(total, 2);
}

TEST(Memory, descriptors_pad_and_drop_what_lies_outside) {
  Kernel kernel(R"(tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %m: i32, %n: i32, %i: i32, %j: i32) {
      %c1 = arith.constant 1 : i64
      %w = arith.extsi %n : i32 to i64
      %d = tt.make_tensor_descriptor %x, [%m, %n], [%w, %c1] : <f32>, <tensor<8x32xf32>>
      %e = tt.make_tensor_descriptor %y, [%m, %n], [%w, %c1] : <f32>, <tensor<8x32xf32>>
      %v = tt.descriptor_load %d[%i, %j] : !tt.tensordesc<tensor<8x32xf32>> -> tensor<8x32xf32>
      %one = arith.constant dense<1.0> : tensor<8x32xf32>
      %s = arith.addf %v, %one : tensor<8x32xf32>
      tt.descriptor_store %e[%i, %j], %s : !tt.tensordesc<tensor<8x32xf32>>, tensor<8x32xf32>
      tt.return
    })");
  int m = 11, n = 45;
  for (auto [i, j] : {std::pair{0, 0}, {8, 32}, {-3, 10}, {5, -7}, {20, 0}}) {
    auto x = random_floats(m * n, 14);
    std::vector<float> y(m * n, 5);
    kernel.run({1}, x.data(), y.data(), m, n, i, j);
    for (int r = 0; r < m; ++r)
      for (int c = 0; c < n; ++c) {
        bool inside = r >= i && r < i + 8 && c >= j && c < j + 32;
        ASSERT_EQ(y[r * n + c], inside ? x[r * n + c] + 1 : 5) << r << " " << c;
      }
  }
}

TEST(Matrix, a_loop_over_k_with_masks) {
  auto text = [](const std::string& type, const std::string& accumulator, const std::string& zero) {
    std::string t = "tt.func public @k(%x: !tt.ptr<T>, %y: !tt.ptr<T>, %z: !tt.ptr<ACC>, %n: i32) {\n" +
                    pointers("p", "%x", 24, 16, 40, "T") + pointers("q", "%y", 16, 36, 36, "T") +
                    pointers("o", "%z", 24, 36, 36, "ACC") + R"(
      %c0 = arith.constant 0 : i32
      %c16 = arith.constant 16 : i32
      %zero = arith.constant dense<ZERO> : tensor<24x36xACC>
      %other_a = arith.constant dense<ZERO> : tensor<24x16xT>
      %other_b = arith.constant dense<ZERO> : tensor<16x36xT>
      %step_a = arith.constant dense<16> : tensor<24x16xi32>
      %step_b = arith.constant dense<576> : tensor<16x36xi32>
      %r:3 = scf.for %k = %c0 to %n step %c16 iter_args(%acc = %zero, %a = %p, %b = %q) -> (tensor<24x36xACC>, tensor<24x16x!tt.ptr<T>>, tensor<16x36x!tt.ptr<T>>) : i32 {
        %left = arith.subi %n, %k : i32
        %la = tt.splat %left : i32 -> tensor<24x16xi32>
        %ma = arith.cmpi slt, %p_cb, %la : tensor<24x16xi32>
        %lb = tt.splat %left : i32 -> tensor<16x1xi32>
        %mb0 = arith.cmpi slt, %q_re, %lb : tensor<16x1xi32>
        %mb = tt.broadcast %mb0 : tensor<16x1xi1> -> tensor<16x36xi1>
        %va = tt.load %a, %ma, %other_a : tensor<24x16x!tt.ptr<T>>
        %vb = tt.load %b, %mb, %other_b : tensor<16x36x!tt.ptr<T>>
        %d = tt.dot %va, %vb, %acc : tensor<24x16xT> * tensor<16x36xT> -> tensor<24x36xACC>
        %an = tt.addptr %a, %step_a : tensor<24x16x!tt.ptr<T>>, tensor<24x16xi32>
        %bn = tt.addptr %b, %step_b : tensor<16x36x!tt.ptr<T>>, tensor<16x36xi32>
        scf.yield %d, %an, %bn : tensor<24x36xACC>, tensor<24x16x!tt.ptr<T>>, tensor<16x36x!tt.ptr<T>>
      }
      tt.store %o, %r#0 : tensor<24x36x!tt.ptr<ACC>>
      tt.return
    })";
    auto replace = [&](const std::string& what, const std::string& with) {
      for (std::size_t at = 0; (at = t.find(what, at)) != std::string::npos; at += with.size())
        t.replace(at, what.size(), with);
    };
    replace("xACC>", "x" + accumulator + ">"), replace("<ACC>", "<" + accumulator + ">");
    replace("<T>", "<" + type + ">"), replace("xT>", "x" + type + ">"),
        replace("<ZERO> : tensor<24x36", "<" + zero + "> : tensor<24x36");
    replace("<ZERO>", type[0] == 'i' ? "<0>" : "<0.0>");
    return t;
  };
  {
    Kernel kernel(text("f32", "f32", "0.0"));
    auto x = random_floats(24 * 40, 15), y = random_floats(40 * 36, 16);
    std::vector<float> z(24 * 36);
    kernel.run({1}, x.data(), y.data(), z.data(), 40);
    for (int i = 0; i < 24; ++i)
      for (int j = 0; j < 36; ++j) {
        double sum = 0;
        for (int k = 0; k < 40; ++k) sum += double(x[i * 40 + k]) * y[k * 36 + j];
        ASSERT_NEAR(z[i * 36 + j], sum, 1e-4) << i << " " << j;
      }
  }
  {
    Kernel kernel(text("i8", "i32", "0"));
    std::vector<std::int8_t> x(24 * 40), y(40 * 36);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int8_t>(i * 37 % 251);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int8_t>(i * 91 % 241);
    std::vector<std::int32_t> z(24 * 36);
    kernel.run({1}, x.data(), y.data(), z.data(), 40);
    for (int i = 0; i < 24; ++i)
      for (int j = 0; j < 36; ++j) {
        int sum = 0;
        for (int k = 0; k < 40; ++k) sum += x[i * 40 + k] * y[k * 36 + j];
        ASSERT_EQ(z[i * 36 + j], sum) << i << " " << j;
      }
  }
}

TEST(Debug, assertions_stop_and_prints_arrive) {
  Kernel kernel("tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>) {\n" + row("p", "%x", 40, "i32") + R"(
      %v = tt.load %p : tensor<40x!tt.ptr<i32>>
      %lim = arith.constant dense<100> : tensor<40xi32>
      %ok = arith.cmpi slt, %v, %lim : tensor<40xi32>
      tt.assert %ok, "too large" : tensor<40xi1>
      %one = arith.constant 1 : i32
      tt.print "one" {hex = false, isSigned = array<i32: 1>} : %one : i32
      tt.store %y, %one : !tt.ptr<i32>
      tt.return
    })");
  std::vector<std::int32_t> x(40, 3);
  std::int32_t reached = 0;
  auto report = kernel.run({1}, x.data(), &reached);
  EXPECT_EQ(report.message, "");
  EXPECT_EQ(report.printed, "one i32: 1;");
  EXPECT_EQ(reached, 1);
  x[37] = 100, reached = 0;
  report = kernel.run({4}, x.data(), &reached);
  EXPECT_EQ(report.message, "too large");
  EXPECT_EQ(report.lane, 37u);
  EXPECT_EQ(report.program, 0u);
  EXPECT_EQ(reached, 0);
}

TEST(Errors, what_the_cpu_does_not_know_is_named) {
  auto text = compile_error(R"(tt.func public @k(%d: !tt.tensordesc<tensor<8x8xf32>>) {
      tt.return
    })");
  EXPECT_NE(text.find("takes scalars and pointers"), std::string::npos) << text;
}

}  // namespace teeny::compiler::cpu::testing
