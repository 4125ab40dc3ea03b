#include "compiler/transforms/passes.hpp"

#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/GPU/IR/GPUDialect.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Transforms/Passes.h>

#include "compiler/analysis/print_analysis.hpp"
#include "compiler/dialect/thread/thread.hpp"
#include "compiler/dialect/tile/tile.hpp"
#include "compiler/dialect/tt/tt.hpp"
#include "compiler/dialect/ttg/ttg.hpp"
#include "compiler/transforms/expand_exact.hpp"
#include "compiler/transforms/expand_math.hpp"
#include "compiler/transforms/legalise_ttir.hpp"
#include "compiler/transforms/structure_control_flow.hpp"

namespace teeny::compiler {

using namespace mlir;

void register_dialects(DialectRegistry& registry) {
  registry.insert<tt::TTDialect, ttg::TTGDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  ub::UBDialect, cf::ControlFlowDialect, vector::VectorDialect, mlir::gpu::GPUDialect, LLVM::LLVMDialect, func::FuncDialect,
                  thread::ThreadDialect, tile::TileDialect>();
}

void register_passes() {
  register_expand_math_pass();
  register_expand_exact_pass();
  register_legalise_ttir_pass();
  register_structure_control_flow_pass();
  register_print_analysis_passes();
  PassPipelineRegistration<>("teeny-clean-up", "The standard clean-up of a tt module", add_clean_up);
  registerTransformsPasses();
}

void add_clean_up(OpPassManager& passes) {
  passes.addPass(create_structure_control_flow_pass());
  passes.addPass(createInlinerPass());
  passes.addPass(createSymbolDCEPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

}  // namespace teeny::compiler
