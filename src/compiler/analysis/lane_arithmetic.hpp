// Arithmetic and changes of shape on LaneExpressions: pure functions of block recovery.
#pragma once

#include "compiler/analysis/block_recovery.hpp"

namespace teeny::compiler {

// a + b; nothing where both have a base.
std::optional<LaneExpression> add_lanes(const LaneExpression &a, const LaneExpression &b);
// lanes * factor; nothing for pointers.
std::optional<LaneExpression> scale_lanes(const LaneExpression &lanes, const ScalarExpression &factor);
// a * b, where one of them is uniform.
std::optional<LaneExpression> multiply_lanes(const LaneExpression &a, const LaneExpression &b);
// b - a without bases; nothing unless both have the same base or lane_base.
std::optional<LaneExpression> subtract_lanes(const LaneExpression &b, const LaneExpression &a);

// What dimensions become: dimension d of the source is dimension map[d] of a result of `rank` dimensions (-1: it has
// extent 1 and disappears).
LaneExpression map_dimensions(const LaneExpression &lanes, llvm::ArrayRef<int> map, unsigned rank);
// The row-major reinterpretation of a block of shape `from` as `to`; nothing where it is not affine.
std::optional<LaneExpression> reshape_lanes(const LaneExpression &lanes, llvm::ArrayRef<int64_t> from,
                                            llvm::ArrayRef<int64_t> to);
// Maps of dimensions for tt.expand_dims and tt.trans.
llvm::SmallVector<int, 4> expand_dimensions_map(unsigned source_rank, unsigned axis);
llvm::SmallVector<int, 4> transpose_map(llvm::ArrayRef<int32_t> order);

// The value itself: an atom is not made here, so scalars of integer type are not accepted.
LaneExpression opaque_lanes(mlir::Value value, llvm::function_ref<bool(unsigned)> depends_on);

}  // namespace teeny::compiler
