#include "compiler/cpu/cpu_target.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>

namespace teeny::compiler::cpu {

namespace {

void describe_x86(CpuTarget& target, const llvm::MCSubtargetInfo& subtarget) {
  const auto has = [&](const char* feature) { return subtarget.checkFeatures(std::string("+") + feature); };
  const bool wide = has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
  target.x86 = true;
  target.vector_bytes = wide ? 64 : has("avx2") ? 32 : 16;
  target.vector_registers = wide ? 32 : 16;
  target.row_pointers = 8;
  target.fma = has("fma");
  target.masked_memory = wide || has("avx2");
  target.convert_f16 = wide || has("f16c");
  target.convert_bf16 = wide && has("avx512bf16");
  // Sapphire and Emerald Rapids start one vdpbf16ps every other cycle, half the rate of the f32 products that it would
  // replace; only processors known to gain use it. Elsewhere bf16 operands become f32, which is exact for denormals
  // too.
  const bool fast_bf16 = target.cpu == "znver4" || target.cpu == "znver5";
  target.dot_bf16 = target.convert_bf16 && fast_bf16;
  target.dot_u8s8 = wide ? has("avx512vnni") : has("avxvnni");
  target.dot_i16 = target.dot_u8s8;
  target.multiply_add_i16 = has("sse2");
}

void describe_aarch64(CpuTarget& target, const llvm::MCSubtargetInfo& subtarget) {
  target.aarch64 = true;
  target.vector_registers = 32;
  target.row_pointers = 8;
  target.fma = true;
  target.convert_f16 = true;
  target.dot_s8s8 = subtarget.checkFeatures("+dotprod");
}

}  // namespace

CpuTarget describe_cpu(const std::string& triple, const std::string& cpu, const std::string& features) {
  CpuTarget result;
  result.triple = triple;
  result.cpu = cpu;
  result.features = features;
  const llvm::Triple parsed(triple);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!target) return result;
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(parsed, cpu, features));
  if (!subtarget) return result;
  if (parsed.isX86()) describe_x86(result, *subtarget);
  if (parsed.isAArch64()) describe_aarch64(result, *subtarget);
  return result;
}

CpuTarget describe_host_cpu() {
  llvm::SubtargetFeatures features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) features.AddFeature(feature.getKey(), feature.getValue());
  return describe_cpu(llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), features.getString());
}

}  // namespace teeny::compiler::cpu
