// How a tt.dot is computed: which row of the matrix table, how its tile is split over the warps, where operands live.
#pragma once

#include "compiler/analysis/axis_info.hpp"
#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

struct DotOperand {
  bool in_memory = true;       // else a tensor in `registers`
  LinearLayout memory;         // offset -> dims: the arrangement in shared memory
  unsigned swizzle = 0;        // the hardware's name for it (tile.shared)
  LinearLayout registers;      // register, lane, warp -> dims
  mlir::Type element;          // what the operand is converted to first, where the unit takes another type
};

struct DotPlan {
  const MatrixUnit *unit = nullptr;
  LinearLayout accumulators;   // register, lane, warp -> M, N (and a batch dimension first, for rank 3)
  mlir::Type accumulator;      // element type of the accumulators while they are summed; the result is converted
  DotOperand a, b;
};

// Never fails: the last rows of the table (form lanes) take every dot. `warps`: those that execute the operation.
DotPlan plan_dot(tt::DotOp dot, const Capability &capability, int warps, const AxisInfoAnalysis &axis_info);

// Whether the product's unit reads shared memory itself, beside the lanes.
inline bool is_beside_lanes(tile::MmaOp product, const Capability &capability) {
  const MatrixUnit *unit = capability.unit(product.getUnit());
  return unit && unit->form == MatrixUnit::Form::memory;
}

}  // namespace teeny::compiler::gpu
