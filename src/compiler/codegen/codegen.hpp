// From an LLVM module to bytes, the same for every target that LLVM generates code for.
#pragma once

#include <string>

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace teeny::compiler {

// The passes worth their time on the modules that teeny emits; code generation follows with the same machine.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

// An object or assembly. `left_out`: passes of the target's own pipeline that do not run, by LLVM's short names. Throws
// teeny::Error (compile_failed) where the target writes no such thing.
llvm::SmallString<0> generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                              llvm::ArrayRef<llvm::StringRef> left_out = {});

// LLVM's text.
std::string text_of(const llvm::Module& module);

}  // namespace teeny::compiler
