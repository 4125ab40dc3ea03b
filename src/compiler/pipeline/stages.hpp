// The stages that every target's module goes through.
#pragma once

#include <mlir/IR/BuiltinOps.h>

#include "compiler/transforms/expand_exact.hpp"
#include "compiler/transforms/expand_math.hpp"

namespace teeny::compiler {

// Loads every dialect that a module may hold at any stage.
void load_dialects(mlir::MLIRContext& context);

// What .ttir files say in Triton's own words, said in tt's. Throws teeny::Error.
void legalise_text(mlir::ModuleOp module);

// Calls inlined, canonical, common subexpressions and dead code gone, invariants out of loops. Throws teeny::Error.
void clean_up(mlir::ModuleOp module);

// What machines leave undefined and the mathematical functions, written out in arithmetic; then clean again. Throws
// teeny::Error.
void expand(mlir::ModuleOp module, const MathFacts& math, const ExactFacts& exact);

}  // namespace teeny::compiler
