#include "compiler/codegen/codegen.hpp"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/PassInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <teeny/error.hpp>

namespace teeny::compiler {

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::PromotePass());  // what control flow carries becomes registers
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager loop_passes;
  loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), true));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::DCEPass());
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

namespace {

// Takes a target's pipeline without some of its passes: targets have no other way to leave one out than an option of the
// command line, which would hold for the whole process.
class PassesBut final : public llvm::legacy::PassManager {
 public:
  explicit PassesBut(llvm::ArrayRef<llvm::StringRef> left_out) : left_out_(left_out) {}

  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* info = llvm::Pass::lookupPassInfo(pass->getPassID());
    if (info && llvm::is_contained(left_out_, info->getPassArgument())) {
      delete pass;  // add owns it
      return;
    }
    llvm::legacy::PassManager::add(pass);
  }

 private:
  llvm::ArrayRef<llvm::StringRef> left_out_;
};

}  // namespace

llvm::SmallString<0> generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                              llvm::ArrayRef<llvm::StringRef> left_out) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);  // outlives the pass manager
  {
    PassesBut passes(left_out);
    if (machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
      throw Error(ErrorCode::compile_failed,
                  "compile: LLVM writes no code for " + machine.getTargetTriple().str() + " in this form");
    passes.run(module);
  }
  return bytes;
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace teeny::compiler
