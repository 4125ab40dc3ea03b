// NVIDIA's GPUs: the thread dialect to PTX through LLVM.
#pragma once

#include <memory>
#include <string>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/target/gpu_target.hpp"

namespace teeny::compiler::cuda {

// One architecture: "sm_90a" is 9.0 with the instructions that only it has.
struct Architecture {
  std::string name;           // LLVM's and ptxas's: "sm_90a"
  int number = 0;             // 90
  int ptx = 0;                // the lowest version of PTX that knows it: 80 is 8.0
  std::int64_t shared_bytes;  // that one program may use
  bool wgmma = false;         // matrix units that read shared memory, beside the warps
};

// Throws teeny::Error (invalid_argument) that lists the architectures known.
const Architecture& architecture_of(std::string_view name);
std::unique_ptr<GpuTarget> make_target(const Architecture& architecture);
gpu::Capability capability_of(const Architecture& architecture);
std::vector<gpu::MatrixUnit> matrix_units(const Architecture& architecture);  // mma.sync's rows

// LLVM IR of a kernel: one function of the kernel calling convention. Throws teeny::Error (unsupported) for an operation
// that the architecture has no way to run.
std::unique_ptr<llvm::Module> emit_llvm(mlir::func::FuncOp kernel, const Architecture& architecture,
                                        const gpu::Capability& capability, const gpu::GpuOptions& options,
                                        llvm::LLVMContext& context);
// `ptx`: the version of PTX to write, 80 for 8.0.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Architecture& architecture, int ptx,
                                                         const gpu::GpuOptions& options);

}  // namespace teeny::compiler::cuda
