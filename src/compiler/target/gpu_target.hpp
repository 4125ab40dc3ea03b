// What a GPU target adds to the shared lowering: its capability, and bytes from the thread dialect.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include "compiler/dialect/thread/thread.hpp"
#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler {

struct GpuProgram {
  std::vector<std::uint8_t> bytes;                 // PTX text, SPIR-V, code object, …
  std::string target;                              // the least that runs it: "cuda:sm_80"
  std::string format_version;                      // "7.0" for PTX; empty where there is none
  bool argument_block = false;                     // arguments stand in a buffer, whose address is what is passed
  std::vector<std::pair<std::string, double>> phases;   // milliseconds
  std::string llvm_text, assembly;                 // where they were asked for

  // The result of a phase of the work, whose time is noted.
  template <class Work>
  auto timed(const char* phase, Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    phases.emplace_back(phase, spent.count());
    return result;
  }
};

// Whether the kernel tells the host something: the address of a buffer for it stands behind its arguments.
inline bool has_messages(mlir::func::FuncOp kernel) {
  return kernel.walk([](thread::MessageOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

class GpuTarget {
 public:
  virtual ~GpuTarget() = default;
  virtual const gpu::Capability &capability() const = 0;
  // From one func.func of the thread dialect in `module`. Throws teeny::Error.
  virtual GpuProgram finish(mlir::ModuleOp module, mlir::func::FuncOp kernel, const gpu::GpuOptions &options,
                            bool want_llvm, bool want_assembly) const = 0;
};

// The target of a text ("cuda:sm_90a"), or null where its kind is no GPU's. Throws teeny::Error for an
// architecture that its kind does not have.
std::unique_ptr<GpuTarget> make_gpu_target(std::string_view target);

}  // namespace teeny::compiler
