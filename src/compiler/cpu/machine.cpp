// Target descriptions and target machines of the CPU code generator.
#include "compiler/cpu/cpu.hpp"

#include <mutex>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>

#include "teeny/error.hpp"

namespace teeny::compiler::cpu {

namespace {

struct Level {
  const char* name;
  const char* triple;
  const char* cpu;
};

constexpr Level levels[] = {
    {"x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2"},
    {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3"},
    {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4"},
    {"aarch64", "aarch64-unknown-linux-gnu", "generic"},
};

// LoopStrengthReduce took half of code generation's time and gains nothing here: addresses are emitted in their final
// form.
void configure_llvm_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC(),
        LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo(), LLVMInitializeAArch64Target(), LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    auto& options = llvm::cl::getRegisteredOptions();
    if (auto found = options.find("disable-lsr"); found != options.end())
      static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
  });
}

}  // namespace

CpuTarget parse_target(llvm::StringRef text) {
  llvm::StringRef rest = text;
  rest.consume_front("cpu:");
  llvm::SmallVector<llvm::StringRef> parts;
  rest.split(parts, '+');
  for (const Level& level : levels) {
    if (parts[0] != level.name) continue;
    configure_llvm_once();
    std::string features;
    for (llvm::StringRef feature : llvm::drop_begin(parts))
      if (!feature.empty()) features += (features.empty() ? "+" : ",+") + feature.str();
    return describe_cpu(level.triple, level.cpu, features);
  }
  std::string known;
  for (const Level& level : levels) known += std::string(known.empty() ? "" : ", ") + "cpu:" + level.name;
  throw Error(ErrorCode::invalid_argument, "target: names a CPU level; got '" + text.str() + "', expected one of " +
                                               known + "\nhelp: add features after it, as in cpu:x86-64-v4+avx512bf16");
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target) {
  configure_llvm_once();
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    throw Error(ErrorCode::unsupported, "target: must be built into LLVM; got " + target.triple + ": " + message +
                                            "\nhelp: use an LLVM with this target");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    throw Error(ErrorCode::unsupported,
                "target: LLVM makes no machine for " + target.triple + " " + target.cpu + "\nhelp: name another level");
  return machine;
}

}  // namespace teeny::compiler::cpu
