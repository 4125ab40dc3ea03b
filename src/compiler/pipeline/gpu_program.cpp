#include "compiler/pipeline/gpu_program.hpp"

#include <chrono>

#include <teeny/error.hpp>

#include "compiler/import/element_dtype.hpp"
#include "compiler/import/operation_number.hpp"

namespace teeny::compiler {

namespace {

// Kernels are named as C++ spells them; assemblers take letters, digits and '_'.
std::string symbol_of(llvm::StringRef name) {
  std::string symbol = name.str();
  for (char& c : symbol)
    if (!llvm::isAlnum(c)) c = '_';
  return symbol.empty() || llvm::isDigit(symbol[0]) ? "_" + symbol : symbol;
}

// Numbers the operations that tell the host something, and says what their messages mean.
void number_messages(mlir::ModuleOp module, nlohmann::json& details) {
  auto prints = nlohmann::json::array(), asserts = nlohmann::json::array();
  std::uint32_t next = 0;
  module.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* operation) {
    const std::uint32_t number = operation_number(operation->getLoc()).value_or(next);
    ++next;
    auto print = mlir::dyn_cast<tt::PrintOp>(operation);
    auto check = mlir::dyn_cast<tt::AssertOp>(operation);
    if (!print && !check) return;
    operation->setAttr(gpu::message_site_attribute, mlir::Builder(operation->getContext()).getI32IntegerAttr(number));
    if (check) {
      asserts.push_back({{"operation", number}, {"message", check.getMessage().str()}});
      return;
    }
    for (auto [operand, value] : llvm::enumerate(print.getArgs()))
      prints.push_back({{"operation", number}, {"operand", operand}, {"prefix", print.getPrefix().str()}, {"hex", print.getHex()},
                        {"dtype", int(dtype_of(tt::element_type(value.getType()), print.is_signed(operand)))}});
  });
  details["messages"] = !prints.empty() || !asserts.empty();
  if (!prints.empty()) details["prints"] = std::move(prints);
  if (!asserts.empty()) details["asserts"] = std::move(asserts);
}

}  // namespace

std::optional<GpuProgram> build_gpu_program(mlir::ModuleOp module, const GpuTarget& target, const teeny_compile_options& options,
                             const std::function<void(llvm::StringRef stage)>& dump, bool want_llvm,
                             bool want_assembly, bool verify, nlohmann::json& details) {
  const gpu::GpuOptions gpu_options{.warps = options.warps,
                                    .stages = options.stages,
                                    .max_registers = options.max_registers,
                                    .reproducible = options.reproducible != 0,
                                    .contract = options.contract != 0,
                                    .approximate = options.approximate != 0,
                                    .debug_info = options.debug_info != 0,
                                    .verify = verify};
  number_messages(module, details);
  const auto start = std::chrono::steady_clock::now();
  mlir::func::FuncOp kernel = gpu::lower(module, target.capability(), gpu_options, dump);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  if (!kernel) return std::nullopt;
  kernel.setName(symbol_of(kernel.getName()));
  std::int64_t operations = 0;
  kernel.walk([&](mlir::Operation*) { ++operations; });
  details["operations"] = operations;  // of the thread dialect: what the back end's time follows
  GpuProgram program = target.finish(module, kernel, gpu_options, want_llvm, want_assembly);
  program.phases.insert(program.phases.begin(), {"lower", spent.count()});
  const auto number = [&](llvm::StringRef name, std::int64_t otherwise) {
    auto attribute = kernel->getAttrOfType<mlir::IntegerAttr>(name);
    return attribute ? attribute.getInt() : otherwise;
  };
  details["entry"] = kernel.getName().str();
  details["threads"] = number(thread::warps_attribute, 1) * number(thread::lanes_attribute, 1);
  details["lanes"] = number(thread::lanes_attribute, 1);
  details["shared_bytes"] = number(thread::shared_bytes_attribute, 0);
  details["target"] = program.target;
  if (program.argument_block) details["argument_block"] = true;
  if (!program.format_version.empty()) details["ptx"] = program.format_version;
  return program;
}

}  // namespace teeny::compiler
