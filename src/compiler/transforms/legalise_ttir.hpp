// What Python Triton writes beside tt becomes tt, so that everything behind it sees one vocabulary.
//
//   gpu.barrier                      tt.barrier (ttg.barrier is read as one already by the parser)
//   llvm.intr.assume                 tt.assume
//   tt.extern_elementwise            arith and math operations, by the table of symbols in legalise_extern.cpp
//   tt.divisibility, tt.contiguity   tt.hint behind the operation that carries them; tt.constancy is dropped, it only
//     on an operation                  promises what analysis finds itself
//   inputPrecision of a tt.dot       ieee where the operands are not f32: it says nothing there
//   allow_reorder of a tt.reshape    dropped: the row-major order is an allowed one
// Fails, after an error at the operation, where an operation of another dialect, an unknown symbol or a value that a
// kernel cannot hold (another element type, an open shape, more than 2^20 elements, a layout) remains.
#pragma once

#include <memory>

#include <mlir/IR/Builders.h>
#include <mlir/Pass/Pass.h>

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler {

// The pass "teeny-legalise-ttir", on modules.
std::unique_ptr<mlir::Pass> create_legalise_ttir_pass();
void register_legalise_ttir_pass();

// The operation's value in arith and math; null, without a message, where the symbol or its operands are not in the
// table.
mlir::Value legalise_extern(mlir::OpBuilder& builder, tt::ExternElementwiseOp op);

}  // namespace teeny::compiler
