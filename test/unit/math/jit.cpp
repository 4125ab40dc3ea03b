#include "jit.hpp"

#include <set>

#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/TargetSelect.h>
#include <mlir/Conversion/Passes.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Export.h>

namespace teeny::test {

struct Jit::Implementation {
  std::unique_ptr<llvm::orc::LLJIT> engine;
};

Jit::~Jit() = default;

static std::string replace_word(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

static std::string module_text(const std::string& in, const std::string& out, std::string body, bool vectors,
                               int operands) {
  auto shaped = [&](const std::string& type) {
    return vectors ? "vector<" + std::to_string(Jit::lanes) + "x" + type + ">" : type;
  };
  std::string in_type = shaped(in), out_type = shaped(out);
  body = replace_word(replace_word(body, "OUT", out_type), "IN", in_type);
  std::string second = operands < 2 ? ""
                                    : "      %q = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, " + in +
                                          "\n"
                                          "      %x2 = llvm.load %q {alignment = 1} : !llvm.ptr -> " +
                                          in_type + "\n";
  return "func.func @evaluate(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr, %n: i64) {\n"
         "  %zero = arith.constant 0 : i64\n  %step = arith.constant " +
         std::to_string(vectors ? Jit::lanes : 1) +
         " : i64\n"
         "  scf.for %i = %zero to %n step %step : i64 {\n"
         "      %p = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, " +
         in +
         "\n"
         "      %x = llvm.load %p {alignment = 1} : !llvm.ptr -> " +
         in_type + "\n" + second + body +
         "\n"
         "      %r = llvm.getelementptr %c[%i] : (!llvm.ptr, i64) -> !llvm.ptr, " +
         out +
         "\n"
         "      llvm.store %y, %r {alignment = 1} : " +
         out_type + ", !llvm.ptr\n  }\n  return\n}\n";
}

static std::string math_names(mlir::ModuleOp module) {
  std::set<std::string> names;
  module.walk([&](mlir::Operation* op) {
    if (op->getName().getDialectNamespace() == "math") names.insert(op->getName().getStringRef().str());
  });
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

Jit::Jit(const std::string& in, const std::string& out, const std::string& body, bool vectors, int operands,
         const std::function<mlir::LogicalResult(mlir::ModuleOp)>& transform)
    : implementation_(std::make_unique<Implementation>()) {
  compile(module_text(in, out, body, vectors, operands), transform);
}

void Jit::compile(const std::string& text, const std::function<mlir::LogicalResult(mlir::ModuleOp)>& transform) {
  static const bool initialized = !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  ASSERT_TRUE(initialized);
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  ASSERT_TRUE(succeeded(transform(*module))) << text;
  ASSERT_TRUE(succeeded(mlir::verify(*module))) << text;
  remaining_math_ = math_names(*module);
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  auto llvm_context = std::make_unique<llvm::LLVMContext>();
  auto translated = mlir::translateModuleToLLVMIR(*module, *llvm_context);
  ASSERT_TRUE(translated);
  auto machine = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  implementation_->engine = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create());
  auto& engine = *implementation_->engine;
  translated->setDataLayout(engine.getDataLayout());
  translated->setTargetTriple(engine.getTargetTriple());
  llvm::cantFail(engine.addIRModule(llvm::orc::ThreadSafeModule(std::move(translated), std::move(llvm_context))));
  function_ =
      llvm::cantFail(engine.lookup("evaluate")).toPtr<void (*)(const void*, const void*, void*, std::int64_t)>();
}

void Jit::run(const void* x, const void* x2, void* y, std::int64_t count) const { function_(x, x2, y, count); }

}  // namespace teeny::test
