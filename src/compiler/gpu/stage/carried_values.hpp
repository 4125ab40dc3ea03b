// Values that loops carry for nothing.
#pragma once

#include <mlir/Dialect/SCF/IR/SCF.h>

namespace teeny::compiler::gpu {

// Drops carried values of the loop that only renew themselves and whose results are not used, with the pure operations
// that renew them. The loop is replaced where one is dropped; returns the one that is left.
mlir::scf::ForOp drop_unused_carried_values(mlir::scf::ForOp loop);

}  // namespace teeny::compiler::gpu
