// tile.mma by the form of its unit.
#pragma once

#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {

// Operands in memory (tile.mem), sums in registers; any types.
void emit_lanes_product(Emitter &emitter, tile::MmaOp product);
// Fragments from memory or from tensors in the unit's operand layout.
void emit_fragments_product(Emitter &emitter, tile::MmaOp product, const MatrixUnit &unit);
// Operands from swizzled memory, a also from a tensor in the unit's operand layout; `async`: the products run on.
void emit_memory_product(Emitter &emitter, tile::MmaOp product, const MatrixUnit &unit);

}  // namespace teeny::compiler::gpu
