// Puts every tensor into its home and brings operands to the layouts that their users need.
#pragma once

#include "compiler/gpu/assign/homes.hpp"

namespace teeny::compiler::gpu {

// After it every tensor type of the function has a #tile.dist, and tile.mma stands for tt.dot.
void rewrite_to_homes(tt::FuncOp function, Homes &homes);

}  // namespace teeny::compiler::gpu
