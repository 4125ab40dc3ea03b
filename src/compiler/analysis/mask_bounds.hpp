// Masks as rectangles: which lanes of a block a mask leaves on, as an interval of indices per dimension.
#pragma once

#include <optional>
#include <string>

#include <llvm/ADT/SmallVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/analysis/block_recovery.hpp"

namespace teeny::compiler {

// Lanes with max(0, lows…) <= i_d < min(extent, highs…), in block coordinates; the interval may be empty.
struct DimensionBounds {
  int64_t extent = 0;
  llvm::SmallVector<ScalarExpression, 1> lows, highs;
  // Every lane along this dimension is on.
  bool is_full() const { return lows.empty() && highs.empty(); }
};

// A condition that is one for the whole block: a scalar i1, or `expression predicate 0` (signed predicates and
// equality only, on 64-bit integers).
struct UniformCondition {
  mlir::Value value;  // null: a comparison
  mlir::arith::CmpIPredicate predicate = mlir::arith::CmpIPredicate::sge;
  ScalarExpression expression;
  bool negated = false;  // of `value`
};

// A factor that is tested lane by lane: mask[j], j_k = i[dimensions[k]], or 0 where dimensions[k] is -1 (as LaneTerm).
struct MaskFactor {
  mlir::Value mask;
  llvm::SmallVector<int, 4> dimensions;
  bool negated = false;  // lanes are on where the mask does not hold
};

// A lane is on where all uniform conditions hold, its index lies within every dimension's interval, and all factors
// hold. `never` says that no lane is ever on.
struct MaskBounds {
  llvm::SmallVector<DimensionBounds, 4> dimensions;  // one per dimension of the block
  llvm::SmallVector<UniformCondition, 1> conditions;
  llvm::SmallVector<MaskFactor, 1> factors;
  bool never = false;

  bool is_rectangle() const { return factors.empty(); }
  bool is_all_true() const;
  // For tests and people: "i0 < arg2 - 64*pid_x, i1 >= 3, if cmpi, test andi[i0, i1]"; "all", "never".
  std::string to_string() const;
};

class MaskBoundsAnalysis {
 public:
  // Shares `blocks`, which must outlive this object and its results.
  explicit MaskBoundsAnalysis(BlockRecovery &blocks) : blocks_(blocks) {}

  // A mask (i1 or tensor of i1) over a block of `shape`, which is the mask's own shape. Null: every lane.
  MaskBounds of(mlir::Value mask, llvm::ArrayRef<int64_t> shape);
  // The lanes that an access touches: its mask, or for descriptors the part of the block inside the tensor
  // (empty result where the descriptor's shape is not known).
  std::optional<MaskBounds> of_access(mlir::Operation *access);

 private:
  BlockRecovery &blocks_;
};

// The interval [first, second) of one dimension: 0 <= first, second <= extent; empty where first >= second.
template <class Handle>
std::pair<Handle, Handle> materialise(const DimensionBounds &bounds, ScalarExpressionBuilder<Handle> &builder) {
  Handle low = builder.constant(0), high = builder.constant(bounds.extent);
  for (const ScalarExpression &expression : bounds.lows)
    low = builder.binary(ScalarOperation::maximum_signed, low, materialise(expression, builder));
  for (const ScalarExpression &expression : bounds.highs)
    high = builder.binary(ScalarOperation::minimum_signed, high, materialise(expression, builder));
  return {low, high};
}

}  // namespace teeny::compiler
