#include "parsed_function.hpp"

namespace teeny::compiler::test {
namespace {

// What is known of the operand of tt.print, for a body with arguments %x (a pointer divisible by 16), %n (divisible by
// 16), %m, %u (a tensor<64xi32>).
std::string info_of(const std::string &body, const std::string &value, const std::string &type) {
  ParsedFunction parsed(R"(
    tt.func public @f(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %m: i32,
                      %u: tensor<64xi32>) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %pid = tt.get_program_id x : i32
      %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
      %ns = tt.splat %n : i32 -> tensor<64xi32>
      %ms = tt.splat %m : i32 -> tensor<64xi32>
)" + body + "\n" + R"(      tt.print "v" {hex = false, isSigned = array<i32: 1>} : )" +
                        value + " : " + type + "\n      tt.return\n    }");
  AxisInfoAnalysis axis_info(parsed.function);
  std::string text;
  parsed.function.walk([&](tt::PrintOp print) { text = axis_info.of(print.getOperand(0)).to_string(); });
  return text;
}
std::string info_of(const std::string &body, const std::string &value = "%v") {
  return info_of(body, value, "tensor<64xi32>");
}

TEST(AxisInfo, Leaves) {
  EXPECT_EQ(info_of("", "%r"), "contiguity = [64], divisibility = [4611686018427387904], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.constant dense<24> : tensor<64xi32>"),
            "contiguity = [1], divisibility = [8], constancy = [64], constant = 24");
  EXPECT_EQ(info_of("", "%ns"), "contiguity = [1], divisibility = [16], constancy = [64]");
  EXPECT_EQ(info_of("", "%u"), "contiguity = [1], divisibility = [1], constancy = [1]");
  EXPECT_EQ(info_of("%v = tt.make_range {end = 72 : i32, start = 8 : i32} : tensor<64xi32>"),
            "contiguity = [64], divisibility = [8], constancy = [1]");
}

TEST(AxisInfo, SumsAndProducts) {
  EXPECT_EQ(info_of("%v = arith.addi %r, %ns : tensor<64xi32>"),
            "contiguity = [64], divisibility = [16], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.subi %r, %ns : tensor<64xi32>"),
            "contiguity = [64], divisibility = [16], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.subi %ns, %r : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.addi %r, %r : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.addi %ns, %ms : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [64]");
  EXPECT_EQ(info_of("%v = arith.muli %r, %ns : tensor<64xi32>"),
            "contiguity = [1], divisibility = [16], constancy = [1]");
  EXPECT_EQ(info_of("%one = arith.constant dense<1> : tensor<64xi32>\n%v = arith.muli %one, %r : tensor<64xi32>"),
            "contiguity = [64], divisibility = [4611686018427387904], constancy = [1]");
  EXPECT_EQ(info_of("%three = arith.constant dense<3> : tensor<64xi32>\n%v = arith.shli %ns, %three : tensor<64xi32>"),
            "contiguity = [1], divisibility = [128], constancy = [64]");
}

TEST(AxisInfo, DivisionsAndRemainders) {
  const std::string eight = "%k = arith.constant dense<8> : tensor<64xi32>\n";
  EXPECT_EQ(info_of(eight + "%v = arith.divsi %r, %k : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [8]");
  EXPECT_EQ(info_of(eight + "%v = arith.remsi %r, %k : tensor<64xi32>"),
            "contiguity = [8], divisibility = [8], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.remsi %r, %ns : tensor<64xi32>"),
            "contiguity = [16], divisibility = [16], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.remsi %r, %ms : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [1]");
  // -8 … -1 divided by 8 is -1, 0, 0, …: numbers that may be negative are not regular.
  EXPECT_EQ(info_of(eight + "%s = arith.addi %r, %ns : tensor<64xi32>\n%v = arith.divsi %s, %k : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [1]");
}

TEST(AxisInfo, Comparisons) {
  auto mask = [](const std::string &body) { return info_of(body, "%v", "tensor<64xi1>"); };
  EXPECT_EQ(mask("%v = arith.cmpi slt, %r, %ns : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [16]");
  EXPECT_EQ(mask("%v = arith.cmpi sgt, %ns, %r : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [16]");
  EXPECT_EQ(mask("%v = arith.cmpi sle, %r, %ns : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [1]");
  EXPECT_EQ(mask("%v = arith.cmpi slt, %r, %ms : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [1]");
  EXPECT_EQ(mask("%v = arith.cmpi ne, %ns, %ms : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [64]");
}

TEST(AxisInfo, ShapesMoveDimensions) {
  const std::string row = "%e = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>\n";
  EXPECT_EQ(info_of(row, "%e", "tensor<1x64xi32>"),
            "contiguity = [1, 64], divisibility = [1, 4611686018427387904], constancy = [1, 1]");
  EXPECT_EQ(info_of(row + "%b = tt.broadcast %e : tensor<1x64xi32> -> tensor<8x64xi32>", "%b", "tensor<8x64xi32>"),
            "contiguity = [1, 64], divisibility = [1, 4611686018427387904], constancy = [8, 1]");
  EXPECT_EQ(info_of(row + "%b = tt.broadcast %e : tensor<1x64xi32> -> tensor<8x64xi32>\n" +
                        "%t = tt.trans %b {order = array<i32: 1, 0>} : tensor<8x64xi32> -> tensor<64x8xi32>",
                    "%t", "tensor<64x8xi32>"),
            "contiguity = [64, 1], divisibility = [4611686018427387904, 1], constancy = [1, 8]");
  EXPECT_EQ(info_of("%t = tt.reshape %r : tensor<64xi32> -> tensor<4x16xi32>", "%t", "tensor<4x16xi32>"),
            "contiguity = [1, 16], divisibility = [1, 16], constancy = [1, 1]");
}

TEST(AxisInfo, PointersCountBytes) {
  const std::string pointers = "%xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n";
  EXPECT_EQ(info_of(pointers + "%p = tt.addptr %xs, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>", "%p",
                    "tensor<64x!tt.ptr<f32>>"),
            "contiguity = [64], divisibility = [16], constancy = [1]");
  const std::string moved =
      pointers + "%one = arith.constant dense<1> : tensor<64xi32>\n%o = arith.addi %r, %one : tensor<64xi32>\n";
  EXPECT_EQ(info_of(moved + "%p = tt.addptr %xs, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>", "%p",
                    "tensor<64x!tt.ptr<f32>>"),
            "contiguity = [64], divisibility = [4], constancy = [1]");
}

TEST(AxisInfo, HintsAndAttributesAreBelieved) {
  // Runs of 8 could be parts of longer ones, of which only the first element is a multiple of 16; not so the whole.
  EXPECT_EQ(info_of("%v = tt.hint %u {contiguity = array<i64: 8>, divisibility = array<i64: 16>} : tensor<64xi32>"),
            "contiguity = [8], divisibility = [8], constancy = [1]");
  EXPECT_EQ(info_of("%v = tt.hint %u {contiguity = array<i64: 64>, divisibility = array<i64: 16>} : tensor<64xi32>"),
            "contiguity = [64], divisibility = [16], constancy = [1]");
  EXPECT_EQ(info_of("%v = tt.hint %u {divisibility = array<i64: 16>} : tensor<64xi32>"),
            "contiguity = [1], divisibility = [1], constancy = [1]");
  EXPECT_EQ(info_of("%h = tt.hint %m {divisibility = array<i64: 16>} : i32\n%v = tt.splat %h : i32 -> tensor<64xi32>"),
            "contiguity = [1], divisibility = [16], constancy = [64]");
  EXPECT_EQ(info_of("%v = tt.hint %u {contiguity = array<i64: 8>, divisibility = array<i64: 4>} : tensor<64xi32>"),
            "contiguity = [8], divisibility = [4], constancy = [1]");
  EXPECT_EQ(info_of("%v = arith.addi %ms, %ms {tt.divisibility = dense<16> : tensor<1xi32>} : tensor<64xi32>"),
            "contiguity = [1], divisibility = [16], constancy = [64]");
}

// What holds in every iteration: the start and every step are multiples of 16, the length of runs stays.
TEST(AxisInfo, LoopCarriedValues) {
  const std::string loop = R"(
    %c32 = arith.constant 32 : i32
    %step = arith.constant dense<32> : tensor<64xi32>
    %s = arith.addi %r, %ns : tensor<64xi32>
    %v = scf.for %i = %c0 to %m step %c32 iter_args(%a = %s) -> (tensor<64xi32>) : i32 {
      %is = tt.splat %i : i32 -> tensor<64xi32>
      %b = arith.addi %a, %step : tensor<64xi32>
      %d = arith.addi %b, %is : tensor<64xi32>
      scf.yield %d : tensor<64xi32>
    })";
  EXPECT_EQ(info_of(loop), "contiguity = [64], divisibility = [16], constancy = [1]");
  const std::string odd = R"(
    %step = arith.constant dense<6> : tensor<64xi32>
    %v = scf.for %i = %c0 to %m step %c1 iter_args(%a = %ns) -> (tensor<64xi32>) : i32 {
      %b = arith.addi %a, %step : tensor<64xi32>
      scf.yield %b : tensor<64xi32>
    })";
  EXPECT_EQ(info_of(odd), "contiguity = [1], divisibility = [2], constancy = [64]");
}

TEST(AxisInfo, BranchesJoin) {
  EXPECT_EQ(info_of(R"(
    %cond = arith.cmpi slt, %m, %c1 : i32
    %v = scf.if %cond -> (tensor<64xi32>) {
      scf.yield %r : tensor<64xi32>
    } else {
      %q = tt.make_range {end = 68 : i32, start = 4 : i32} : tensor<64xi32>
      scf.yield %q : tensor<64xi32>
    })"), "contiguity = [64], divisibility = [4], constancy = [1]");
}

}  // namespace
}  // namespace teeny::compiler::test
