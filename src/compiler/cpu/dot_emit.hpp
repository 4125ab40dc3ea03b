// Shared by the emitters of matrix products: types of words and loops over index ranges. Private to
// src/compiler/cpu/dot*.
#pragma once

#include "compiler/cpu/dot.hpp"

namespace teeny::compiler::cpu {

// The LLVM type of one element of `type`.
llvm::Type* element_type(llvm::LLVMContext& context, DType type);

// The type that products are summed in: f32, f64, i32 or i64.
llvm::Type* sum_type(llvm::LLVMContext& context, const DotPlan& plan);

// What one lane holds of a packed operand: the element itself, or an i32 of `group` elements.
llvm::Type* word_type(llvm::LLVMContext& context, const DotPlan& plan);

// Part of an extent whose pieces have one size; a panel whose last register is not full is a segment of its own.
struct DotSegment {
  std::int64_t size = 0, count = 0;
  std::int64_t start = 0;  // of the first piece, in units of size
  unsigned tail = 0;       // lanes inside the block of the last register; 0: all
};

// Row tiles in rows; panels in registers.
llvm::SmallVector<DotSegment, 4> row_segments(const DotPlan& plan);
llvm::SmallVector<DotSegment, 4> panel_segments(const DotPlan& plan);

// Emits `for (index = 0; index < count; ++index) body(index)`, count an i64 value; leaves the builder behind the loop.
void emit_loop(llvm::IRBuilderBase& builder, llvm::Value* count, const llvm::Twine& name,
               llvm::function_ref<void(llvm::Value* index)> body);

// How many of `segment.count` pieces start below `used` (i64, in the units of the operand): scale is units in one of
// size.
llvm::Value* emit_piece_count(llvm::IRBuilderBase& builder, const DotSegment& segment, std::int64_t scale,
                              llvm::Value* used);

// ceil(k_used / group) as an i64.
llvm::Value* emit_word_count(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* k_used);

// pointer + offset bytes.
llvm::Value* emit_address(llvm::IRBuilderBase& builder, llvm::Value* pointer, llvm::Value* bytes);

// Calls the intrinsic of that name, casting arguments bit for bit to the types it declares.
llvm::Value* emit_intrinsic(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Type*> overloads,
                            llvm::ArrayRef<llvm::Value*> arguments);

// Vectors of floats to `to`, rounding to nearest even; without calls of a support library on targets that lack the
// conversion.
llvm::Value* emit_float_cast(llvm::IRBuilderBase& builder, const CpuTarget& target, llvm::Value* value, llvm::Type* to);

// sum + a * b for registers of words.
llvm::Value* emit_product(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* sum, llvm::Value* a,
                          llvm::Value* b);

}  // namespace teeny::compiler::cpu
