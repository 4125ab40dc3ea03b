// emit(): the module around one function.
#include <llvm/TargetParser/Triple.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/cpu/emitter.hpp"
#include "compiler/cpu/prepare.hpp"
#include "teeny/error.hpp"

namespace teeny::compiler::cpu {

std::unique_ptr<llvm::Module> emit(mlir::ModuleOp module, const CpuTarget& target, const CpuOptions& options,
                                   llvm::LLVMContext& context, CpuMetadata& out) {
  tt::FuncOp kernel;
  for (auto function : module.getOps<tt::FuncOp>())
    if (function.isPublic()) kernel = function;
  if (!kernel)
    throw Error(ErrorCode::invalid_kernel, "module: holds one public tt.func; got none\nhelp: mark the kernel public");
  auto result = std::make_unique<llvm::Module>(kernel.getName(), context);
  result->setTargetTriple(llvm::Triple(target.triple));
  result->setDataLayout(make_target_machine(target)->createDataLayout());
  lower_descriptors(kernel);
  carry_numbers(kernel);
  Emitter emitter(kernel, target, options, *result);
  out = emitter.run();
  return result;
}

}  // namespace teeny::compiler::cpu
