// One planted fault of each kind is found, at the right operation, program and lane.
#include "fixture.hpp"
#include "kernels.hpp"

namespace teeny::compiler::interpreter {
namespace {

using Program = std::array<std::uint32_t, 3>;

// The vector add with one piece of its text exchanged.
std::string mutated(const char* text, const std::string& from, const std::string& to) {
  std::string kernel = text;
  const std::size_t at = kernel.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return kernel.replace(at, from.size(), to);
}

TEST(interpreter_checker, finds_accesses_outside_of_a_buffer) {
  const std::string kernel = mutated(kernels::vector_add, "tt.store %zp, %sum, %mask", "tt.store %zp, %sum");
  const std::string full = mutated(mutated(kernel.c_str(), "%a = tt.load %xp, %mask", "%a = tt.load %xp").c_str(),
                                   "%b = tt.load %yp, %mask", "%b = tt.load %yp");
  std::vector<float> x(128, 1), y(128, 1), z(100);
  Result result = Launch(full).buffer(x).buffer(y).buffer(z, false).integer(100).grid(2).run();
  EXPECT_FALSE(result.ok);
  ASSERT_EQ(result.findings.size(), 1u);
  const Finding found = finding(result, "out_of_bounds");
  EXPECT_EQ(line_of(found), line_of(full, "tt.store"));
  EXPECT_EQ(found.program, (Program{1, 0, 0}));
  EXPECT_EQ(found.lane, "[36]");
  EXPECT_EQ(found.address, reinterpret_cast<std::uint64_t>(z.data() + 100));
  EXPECT_NE(found.message.find("0 bytes past the end of a buffer of 400 bytes"), std::string::npos) << found.message;
  EXPECT_EQ(z[99], 2.0f);
}

TEST(interpreter_checker, skips_accesses_outside_even_without_check) {
  std::vector<float> z(100, 0);
  const std::string body =
      "  %o = arith.constant 1000000 : i32\n  %q = tt.addptr %out, %o : !tt.ptr<f32>, i32\n  tt.store %q, %x0 : "
      "!tt.ptr<f32>\n"
      "  %r = arith.addf %x0, %x0 : f32\n";
  Result result = Launch(scalar_kernel({"f32"}, "f32", body)).real(2).buffer(z).without_check().run();
  EXPECT_EQ(finding(result, "out_of_bounds").program, (Program{0, 0, 0}));
  EXPECT_EQ(z[0], 4.0f);
}

TEST(interpreter_checker, finds_the_use_of_a_lane_that_was_not_loaded) {
  const std::string kernel = mutated(kernels::vector_add, "tt.store %zp, %sum, %mask", "tt.store %zp, %sum");
  std::vector<float> x(100, 1), y(100, 1), z(128);
  Result result = Launch(kernel).buffer(x).buffer(y).buffer(z, false).integer(100).grid(2).run();
  ASSERT_EQ(result.findings.size(), 1u);
  const Finding found = finding(result, "masked_lane");
  EXPECT_EQ(line_of(found), line_of(kernel, "tt.store"));
  EXPECT_EQ(found.program, (Program{1, 0, 0}));
  EXPECT_EQ(found.lane, "[36]");
  EXPECT_NE(found.message.find("load at kernel.mlir:" + line_of(kernel, "%a = tt.load")), std::string::npos)
      << found.message;
}

TEST(interpreter_checker, finds_masked_lanes_in_sums_addresses_and_branches) {
  const std::string sum = mutated(kernels::softmax, "tt.load %p, %mask, %others", "tt.load %p, %mask");
  std::vector<float> x(100, 1), y(100);
  EXPECT_EQ(line_of(finding(Launch(sum).buffer(x).buffer(y, false).integer(100).run(), "masked_lane")),
            line_of(sum, "tt.store"));
  const std::string branch = scalar_kernel({"i1", "!tt.ptr<i32>"}, "i32", R"(
  %v = tt.load %x1, %x0 : !tt.ptr<i32>
  %zero = arith.constant 0 : i32
  %c = arith.cmpi eq, %v, %zero : i32
  %r = scf.if %c -> (i32) {
    scf.yield %zero : i32
  } else {
    scf.yield %zero : i32
  }
)");
  std::vector<std::int32_t> cell(1, 5), out(1);
  EXPECT_EQ(line_of(finding(Launch(branch).raw(0).buffer(cell).buffer(out, false).run(), "masked_lane")),
            line_of(branch, "scf.if"));
  Launch(branch).raw(1).buffer(cell).buffer(out, false).clean();
  const std::string address = scalar_kernel({"i1", "!tt.ptr<i32>"}, "i32", R"(
  %v = tt.load %x1, %x0 : !tt.ptr<i32>
  %q = tt.addptr %x1, %v : !tt.ptr<i32>, i32
  %r = tt.load %q : !tt.ptr<i32>
)");
  EXPECT_EQ(line_of(finding(Launch(address).raw(0).buffer(cell).buffer(out, false).run(), "masked_lane")),
            line_of(address, "%r = tt.load"));
}

TEST(interpreter_checker, finds_two_programs_that_race) {
  const std::string write = scalar_kernel({}, "i32", "  %r = tt.get_program_id x : i32\n");
  std::vector<std::int32_t> out(1);
  Result result = Launch(write).buffer(out, false).grid(3).run();
  ASSERT_EQ(result.findings.size(), 1u);
  const Finding found = finding(result, "race");
  EXPECT_EQ(found.program, (Program{1, 0, 0}));
  EXPECT_EQ(line_of(found), line_of(write, "tt.store"));
  EXPECT_NE(found.message.find("in program [0, 0, 0]"), std::string::npos) << found.message;
  // Reading what another program writes, in both orders of the two.
  const std::string shift = R"(
tt.func @shift(%x: !tt.ptr<i32>, %step: i32) {
  %pid = tt.get_program_id x : i32
  %p = tt.addptr %x, %pid : !tt.ptr<i32>, i32
  %q = tt.addptr %p, %step : !tt.ptr<i32>, i32
  %v = tt.load %p : !tt.ptr<i32>
  tt.store %q, %v : !tt.ptr<i32>
  tt.return
})";
  std::vector<std::int32_t> x = {1, 2, 3, 4, 5};
  EXPECT_EQ(line_of(finding(Launch(shift).buffer(x).integer(1).grid(4).run(), "race")), line_of(shift, "tt.load"));
  x = {1, 2, 3, 4, 5};
  Launch back(shift);
  std::vector<std::int32_t> padded = {0, 1, 2, 3, 4};
  const std::string down = mutated(
      shift.c_str(), "%p = tt.addptr %x, %pid",
      "%one = arith.constant 1 : i32\n  %w = tt.addptr %x, %one : !tt.ptr<i32>, i32\n  %p = tt.addptr %w, %pid");
  EXPECT_EQ(line_of(finding(Launch(down).buffer(padded).integer(-1).grid(4).run(), "race")), line_of(down, "tt.store"));
}

constexpr const char* shift_in_place = R"(
tt.func @shift(%x: !tt.ptr<f32>) {
  %one = arith.constant 1 : i32
  %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %p = tt.addptr %xs, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %ones = tt.splat %one : i32 -> tensor<32xi32>
  %q = tt.addptr %p, %ones : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %v = tt.load %p : tensor<32x!tt.ptr<f32>>
  tt.store %q, %v : tensor<32x!tt.ptr<f32>>
  tt.return
})";

TEST(interpreter_checker, finds_unordered_positions_of_one_program_and_accepts_a_barrier) {
  std::vector<float> x(33);
  for (int i = 0; i < 33; ++i) x[i] = static_cast<float>(i);
  auto y = x;
  Result result = Launch(shift_in_place).buffer(x).run();
  ASSERT_EQ(result.findings.size(), 1u);
  const Finding found = finding(result, "position_race");
  EXPECT_EQ(found.lane, "[0]");
  EXPECT_EQ(line_of(found), line_of(shift_in_place, "tt.store"));
  Launch(mutated(shift_in_place, "  tt.store", "  tt.barrier\n  tt.store")).buffer(y).clean();
  EXPECT_EQ(y[32], 31.0f);
}

TEST(interpreter_checker, finds_two_lanes_that_store_different_values_to_one_address) {
  const std::string kernel =
      mutated(mutated(shift_in_place, "%q = tt.addptr %p, %ones", "%q = tt.addptr %xs, %ones").c_str(),
              "%v = tt.load %p", "%v = tt.load %p");
  std::vector<float> x(33);
  for (int i = 0; i < 33; ++i) x[i] = static_cast<float>(i);
  EXPECT_EQ(line_of(finding(Launch(kernel).buffer(x).run(), "position_race")), line_of(kernel, "tt.store"));
}

TEST(interpreter_checker, finds_false_promises) {
  const std::string hint =
      map_kernel(8, {"i32"}, "i32", "  %r = tt.hint %x0 {divisibility = array<i64: 4>} : tensor<8xi32>\n");
  std::vector<std::int32_t> x = {0, 4, 8, 12, 17, 20, 24, 28}, y(8);
  Finding found = finding(Launch(hint).buffer(x).buffer(y, false).run(), "false_hint");
  EXPECT_EQ(line_of(found), line_of(hint, "tt.hint"));
  EXPECT_EQ(found.lane, "[4]");
  // A run of consecutive values keeps the promise by its first element.
  x = {4, 5, 6, 7, 100, 101, 102, 103};
  Launch(hint).buffer(x).buffer(y, false).clean();
  const std::string contiguous =
      map_kernel(8, {"i32"}, "i32", "  %r = tt.hint %x0 {contiguity = array<i64: 4>} : tensor<8xi32>\n");
  Launch(contiguous).buffer(x).buffer(y, false).clean();
  x = {4, 5, 6, 7, 100, 101, 103, 104};
  EXPECT_EQ(finding(Launch(contiguous).buffer(x).buffer(y, false).run(), "false_hint").lane, "[6]");
  const std::string assume = scalar_kernel({"i32"}, "i32",
                                           "  %z = arith.constant 0 : i32\n  %c = arith.cmpi sgt, %x0, %z : i32\n  "
                                           "tt.assume %c\n  %r = arith.addi %x0, %z : i32\n");
  Launch(assume).integer(1).buffer(y).clean();
  EXPECT_EQ(line_of(finding(Launch(assume).integer(-1).buffer(y).run(), "false_assume")), line_of(assume, "tt.assume"));
  const std::string argument = "tt.func @k(%x: !tt.ptr<i32>, %n: i32 {tt.divisibility = 16 : i32}) {\n  tt.return\n}";
  Launch(argument).buffer(x).integer(32).clean();
  EXPECT_NE(finding(Launch(argument).buffer(x).integer(33).run(), "false_hint").message.find("argument 1"),
            std::string::npos);
}

// Offset %x0 * %x1 is scaled back by a shift of the pointer, so that the exact address is inside the buffer.
std::string offset_kernel(const std::string& widen) {
  return scalar_kernel(
      {"i32", "i32", "i64"}, "f32",
      widen +
          "  %q = tt.addptr %out, %offset : !tt.ptr<f32>, i64\n  %b = tt.addptr %q, %x2 : !tt.ptr<f32>, i64\n"
          "  %v = arith.constant 1.0 : f32\n  tt.store %b, %v : !tt.ptr<f32>\n  %r = arith.addf %v, %v : f32\n");
}

TEST(interpreter_checker, finds_offsets_that_leave_32_bits) {
  std::vector<float> out(8);
  const std::string narrow =
      offset_kernel("  %o = arith.muli %x0, %x1 : i32\n  %offset = arith.extsi %o : i32 to i64\n");
  Result result = Launch(narrow).integer(65536).integer(65537).integer(-65536 + 4).buffer(out, false).run();
  const Finding found = finding(result, "offset_overflow");
  EXPECT_EQ(line_of(found), line_of(narrow, "tt.store %b"));
  Launch(narrow).integer(3).integer(4).integer(-8).buffer(out, false).clean();
  const std::string wide = offset_kernel(
      "  %a = arith.extsi %x0 : i32 to i64\n  %b0 = arith.extsi %x1 : i32 to i64\n  %offset = arith.muli %a, %b0 : "
      "i64\n");
  Launch(wide).integer(65536).integer(65537).integer(-(std::int64_t{65536} * 65537) + 4).buffer(out, false).clean();
  // A sum that leaves the range and comes back is exact.
  const std::string back = offset_kernel(
      "  %s = arith.addi %x0, %x1 : i32\n  %t = arith.subi %s, %x1 : i32\n  %offset = arith.extsi %t : i32 to i64\n");
  Launch(back).integer(2147483647).integer(100).integer(-2147483645).buffer(out, false).clean();
  // Unsigned offsets above 2^31, and hashes that wrap before a remainder, are meant.
  const std::string unsigned_sum =
      offset_kernel("  %s = arith.addi %x0, %x1 : i32\n  %offset = arith.extui %s : i32 to i64\n");
  Launch(unsigned_sum).integer(3000000000).integer(10).integer(-3000000006).buffer(out, false).clean();
  const std::string hash = offset_kernel(
      "  %k = arith.constant 8 : i32\n  %m = arith.muli %x0, %x1 : i32\n  %h = arith.remui %m, %k : i32\n  %offset = "
      "arith.extui %h : i32 to i64\n");
  Launch(hash).integer(0x12345679).integer(0x7feb352d).integer(0).buffer(out, false).run();
  EXPECT_TRUE(
      Launch(hash).integer(0x12345679).integer(0x7feb352d).integer(0).buffer(out, false).run().findings.empty());
}

TEST(interpreter_checker, finds_used_divisions_by_zero) {
  const std::string kernel =
      map_kernel(4, {"i32", "i32"}, "i32",
                 "  %q = arith.divsi %x0, %x1 : tensor<4xi32>\n  %r = arith.addi %q, %x0 : tensor<4xi32>\n");
  std::vector<std::int32_t> a = {1, 2, 3, 4}, b = {1, 1, 0, 1}, out(4);
  const Finding found = finding(Launch(kernel).buffer(a).buffer(b).buffer(out, false).run(), "division_by_zero");
  EXPECT_EQ(found.lane, "[2]");
  EXPECT_NE(found.message.find("kernel.mlir:" + line_of(kernel, "arith.divsi")), std::string::npos) << found.message;
  EXPECT_EQ(out[2], 3);
}

TEST(interpreter_checker, finds_reads_of_memory_that_nothing_wrote) {
  std::vector<float> x(150, 1), y(150, 1), z(150);
  Result result = Launch(kernels::vector_add).buffer(x).buffer(y, false).buffer(z, false).integer(150).grid(3).run();
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(line_of(finding(result, "uninitialised")), line_of(kernels::vector_add, "%b = tt.load"));
  EXPECT_EQ(finding(result, "uninitialised").lane, "[0]");
}

TEST(interpreter_checker, finds_undefined_values_that_are_stored) {
  const std::string kernel = scalar_kernel({"i32"}, "i32", "  %p = ub.poison : i32\n  %r = arith.addi %p, %x0 : i32\n");
  std::vector<std::int32_t> out(1);
  EXPECT_EQ(line_of(finding(Launch(kernel).integer(1).buffer(out, false).run(), "undefined_value")),
            line_of(kernel, "tt.store"));
}

// Program p waits until the flag of program p + %step is set, then sets its own.
constexpr const char* chain = R"(
tt.func @chain(%flags: !tt.ptr<i32>, %step: i32, %first: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %pid = tt.get_program_id x : i32
  %mine = tt.addptr %flags, %pid : !tt.ptr<i32>, i32
  %theirs = tt.addptr %mine, %step : !tt.ptr<i32>, i32
  %waits = arith.cmpi ne, %pid, %first : i32
  scf.if %waits {
    scf.while : () -> () {
      %v = tt.atomic_rmw add, acquire, gpu, %theirs, %zero : (!tt.ptr<i32>, i32) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
  }
  %o = tt.atomic_rmw exch, release, gpu, %mine, %one : (!tt.ptr<i32>, i32) -> i32
  tt.return
})";

TEST(interpreter_checker, finds_a_wait_for_a_higher_program) {
  std::vector<std::int32_t> flags(4, 0);
  Result result = Launch(chain).buffer(flags).integer(1).integer(3).grid(4).run();
  ASSERT_EQ(result.findings.size(), 1u);
  const Finding found = finding(result, "waiting");
  EXPECT_EQ(found.program, (Program{0, 0, 0}));
  EXPECT_EQ(line_of(found), line_of(chain, "scf.while"));
  flags.assign(4, 0);
  Launch(chain).buffer(flags).integer(-1).integer(0).grid(4).clean();
  EXPECT_EQ(flags, (std::vector<std::int32_t>{1, 1, 1, 1}));
}

TEST(interpreter_checker, ends_endless_loops) {
  const std::string turning = scalar_kernel({"i32"}, "i32", R"(
  %true = arith.constant true
  %r = scf.while (%v = %x0) : (i32) -> (i32) {
    scf.condition(%true) %v : i32
  } do {
  ^bb0(%v: i32):
    %w = arith.addi %v, %v : i32
    scf.yield %w : i32
  }
)");
  std::vector<std::int32_t> out(1, 7);
  EXPECT_EQ(line_of(finding(Launch(turning).integer(1).buffer(out).run(), "endless_loop")),
            line_of(turning, "scf.while"));
  const std::string still = scalar_kernel(
      {"i32"}, "i32",
      "  %z = arith.constant 0 : i32\n  scf.for %i = %z to %x0 step %z : i32 {\n  }\n  %r = arith.addi %z, %z : i32\n");
  EXPECT_EQ(line_of(finding(Launch(still).integer(4).buffer(out).run(), "loop_step")), line_of(still, "scf.for"));
  EXPECT_EQ(out[0], 7);
}

TEST(interpreter_checker, reports_failed_assertions_and_goes_on_with_other_programs) {
  const std::string kernel = R"(
tt.func @check(%x: !tt.ptr<i32>) {
  %two = arith.constant 2 : i32
  %pid = tt.get_program_id x : i32
  %ok = arith.cmpi ne, %pid, %two : i32
  tt.assert %ok, "not two" : i1
  %p = tt.addptr %x, %pid : !tt.ptr<i32>, i32
  tt.store %p, %pid : !tt.ptr<i32>
  tt.return
})";
  std::vector<std::int32_t> x(4, -1);
  const Finding found = finding(Launch(kernel).buffer(x, false).grid(4).run(), "assert");
  EXPECT_EQ(found.program, (Program{2, 0, 0}));
  EXPECT_NE(found.message.find("not two"), std::string::npos);
  EXPECT_EQ(x, (std::vector<std::int32_t>{0, 1, -1, 3}));
}

TEST(interpreter_checker, refuses_what_it_cannot_run_by_name) {
  const std::string kernel = map_kernel(4, {"f32"}, "f32", "  %r = math.atan %x0 : tensor<4xf32>\n");
  std::vector<float> x(4), y(4, 5);
  const Finding found = finding(Launch(kernel).buffer(x).buffer(y).run(), "unsupported");
  EXPECT_NE(found.message.find("math.atan"), std::string::npos);
  EXPECT_EQ(y[0], 5.0f);
  EXPECT_EQ(finding(Launch(kernel).buffer(x).run(), "unsupported").kind, "unsupported");
  EXPECT_EQ(finding(Launch(kernels::vector_add).buffer(x).run(), "launch").kind, "launch");
}

TEST(interpreter_checker, names_the_operation_number_of_a_trace) {
  const std::string kernel =
      "tt.func @k(%x: !tt.ptr<f32>) {\n  %c = arith.constant 1.0 : f32 loc(\"operation\":3:0)\n"
      "  tt.store %x, %c : !tt.ptr<f32> loc(\"operation\":9:0)\n  tt.return\n}";
  const Finding found = finding(Launch(kernel).raw(64).run(), "out_of_bounds");
  EXPECT_EQ(found.operation, 9);
  EXPECT_EQ(found.location, "");
  EXPECT_NE(to_json({found}).find("\"operation\": 9"), std::string::npos);
}

TEST(interpreter_checker, stops_after_as_many_findings_as_asked_and_repeats_none) {
  std::vector<float> x(1), y(1), z(1);
  const std::string kernel = mutated(kernels::vector_add, "arith.cmpi slt", "arith.cmpi ne");
  Result all = Launch(kernel).buffer(x).buffer(y).buffer(z, false).integer(-1).grid(4).run();
  std::vector<std::string> places;
  for (const Finding& found : all.findings)
    if (found.kind == "out_of_bounds") places.push_back(found.location);
  EXPECT_EQ(places.size(), 3u);  // two loads and a store, each once
  EXPECT_EQ(Launch(kernel).buffer(x).buffer(y).buffer(z, false).integer(-1).grid(4).limit(1).run().findings.size(), 1u);
}

}  // namespace
}  // namespace teeny::compiler::interpreter
