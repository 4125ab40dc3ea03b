// A tt function from text, raw and cleaned up, and what the analyses say of its accesses.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "compiler/analysis/axis_info.hpp"
#include "compiler/analysis/block_recovery.hpp"
#include "compiler/analysis/fact_relevance.hpp"
#include "compiler/analysis/mask_bounds.hpp"

namespace teeny::compiler::test {

struct ParsedFunction {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tt::FuncOp function;
  std::vector<mlir::Operation *> accesses;  // in order of the text
  std::unique_ptr<BlockRecovery> blocks;

  explicit ParsedFunction(const std::string &text, bool clean = false) {
    context
        .loadDialect<tt::TTDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::scf::SCFDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) throw std::runtime_error("the test's text does not parse");
    if (clean) {
      mlir::PassManager manager(&context);
      manager.addPass(mlir::createCanonicalizerPass());
      manager.addPass(mlir::createCSEPass());
      manager.addPass(mlir::createLoopInvariantCodeMotionPass());
      if (mlir::failed(manager.run(*module))) throw std::runtime_error("the test's module could not be cleaned up");
    }
    function = *module->getOps<tt::FuncOp>().begin();
    function.walk([&](mlir::Operation *operation) {
      if (mlir::isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::DescriptorLoadOp,
                    tt::DescriptorStoreOp>(operation))
        accesses.push_back(operation);
    });
    blocks = std::make_unique<BlockRecovery>(function);
  }

  std::string block(unsigned access) {
    auto recovered = blocks->recover(accesses.at(access));
    return recovered ? recovered->to_string() : "unknown";
  }
  std::string bounds(unsigned access) {
    auto found = MaskBoundsAnalysis(*blocks).of_access(accesses.at(access));
    return found ? found->to_string() : "unknown";
  }
};

// Expects the same blocks and bounds of raw and of cleaned-up IR.
inline void expect_accesses(const std::string &text, const std::vector<std::pair<std::string, std::string>> &expected) {
  for (bool clean : {false, true}) {
    SCOPED_TRACE(clean ? "cleaned up" : "raw");
    ParsedFunction parsed(text, clean);
    ASSERT_EQ(parsed.accesses.size(), expected.size());
    for (unsigned i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(parsed.block(i), expected[i].first) << "block of access " << i;
      EXPECT_EQ(parsed.bounds(i), expected[i].second) << "bounds of access " << i;
    }
  }
}

}  // namespace teeny::compiler::test
