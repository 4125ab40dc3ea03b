// Products that depend on others of their turn, run beside the next turn's.
#pragma once

#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/gpu/dot_plan.hpp"

namespace teeny::compiler::gpu {

// A product that sums from turn to turn, and what the loop does to its sums before: a chain of elementwise operations from
// the carried value to the product.
struct LateProduct {
  tile::MmaOp product;
  unsigned carried = 0;  // the number of the carried value
  llvm::SmallVector<mlir::Operation *> chain;
};

// The products of a loop in two parts: `early` ones that depend on no other one of their turn, and `late` ones that do.
struct OverlapPlan {
  llvm::SmallVector<tile::MmaOp> early;
  llvm::SmallVector<LateProduct> late;
  bool empty() const { return late.empty(); }
};

// Empty where the loop has not both, where a product does not run beside the lanes, or where a late product reads memory
// that a turn writes and that is none of `lasting` (allocations of the loop that will be rings) nor a buffer of a ring.
OverlapPlan plan_overlap(mlir::scf::ForOp loop, const Capability &capability, llvm::ArrayRef<mlir::Value> lasting = {});

// A loop
//   for i { s = early(i); p = f(s); sums = late(g(sums, p)) }
// becomes
//   if any { s = early(0); p = f(s); for i from 1 { wait sums; begin s = early(i); begin sums = late(g(sums, p)); p = f(wait s) }
//   wait sums; sums = late(g(sums, p)) }
// so that the unit computes the late products of one turn while the lanes compute f of the next. The late products' memory
// must last a turn longer. Replaces the loop; returns the new one.
mlir::scf::ForOp overlap_products(mlir::scf::ForOp loop, const OverlapPlan &plan);

}  // namespace teeny::compiler::gpu
