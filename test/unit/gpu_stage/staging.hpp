// Programs of the laid-out form, staged.
#pragma once

#include <gtest/gtest.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>

#include "compiler/gpu/gpu.hpp"
#include "compiler/target/cuda/cuda.hpp"
#include "compiler/transforms/passes.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

class Staging : public testing::Test {
 protected:
  Staging() : context_(registry()) {}
  static DialectRegistry registry() {
    DialectRegistry registry;
    register_dialects(registry);
    registry.insert<tile::TileDialect, thread::ThreadDialect>();
    return registry;
  }

  // Lays out and stages the function of a text in the tt dialect.
  void stage_text(const std::string& text, const GpuOptions& options, const Capability& capability) {
    module_ = parseSourceString<ModuleOp>(text, &context_);
    ASSERT_TRUE(module_);
    function_ = *module_->getOps<tt::FuncOp>().begin();
    ASSERT_TRUE(succeeded(assign_layouts(function_, capability, options)));
    ASSERT_TRUE(succeeded(pipeline_loops(function_, capability, options)));
    ASSERT_TRUE(succeeded(verify(*module_)));
    ASSERT_TRUE(succeeded(verify_form(function_, Form::staged, capability)));
  }

  // Products by lanes' registers, and by units that read memory beside the lanes.
  static Capability ampere() { return cuda::capability_of(cuda::architecture_of("sm_80")); }
  static Capability hopper() { return cuda::capability_of(cuda::architecture_of("sm_90a")); }

  template <class Op>
  int count(Operation* within = nullptr) {
    int number = 0;
    (within ? within : function_.getOperation())->walk([&](Op) { ++number; });
    return number;
  }
  scf::ForOp loop() {
    scf::ForOp found;
    function_.walk([&](scf::ForOp loop) { found = loop; });
    return found;
  }
  int64_t buffers() {
    int64_t most = 0;
    function_.walk([&](tile::AllocOp allocation) { most = std::max(most, allocation.getType().getBuffers()); });
    return most;
  }

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
  tt::FuncOp function_;
};

}  // namespace teeny::compiler::gpu
