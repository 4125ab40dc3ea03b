// Kernels for Vulkan's devices: what is compiled must be accepted by spirv-val, and what is not must be refused by name.
#include "kernels/suite.hpp"
#include "vulkan/programs.hpp"

namespace teeny::compiler {
namespace {

// `least`: so many of the suite's kernels must be compiled.
void check_suite(const std::string& target, int least) {
  const bool validates = has_spirv_val();
  double milliseconds = 0;
  const auto look_at = [&](const char* name, const auto&, const CompileOutput& output) {
    const auto phases = nlohmann::json::parse(output.metadata).at("phases");
    milliseconds += phases.at("spirv").get<double>() + phases.at("serialise").get<double>();
    if (validates) EXPECT_EQ(validate(output), "") << name << " for " << target;
  };
  const auto [compiled, refused] = for_each_program(target, true, look_at);
  std::printf("%s: %d compiled%s in %.1f ms each behind the lowering, %d refused\n", target.c_str(), compiled,
              validates ? " and valid" : " (not validated: no spirv-val here)", milliseconds / std::max(1, compiled), refused);
  EXPECT_GE(compiled, least);
}

const std::string everything =
    "+atomic-f32-add+atomic-i64+div-rn+f16+f16-rne+f64+fma-fused+keep-denormals+keep-nan+round-even+shared-48+sqrt-rn+storage16"
    "+storage8+threads-1024";

TEST(Vulkan, SuiteIsValidForLanes8) { check_suite("vulkan:1.3+f16+f64+lanes-8+shared-32+storage16+storage8+threads-1024", 35); }
TEST(Vulkan, SuiteIsValidForLanes32) { check_suite("vulkan:1.3" + everything + "+lanes-32", 35); }
TEST(Vulkan, SuiteIsValidForLanes64) { check_suite("vulkan:1.3" + everything + "+lanes-64", 35); }
TEST(Vulkan, SuiteIsValidWithoutWidth) { check_suite("vulkan:1.3" + everything, 35); }
TEST(Vulkan, SuiteIsValidWithoutFeatures) { check_suite("vulkan:1.3", 32); }

TEST(Vulkan, UnknownFeatureIsRefused) {
  auto recording = teeny::record<float>(kernels::VectorAdd{});
  CompileOutput output = compile_for(*recording, "vulkan:1.3+telepathy");
  EXPECT_FALSE(output.ok);
  EXPECT_NE(errors_of(output).find("got 'telepathy'"), std::string::npos) << errors_of(output);
}

TEST(Vulkan, FactsWidenAccesses) {
  auto recording = teeny::record<float>(kernels::VectorAdd{});
  const auto text = [&](std::vector<teeny_fact> facts) {
    CompileOutput output = compile_for(*recording, "vulkan:1.3+lanes-8", std::move(facts), "spirv");
    EXPECT_TRUE(output.ok) << errors_of(output);
    return output;
  };
  const CompileOutput plain = text({});
  EXPECT_EQ(plain.dump_text.find("vector<4xi32>"), std::string::npos) << plain.dump_text;
  EXPECT_NE(text(plain.relevant_facts).dump_text.find("[\"Aligned\", 16] : vector<4xi32>"), std::string::npos);
}

TEST(Vulkan, ProductsAreNotContracted) {
  auto recording = teeny::record<float>(kernels::Softmax{});
  const CompileOutput output = compile_for(*recording, "vulkan:1.3+f64+lanes-8", {}, "spirv");
  ASSERT_TRUE(output.ok) << errors_of(output);
  std::istringstream lines(output.dump_text);
  int products = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("spirv.FMul") == std::string::npos && line.find("spirv.FAdd") == std::string::npos) continue;
    ++products;
    EXPECT_NE(line.find("no_contraction"), std::string::npos) << line;
  }
  EXPECT_GT(products, 0);
}

}  // namespace
}  // namespace teeny::compiler
