// How many thread operations kernels become: the time of LLVM and of the driver's assembler follows it.
#include <map>

#include "cuda/programs.hpp"
#include "kernels/suite.hpp"

namespace teeny::compiler {
namespace {

// As for buffers and strides that are multiples of 16.
std::int64_t operations_of(const teeny::detail::RecordedKernel& kernel) {
  CompileOutput output = compile_for(kernel, "cuda:sm_90a");
  EXPECT_TRUE(output.ok) << errors_of(output);
  output = compile_for(kernel, "cuda:sm_90a", output.relevant_facts);
  EXPECT_TRUE(output.ok) << errors_of(output);
  return nlohmann::json::parse(output.metadata).at("operations").get<std::int64_t>();
}

// Products and their epilogues have many elements of a lane each, and attention's turn stands in the program twice; all others fit a thousand operations.
std::int64_t budget_of(const std::string& name) {
  const std::map<std::string, std::int64_t> products = {
      {"matmul f16 gelu", 8000}, {"attention", 5000}, {"attention causal", 7000}};
  if (auto found = products.find(name); found != products.end()) return found->second;
  return name.starts_with("matmul") ? 2000 : 1000;
}

TEST(Budget, OfTheSuite) {
  int kernels = 0;
  kernels::for_each_recording([&](const char* name, const auto& recording) {
    if (!compile_for(*recording, "cuda:sm_90a").ok) return;  // refused by name: test_cuda.cpp
    EXPECT_LE(operations_of(*recording), budget_of(name)) << name;
    ++kernels;
  });
  EXPECT_GT(kernels, 30);
}

}  // namespace
}  // namespace teeny::compiler
