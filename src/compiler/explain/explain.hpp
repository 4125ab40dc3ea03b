// What a compiled kernel consists of, for people: the text that TEENY_DUMP=explain asks for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <mlir/IR/BuiltinOps.h>

#include "compiler/explain/report.hpp"
#include "compiler/gpu/gpu.hpp"
#include "compiler/target/gpu_target.hpp"
#include "support/compiler_abi.h"

namespace teeny::compiler::explain {

// The word of a dump list that asks: "explain", with options behind semicolons: "explain;json;grid=64:2;trips=128;names=x:y:n".
struct Request {
  bool json = false;
  std::array<std::int64_t, 3> grid{0, 0, 0};
  std::vector<std::int64_t> turns;   // of the loops, in order
  std::vector<std::string> names;    // of the kernel's arguments
};
// Throws teeny::Error (invalid_argument) for an option that is none.
std::optional<Request> request_of(std::string_view dump);

// Follows the lowering of one kernel for a GPU.
class Explainer {
 public:
  Explainer(Request request, std::string kernel, const gpu::Capability& capability, const teeny_compile_options& options,
            std::span<const teeny_fact> facts);
  // After a stage of gpu::lower.
  void note(llvm::StringRef stage, mlir::ModuleOp module);
  // Of the finished program. Throws teeny::Error (invalid_argument) where turns are given for another number of loops.
  std::string finish(const GpuProgram& program);

 private:
  void note_memory(mlir::ModuleOp module);

  const Request request_;
  const gpu::Capability& capability_;
  const teeny_compile_options options_;
  Report report_;
};

// Of a program for a CPU.
std::string explain_cpu(const Request& request, const std::string& kernel, const std::string& target,
                        std::uint64_t arena_bytes, std::size_t program_bytes, std::span<const teeny_fact> facts);

}  // namespace teeny::compiler::explain
