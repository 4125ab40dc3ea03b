// The one place that knows all dialects and passes: teeny-opt, the pipeline and tests start from here.
#pragma once

#include <mlir/IR/DialectRegistry.h>
#include <mlir/Pass/PassManager.h>

namespace teeny::compiler {

// Every dialect that teeny's modules and .ttir files are made of, with the interfaces (inlining) that passes need.
void register_dialects(mlir::DialectRegistry& registry);

// Every pass of teeny, and those of MLIR that the pipelines use, by name: for teeny-opt. May be called once.
void register_passes();

// The standard clean-up of a tt module: control flow structured, private functions inlined and dropped, canonical form,
// common subexpressions, loop-invariant code (pure operations only). Also registered as the pipeline "teeny-clean-up".
void add_clean_up(mlir::OpPassManager& passes);

}  // namespace teeny::compiler
