#include "compiler/pipeline/stages.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include <teeny/error.hpp>

#include "compiler/dialect/tile/tile.hpp"
#include "compiler/dialect/tt/tt.hpp"
#include "compiler/transforms/expand_exact.hpp"
#include "compiler/transforms/expand_math.hpp"
#include "compiler/transforms/legalise_ttir.hpp"
#include "compiler/transforms/passes.hpp"

namespace teeny::compiler {

namespace {

void run(mlir::ModuleOp module, void (*add)(mlir::PassManager&)) {
  mlir::PassManager manager(module->getContext());
  manager.enableVerifier(false);
  add(manager);
  if (mlir::failed(manager.run(module)))
    throw Error(ErrorCode::compile_failed, "compile: the kernel could not be prepared");
}

}  // namespace

void load_dialects(mlir::MLIRContext& context) {
  mlir::DialectRegistry registry;
  register_dialects(registry);  // what only text files hold is loaded when it is met
  context.appendDialectRegistry(registry);
  context.loadDialect<tt::TTDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect,
                      mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect, mlir::func::FuncDialect,
                      thread::ThreadDialect, tile::TileDialect>();
}

void legalise_text(mlir::ModuleOp module) {
  run(module, [](mlir::PassManager& manager) { manager.addPass(create_legalise_ttir_pass()); });
}

void clean_up(mlir::ModuleOp module) {
  run(module, [](mlir::PassManager& manager) { add_clean_up(manager); });
}

void expand(mlir::ModuleOp module, const MathFacts& math, const ExactFacts& exact) {
  if (math.approximate) multiply_by_reciprocals(module);
  // In this order: the functions of 16-bit types end in conversions that must be exact too.
  if (mlir::failed(expand_math(module, math)) || mlir::failed(expand_exact(module, exact)))
    throw Error(ErrorCode::compile_failed, "compile: the kernel's arithmetic could not be written out");
  run(module, [](mlir::PassManager& manager) {
    manager.addPass(mlir::createCanonicalizerPass());
    manager.addPass(mlir::createCSEPass());
    manager.addPass(mlir::createLoopInvariantCodeMotionPass());
  });
}

}  // namespace teeny::compiler
