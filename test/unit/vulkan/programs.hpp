// Asking spirv-val whether it takes what is compiled for Vulkan's devices.
#pragma once

#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include <teeny/tl.hpp>

#include "compiled_kernels.hpp"

namespace teeny::compiler {

inline bool has_spirv_val() { return std::system("command -v spirv-val >/dev/null 2>&1") == 0; }

// What spirv-val says of a program that it does not take; empty: it does.
inline std::string validate(const CompileOutput& output) {
  const Said said = said_of(output, ".spv", "spirv-val --target-env vulkan1.3 ", "");
  if (!said.started) return "spirv-val could not be started";
  return said.ok ? "" : said.text.empty() ? "spirv-val failed" : said.text;
}

}  // namespace teeny::compiler
