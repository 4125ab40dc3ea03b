// A prepared tt module → a shared object for a CPU: emission, optimisation, machine code, link.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mlir/IR/BuiltinOps.h>

#include "support/compiler_abi.h"

namespace teeny::compiler {

struct CpuProgram {
  std::vector<std::uint8_t> shared_object;  // exports `entry`, see support/cpu_program_abi.h
  std::string entry;
  std::uint64_t arena_bytes = 0;            // per worker thread
  std::string llvm_text, assembly;          // where asked for
  std::vector<std::pair<std::string, double>> phases;  // name, milliseconds
};

// `target` is "cpu:x86-64-v4+avx512bf16", …; "cpu" alone is an error. Throws teeny::Error.
CpuProgram build_cpu_program(mlir::ModuleOp module, const std::string& target, const teeny_compile_options& options,
                             bool want_llvm, bool want_assembly);

}  // namespace teeny::compiler
