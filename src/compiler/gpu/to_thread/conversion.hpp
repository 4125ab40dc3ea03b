// How a tensor changes its layout.
#pragma once

#include <optional>
#include <vector>

#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

// For each register of `to` the register of `from` in the same thread that holds its element; nothing where some
// element stands in another thread.
std::optional<std::vector<int>> same_thread_registers(const LinearLayout& from, const LinearLayout& to);

}  // namespace teeny::compiler::gpu
