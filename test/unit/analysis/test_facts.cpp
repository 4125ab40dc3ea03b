#include "kernels.hpp"
#include "parsed_function.hpp"

namespace teeny::compiler::test {
namespace {

std::string facts_text(tt::FuncOp function) {
  const char *names[] = {"one", "by16", "fits32", "big"};
  std::string text;
  for (const teeny_fact &fact : relevant_facts(function))
    text += (text.empty() ? "" : " ") + std::string(names[fact.kind]) + ":" + std::to_string(fact.argument);
  return text;
}

constexpr const char *copy = R"(
  tt.func public @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %s: i32) {
    %pid = tt.get_program_id x : i32
    %row = arith.muli %pid, %s : i32
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %rows = tt.splat %row : i32 -> tensor<64xi32>
    %o = arith.addi %rows, %r : tensor<64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %xp : tensor<64x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %yp = tt.addptr %ys, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %yp, %v : tensor<64x!tt.ptr<f32>>
    tt.return
  })";

TEST(Facts, OfACopy) {
  ParsedFunction parsed(copy);
  EXPECT_EQ(facts_text(parsed.function), "by16:0 by16:3 big:1");
  teeny_fact known[] = {{TEENY_FACT_DIVISIBLE_BY_16, 3}, {TEENY_FACT_EXCEEDS_CACHE, 1}};
  ASSERT_TRUE(mlir::succeeded(apply_facts(parsed.function, known)));
  EXPECT_EQ(facts_text(parsed.function), "by16:0");
  EXPECT_TRUE(parsed.function.getArgAttr(1, "teeny.exceeds_cache"));
  AxisInfoAnalysis axis_info(parsed.function);
  EXPECT_EQ(axis_info.vector_width(parsed.accesses[0]->getOperand(0), {}, 0), 1);
  EXPECT_EQ(axis_info.vector_width(parsed.accesses[1]->getOperand(0), {}, 0), 4);
}

TEST(Facts, OfAMatrixProduct) {
  ParsedFunction parsed(matmul_carried);
  // The last dimensions' strides of a, c (a larger block), b, before the outer ones; no streaming in a kernel with dot;
  // offsets of 16 * k * stride are multiples of 16 already; k and n bound the masks along contiguous dimensions.
  EXPECT_EQ(facts_text(parsed.function),
            "one:7 one:9 one:11 one:6 one:8 one:10 by16:0 by16:1 by16:2 by16:5 by16:6 by16:8 by16:4 by16:10");
  teeny_fact ones[] = {{TEENY_FACT_EQUALS_ONE, 7}, {TEENY_FACT_EQUALS_ONE, 9}, {TEENY_FACT_EQUALS_ONE, 11}};
  ASSERT_TRUE(mlir::succeeded(apply_facts(parsed.function, ones)));
  EXPECT_EQ(facts_text(parsed.function).find("one:"), std::string::npos);
  BlockRecovery blocks(parsed.function);
  EXPECT_TRUE(blocks.recover(parsed.accesses[0])->is_contiguous(1));
  EXPECT_TRUE(blocks.recover(parsed.accesses[2])->is_contiguous(1));
  EXPECT_EQ(blocks.recover(parsed.accesses[0])->to_string(),
            "arg0 + 16*iv0 + i1 + arg6*remsi[i0]{512*divsi + 64*remsi wraps at arg3}");
}

TEST(Facts, ThatDoNotSuitAreRefused) {
  ParsedFunction parsed(copy);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&parsed.context,
                                        [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  for (teeny_fact fact : {teeny_fact{TEENY_FACT_EQUALS_ONE, 0}, teeny_fact{TEENY_FACT_FITS_32, 2}, teeny_fact{9, 0},
                          teeny_fact{TEENY_FACT_EQUALS_ONE, 7}}) {
    message.clear();
    teeny_fact facts[] = {{TEENY_FACT_DIVISIBLE_BY_16, 3}, fact};
    EXPECT_TRUE(mlir::failed(apply_facts(parsed.function, facts)));
    EXPECT_NE(message.find("facts: "), std::string::npos) << message;
    EXPECT_NE(message.find("help: "), std::string::npos) << message;
    EXPECT_FALSE(parsed.function.getArgAttr(3, "tt.divisibility"));
  }
}

}  // namespace
}  // namespace teeny::compiler::test
