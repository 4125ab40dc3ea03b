// Correct kernels that synchronise are clean, and what their radii say.
#include <cmath>

#include "fixture.hpp"

namespace teeny::compiler::interpreter {
namespace {

// As in a layer norm's backward pass: each program adds a row of its own into one shared row under a lock; the first
// one
// stores, later ones add.
const char* locked_sum(bool with_barrier) {
  static std::string text;
  text = R"(
tt.func @locked(%x: !tt.ptr<f32>, %sum: !tt.ptr<f32>, %lock: !tt.ptr<i32>, %count: !tt.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = arith.constant 32 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %n : i32
  %row = tt.addptr %x, %start : !tt.ptr<f32>, i32
  %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %xs = tt.splat %row : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %v = tt.load %xp : tensor<32x!tt.ptr<f32>>
  %ss = tt.splat %sum : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %sp = tt.addptr %ss, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  scf.while : () -> () {
    %held = tt.atomic_cas acq_rel, gpu, %lock, %zero, %one : (!tt.ptr<i32>, i32, i32) -> i32
    %again = arith.cmpi eq, %held, %one : i32
    scf.condition(%again)
  } do {
    scf.yield
  }
  %seen = tt.load %count : !tt.ptr<i32>
  %first = arith.cmpi eq, %seen, %zero : i32
  %total = scf.if %first -> (tensor<32xf32>) {
    %o = tt.atomic_rmw exch, acq_rel, gpu, %count, %one : (!tt.ptr<i32>, i32) -> i32
    scf.yield %v : tensor<32xf32>
  } else {
    %old = tt.load %sp : tensor<32x!tt.ptr<f32>>
    %t = arith.addf %old, %v : tensor<32xf32>
    scf.yield %t : tensor<32xf32>
  }
  tt.store %sp, %total : tensor<32x!tt.ptr<f32>>
)";
  if (with_barrier) text += "  tt.barrier\n";
  text += "  %o = tt.atomic_rmw exch, release, gpu, %lock, %zero : (!tt.ptr<i32>, i32) -> i32\n  tt.return\n}";
  return text.c_str();
}

TEST(interpreter_clean, a_lock_orders_programs) {
  std::vector<float> x(5 * 32), sum(32, NAN);
  for (int i = 0; i < 160; ++i) x[i] = static_cast<float>(i);
  std::vector<std::int32_t> lock(1, 0), count(1, 0);
  Launch(locked_sum(true)).buffer(x).buffer(sum, false).buffer(lock).buffer(count).grid(5).clean();
  for (int j = 0; j < 32; ++j) EXPECT_EQ(sum[j], static_cast<float>(32 * (0 + 1 + 2 + 3 + 4) + 5 * j));
  EXPECT_EQ(lock[0], 0);
}

TEST(interpreter_clean, without_its_lock_the_same_kernel_races) {
  std::string kernel = locked_sum(true);
  const std::string from = "tt.atomic_cas acq_rel", to = "tt.atomic_cas relaxed";
  kernel.replace(kernel.find(from), from.size(), to);
  const std::string exchange = "exch, acq_rel, gpu, %count", relaxed = "exch, relaxed, gpu, %count";
  kernel.replace(kernel.find(exchange), exchange.size(), relaxed);
  std::vector<float> x(5 * 32, 1), sum(32);
  std::vector<std::int32_t> lock(1, 0), count(1, 0);
  Result result = Launch(kernel).buffer(x).buffer(sum, false).buffer(lock).buffer(count).grid(5).run();
  EXPECT_EQ(finding(result, "race").program[0], 1u);
}

// The program that comes last reads what all others have written.
std::string last_reader(const std::string& order) {
  std::string kernel = R"(
tt.func @last(%part: !tt.ptr<f32>, %counter: !tt.ptr<i32>, %out: !tt.ptr<f32>) {
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %pid = tt.get_program_id x : i32
  %f = arith.sitofp %pid : i32 to f32
  %p = tt.addptr %part, %pid : !tt.ptr<f32>, i32
  tt.store %p, %f : !tt.ptr<f32>
  tt.barrier
  %done = tt.atomic_rmw add, acq_rel, gpu, %counter, %one : (!tt.ptr<i32>, i32) -> i32
  %is_last = arith.cmpi eq, %done, %seven : i32
  scf.if %is_last {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %s = tt.splat %part : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %q = tt.addptr %s, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %v = tt.load %q : tensor<8x!tt.ptr<f32>>
    %sum = "tt.reduce"(%v) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<8xf32>) -> f32
    tt.store %out, %sum : !tt.ptr<f32>
  }
  tt.return
})";
  return kernel.replace(kernel.find("acq_rel"), 7, order);
}

TEST(interpreter_clean, the_last_program_may_read_everything) {
  std::vector<float> part(8), out(1);
  std::vector<std::int32_t> counter(1, 0);
  Launch(last_reader("acq_rel")).buffer(part, false).buffer(counter).buffer(out, false).grid(8).clean();
  EXPECT_EQ(out[0], 28.0f);
  // Without an order the same reads race, and a release alone acquires nothing.
  for (const char* order : {"relaxed", "release"}) {
    counter[0] = 0;
    Result result = Launch(last_reader(order)).buffer(part, false).buffer(counter).buffer(out, false).grid(8).run();
    EXPECT_EQ(finding(result, "race").program[0], 7u);
  }
}

// Programs release one after another without acquiring; the last acquires what all of them released.
TEST(interpreter_clean, a_release_sequence_carries_every_program) {
  std::string kernel = last_reader("release");
  const std::string condition = "  %is_last = arith.cmpi eq, %done, %seven : i32\n";
  kernel.replace(kernel.find(condition), condition.size(),
                 condition +
                     "  %none = arith.constant 0 : i32\n  scf.if %is_last {\n    %seen = tt.atomic_rmw add, acquire, "
                     "gpu, %counter, %none : "
                     "(!tt.ptr<i32>, i32) -> i32\n  }\n");
  std::vector<float> part(8), out(1);
  std::vector<std::int32_t> counter(1, 0);
  Launch(kernel).buffer(part, false).buffer(counter).buffer(out, false).grid(8).clean();
  EXPECT_EQ(out[0], 28.0f);
}

TEST(interpreter_clean, programs_may_write_the_same_value) {
  std::vector<std::int32_t> out(1);
  Launch(scalar_kernel({"i32"}, "i32", "  %r = arith.addi %x0, %x0 : i32\n"))
      .integer(4)
      .buffer(out, false)
      .grid(6)
      .clean();
  EXPECT_EQ(out[0], 8);
}

TEST(interpreter_clean, positions_that_read_back_their_own_stores_are_ordered) {
  const std::string kernel = R"(
tt.func @own(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %four = arith.constant 4 : i32
  %one = arith.constant 1 : i32
  %w = arith.constant 16 : i32
  %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  scf.for %i = %zero to %four step %one : i32 {
    %o = arith.muli %i, %w : i32
    %os = tt.splat %o : i32 -> tensor<16xi32>
    %l = arith.addi %os, %r : tensor<16xi32>
    %f = arith.sitofp %l : tensor<16xi32> to tensor<16xf32>
    %p = tt.addptr %xs, %l : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %p, %f : tensor<16x!tt.ptr<f32>>
    %v = tt.load %p : tensor<16x!tt.ptr<f32>>
    %d = arith.subf %v, %f : tensor<16xf32>
    tt.store %p, %d : tensor<16x!tt.ptr<f32>>
    %q = tt.addptr %ys, %l : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %q, %d : tensor<16x!tt.ptr<f32>>
  }
  tt.return
})";
  std::vector<float> x(64), y(64, 1);
  Launch(kernel).buffer(x, false).buffer(y, false).clean();
  for (float value : y) EXPECT_EQ(value, 0.0f);
}

TEST(interpreter_clean, masks_cut_undefined_lanes_off) {
  const std::string body = R"(
  %n = arith.constant dense<5> : tensor<8xi32>
  %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %m = arith.cmpi slt, %lane, %n : tensor<8xi32>
  %again = tt.load %in0p, %m : tensor<8x!tt.ptr<f32>>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %positive = arith.cmpf ogt, %again, %zero : tensor<8xf32>
  %both = arith.andi %m, %positive : tensor<8xi1>
  %r = arith.select %both, %again, %zero : tensor<8xi1>, tensor<8xf32>
)";
  std::vector<float> x = {1, -2, 3, -4, 5, 6, 7, 8}, y(8, 9);
  Launch(map_kernel(8, {"f32"}, "f32", body)).buffer(x).buffer(y, false).clean();
  EXPECT_EQ(y, (std::vector<float>{1, 0, 3, 0, 5, 0, 0, 0}));
}

// ---- radii through later operations: r = f(sum of 8 numbers), other orders of the sum within the radius

struct Chain {
  const char* body;
  double (*function)(double);
  double slack;  // relative: the operations' own rounding
};

TEST(interpreter_clean, radii_follow_element_wise_operations_soundly_and_tightly) {
  const Chain chains[] = {
      {"  %r = arith.mulf %s, %s : f32\n", [](double v) { return v * v; }, 3},
      {"  %c = arith.constant 3.0 : f32\n  %r = arith.divf %c, %s : f32\n", [](double v) { return 3 / v; }, 3},
      {"  %r = math.sqrt %s : f32\n", [](double v) { return std::sqrt(v); }, 3},
      {"  %r = math.exp %s : f32\n", [](double v) { return std::exp(v); }, 3},
      {"  %r = math.rsqrt %s : f32\n", [](double v) { return 1 / std::sqrt(v); }, 6},
      {"  %r = math.sin %s : f32\n", [](double v) { return std::sin(v); }, 8},
      {"  %n = arith.negf %s : f32\n  %r = math.tanh %n : f32\n", [](double v) { return -std::tanh(v); }, 6},
      {"  %r = math.fma %s, %s, %s : f32\n", [](double v) { return v * v + v; }, 3},
      {"  %c = arith.constant 1.0e6 : f32\n  %r = arith.minnumf %s, %c : f32\n", [](double v) { return v; }, 2},
  };
  for (const Chain& chain : chains) {
    const std::string kernel =
        "tt.func @k(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {\n"
        "  %l = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
        "  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>\n"
        "  %p = tt.addptr %xs, %l : tensor<8x!tt.ptr<f32>>, tensor<8xi32>\n  %v = tt.load %p : tensor<8x!tt.ptr<f32>>\n"
        "  %s = \"tt.reduce\"(%v) <{axis = 0 : i32}> ({\n  ^bb0(%a: f32, %b: f32):\n    %c = arith.addf %a, %b : f32\n"
        "    tt.reduce.return %c : f32\n  }) : (tensor<8xf32>) -> f32\n" +
        std::string(chain.body) + "  tt.store %out, %r : !tt.ptr<f32>\n  tt.return\n}";
    std::vector<float> x = {0.1f, 0.7f, 0.3f, 0.9f, 0.05f, 0.2f, 0.6f, 0.11f}, out(1);
    Result result = Launch(kernel).buffer(x).buffer(out, false).clean();
    const double radius = radius_of(result, out[0]);
    double sum = 0;
    for (float value : x) sum += value;
    const double spread = 2 * 7 * 0x1p-24 * sum;
    const double change = std::max(std::fabs(chain.function(sum + spread) - chain.function(sum)),
                                   std::fabs(chain.function(sum - spread) - chain.function(sum)));
    const double expected = chain.function(sum);
    EXPECT_NEAR(out[0], expected, radius + chain.slack * 0x1p-24 * std::fabs(expected)) << chain.body;
    EXPECT_GE(radius, 0.4 * change) << chain.body;
    EXPECT_LE(radius, 3 * change + 2 * chain.slack * 0x1p-24 * std::fabs(expected)) << chain.body;
  }
}

TEST(interpreter_clean, a_coarse_conversion_swallows_a_small_radius_or_shows_a_whole_step) {
  const std::string kernel = R"(
tt.func @k(%x: !tt.ptr<f32>, %shift: f32, %out: !tt.ptr<f16>) {
  %l = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %p = tt.addptr %xs, %l : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
  %v = tt.load %p : tensor<4x!tt.ptr<f32>>
  %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<4xf32>) -> f32
  %d = arith.subf %s, %s : f32
  %e = arith.addf %d, %shift : f32
  %r = arith.truncf %e : f32 to f16
  tt.store %out, %r : !tt.ptr<f16>
  tt.return
})";
  std::vector<float> x = {0.1f, 0.7f, 0.3f, 0.9f};
  std::vector<std::uint16_t> out(1);
  Result middle = Launch(kernel).buffer(x).real(1.0f).buffer(out, false).clean();
  EXPECT_EQ(out[0], 0x3C00);
  EXPECT_EQ(radius_of(middle, out[0]), 0.0);
  Result tie = Launch(kernel).buffer(x).real(1 + 0x1p-11f).buffer(out, false).clean();
  EXPECT_EQ(out[0], 0x3C00);
  EXPECT_EQ(radius_of(tie, out[0]), 0x1p-10);
}

TEST(interpreter_clean, a_comparison_that_could_turn_out_otherwise_covers_both_sides) {
  const std::string kernel = R"(
tt.func @k(%x: !tt.ptr<f32>, %limit: f32, %out: !tt.ptr<f32>) {
  %l = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
  %p = tt.addptr %xs, %l : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
  %v = tt.load %p : tensor<4x!tt.ptr<f32>>
  %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<4xf32>) -> f32
  %two = arith.constant 2.0 : f32
  %ten = arith.constant 10.0 : f32
  %less = arith.cmpf olt, %s, %limit : f32
  %r = arith.select %less, %two, %ten : f32
  tt.store %out, %r : !tt.ptr<f32>
  tt.return
})";
  std::vector<float> x = {0.1f, 0.7f, 0.3f, 0.9f}, out(1);
  Result near = Launch(kernel).buffer(x).real(0.1f + 0.7f + 0.3f + 0.9f).buffer(out, false).clean();
  EXPECT_EQ(radius_of(near, out[0]), 8.0);
  Result far = Launch(kernel).buffer(x).real(3.0f).buffer(out, false).clean();
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(radius_of(far, out[0]), 0.0);
}

}  // namespace
}  // namespace teeny::compiler::interpreter
