// What each kind of operation says about the layouts of its tensors: how a result's layout follows from an operand's,
// the other way round, and what it costs to compute the operation a second time instead of converting its result.
#pragma once

#include <mlir/IR/Operation.h>

#include "compiler/dialect/tile/tile.hpp"

namespace teeny::compiler::gpu {

// The cost of a second computation in another layout, given that the operands are there already.
enum class Cost {
  free,    // a leaf, or cheaper in registers than any exchange: constants, ranges, splats, simple arithmetic
  smaller, // its operand holds fewer bytes: what is behind it is converted instead (widening casts, broadcasts)
  high     // memory, products, reductions, mathematics: its result is converted
};

// The table of functions of one kind of operation. Layouts are #tile.dist; null: the rule does not say.
struct LayoutRules {
  // The layout of the (only) tensor result, given the layout of its first tensor operand.
  tile::DistAttr (*result)(mlir::Operation *, tile::DistAttr operand) = nullptr;
  // The layout that every tensor operand has where the result has this one.
  tile::DistAttr (*operand)(mlir::Operation *, tile::DistAttr result) = nullptr;
  Cost (*cost)(mlir::Operation *) = nullptr;
};

// Null for operations whose layouts are not derived one from the other: accesses of memory, tt.dot, control flow.
const LayoutRules *rules_of(mlir::Operation *operation);

// One shape in all tensors, one result, no memory and no regions.
bool is_elementwise(mlir::Operation *operation);

// Whether `value` can be rebuilt in any layout without memory, products, reductions and mathematics. Stops at values
// that control flow carries.
bool is_rebuildable(mlir::Value value);

// The tensor type of a value; null for scalars and other types.
inline mlir::RankedTensorType tensor_of(mlir::Value value) {
  return llvm::dyn_cast_or_null<mlir::RankedTensorType>(value ? value.getType() : mlir::Type());
}
inline mlir::RankedTensorType with_encoding(mlir::RankedTensorType type, tile::DistAttr layout) {
  return mlir::RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

}  // namespace teeny::compiler::gpu
