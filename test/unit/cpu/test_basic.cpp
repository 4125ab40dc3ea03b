// The first kernels: element-wise with a tail, softmax, layer norm over a loop.
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

}  // namespace

TEST(Basic, vector_add_stops_at_the_mask) {
  Kernel kernel(R"(
    tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>, %n: i32) {
      %c1024 = arith.constant 1024 : i32
      %pid = tt.get_program_id x : i32
      %start = arith.muli %pid, %c1024 : i32
      %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
      %s = tt.splat %start : i32 -> tensor<1024xi32>
      %offsets = arith.addi %s, %range : tensor<1024xi32>
      %ns = tt.splat %n : i32 -> tensor<1024xi32>
      %mask = arith.cmpi slt, %offsets, %ns : tensor<1024xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %offsets : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
      %a = tt.load %xp, %mask : tensor<1024x!tt.ptr<f32>>
      %ys = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
      %yp = tt.addptr %ys, %offsets : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
      %b = tt.load %yp, %mask : tensor<1024x!tt.ptr<f32>>
      %sum = arith.addf %a, %b : tensor<1024xf32>
      %zs = tt.splat %z : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
      %zp = tt.addptr %zs, %offsets : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
      tt.store %zp, %sum, %mask : tensor<1024x!tt.ptr<f32>>
      tt.return
    })");
  for (int n : {1, 15, 16, 1000, 1024, 1025, 5000}) {
    auto x = random_floats(n, 1), y = random_floats(n, 2);
    std::vector<float> z(n + 1, 7);
    kernel.run({(n + 1023u) / 1024}, x.data(), y.data(), z.data(), n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(z[i], x[i] + y[i]) << i;
    EXPECT_EQ(z[n], 7);
  }
}

TEST(Basic, softmax_of_rows) {
  const char* text = R"(
    tt.func public @softmax(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
      %pid = tt.get_program_id x : i32
      %start = arith.muli %pid, %n : i32
      %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
      %ns = tt.splat %n : i32 -> tensor<1024xi32>
      %mask = arith.cmpi slt, %range, %ns : tensor<1024xi32>
      %xr = tt.addptr %x, %start : !tt.ptr<f32>, i32
      %xs = tt.splat %xr : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
      %low = arith.constant dense<0xFF800000> : tensor<1024xf32>
      %v = tt.load %xp, %mask, %low : tensor<1024x!tt.ptr<f32>>
      %m = "tt.reduce"(%v) <{axis = 0 : i32}> ({
      ^bb0(%a: f32, %b: f32):
        %r = arith.maxnumf %a, %b : f32
        tt.reduce.return %r : f32
      }) : (tensor<1024xf32>) -> f32
      %ms = tt.splat %m : f32 -> tensor<1024xf32>
      %d = arith.subf %v, %ms : tensor<1024xf32>
      %e = math.exp %d : tensor<1024xf32>
      %t = "tt.reduce"(%e) <{axis = 0 : i32}> ({
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        tt.reduce.return %r : f32
      }) : (tensor<1024xf32>) -> f32
      %ts = tt.splat %t : f32 -> tensor<1024xf32>
      %q = arith.divf %e, %ts : tensor<1024xf32>
      %yr = tt.addptr %y, %start : !tt.ptr<f32>, i32
      %ys = tt.splat %yr : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
      %yp = tt.addptr %ys, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
      tt.store %yp, %q, %mask : tensor<1024x!tt.ptr<f32>>
      tt.return
    })";
  for (bool reproducible : {false, true}) {
    CpuOptions options;
    options.reproducible = reproducible;
    Kernel kernel(text, options);
    for (int n : {1, 7, 100, 1000, 1024}) {
      int rows = 3;
      auto x = random_floats(rows * n, 3);
      std::vector<float> y(rows * n + 1, 9);
      kernel.run({3}, x.data(), y.data(), n);
      for (int row = 0; row < rows; ++row) {
        double top = -INFINITY, total = 0;
        for (int i = 0; i < n; ++i) top = std::max<double>(top, x[row * n + i]);
        for (int i = 0; i < n; ++i) total += std::exp(x[row * n + i] - top);
        for (int i = 0; i < n; ++i)
          ASSERT_NEAR(y[row * n + i], std::exp(x[row * n + i] - top) / total, 1e-6) << n << " " << i;
      }
      EXPECT_EQ(y.back(), 9);
    }
  }
}

}  // namespace teeny::compiler::cpu::testing
