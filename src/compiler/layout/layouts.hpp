// The layouts that code generation starts from: tensors spread over a program's lanes, fragments of matrix units, and
// arrangements of shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "compiler/layout/linear_layout.hpp"

namespace teeny::compiler {

// A tensor of `shape` over registers, lanes and warps, dimension order[0] fastest: a thread holds `size_per_thread`
// neighbours, threads then warps fill the block, which repeats (more registers) where the tensor is larger, and
// broadcasts where it is smaller. All numbers are powers of two. Inputs: register, lane, warp; outputs: dim0, dim1, …
LinearLayout blocked_layout(std::span<const std::int64_t> shape, std::span<const unsigned> size_per_thread,
                            std::span<const unsigned> lanes_per_warp, std::span<const unsigned> warps,
                            std::span<const unsigned> order);

// Dimension `dimension` of a layout left out: where the results of a reduction along it stand. Outputs above it are
// renumbered; registers that now repeat another are dropped.
LinearLayout slice_layout(const LinearLayout& layout, unsigned dimension);
// The layout `sliced` with a dimension of size 1 put in.
LinearLayout expand_layout(const LinearLayout& sliced, unsigned dimension);
// Dimensions in another order: result dimension d is source dimension order[d].
LinearLayout transpose_layout(const LinearLayout& layout, std::span<const std::int32_t> order);
// The row-major reinterpretation as another shape.
LinearLayout reshape_layout(const LinearLayout& layout, std::span<const std::int64_t> shape);
// Repeats (by registers) or cuts the tile of `layout` to `shape`: a unit's fragment over a whole tensor.
LinearLayout tile_to_shape(const LinearLayout& tile, std::span<const std::int64_t> shape,
                           std::span<const unsigned> order);

// One fragment of a matrix unit, for one warp of 32 lanes: inputs register, lane; outputs dim0, dim1.
// The layouts of NVIDIA's mma.sync m16n8kK (PTX ISA, "Matrix fragments for mma"): operands of `bits` bits; K = 256/bits
// elements (m16n8k16 of f16, m16n8k8 of tf32, m16n8k32 of 8-bit types) or half of that where `half_k`.
LinearLayout mma_sync_accumulator();                                    // 16 x 8, 4 registers
LinearLayout mma_sync_a(unsigned bits, bool half_k = false);            // 16 x K
LinearLayout mma_sync_b(unsigned bits, bool half_k = false);            // K x 8
// wgmma's m64nN accumulator over the 4 warps of a group: register, lane, warp -> 64 x n (PTX ISA, "Register fragments
// for wgmma"), and its A operand from registers, 64 x 256/bits.
LinearLayout wgmma_accumulator(unsigned n);
LinearLayout wgmma_a(unsigned bits);

// Arrangements of a tensor in shared memory: offset (in elements) -> dim0, dim1, … A bijection.
// Rows of dimension order[0]; groups of `vector` elements are exchanged by xor with (row / per_phase) % max_phase.
LinearLayout swizzled_shared_layout(std::span<const std::int64_t> shape, std::span<const unsigned> order,
                                    unsigned vector, unsigned per_phase, unsigned max_phase);
// The hardware's swizzles of rows of `swizzle_bytes` = 0, 32, 64 or 128 bytes (16-byte groups, xor with the row within
// eight), tiles of which follow each other along dimension order[0].
LinearLayout hardware_swizzled_layout(std::span<const std::int64_t> shape, std::span<const unsigned> order,
                                      unsigned element_bytes, unsigned swizzle_bytes);

// How a conversion between two distributed layouts of one tensor goes through shared memory: an arrangement
// (offset -> dims) in which accesses of `vector` elements by one warp hit as few banks twice as possible for both.
struct ExchangePlan {
  LinearLayout shared;
  unsigned store_vector = 1;  // elements per access, by the source's registers
  unsigned load_vector = 1;   // by the target's
  int store_conflicts = 1;    // worst number of accesses to one bank by the lanes of one wavefront
  int load_conflicts = 1;
};
ExchangePlan plan_exchange(const LinearLayout& from, const LinearLayout& to, unsigned element_bytes,
                           unsigned banks = 32, unsigned bank_bytes = 4, unsigned max_vector_bytes = 16);

// The worst number of different words of one bank that one wavefront (the lanes whose accesses of `vector` elements
// make up banks * bank_bytes) asks for, when registers [r, r + vector) of every lane are read or written at once in
// the arrangement `shared`. 1: no conflict.
int bank_conflicts(const LinearLayout& registers, const LinearLayout& shared, unsigned vector, unsigned element_bytes,
                   unsigned banks = 32, unsigned bank_bytes = 4);

}  // namespace teeny::compiler
