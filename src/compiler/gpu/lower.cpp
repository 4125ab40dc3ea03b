// The stages of gpu.hpp in order.
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

tt::FuncOp kernel_of(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    if (function.isPublic() && !function.isExternal()) return function;
  return {};
}

LogicalResult clean(ModuleOp module) {
  PassManager manager(module->getContext());
  manager.enableVerifier(false);
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  return manager.run(module);
}

}  // namespace

func::FuncOp lower(ModuleOp module, const Capability& capability, const GpuOptions& options,
                   llvm::function_ref<void(llvm::StringRef)> after) {
  const auto done = [&](llvm::StringRef stage) {
    if (after) after(stage);
  };
  tt::FuncOp function = kernel_of(module);
  const auto holds = [&](Form form) { return !options.verify || succeeded(verify_form(function, form, capability)); };
  if (failed(prepare(function, capability, options)) || failed(clean(module))) return {};
  if (failed(assign_layouts(function, capability, options)) || failed(clean(module))) return {};
  done("tile");
  if (!holds(Form::laid_out)) return {};
  if (failed(pipeline_loops(function, capability, options)) || failed(clean(module))) return {};
  done("staged");
  if (!holds(Form::staged)) return {};
  if (failed(allocate_shared(function, capability)) || failed(insert_barriers(function, capability))) return {};
  done("synchronised");
  if (!holds(Form::synchronised)) return {};
  func::FuncOp kernel = to_thread(function, capability, options);
  if (!kernel || failed(clean(module))) return {};
  done("thread");
  return kernel;
}

}  // namespace teeny::compiler::gpu
