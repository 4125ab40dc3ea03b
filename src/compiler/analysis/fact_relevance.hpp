// Which facts of a launch would let a kernel's accesses be wider, and how a kernel takes facts for granted.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "compiler/dialect/tt/tt.hpp"
#include "support/compiler_abi.h"

namespace teeny::compiler {

// Facts about arguments of `function` that are not yet known from its attributes and would widen an access or make it
// cheaper, most useful first (by kind in this order, then by how many elements the accesses touch, loops counted):
//   EQUALS_ONE         an integer argument that is the stride of a block's dimension, when no dimension of that block
//                      is known to be contiguous; last dimensions count more than others;
//   DIVISIBLE_BY_16    a pointer to blocks, or an integer that offsets or strides of blocks are multiples of, where
//                      the multiple is not already one of 16;
//   EXCEEDS_CACHE      a pointer through which a kernel without dot products stores blocks, and does not load;
//   FITS_32            a pointer with gathered or scattered lanes: 32-bit lane offsets suffice.
llvm::SmallVector<teeny_fact> relevant_facts(tt::FuncOp function);

// "equals one", "is divisible by 16", …: what follows the argument's name in a sentence.
llvm::StringRef spelling(const teeny_fact &fact);

// Makes `function` rely on `facts`: EQUALS_ONE replaces the argument's uses by the constant 1 (the argument stays),
// DIVISIBLE_BY_16 sets tt.divisibility to 16 or what it was if that is a multiple, FITS_32 sets the unit attribute
// teeny.fits_32, EXCEEDS_CACHE sets teeny.exceeds_cache.
// Fails, changing nothing, with an error on the function where a fact names no argument or one of a wrong type.
mlir::LogicalResult apply_facts(tt::FuncOp function, llvm::ArrayRef<teeny_fact> facts);

}  // namespace teeny::compiler
