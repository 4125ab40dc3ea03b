#include "compiler/transforms/structure_control_flow.hpp"

#include <mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Dominance.h>
#include <mlir/Transforms/CFGToSCF.h>

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler {

using namespace mlir;

namespace {

// Endless loops have no exit to return from; MLIR asks for one that is never reached.
struct Transformation : ControlFlowToSCFTransformation {
  FailureOr<Operation*> createUnreachableTerminator(Location location, OpBuilder& builder, Region& region) override {
    auto function = dyn_cast<tt::FuncOp>(region.getParentOp());
    if (!function) return emitError(location, "control flow: an endless loop stands outside of a function");
    SmallVector<Value> results;
    for (Type type : function.getResultTypes()) results.push_back(getUndefValue(location, builder, type));
    return tt::ReturnOp::create(builder, location, results).getOperation();
  }
};

struct StructureControlFlow : PassWrapper<StructureControlFlow, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StructureControlFlow)
  StringRef getArgument() const override { return "teeny-structure-control-flow"; }
  StringRef getDescription() const override { return "Turn branches between blocks into scf operations"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<scf::SCFDialect, arith::ArithDialect, ub::UBDialect, cf::ControlFlowDialect>();
  }
  void runOnOperation() override {
    Transformation transformation;
    auto result = getOperation()->walk([&](tt::FuncOp function) {
      if (function.isExternal() || function.getBody().hasOneBlock()) return WalkResult::advance();
      DominanceInfo dominance(function);
      if (failed(transformCFGToSCF(function.getBody(), transformation, dominance))) return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted()) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<Pass> create_structure_control_flow_pass() { return std::make_unique<StructureControlFlow>(); }
void register_structure_control_flow_pass() { PassRegistration<StructureControlFlow>(); }

}  // namespace teeny::compiler
