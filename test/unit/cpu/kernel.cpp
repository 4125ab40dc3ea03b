#include "kernel.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "compiler/codegen/codegen.hpp"
#include "compiler/dialect/tt/tt.hpp"
#include "compiler/transforms/expand_math.hpp"
#include "teeny/dtype.hpp"
#include "teeny/error.hpp"

namespace teeny::compiler::cpu::testing {

struct Kernel::Session {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

namespace {

CpuTarget host_target(const std::string& text) {
  make_target_machine(parse_target("cpu:x86-64-v3"));
  const char* chosen = std::getenv("TEENY_TEST_TARGET");
  if (text.empty() && chosen) return parse_target(chosen);
  return text.empty() ? describe_host_cpu() : parse_target(text);
}

struct Compiled {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  CpuMetadata metadata;
  CpuTarget target;
};

Compiled compile(const std::string& text, const CpuOptions& options, const std::string& target) {
  Compiled result;
  mlir::MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<tt::TTDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                      mlir::cf::ControlFlowDialect, mlir::ub::UBDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  if (!module) throw Error(ErrorCode::invalid_kernel, "text does not parse");
  if (mlir::failed(expand_math(*module, {}))) throw Error(ErrorCode::invalid_kernel, "math does not expand");
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  if (mlir::failed(passes.run(*module))) throw Error(ErrorCode::invalid_kernel, "passes fail");
  result.target = host_target(target);
  result.context = std::make_unique<llvm::LLVMContext>();
  result.module = emit(*module, result.target, options, *result.context, result.metadata);
  return result;
}

// Machine code for a CPU that may be another than this one.
void expect_object(const std::string& text, const CpuOptions& options, const std::string& target) {
  Compiled compiled = compile(text, options, target);
  std::string problems;
  llvm::raw_string_ostream problem_stream(problems);
  EXPECT_FALSE(llvm::verifyModule(*compiled.module, &problem_stream)) << target << ": " << problems;
  auto machine = make_target_machine(compiled.target);
  optimise(*compiled.module, *machine);
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  {
    llvm::legacy::PassManager passes;
    ASSERT_FALSE(machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
    passes.run(*compiled.module);
  }
  EXPECT_GT(object.size(), 0u) << target;
}

template <class T>
std::string numbers(const void* values, std::uint64_t count) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, static_cast<const char*>(values) + i * sizeof value, sizeof value);
    text += " " + std::to_string(value);
  }
  return text;
}

}  // namespace

std::string compile_error(const std::string& text, const CpuOptions& options) {
  try {
    compile(text, options, "");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Kernel::Kernel(const std::string& text, const CpuOptions& options, const std::string& target) {
  try {
    Compiled compiled = compile(text, options, target);
    metadata_ = compiled.metadata;
    std::string problems;
    llvm::raw_string_ostream stream(problems);
    if (llvm::verifyModule(*compiled.module, &stream)) {
      ADD_FAILURE() << problems << "\n" << text_of(*compiled.module);
      return;
    }
    if (target.empty()) expect_object(text, options, "cpu:aarch64");
    auto machine = make_target_machine(compiled.target);
    optimise(*compiled.module, *machine);
    llvm_text_ = text_of(*compiled.module);
    if (std::getenv("TEENY_TEST_PRINT")) llvm::errs() << llvm_text_;
    session_ = std::make_unique<Session>();
    llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(compiled.target.triple)};
    builder.setCPU(compiled.target.cpu).addFeatures({compiled.target.features});
    builder.setRelocationModel(llvm::Reloc::PIC_);
    session_->jit = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
    llvm::cantFail(session_->jit->addIRModule(
        llvm::orc::ThreadSafeModule(std::move(compiled.module), std::move(compiled.context))));
    entry_ = llvm::cantFail(session_->jit->lookup(metadata_.entry)).toPtr<teeny_cpu_entry>();
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

Kernel::~Kernel() = default;

Kernel::Report Kernel::launch(std::vector<std::uint32_t> grid, const std::vector<std::uint64_t>& slots) {
  Report report;
  if (!entry_) return report;
  grid.resize(3, 1);
  // Guard bytes behind the arena show a program that leaves it.
  std::size_t bytes = (metadata_.arena_bytes + 127) / 64 * 64;
  auto* arena = static_cast<unsigned char*>(std::aligned_alloc(64, bytes));
  std::memset(arena, 0xA5, bytes);
  teeny_cpu_context context{};
  context.arena = arena;
  context.host = &report;
  context.assert_failed = [](teeny_cpu_context* self, std::uint32_t operation, const char* message,
                             std::uint64_t program, std::uint64_t lane) {
    auto& out = *static_cast<Report*>(self->host);
    out.message = message, out.operation = operation, out.program = program, out.lane = lane;
    self->stop = 1;
  };
  context.print = [](teeny_cpu_context* self, std::uint32_t, const char* prefix, std::int32_t dtype, const void* values,
                     std::uint64_t count, std::uint64_t) {
    auto& out = *static_cast<Report*>(self->host);
    out.printed += std::string(prefix) + " " + name_of(static_cast<DType>(dtype)) + ":";
    if (dtype == static_cast<int>(DType::i32)) out.printed += numbers<std::int32_t>(values, count);
    if (dtype == static_cast<int>(DType::f32)) out.printed += numbers<float>(values, count);
    if (dtype == static_cast<int>(DType::boolean)) out.printed += numbers<std::uint8_t>(values, count);
    out.printed += ";";
  };
  entry_(slots.data(), grid.data(), 0, std::uint64_t{grid[0]} * grid[1] * grid[2], &context);
  for (std::size_t i = metadata_.arena_bytes; i < bytes; ++i) EXPECT_EQ(arena[i], 0xA5) << "the arena was left";
  std::free(arena);
  return report;
}

}  // namespace teeny::compiler::cpu::testing
