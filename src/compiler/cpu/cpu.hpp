// The CPU code generator: one tt function becomes an llvm::Module that exports the entry of support/cpu_program_abi.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <mlir/IR/BuiltinOps.h>

#include "compiler/cpu/cpu_target.hpp"

namespace teeny::compiler::cpu {

struct CpuOptions {
  bool reproducible = false;  // reductions follow the defined tree bit for bit
  bool contract = false;      // a * b + c may be fused
  bool debug_info = false;    // line tables from the operations' locations
  bool converts_to_bf16 = false;  // an instruction rounds f32 to bf16: nearest even, denormals kept
};

struct CpuMetadata {
  std::string entry;              // symbol of type teeny_cpu_entry
  std::uint64_t arena_bytes = 0;  // what a worker's arena must hold, aligned to 64
};

// What a target's text says: "cpu:LEVEL[+feature…]", LEVEL one of x86-64-v2, x86-64-v3, x86-64-v4, aarch64; features
// are LLVM's names: "cpu:x86-64-v4+avx512bf16+avx512vnni". Throws teeny::Error (invalid_argument) that lists the levels
// known.
CpuTarget parse_target(llvm::StringRef text);

// The machine that codegen/codegen.hpp works with. Throws teeny::Error (unsupported).
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target);

// Emits the one public tt.func of `module`, whose calls are inlined and whose math functions are expanded. The module
// is rewritten on the way (descriptors become pointers, loop-carried pointers become offsets) and is of no further use.
// Argument attributes read: teeny.exceeds_cache (unit; the buffer is larger than the cache). Throws teeny::Error
// (unsupported) that names an operation that the CPU cannot run; the location is the operation's.
std::unique_ptr<llvm::Module> emit(mlir::ModuleOp module, const CpuTarget& target, const CpuOptions& options,
                                   llvm::LLVMContext& context, CpuMetadata& out);

}  // namespace teeny::compiler::cpu
