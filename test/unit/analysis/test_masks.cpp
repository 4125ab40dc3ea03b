#include "parsed_function.hpp"

namespace teeny::compiler::test {
namespace {

// A 16 x 32 store under the mask %m, which `body` computes from: %r, %rc (rows as a range and a column), %c, %cr
// (columns as a range and a row), %pid, and arguments %n (1), %m0 (2), %flag (3), %bits (4, a tensor).
std::string masked(const std::string &body) {
  return R"(
    tt.func public @f(%x: !tt.ptr<f32>, %n: i32, %m0: i32, %flag: i1, %bits: tensor<16xi1>, %u: i64) {
      %pid = tt.get_program_id x : i32
      %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
      %c = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
      %rc = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
      %cr = tt.expand_dims %c {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
      %nr = tt.splat %n : i32 -> tensor<16x1xi32>
      %nc = tt.splat %n : i32 -> tensor<1x32xi32>
      %v = arith.constant dense<1.0> : tensor<16x32xf32>
)" + body + R"(
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x32x!tt.ptr<f32>>
      tt.store %xs, %v, %m : tensor<16x32x!tt.ptr<f32>>
      tt.return
    })";
}

void expect_bounds(const std::string &body, const std::string &expected) {
  EXPECT_EQ(ParsedFunction(masked(body)).bounds(0), expected) << body;
  ParsedFunction clean(masked(body), /*clean=*/true);
  // The clean-up erases stores that are masked off.
  EXPECT_EQ(clean.accesses.empty() ? "never" : clean.bounds(0), expected) << "cleaned up:" << body;
}

TEST(Masks, Constants) {
  expect_bounds("%m = arith.constant dense<true> : tensor<16x32xi1>", "all");
  expect_bounds("%m = arith.constant dense<false> : tensor<16x32xi1>", "never");
  expect_bounds(R"(%true = arith.constant true
    %m = tt.splat %true : i1 -> tensor<16x32xi1>)", "all");
}

TEST(Masks, EveryPredicateEitherWayRound) {
  for (auto [comparison, bound] : std::initializer_list<std::pair<const char *, const char *>>{
           {"slt, %rc, %nr", "i0 < arg1"}, {"sle, %rc, %nr", "i0 < arg1 + 1"}, {"sgt, %rc, %nr", "i0 >= arg1 + 1"},
           {"sge, %rc, %nr", "i0 >= arg1"}, {"sgt, %nr, %rc", "i0 < arg1"}, {"sge, %nr, %rc", "i0 < arg1 + 1"},
           {"slt, %nr, %rc", "i0 >= arg1 + 1"}, {"sle, %nr, %rc", "i0 >= arg1"},
           {"eq, %rc, %nr", "i0 >= arg1, i0 < arg1 + 1"}})
    expect_bounds(std::string("%m1 = arith.cmpi ") + comparison + " : tensor<16x1xi32>\n" +
                      "%m = tt.broadcast %m1 : tensor<16x1xi1> -> tensor<16x32xi1>", bound);
}

TEST(Masks, ConstantBoundsAreJudged) {
  for (auto [number, predicate, bound] : std::initializer_list<std::tuple<int, const char *, const char *>>{
           {16, "slt", "all"}, {17, "slt", "all"}, {15, "slt", "i0 < 15"}, {0, "slt", "never"}, {-3, "sgt", "all"},
           {0, "sge", "all"}, {3, "sge", "i0 >= 3"}, {16, "sge", "never"}})
    expect_bounds("%k = arith.constant dense<" + std::to_string(number) + "> : tensor<16x1xi32>\n%m1 = arith.cmpi " +
                      predicate + ", %rc, %k : tensor<16x1xi32>\n" +
                      "%m = tt.broadcast %m1 : tensor<16x1xi1> -> tensor<16x32xi1>", bound);
}

TEST(Masks, ScaledIndices) {
  // 3 * i + 5 < n, n - 3 * i <= 7
  expect_bounds(R"(%three = arith.constant dense<3> : tensor<16x1xi32>
    %five = arith.constant dense<5> : tensor<16x1xi32>
    %r3 = arith.muli %rc, %three : tensor<16x1xi32>
    %r35 = arith.addi %r3, %five : tensor<16x1xi32>
    %m1 = arith.cmpi slt, %r35, %nr : tensor<16x1xi32>
    %m = tt.broadcast %m1 : tensor<16x1xi1> -> tensor<16x32xi1>)", "i0 < div(arg1 - 3, 3)");
  expect_bounds(R"(%three = arith.constant dense<3> : tensor<16x1xi32>
    %seven = arith.constant dense<7> : tensor<16x1xi32>
    %r3 = arith.muli %rc, %three : tensor<16x1xi32>
    %d = arith.subi %nr, %r3 : tensor<16x1xi32>
    %m1 = arith.cmpi sle, %d, %seven : tensor<16x1xi32>
    %m = tt.broadcast %m1 : tensor<16x1xi1> -> tensor<16x32xi1>)", "i0 >= div(arg1 - 5, 3)");
}

// The truncated division of a scaled bound, clamped, equals counting lanes.
TEST(Masks, ScaledBoundsCountLanes) {
  for (const char *predicate : {"slt", "sgt", "sle", "sge"}) {
    for (int scale : {-3, -2, 2, 3, 5}) {
      ParsedFunction parsed(masked("%s = arith.constant dense<" + std::to_string(scale) + "> : tensor<16x1xi32>\n" + R"(
        %rs = arith.muli %rc, %s : tensor<16x1xi32>
        %m1 = arith.cmpi )" + predicate + R"(, %rs, %nr : tensor<16x1xi32>
        %m = tt.broadcast %m1 : tensor<16x1xi1> -> tensor<16x32xi1>)"));
      auto bounds = *MaskBoundsAnalysis(*parsed.blocks).of_access(parsed.accesses[0]);
      ASSERT_TRUE(bounds.is_rectangle());
      for (int64_t n = -60; n <= 90; ++n) {
        struct Evaluate : ScalarExpressionBuilder<int64_t> {
          int64_t argument;
          int64_t constant(int64_t value) override { return value; }
          int64_t value(mlir::Value) override { return argument; }
          int64_t binary(ScalarOperation operation, int64_t a, int64_t b) override {
            switch (operation) {
              case ScalarOperation::add: return a + b;
              case ScalarOperation::multiply: return a * b;
              case ScalarOperation::divide_signed: return a / b;
              case ScalarOperation::minimum_signed: return std::min(a, b);
              case ScalarOperation::maximum_signed: return std::max(a, b);
              default: ADD_FAILURE(); return 0;
            }
          }
        } evaluate;
        evaluate.argument = n;
        auto [low, high] = materialise(bounds.dimensions[0], evaluate);
        for (int64_t i = 0; i < 16; ++i) {
          int64_t left = i * scale;
          std::string p = predicate;
          bool on = p == "slt" ? left < n : p == "sgt" ? left > n : p == "sle" ? left <= n : left >= n;
          EXPECT_EQ(on, low <= i && i < high) << scale << " * " << i << " " << p << " " << n;
        }
      }
    }
  }
}

TEST(Masks, Conjunctions) {
  expect_bounds(R"(%ps = tt.splat %pid : i32 -> tensor<16x1xi32>
    %pr = arith.addi %ps, %rc : tensor<16x1xi32>
    %a = arith.cmpi slt, %pr, %nr : tensor<16x1xi32>
    %zero = arith.constant dense<2> : tensor<16x1xi32>
    %b = arith.cmpi sge, %rc, %zero : tensor<16x1xi32>
    %ab = arith.andi %a, %b : tensor<16x1xi1>
    %c1 = arith.cmpi slt, %cr, %nc : tensor<1x32xi32>
    %abb = tt.broadcast %ab : tensor<16x1xi1> -> tensor<16x32xi1>
    %c1b = tt.broadcast %c1 : tensor<1x32xi1> -> tensor<16x32xi1>
    %two = arith.andi %abb, %c1b : tensor<16x32xi1>
    %fs = tt.splat %flag : i1 -> tensor<16x32xi1>
    %m = arith.andi %two, %fs : tensor<16x32xi1>)",
                "i0 >= 2, i0 < arg1 - pid_x, i1 < arg1, if arg3");
}

TEST(Masks, UniformConditions) {
  expect_bounds(R"(%s = arith.cmpi slt, %m0, %n : i32
    %m = tt.splat %s : i1 -> tensor<16x32xi1>)", "if cmpi");
  // The same comparison of tensors is an expression, until the clean-up makes it one of scalars.
  const std::string tensors = R"(%ms = tt.splat %m0 : i32 -> tensor<16x1xi32>
    %two = arith.constant dense<2> : tensor<16x1xi32>
    %m2 = arith.muli %ms, %two : tensor<16x1xi32>
    %s = arith.cmpi slt, %m2, %nr : tensor<16x1xi32>
    %m = tt.broadcast %s : tensor<16x1xi1> -> tensor<16x32xi1>)";
  EXPECT_EQ(ParsedFunction(masked(tensors)).bounds(0), "if -arg1 + 2*arg2 slt 0");
  EXPECT_EQ(ParsedFunction(masked(tensors), /*clean=*/true).bounds(0), "if cmpi");
}

TEST(Masks, UniformConditionsOfIndexType) {
  const std::string body = R"(%four = arith.constant 4 : index
    %two = arith.constant 2 : index
    %i = arith.index_cast %n : i32 to index
    %a = arith.cmpi slt, %i, %four : index
    %b = arith.cmpi slt, %two, %four : index
    %ab = arith.andi %a, %b : i1
    %m = tt.splat %ab : i1 -> tensor<16x32xi1>)";
  expect_bounds(body, "if cmpi");
}

TEST(Masks, NegationsDisjunctionsSelections) {
  // not (a or b) = not a and not b
  expect_bounds(R"(%true = arith.constant dense<true> : tensor<16x1xi1>
    %five = arith.constant dense<5> : tensor<16x1xi32>
    %a = arith.cmpi sge, %rc, %nr : tensor<16x1xi32>
    %b = arith.cmpi slt, %rc, %five : tensor<16x1xi32>
    %or = arith.ori %a, %b : tensor<16x1xi1>
    %not = arith.xori %or, %true : tensor<16x1xi1>
    %m = tt.broadcast %not : tensor<16x1xi1> -> tensor<16x32xi1>)", "i0 >= 5, i0 < arg1");
  expect_bounds(R"(%false = arith.constant dense<false> : tensor<16x1xi1>
    %a = arith.cmpi slt, %rc, %nr : tensor<16x1xi32>
    %s = arith.select %flag, %a, %false : tensor<16x1xi1>
    %m = tt.broadcast %s : tensor<16x1xi1> -> tensor<16x32xi1>)", "i0 < arg1, if arg3");
}

// What is no bound stays a factor, tested only along the dimensions in which it varies.
TEST(Masks, Factors) {
  expect_bounds(R"(%e = tt.expand_dims %bits {axis = 1 : i32} : tensor<16xi1> -> tensor<16x1xi1>
    %eb = tt.broadcast %e : tensor<16x1xi1> -> tensor<16x32xi1>
    %c1 = arith.cmpi slt, %cr, %nc : tensor<1x32xi32>
    %c1b = tt.broadcast %c1 : tensor<1x32xi1> -> tensor<16x32xi1>
    %m = arith.andi %eb, %c1b : tensor<16x32xi1>)", "i1 < arg1, test arg4[i0]");
  // A causal mask compares rows with columns.
  expect_bounds(R"(%rb = tt.broadcast %rc : tensor<16x1xi32> -> tensor<16x32xi32>
    %cb = tt.broadcast %cr : tensor<1x32xi32> -> tensor<16x32xi32>
    %m = arith.cmpi sge, %rb, %cb : tensor<16x32xi32>)", "test cmpi[i0, i1]");
  expect_bounds(R"(%a = arith.cmpi ne, %rc, %nr : tensor<16x1xi32>
    %m = tt.broadcast %a : tensor<16x1xi1> -> tensor<16x32xi1>)", "test cmpi[i0, 0]");
}

TEST(Masks, UnsignedComparisons) {
  // Both sides are numbers >= 0: as signed. One side of 32 bits is not known to be: it is zero-extended.
  expect_bounds(R"(%ps = tt.splat %pid : i32 -> tensor<16x1xi32>
    %a = arith.cmpi ult, %rc, %ps : tensor<16x1xi32>
    %m = tt.broadcast %a : tensor<16x1xi1> -> tensor<16x32xi1>)", "i0 < pid_x");
  expect_bounds(R"(%a = arith.cmpi ult, %rc, %nr : tensor<16x1xi32>
    %m = tt.broadcast %a : tensor<16x1xi1> -> tensor<16x32xi1>)", "i0 < and(arg1, 4294967295)");
  // 64 bits have no room for that.
  expect_bounds(R"(%r64 = arith.extsi %rc : tensor<16x1xi32> to tensor<16x1xi64>
    %us = tt.splat %u : i64 -> tensor<16x1xi64>
    %a = arith.cmpi ult, %r64, %us : tensor<16x1xi64>
    %m = tt.broadcast %a : tensor<16x1xi1> -> tensor<16x32xi1>)", "test cmpi[i0, 0]");
}

TEST(Masks, TransposedMasks) {
  expect_bounds(R"(%a = arith.cmpi slt, %cr, %nc : tensor<1x32xi32>
    %t = tt.trans %a {order = array<i32: 1, 0>} : tensor<1x32xi1> -> tensor<32x1xi1>
    %s = tt.reshape %t : tensor<32x1xi1> -> tensor<1x32xi1>
    %m = tt.broadcast %s : tensor<1x32xi1> -> tensor<16x32xi1>)", "i1 < arg1");
}

}  // namespace
}  // namespace teeny::compiler::test
