#include "parsed_function.hpp"

#include <mlir/IR/Verifier.h>

namespace teeny::compiler::test {
namespace {

constexpr const char *arguments = R"(
  tt.func public @f(%a: i32, %b: i32, %c: i64) {
    %pid = tt.get_program_id x : i32
    %p8 = arith.constant 8 : i32
    %x = arith.muli %pid, %p8 : i32
    tt.return
  })";

struct Expressions : testing::Test {
  ParsedFunction parsed{arguments};
  ScalarExpression a = parsed.blocks->scalar(parsed.function.getArgument(0));
  ScalarExpression b = parsed.blocks->scalar(parsed.function.getArgument(1));
  ScalarExpression c = parsed.blocks->scalar(parsed.function.getArgument(2));
};

TEST_F(Expressions, AreNormal) {
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ(a * b + b * a, 2 * (a * b));
  EXPECT_TRUE((a - a).is_zero());
  EXPECT_EQ((a + 1 - a).constant(), 1);
  EXPECT_EQ(ScalarExpression(int64_t(0)).constant(), 0);
  EXPECT_EQ((3 * a * b - 2 * c + 7).to_string(), "3*arg0*arg1 - 2*arg2 + 7");
  EXPECT_EQ((-a).to_string(), "-arg0");
  EXPECT_EQ(a.single_value(), parsed.function.getArgument(0));
  EXPECT_FALSE((2 * a).single_value());
}

TEST_F(Expressions, Divide) {
  EXPECT_EQ((6 * a * b + 4 * a).divided_by(2 * a), 3 * b + 2);
  EXPECT_EQ((6 * a + 3).divided_by(ScalarExpression(int64_t(2))), std::nullopt);
  EXPECT_EQ(a.divided_by(b), std::nullopt);
  EXPECT_EQ((24 * a + 16).coefficient_divisor(), 8);
  EXPECT_EQ(parsed.blocks->combine(ScalarOperation::divide_signed, 8 * a, 4), 2 * a);
  EXPECT_EQ(parsed.blocks->combine(ScalarOperation::remainder_signed, 8 * a, 4), ScalarExpression());
  EXPECT_EQ(parsed.blocks->combine(ScalarOperation::divide_signed, a, b),
            parsed.blocks->combine(ScalarOperation::divide_signed, a, b));
  // A division by 0 is left to the program.
  EXPECT_FALSE(parsed.blocks->combine(ScalarOperation::divide_signed, 4, ScalarExpression()).constant());
}

TEST_F(Expressions, KnowSigns) {
  mlir::Value product;
  parsed.function.walk([&](mlir::arith::MulIOp op) { product = op; });
  EXPECT_TRUE(parsed.blocks->scalar(product).is_non_negative());
  EXPECT_FALSE(a.is_non_negative());
  EXPECT_FALSE((parsed.blocks->scalar(product) - 1).is_non_negative());
  EXPECT_EQ(parsed.blocks->zero_extended(parsed.blocks->scalar(product), 32), parsed.blocks->scalar(product));
  EXPECT_TRUE(parsed.blocks->zero_extended(a, 32).is_non_negative());
}

TEST_F(Expressions, AreLinearInAValue) {
  auto parts = (3 * a * b + 2 * b + 5).linear_in(parsed.function.getArgument(0));
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, 3 * b);
  EXPECT_EQ(parts->second, 2 * b + 5);
  EXPECT_FALSE((a * a).linear_in(parsed.function.getArgument(0)));
  EXPECT_FALSE(parsed.blocks->combine(ScalarOperation::divide_signed, a, b).linear_in(parsed.function.getArgument(0)));
}

TEST_F(Expressions, Materialise) {
  mlir::OpBuilder builder(parsed.function.getBody().front().getTerminator());
  ArithExpressionBuilder emit(builder, parsed.function.getLoc(), [](mlir::Value value) { return value; });
  auto quotient = parsed.blocks->combine(ScalarOperation::divide_signed, a * c, b);
  mlir::Value result = materialise(3 * quotient + a - 4, emit);
  EXPECT_TRUE(result.getType().isInteger(64));
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*parsed.module)));
  unsigned divisions = 0, extensions = 0;
  parsed.function.walk([&](mlir::arith::DivSIOp) { ++divisions; });
  parsed.function.walk([&](mlir::arith::ExtSIOp) { ++extensions; });
  EXPECT_EQ(divisions, 1u);
  EXPECT_EQ(extensions, 3u);
}

}  // namespace
}  // namespace teeny::compiler::test
