#include "dot_harness.hpp"

#include <chrono>
#include <stdexcept>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/cpu/dot_emit.hpp"

namespace teeny::test {

using namespace teeny::compiler::cpu;

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

llvm::Function* add_function(llvm::Module& module, const DotPlan& plan, const char* name, llvm::ArrayRef<llvm::Type*> types) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), types, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr("target-cpu", plan.target.cpu);
  function->addFnAttr("target-features", plan.target.features);
  function->addFnAttr("prefer-vector-width", std::to_string(plan.target.vector_bytes * 8));
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  return function;
}

void add_pack(llvm::Module& module, const DotPlan& plan, bool is_a, DotInner inner) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* size = llvm::Type::getInt64Ty(context);
  llvm::Function* function = add_function(module, plan, is_a ? "pack_a" : "pack_b", {pointer, pointer, size, size, size});
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Type* element = element_type(context, is_a ? plan.shape.a : plan.shape.b);
  llvm::Value *block = function->getArg(1), *pitch = function->getArg(2);
  llvm::Value *other_bound = function->getArg(3), *k_bound = function->getArg(4);
  const auto elements = [&](llvm::IRBuilderBase& at, llvm::Value* row, llvm::Value* column, unsigned lanes, unsigned valid) {
    llvm::Value *other = is_a ? row : column, *k = is_a ? column : row;
    const bool along_k = inner == DotInner::k;
    llvm::Value *line = along_k ? other : k, *first = along_k ? k : other;
    llvm::Value* line_in = at.CreateICmpSLT(line, along_k ? other_bound : k_bound);
    llvm::Value* left = at.CreateSub(along_k ? k_bound : other_bound, first);
    left = at.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, at.getInt64(valid));
    left = at.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, at.getInt64(0));
    left = at.CreateSelect(line_in, left, at.getInt64(0));
    auto* mask_type = llvm::FixedVectorType::get(at.getInt1Ty(), lanes);
    llvm::Value* mask = at.CreateIntrinsic(llvm::Intrinsic::get_active_lane_mask, {mask_type, at.getInt64Ty()}, {at.getInt64(0), left});
    auto* type = llvm::FixedVectorType::get(at.getIntNTy(element->getPrimitiveSizeInBits()), lanes);
    llvm::Value* address = at.CreateGEP(element, block, at.CreateAdd(at.CreateMul(line, pitch), first));
    llvm::Value* bits = at.CreateMaskedLoad(type, address, llvm::Align(element->getPrimitiveSizeInBits() / 8), mask,
                                            llvm::Constant::getNullValue(type));
    return at.CreateBitCast(bits, llvm::FixedVectorType::get(element, lanes));
  };
  llvm::Value* other_used = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, other_bound, builder.getInt64(is_a ? plan.shape.m : plan.shape.n));
  llvm::Value* k_used = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k_bound, builder.getInt64(plan.shape.k));
  (is_a ? emit_pack_a : emit_pack_b)(builder, plan, function->getArg(0), inner, elements, other_used, k_used);
  builder.CreateRetVoid();
}

DotPlan add_all(llvm::Module& module, const DotShape& shape, const CpuTarget& target, DotInner a_inner, DotInner b_inner) {
  llvm::Expected<DotKernel> kernel = make_dot_kernel(module, shape, target);
  if (!kernel) fail(llvm::toString(kernel.takeError()));
  add_pack(module, kernel->plan, true, a_inner);
  add_pack(module, kernel->plan, false, b_inner);
  llvm::SmallVector<llvm::Type*, 8> types(kernel->function->getFunctionType()->params());
  llvm::Function* multiply = add_function(module, kernel->plan, "multiply", types);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "entry", multiply));
  llvm::SmallVector<llvm::Value*, 8> arguments;
  for (llvm::Argument& argument : multiply->args()) arguments.push_back(&argument);
  builder.CreateCall(kernel->function, arguments);
  builder.CreateRetVoid();
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream)) fail(message);
  return kernel->plan;
}

std::unique_ptr<llvm::TargetMachine> machine_of(const CpuTarget& target) {
  std::string error;
  const llvm::Triple triple(target.triple);
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) fail(error);
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, target.features, llvm::TargetOptions(),
                                                                         llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
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
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

}  // namespace

DotProgram::~DotProgram() = default;

DotProgram::DotProgram(const DotShape& shape, const CpuTarget& target, DotInner a_inner, DotInner b_inner) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("dot", *context);
  plan = add_all(*module, shape, target, a_inner, b_inner);
  const auto machine = machine_of(target);
  const double start = seconds();
  optimise(*module, *machine);
  const double optimised = seconds();
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(target.triple)};
  builder.setCPU(target.cpu);
  builder.addFeatures(llvm::SubtargetFeatures(target.features).getFeatures());
  auto engine = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create();
  if (!engine) fail(llvm::toString(engine.takeError()));
  engine_ = std::move(*engine);
  if (auto error = engine_->addIRModule({std::move(module), std::move(context)})) fail(llvm::toString(std::move(error)));
  const auto find = [&](const char* name) {
    auto symbol = engine_->lookup(name);
    if (!symbol) fail(llvm::toString(symbol.takeError()));
    return *symbol;
  };
  multiply = find("multiply").toPtr<Multiply>();
  pack_a = find("pack_a").toPtr<Pack>();
  pack_b = find("pack_b").toPtr<Pack>();
  optimise_seconds = optimised - start;
  code_seconds = seconds() - optimised;
}

std::string dot_assembly(const DotShape& shape, const CpuTarget& target) {
  llvm::LLVMContext context;
  llvm::Module module("dot", context);
  add_all(module, shape, target, DotInner::k, DotInner::other);
  const auto machine = machine_of(target);
  optimise(module, *machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) fail("no assembly for " + target.triple);
  passes.run(module);
  return text.str().str();
}

}  // namespace teeny::test
