// A GPU's program from a prepared module.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <mlir/IR/BuiltinOps.h>
#include <nlohmann/json.hpp>

#include "compiler/target/gpu_target.hpp"
#include "support/compiler_abi.h"

namespace teeny::compiler {

// Lowers the module's kernel for `target`. `dump` is told what stands after each stage; with `verify` each stage is held to
// its form. `details` receives the metadata of gpu_program_abi.h. Nothing, after a located diagnostic, for what no GPU of
// this kind can run. Throws teeny::Error.
std::optional<GpuProgram> build_gpu_program(mlir::ModuleOp module, const GpuTarget& target, const teeny_compile_options& options,
                             const std::function<void(llvm::StringRef stage)>& dump, bool want_llvm,
                             bool want_assembly, bool verify, nlohmann::json& details);

}  // namespace teeny::compiler
