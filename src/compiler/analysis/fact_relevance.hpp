// Which facts of a launch would let a kernel's accesses be wider, and how a kernel takes facts for granted.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "compiler/dialect/tt/tt.hpp"
#include "support/compiler_abi.h"

namespace teeny::compiler {

// Facts about arguments of `function` that are not yet known from its attributes and would widen an access or make it
// cheaper, most useful first:
//   EQUALS_ONE         an integer argument that is the stride of a block's dimension when no dimension of that block
//                      is known to be contiguous (last dimensions before others);
//   DIVISIBLE_BY_16    a pointer, or an integer that is part of an offset or stride of vector accesses;
//   EXCEEDS_CACHE      a pointer through which a kernel that streams stores, without loading it again;
//   FITS_32            a pointer to which 64-bit offsets would otherwise be added.
llvm::SmallVector<teeny_fact> relevant_facts(tt::FuncOp function);

// Makes `function` rely on `facts`: EQUALS_ONE replaces the argument's uses by the constant 1 (the argument stays),
// DIVISIBLE_BY_16 sets tt.divisibility = 16, FITS_32 sets teeny.fits_32, EXCEEDS_CACHE sets teeny.exceeds_cache.
// Fails, changing nothing, with an error on the function where a fact names no argument or one of a wrong type.
mlir::LogicalResult apply_facts(tt::FuncOp function, llvm::ArrayRef<teeny_fact> facts);

}  // namespace teeny::compiler
