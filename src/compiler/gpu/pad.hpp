// Blocks whose extents are no powers of two, on devices whose layouts are maps of index bits.
#pragma once

#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

// Gives every block of the function the next powers of two as extents. Elements beyond the written extents are computed
// like the others and reach nothing: accesses to memory leave them out, reductions and reversed scans pass over them,
// products have zeros there along K, and messages know the written extents (block_attribute). Fails after a located
// error for what has no such form: a reshape that mixes dimensions of which one is padded, constants of different
// elements, and atomic_cas of a padded block.
mlir::LogicalResult pad_blocks(tt::FuncOp function);

// Whether what a load's mask leaves out is 0.
bool gives_zero_outside(tt::LoadOp load);

// Of a tt.print or tt.assert: an array of the written extents of each operand (DenseI64ArrayAttr), where they were padded.
inline constexpr llvm::StringLiteral block_attribute = "tile.block";

}  // namespace teeny::compiler::gpu
