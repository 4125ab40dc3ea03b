// Layouts of whole blocks that are tiled by a matrix unit's fragments.
#pragma once

#include <span>

#include "compiler/gpu/capability.hpp"

namespace teeny::compiler::gpu {

// How many warps (of a unit of several warps: groups of so many) lie along each dimension of a product; what they exceed
// the block by holds copies.
struct WarpSplit {
  int rows = 1, columns = 1;
};

// Of an M x N block: a warp's fragments adjoin; registers of one fragment come first, then its neighbours along N, then
// along M.
LinearLayout tiled_accumulators(const MatrixUnit &unit, std::span<const std::int64_t> shape, WarpSplit split);

// Of the operand (0: a, M x depth; 1: b, depth x N) that goes with accumulators of that form: registers of one fragment
// first, then fragments along M or N, then along the depth.
LinearLayout tiled_operand(const MatrixUnit &unit, int operand, const LinearLayout &accumulators, std::int64_t depth);

// Which fragment of the operand, in the order of its registers at one step along the depth, goes with fragment `number`
// of accumulators of that form.
int operand_fragment(const MatrixUnit &unit, const LinearLayout &accumulators, int operand, int number);

}  // namespace teeny::compiler::gpu
