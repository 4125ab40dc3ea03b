// The language's name for an element type of tt.
#pragma once

#include <mlir/IR/Types.h>

#include <teeny/dtype.hpp>

namespace teeny::compiler {

// Integers of tt have no sign: `is_signed` says it. Pointers are u64.
DType dtype_of(mlir::Type element, bool is_signed);

}  // namespace teeny::compiler
