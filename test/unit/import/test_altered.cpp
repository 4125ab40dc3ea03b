// What the trace's verifier lets through, the importer takes: bodies are altered at random, and those that still verify
// become modules that verify, before and after cleaning up.
#include <random>

#include <gtest/gtest.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/PassManager.h>

#include "compiler/import/import_trace.hpp"
#include "compiler/transforms/passes.hpp"
#include "rich_body.hpp"

namespace teeny::trace::test {
namespace {

void collect(Region& region, std::vector<Operation*>& operations) {
  for (Operation& operation : region.operations) {
    operations.push_back(&operation);
    for (Region& inner : operation.regions) collect(inner, operations);
  }
}

// Another opcode, operand, attribute or type somewhere.
void alter(Body& body, std::mt19937& random) {
  std::vector<Operation*> operations;
  collect(body.region, operations);
  Operation& operation = *operations[random() % operations.size()];
  switch (random() % 4) {
    case 0: operation.opcode = static_cast<Opcode>(random() % static_cast<unsigned>(opcode_count())); break;
    case 1:
      if (!operation.operands.empty())
        operation.operands[random() % operation.operands.size()] = static_cast<ValueId>(random() % body.types.size());
      break;
    case 2:
      if (!operation.integers.empty())
        operation.integers[random() % operation.integers.size()] = static_cast<int>(random() % 20) - 2;
      break;
    default:
      // All values of a type at once, or one.
      const DType from = body.types[random() % body.types.size()].dtype,
                  to = static_cast<DType>(random() % dtype_count);
      if (random() % 2) body.types[random() % body.types.size()].dtype = to;
      else
        for (Type& type : body.types)
          if (type.dtype == from) type.dtype = to;
  }
}

TEST(Import, AlteredBodies) {
  const Body body = rich_body();
  ASSERT_EQ(verify(body), "");
  mlir::DialectRegistry registry;
  compiler::register_dialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::PassManager clean_up(&context);
  compiler::add_clean_up(clean_up);
  std::mt19937 random(7);
  int imported = 0;
  for (int round = 0; round < 20000; ++round) {
    Body altered = body;
    for (int change = 0; change <= round % 3; ++change) alter(altered, random);
    if (!verify(altered).empty() || serialise(altered) == serialise(body)) continue;
    auto module = compiler::import_trace(altered, "kernel", context);
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module))) << to_text(altered);
    ASSERT_TRUE(mlir::succeeded(clean_up.run(*module))) << to_text(altered);
    ++imported;
  }
  EXPECT_GT(imported, 300);
}

}  // namespace
}  // namespace teeny::trace::test
