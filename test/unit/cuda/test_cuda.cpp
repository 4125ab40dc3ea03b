// Kernels for NVIDIA's architectures: what is compiled must be accepted by ptxas, and what is not must be refused by name.
#include "cuda/programs.hpp"
#include "kernels/suite.hpp"
#include "lang/trace.hpp"

namespace teeny::compiler {
namespace {

// Every kernel of the suite for one architecture: compiled programs assemble, the rest is refused with a reason. `facts`:
// as for buffers and strides that are multiples of 16, the common case, for which registers suffice.
void check_suite(const std::string& target, bool facts = true) {
  const std::string ptxas = find_ptxas();
  const bool assembles = !ptxas.empty() && knows(ptxas, target.substr(5));
  int spilled = 0;
  const auto look_at = [&](const char* name, const auto& recording, const CompileOutput& output) {
    if (!assembles) return;
    bool spills = false;
    EXPECT_EQ(assemble(ptxas, output, spills), "") << name << " for " << target;
    // Point-wise kernels and reductions have registers enough without facts too; products of large blocks may not.
    const bool product = trace::to_text(recording.trace().body).find("dot") != std::string::npos;
    EXPECT_TRUE(!spills || product) << name << " for " << target;
    spilled += spills;
  };
  const auto [compiled, refused] = for_each_program(target, facts, look_at);
  std::printf("%s: %d compiled%s, %d with spills, %d refused\n", target.c_str(), compiled,
              assembles ? " and assembled" : "", spilled, refused);
  EXPECT_GT(compiled, 0);
  if (!assembles) GTEST_SKIP() << (ptxas.empty() ? "no ptxas here" : "this ptxas does not know " + target);
}

class SuiteFor : public testing::TestWithParam<const char*> {};
TEST_P(SuiteFor, Assembles) { check_suite(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cuda, SuiteFor,
                         testing::Values("cuda:sm_75", "cuda:sm_80", "cuda:sm_86", "cuda:sm_87", "cuda:sm_89",
                                         "cuda:sm_90a", "cuda:sm_100a", "cuda:sm_120a"),
                         [](const auto& info) { return std::string(info.param).substr(5); });

TEST(Cuda, SuiteAssemblesWithoutFacts) { check_suite("cuda:sm_80", false); }

// Dumping a stage holds it to its form.
TEST(Cuda, StagesOfTheSuiteHoldToTheirForms) {
  const std::string stages = "tile,staged,synchronised";
  for (const char* target : {"cuda:sm_75", "cuda:sm_80", "cuda:sm_90a", "vulkan:1.3"}) {
    int held = 0;
    kernels::for_each_recording([&](const char* name, const auto& recording) {
      CompileOutput output = compile_for(*recording, target, {}, stages);
      if (output.ok) output = compile_for(*recording, target, output.relevant_facts, stages);
      EXPECT_TRUE(output.ok || !compile_for(*recording, target).ok) << name << " for " << target << ": " << errors_of(output);
      held += output.ok;
    });
    EXPECT_GT(held, 10) << target;
  }
}

TEST(Cuda, FactsWidenAccesses) {
  auto recording = teeny::record<float>(kernels::VectorAdd{});
  CompileOutput plain = compile_for(*recording, "cuda:sm_80");
  ASSERT_TRUE(plain.ok) << errors_of(plain);
  EXPECT_EQ(ptx_of(plain).find(".v4.b32"), std::string::npos);
  std::vector<teeny_fact> facts = plain.relevant_facts;
  CompileOutput aligned = compile_for(*recording, "cuda:sm_80", facts);
  ASSERT_TRUE(aligned.ok) << errors_of(aligned);
  EXPECT_NE(ptx_of(aligned).find("ld.global.v4.b32"), std::string::npos) << ptx_of(aligned);
  EXPECT_NE(ptx_of(aligned).find("st.global.v4.b32"), std::string::npos) << ptx_of(aligned);
}

// Rows whose stride is a multiple of 16 bytes are copied 16 bytes at once, beside the lanes; others are loaded.
TEST(Cuda, FactsOfStridesWidenCopies) {
  auto recording = teeny::record<teeny::bfloat16, float>(kernels::MatMul{});
  CompileOutput plain = compile_for(*recording, "cuda:sm_80");
  ASSERT_TRUE(plain.ok) << errors_of(plain);
  EXPECT_EQ(ptx_of(plain).find("cp.async.cg"), std::string::npos);
  EXPECT_NE(ptx_of(plain).find("mma.sync.aligned.m16n8k16"), std::string::npos);
  CompileOutput aligned = compile_for(*recording, "cuda:sm_80", plain.relevant_facts);
  ASSERT_TRUE(aligned.ok) << errors_of(aligned);
  EXPECT_NE(ptx_of(aligned).find("cp.async.cg.shared.global"), std::string::npos);
  EXPECT_NE(ptx_of(aligned).find("ldmatrix.sync.aligned.m8n8.x4.trans"), std::string::npos);
}

// The device's own functions only where the kernel allows them.
TEST(Cuda, ApproximationsAreAskedFor) {
  auto recording = teeny::record<float>(kernels::Softmax{});
  const auto text = [&](bool approximate) {
    CompileInput input;
    const auto body = recording->body();
    input.body.assign(body.begin(), body.end());
    input.kernel = "kernel", input.target = "cuda:sm_80";
    input.options.approximate = approximate;
    CompileOutput output = compile(std::move(input));
    EXPECT_TRUE(output.ok) << errors_of(output);
    return std::string(output.program.begin(), output.program.end());
  };
  EXPECT_NE(text(true).find("ex2.approx.ftz.f32"), std::string::npos);
  EXPECT_EQ(text(true).find("div.rn.f32"), std::string::npos);
  EXPECT_EQ(text(false).find(".approx"), std::string::npos);
  EXPECT_NE(text(false).find("div.rn.f32"), std::string::npos);
}

struct Multiples {
  void operator()(tl::Ptr<std::int32_t> y, tl::i32 base, tl::i32 step) const {
    tl::store(y, base + step);
    tl::store(y + 1, base + step * 5);
  }
};

// LLVM's straight-line strength reduction would make the second number from the first; it takes time quadratic in a
// block's size, and is left out.
TEST(Cuda, SumsOfProductsAreNotReducedInStrength) {
  CompileOutput output = compile_for(*teeny::record(Multiples{}), "cuda:sm_80");
  ASSERT_TRUE(output.ok) << errors_of(output);
  EXPECT_NE(ptx_of(output).find(", 5"), std::string::npos) << ptx_of(output);
}

TEST(Cuda, NamesTheArchitecturesItKnows) {
  CompileOutput output = compile_for(*teeny::record<float>(kernels::VectorAdd{}), "cuda:sm_12");
  EXPECT_FALSE(output.ok);
  EXPECT_NE(errors_of(output).find("cuda:sm_90a"), std::string::npos) << errors_of(output);
}

struct Joined {
  int ROWS = 3;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y) const {
    auto at = tl::arange(0, ROWS)(tl::all, tl::none) * 4 + tl::arange(0, 4)(tl::none, tl::all);
    tl::store(y + tl::arange(0, ROWS * 4), tl::reshape(tl::load(x + at), {ROWS * 4}));
  }
};

// Blocks of other extents are padded; only dimensions that flow into each other cannot be.
TEST(Cuda, RefusesToJoinDimensionsThatAreNoPowersOfTwo) {
  EXPECT_TRUE(compile_for(*teeny::record(Joined{.ROWS = 4}), "cuda:sm_80").ok);
  CompileOutput output = compile_for(*teeny::record(Joined{}), "cuda:sm_80");
  EXPECT_FALSE(output.ok);
  EXPECT_NE(errors_of(output).find("powers of two; got 'tensor<3x4xf32>'"), std::string::npos) << errors_of(output);
}

}  // namespace
}  // namespace teeny::compiler
