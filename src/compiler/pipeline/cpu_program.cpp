#include "compiler/pipeline/cpu_program.hpp"

#include <chrono>
#include <memory>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/codegen/codegen.hpp"
#include "compiler/cpu/cpu.hpp"
#include "compiler/pipeline/link.hpp"

namespace teeny::compiler {

CpuProgram build_cpu_program(mlir::ModuleOp module, const std::string& target, const teeny_compile_options& options,
                             bool want_llvm, bool want_assembly) {
  CpuProgram program;
  auto timed = [&](const char* name, auto&& work) {
    auto start = std::chrono::steady_clock::now();
    work();
    program.phases.emplace_back(
        name, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  };
  cpu::CpuTarget cpu_target = cpu::parse_target(target);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> code;
  cpu::CpuMetadata metadata;
  timed("target", [&] { machine = cpu::make_target_machine(cpu_target); });
  cpu::CpuOptions cpu_options{options.reproducible != 0, options.contract != 0, options.debug_info != 0};
  timed("emit", [&] { code = cpu::emit(module, cpu_target, cpu_options, context, metadata); });
  timed("optimise", [&] { optimise(*code, *machine); });
  if (want_llvm) program.llvm_text = text_of(*code);
  if (want_assembly)
    program.assembly = generate(*llvm::CloneModule(*code), *machine, llvm::CodeGenFileType::AssemblyFile).str().str();
  std::vector<std::uint8_t> object;
  timed("machine_code", [&] {
    auto bytes = generate(*code, *machine, llvm::CodeGenFileType::ObjectFile);
    object.assign(bytes.begin(), bytes.end());
  });
  timed("link", [&] { program.shared_object = link_shared_object(object); });
  program.entry = metadata.entry;
  program.arena_bytes = metadata.arena_bytes;
  return program;
}

}  // namespace teeny::compiler
