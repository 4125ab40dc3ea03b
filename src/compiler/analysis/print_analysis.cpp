#include "compiler/analysis/print_analysis.hpp"

#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassRegistry.h>

#include "compiler/analysis/axis_info.hpp"
#include "compiler/analysis/block_recovery.hpp"
#include "compiler/analysis/fact_relevance.hpp"
#include "compiler/analysis/mask_bounds.hpp"

namespace teeny::compiler {

using namespace mlir;

namespace {

template <class Derived>
struct PrintPass : PassWrapper<Derived, OperationPass<tt::FuncOp>> {
  void runOnOperation() final {
    if (!this->getOperation().isExternal()) static_cast<Derived *>(this)->print(this->getOperation());
    this->markAllAnalysesPreserved();
  }
};

struct PrintAxisInfo : PrintPass<PrintAxisInfo> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintAxisInfo)
  StringRef getArgument() const override { return "teeny-print-axis-info"; }
  StringRef getDescription() const override { return "Say what is known of elements along each dimension"; }
  void print(tt::FuncOp function) {
    AxisInfoAnalysis axis_info(function);
    function.walk([&](Operation *operation) {
      for (Value result : operation->getResults())
        if (isa<IntegerType, tt::PointerType>(tt::element_type(result.getType())))
          operation->emitRemark() << axis_info.of(result).to_string();
    });
  }
};

struct PrintBlocks : PrintPass<PrintBlocks> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintBlocks)
  StringRef getArgument() const override { return "teeny-print-blocks"; }
  StringRef getDescription() const override { return "Say which block of memory each access touches, and its bounds"; }
  void print(tt::FuncOp function) {
    BlockRecovery blocks(function);
    MaskBoundsAnalysis masks(blocks);
    function.walk([&](Operation *operation) {
      bool descriptor = isa<tt::DescriptorLoadOp, tt::DescriptorStoreOp>(operation);
      auto block = blocks.recover(operation);
      auto bounds = masks.of_access(operation);
      if (!block && !descriptor) return;
      operation->emitRemark() << "block: " << (block ? block->to_string() : "unknown")
                              << "; bounds: " << (bounds ? bounds->to_string() : "unknown");
    });
  }
};

struct PrintRelevantFacts : PrintPass<PrintRelevantFacts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintRelevantFacts)
  StringRef getArgument() const override { return "teeny-print-relevant-facts"; }
  StringRef getDescription() const override { return "Say which facts of a launch would widen an access"; }
  void print(tt::FuncOp function) {
    SmallVector<teeny_fact> facts = relevant_facts(function);
    if (facts.empty()) return;
    InFlightDiagnostic remark = function.emitRemark();
    llvm::interleave(
        facts, [&](const teeny_fact &fact) { remark << "arg" << fact.argument << " " << spelling(fact); },
        [&] { remark << ", "; });
  }
};

}  // namespace

void register_print_analysis_passes() {
  PassRegistration<PrintAxisInfo>();
  PassRegistration<PrintBlocks>();
  PassRegistration<PrintRelevantFacts>();
}

}  // namespace teeny::compiler
