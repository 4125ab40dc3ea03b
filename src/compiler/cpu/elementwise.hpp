// Element-wise operations of arith, math and tt on LLVM scalars or vectors.
//
// Values in LLVM: i1 … i64 as they are, f32 and f64 as float and double, pointers as ptr; f16 and bf16 as their bits in
// i16, so that every target moves and selects them well. 16-bit arithmetic is done in f32 and rounded after every
// operation.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <mlir/IR/Operation.h>

#include "compiler/cpu/cpu.hpp"

namespace teeny::compiler::cpu {

using Builder = llvm::IRBuilder<>;

// The LLVM type of one value of an element type, and of one element in memory (i1 takes a byte).
llvm::Type* value_type(mlir::Type element, llvm::LLVMContext& context);
llvm::Type* memory_type(mlir::Type element, llvm::LLVMContext& context);
unsigned memory_bytes(mlir::Type element);

// `element` itself for one lane, otherwise a vector of it.
llvm::Type* lanes_type(llvm::Type* element, unsigned lanes);
unsigned lanes_of(llvm::Value* value);
// A scalar repeated in `lanes` lanes; vectors stay.
llvm::Value* splat(Builder& builder, llvm::Value* value, unsigned lanes);

// A scalar constant of an element type from its attribute.
llvm::Constant* constant_of(mlir::Attribute attribute, mlir::Type element, llvm::LLVMContext& context);

// Whether apply() knows the operation.
bool is_elementwise(mlir::Operation* operation);

// The operation's results on operands that are all scalars, or all vectors of one length. Throws teeny::Error
// (unsupported) for an operation that is not is_elementwise().
llvm::SmallVector<llvm::Value*, 2> apply(Builder& builder, mlir::Operation* operation,
                                         llvm::ArrayRef<llvm::Value*> operands, const CpuOptions& options);

// f32 or f64 to the bits of f16 or bf16 and back, correctly rounded. `converts_to_bf16`: by LLVM's own conversion, not on
// the bits.
llvm::Value* narrow_float(Builder& builder, llvm::Value* value, mlir::Type element, bool converts_to_bf16 = false);
llvm::Value* widen_float(Builder& builder, llvm::Value* bits, mlir::Type element);

[[noreturn]] void refuse(mlir::Operation* operation, const std::string& rule, const std::string& help);

}  // namespace teeny::compiler::cpu
