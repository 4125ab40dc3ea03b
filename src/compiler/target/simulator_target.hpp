// Targets whose programs the simulator runs: "simulator:cuda:sm_90a", "simulator:cuda:sm_90a:lanes=8".
#pragma once

#include "compiler/target/gpu_target.hpp"

namespace teeny::compiler::simulator {

inline constexpr std::string_view target_prefix = "simulator:";

// Attribute of a program's module: the text of its target.
inline constexpr llvm::StringLiteral target_attribute = "thread.target";

// From the text behind the prefix. Throws teeny::Error (invalid_argument).
std::unique_ptr<GpuTarget> make_target(std::string_view text);

}  // namespace teeny::compiler::simulator
