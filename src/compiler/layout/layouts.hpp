// The layouts that code generation starts from: tensors spread over the lanes of a program.
#pragma once

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
// Registers whose image depends on that of lower ones dropped: no thread holds an element twice.
LinearLayout drop_repeated_registers(const LinearLayout& layout);

// Of a rows x columns block in shared memory (offset -> dim0, dim1), as hardware that swizzles 32, 64 or 128 bytes reads it:
// panels of `swizzle` bytes along the dimension `fast`, in each of them row after row of the other one, and of a byte's
// place the bits 4 … xored with bits 7 …, as many as a row has groups of 16 bytes (PTX ISA, "Shared memory matrix layout").
// The fast dimension has at least `swizzle` bytes.
LinearLayout swizzled_panels(std::span<const std::int64_t> shape, unsigned fast, std::int32_t element_bytes,
                             std::int32_t swizzle);

}  // namespace teeny::compiler
