// Loops, branches, calls, atomics, descriptors, printing, assertions.
#include <cmath>
#include <limits>

#include "fixture.hpp"

namespace teeny::compiler::interpreter {
namespace {

// Loops from %x0 to %x1 by %x2, carrying `carried` ("%s = %zero") and yielding; the loop's first result is stored.
const std::string count_and_last = R"(
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c:2 = scf.for %i = %x0 to %x1 step %x2 iter_args(%n = %zero, %last = %zero) -> (i32, i32) : i32 {
    %m = arith.addi %n, %one : i32
    scf.yield %m, %i : i32, i32
  }
  %k = arith.constant 1000 : i32
  %big = arith.constant 2147483000 : i32
  %far = arith.cmpi sgt, %c#1, %big : i32
  %rest = arith.subi %c#1, %big : i32
  %shown = arith.select %far, %rest, %c#1 : i32
  %t = arith.muli %c#0, %k : i32
  %r = arith.addi %t, %shown : i32
)";

std::int32_t loop(std::int32_t lower, std::int32_t upper, std::int32_t step) {
  std::vector<std::int32_t> out(1, -1);
  Launch(scalar_kernel({"i32", "i32", "i32"}, "i32", count_and_last))
      .integer(lower)
      .integer(upper)
      .integer(step)
      .buffer(out, false)
      .clean();
  return out[0];
}

TEST(interpreter_control, loop_bounds) {
  EXPECT_EQ(loop(5, 3, 1), 0);
  EXPECT_EQ(loop(5, 5, 1), 0);
  EXPECT_EQ(loop(5, 6, 1), 1005);
  EXPECT_EQ(loop(0, 10, 3), 4009);
  EXPECT_EQ(loop(2147483640, 2147483647, 4), 2000 + 644);
  EXPECT_EQ(loop(INT32_MIN, INT32_MIN, 1), 0);
}

TEST(interpreter_control, carried_values_swap) {
  const std::string body = R"(
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c:2 = scf.for %i = %zero to %x0 step %one iter_args(%a = %zero, %b = %one) -> (i32, i32) : i32 {
    %s = arith.addi %a, %b : i32
    scf.yield %b, %s : i32, i32
  }
  %r = arith.addi %c#0, %zero : i32
)";
  for (auto [trips, expected] : {std::pair{10, 55}, {46, 1836311903}, {47, -1323752223}}) {
    std::vector<std::int32_t> out(1);
    Launch(scalar_kernel({"i32"}, "i32", body)).integer(trips).buffer(out, false).clean();
    EXPECT_EQ(out[0], expected);
  }
}

TEST(interpreter_control, while_if_branch_and_call) {
  // Collatz steps of 27 by while and if; doubled by a device function with a branch in it.
  const std::string kernel = R"(
tt.func private @twice(%v: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %big = arith.cmpi sgt, %v, %zero : i32
  cf.cond_br %big, ^yes, ^no
^yes:
  %d = arith.addi %v, %v : i32
  tt.return %d : i32
^no:
  tt.return %zero : i32
}
tt.func @collatz(%x: i32, %out: !tt.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %w:2 = scf.while (%v = %x, %n = %zero) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ne, %v, %one : i32
    scf.condition(%more) %v, %n : i32, i32
  } do {
  ^bb0(%v: i32, %n: i32):
    %odd = arith.remsi %v, %two : i32
    %is = arith.cmpi eq, %odd, %one : i32
    %next = scf.if %is -> (i32) {
      %t = arith.muli %v, %three : i32
      %u = arith.addi %t, %one : i32
      scf.yield %u : i32
    } else {
      %h = arith.divsi %v, %two : i32
      scf.yield %h : i32
    }
    %m = arith.addi %n, %one : i32
    scf.yield %next, %m : i32, i32
  }
  %r = tt.call @twice(%w#1) : (i32) -> i32
  %s = tt.call @twice(%r) : (i32) -> i32
  tt.store %out, %s : !tt.ptr<i32>
  tt.return
})";
  std::vector<std::int32_t> out(1);
  Launch(kernel).integer(27).buffer(out, false).clean();
  EXPECT_EQ(out[0], 4 * 111);
}

TEST(interpreter_control, grid_of_three_dimensions) {
  const std::string body = R"(
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %z = tt.get_program_id z : i32
  %nx = tt.get_num_programs x : i32
  %ny = tt.get_num_programs y : i32
  %a = arith.muli %ny, %z : i32
  %b = arith.addi %y, %a : i32
  %c = arith.muli %nx, %b : i32
  %o = arith.addi %x, %c : i32
  %k = arith.constant 1000 : i32
  %m = arith.constant 1000000 : i32
  %ky = arith.muli %k, %y : i32
  %mz = arith.muli %m, %z : i32
  %s = arith.addi %x, %ky : i32
  %v = arith.addi %s, %mz : i32
  %p = tt.addptr %out, %o : !tt.ptr<i32>, i32
  tt.store %p, %v : !tt.ptr<i32>
  tt.return
})";
  std::vector<std::int32_t> out(105, -1);
  Launch("tt.func @grid(%out: !tt.ptr<i32>) {" + body).buffer(out, false).grid(3, 5, 7).clean();
  for (int z = 0; z < 7; ++z)
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 3; ++x) EXPECT_EQ(out[x + 3 * (y + 5 * z)], x + 1000 * y + 1000000 * z);
  std::vector<std::int32_t> untouched(105, -1);
  Launch("tt.func @grid(%out: !tt.ptr<i32>) {" + body).buffer(untouched).grid(4, 0, 2).clean();
  EXPECT_EQ(untouched[0], -1);
}

TEST(interpreter_control, atomics_count_every_lane_and_give_the_old_value) {
  const std::string kernel = R"(
tt.func @histogram(%x: !tt.ptr<i32>, %bins: !tt.ptr<i32>, %old: !tt.ptr<i32>) {
  %c = arith.constant 512 : i32
  %seven = arith.constant dense<7> : tensor<512xi32>
  %one = arith.constant dense<1> : tensor<512xi32>
  %yes = arith.constant dense<true> : tensor<512xi1>
  %pid = tt.get_program_id x : i32
  %b = arith.muli %pid, %c : i32
  %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %bs = tt.splat %b : i32 -> tensor<512xi32>
  %o = arith.addi %bs, %r : tensor<512xi32>
  %m = arith.remsi %o, %seven : tensor<512xi32>
  %ps = tt.splat %bins : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %p = tt.addptr %ps, %m : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  %was = tt.atomic_rmw add, acq_rel, gpu, %p, %one, %yes : (tensor<512x!tt.ptr<i32>>, tensor<512xi32>, tensor<512xi1>) -> tensor<512xi32>
  %qs = tt.splat %old : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %q = tt.addptr %qs, %o : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  tt.store %q, %was : tensor<512x!tt.ptr<i32>>
  tt.return
})";
  std::vector<std::int32_t> x(1), bins(7, 0), old(4096, -1);
  Launch(kernel).buffer(x).buffer(bins).buffer(old, false).grid(8).clean();
  EXPECT_EQ(bins, (std::vector<std::int32_t>{586, 585, 585, 585, 585, 585, 585}));
  EXPECT_EQ(old[0], 0);
  EXPECT_EQ(old[7], 1);
  EXPECT_EQ(old[4095], 585 - 1 + (4095 % 7 == 0));
}

template <class T>
T atomic(const std::string& op, const std::string& type, T cell, T value) {
  std::vector<T> cells = {cell}, out = {value};
  Launch("tt.func @atomic(%cell: !tt.ptr<" + type + ">, %in: !tt.ptr<" + type + ">) {\n  %v = tt.load %in : !tt.ptr<" +
         type + ">\n  %o = tt.atomic_rmw " + op + ", relaxed, gpu, %cell, %v : (!tt.ptr<" + type + ">, " + type +
         ") -> " + type + "\n  tt.return\n}")
      .buffer(cells)
      .buffer(out)
      .clean();
  return cells[0];
}

TEST(interpreter_control, atomic_kinds) {
  EXPECT_EQ(atomic<std::int32_t>("max", "i32", -1, INT32_MIN), -1);
  EXPECT_EQ(atomic<std::uint32_t>("umax", "i32", 1, 0x80000000u), 0x80000000u);
  EXPECT_EQ(atomic<std::int64_t>("min", "i64", 3, INT64_MIN), INT64_MIN);
  EXPECT_EQ(atomic<std::int32_t>("xor", "i32", 6, 3), 5);
  EXPECT_EQ(atomic<std::int32_t>("exch", "i32", 6, 3), 3);
  EXPECT_EQ(atomic<float>("fadd", "f32", 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(atomic<float>("fmax", "f32", -1.0f, -0.5f), -0.5f);
  EXPECT_TRUE(std::signbit(atomic<float>("fmax", "f32", -3.4e38f, -0.0f)));
  EXPECT_EQ(atomic<double>("fmin", "f64", -1.0, -2.0), -2.0);
  EXPECT_EQ(atomic<std::uint16_t>("fadd", "f16", 0x3C00, 0x1000), 0x3C00);  // 1 + 2^-11 ties to 1
}

TEST(interpreter_control, float_atomics_have_a_radius_that_knows_their_order_is_free) {
  const std::string kernel = R"(
tt.func @sum(%x: !tt.ptr<f32>, %s: !tt.ptr<f32>) {
  %pid = tt.get_program_id x : i32
  %p = tt.addptr %x, %pid : !tt.ptr<f32>, i32
  %v = tt.load %p : !tt.ptr<f32>
  %o = tt.atomic_rmw fadd, relaxed, gpu, %s, %v : (!tt.ptr<f32>, f32) -> f32
  tt.return
})";
  std::vector<float> x(64), s(1, 0);
  for (int i = 0; i < 64; ++i) x[i] = 1.0f / static_cast<float>(i + 3);
  Result result = Launch(kernel).buffer(x).buffer(s).grid(64).clean();
  float backward = 0;
  for (int i = 63; i >= 0; --i) backward += x[i];
  EXPECT_NEAR(s[0], backward, radius_of(result, s[0]));
  EXPECT_LT(radius_of(result, s[0]), 2.1 * 64 * 0x1p-24 * 3.5);
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  s[0] = 0;
  EXPECT_EQ(radius_of(Launch(kernel).buffer(x).buffer(s).grid(64).clean(), s[0]), 0.0);
  EXPECT_EQ(s[0], 2016.0f);
}

TEST(interpreter_control, descriptors_check_every_dimension) {
  const std::string kernel = R"(
tt.func @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %rows: i32, %columns: i32, %i: i32, %j: i32) {
  %one = arith.constant 1 : i64
  %pitch = arith.constant 10 : i64
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %d = tt.make_tensor_descriptor %x, [%rows, %columns], [%pitch, %one] {padding = 2 : i32} : <f32>, <4x8xf32>
  %v = tt.descriptor_load %d[%i, %j] : !tt.tensordesc<4x8xf32> -> tensor<4x8xf32>
  %eight64 = arith.constant 8 : i64
  %four = arith.constant 4 : i32
  %e = tt.make_tensor_descriptor %y, [%four, %eight], [%eight64, %one] : <f32>, <4x8xf32>
  tt.descriptor_store %e[%zero, %zero], %v : !tt.tensordesc<4x8xf32>, tensor<4x8xf32>
  tt.return
})";
  std::vector<float> x(60), y(32, -1);
  for (int i = 0; i < 60; ++i) x[i] = static_cast<float>(i);
  Launch(kernel).buffer(x).buffer(y, false).integer(6).integer(9).integer(4).integer(-2).clean();
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      const int row = 4 + i, column = j - 2;
      if (row < 6 && column >= 0 && column < 9)
        EXPECT_EQ(y[i * 8 + j], x[row * 10 + column]);
      else
        EXPECT_TRUE(std::isnan(y[i * 8 + j]));
    }
}

TEST(interpreter_control, prints_every_element_once_with_its_index) {
  Launch launch(scalar_kernel({"i32", "f32"}, "i32", R"(
  %t = tt.make_range {end = 12 : i32, start = 10 : i32} : tensor<2xi32>
  tt.print " a: " {hex = false, isSigned = array<i32: 1, 0>} : %x0, %x0 : i32, i32
  tt.print " b: " {hex = false, isSigned = array<i32: 1, 1>} : %x1, %t : f32, tensor<2xi32>
  %r = arith.addi %x0, %x0 : i32
)"));
  std::vector<std::int32_t> out(1);
  launch.integer(-1).real(1.5f).buffer(out, false).clean();
  EXPECT_EQ(launch.printed(),
            "program [0, 0, 0]  a: -1\nprogram [0, 0, 0]  a: 4294967295\n"
            "program [0, 0, 0]  b: 1.5\nprogram [0, 0, 0] element [0]  b: 10\nprogram [0, 0, 0] element [1]  b: 11\n");
}

TEST(interpreter_control, masked_lanes_touch_no_memory_and_take_the_other_value) {
  const std::string kernel = R"(
tt.func @edge(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %o: f32) {
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %r, %ns : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %p = tt.addptr %xs, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %os = tt.splat %o : f32 -> tensor<64xf32>
  %v = tt.load %p, %m, %os : tensor<64x!tt.ptr<f32>>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %q = tt.addptr %ys, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %q, %v : tensor<64x!tt.ptr<f32>>
  tt.return
})";
  std::vector<float> x(37, 1), y(64, -1);
  Launch(kernel).buffer(x).buffer(y, false).integer(37).real(9).clean();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], i < 37 ? 1.0f : 9.0f);
  Launch(kernel).raw(0).buffer(y).integer(0).real(7).clean();
  for (float value : y) EXPECT_EQ(value, 7.0f);
}

}  // namespace
}  // namespace teeny::compiler::interpreter
