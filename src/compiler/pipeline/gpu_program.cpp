#include "compiler/pipeline/gpu_program.hpp"

#include <chrono>

#include <teeny/error.hpp>

namespace teeny::compiler {

namespace {

// Kernels are named as C++ spells them; assemblers take letters, digits and '_'.
std::string symbol_of(llvm::StringRef name) {
  std::string symbol = name.str();
  for (char& c : symbol)
    if (!llvm::isAlnum(c)) c = '_';
  return symbol.empty() || llvm::isDigit(symbol[0]) ? "_" + symbol : symbol;
}

}  // namespace

std::optional<GpuProgram> build_gpu_program(mlir::ModuleOp module, const GpuTarget& target, const teeny_compile_options& options,
                             const std::function<void(llvm::StringRef stage)>& dump, bool want_llvm,
                             bool want_assembly, nlohmann::json& details) {
  const gpu::GpuOptions gpu_options{.warps = options.warps,
                                    .stages = options.stages,
                                    .max_registers = options.max_registers,
                                    .reproducible = options.reproducible != 0,
                                    .contract = options.contract != 0,
                                    .debug_info = options.debug_info != 0};
  const auto start = std::chrono::steady_clock::now();
  mlir::func::FuncOp kernel = gpu::lower(module, target.capability(), gpu_options, dump);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  if (!kernel) return std::nullopt;
  kernel.setName(symbol_of(kernel.getName()));
  GpuProgram program = target.finish(module, kernel, gpu_options, want_llvm, want_assembly);
  program.phases.insert(program.phases.begin(), {"lower", spent.count()});
  const auto number = [&](llvm::StringRef name, std::int64_t otherwise) {
    auto attribute = kernel->getAttrOfType<mlir::IntegerAttr>(name);
    return attribute ? attribute.getInt() : otherwise;
  };
  details["entry"] = kernel.getName().str();
  details["threads"] = number(thread::warps_attribute, 1) * number(thread::lanes_attribute, 1);
  details["shared_bytes"] = number(thread::shared_bytes_attribute, 0);
  details["messages"] = false;
  details["target"] = program.target;
  if (!program.format_version.empty()) details["ptx"] = program.format_version;
  return program;
}

}  // namespace teeny::compiler
