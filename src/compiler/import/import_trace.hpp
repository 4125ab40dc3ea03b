// From the trace to the tt dialect, one to one.
//
// The module holds one `tt.func public @kernel` whose arguments are the body's parameters in order; argument attributes
// (tt.divisibility …) are the caller's to add. Integers become signless: the sign goes into the operations (divsi or
// divui, cmpi slt or ult, …). div, rem, shl, shr and casts from float to integer become the plain arith operations,
// which arith leaves undefined at the edges; that they mean what operations.def says there is the work of the
// expand-exact pass and of the interpreter. Each operation's location is its pre-order number: see
// operation_number.hpp.
//
// f16 and bf16 convert into each other through f32, which is exact on the way up; sigmoid of 16-bit types is computed
// in f32 and rounded once. Offsets of unsigned types below 64 bits are zero-extended to i64, since tt.addptr is signed.
// A device_assert's mask joins its condition: the assertion is `condition | ~mask`.
#pragma once

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include "lang/trace.hpp"

namespace teeny::compiler {

// Precondition: trace::verify(body) is empty. The dialects that it needs are loaded into `context`.
mlir::OwningOpRef<mlir::ModuleOp> import_trace(const trace::Body& body, llvm::StringRef kernel,
                                               mlir::MLIRContext& context);

// The tt (or builtin) type of a trace value.
mlir::Type import_type(const trace::Type& type, mlir::MLIRContext& context);

}  // namespace teeny::compiler
