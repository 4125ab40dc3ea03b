#include "dot_harness.hpp"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <chrono>
#include <stdexcept>

#include "compiler/cpu/dot_emit.hpp"

namespace teeny::test {

using namespace teeny::compiler::cpu;

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

llvm::Function* add_function(llvm::Module& module, const DotPlan& plan, const char* name,
                             llvm::ArrayRef<llvm::Type*> types) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), types, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr("target-cpu", plan.target.cpu);
  function->addFnAttr("target-features", plan.target.features);
  function->addFnAttr("prefer-vector-width", std::to_string(plan.target.vector_bytes * 8));
  function->addFnAttr(llvm::Attribute::NoUnwind);
  if (types[0]->isPointerTy()) function->addParamAttr(0, llvm::Attribute::NoAlias);
  return function;
}

void add_pack(llvm::Module& module, const DotPlan& plan, bool is_a, DotInner inner) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* size = llvm::Type::getInt64Ty(context);
  llvm::Function* function =
      add_function(module, plan, is_a ? "pack_a" : "pack_b", {pointer, pointer, size, size, size});
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Type* element = element_type(context, is_a ? plan.shape.a : plan.shape.b);
  llvm::Value *block = function->getArg(1), *pitch = function->getArg(2);
  llvm::Value *other_bound = function->getArg(3), *k_bound = function->getArg(4);
  const bool along_k = inner == DotInner::k;
  const auto address_of = [&](llvm::IRBuilderBase& at, llvm::Value* row, llvm::Value* column) {
    llvm::Value *other = is_a ? row : column, *k = is_a ? column : row;
    return at.CreateGEP(element, block, at.CreateAdd(at.CreateMul(along_k ? other : k, pitch), along_k ? k : other));
  };
  const auto bits_of_lanes = [&](llvm::IRBuilderBase& at, unsigned lanes) {
    return llvm::FixedVectorType::get(at.getIntNTy(element->getPrimitiveSizeInBits()), lanes);
  };
  const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  const auto masked = [&](llvm::IRBuilderBase& at, llvm::Value* row, llvm::Value* column, unsigned lanes,
                          llvm::Value* count) {
    auto* mask_type = llvm::FixedVectorType::get(at.getInt1Ty(), lanes);
    llvm::Value* mask = at.CreateIntrinsic(llvm::Intrinsic::get_active_lane_mask, {mask_type, at.getInt64Ty()},
                                           {at.getInt64(0), count});
    auto* type = bits_of_lanes(at, lanes);
    llvm::Value* bits =
        at.CreateMaskedLoad(type, address_of(at, row, column), align, mask, llvm::Constant::getNullValue(type));
    return at.CreateBitCast(bits, llvm::FixedVectorType::get(element, lanes));
  };
  const auto bounded = [&](llvm::IRBuilderBase& at, llvm::Value* row, llvm::Value* column, unsigned lanes,
                           unsigned valid) {
    llvm::Value *other = is_a ? row : column, *k = is_a ? column : row;
    llvm::Value* line_in = at.CreateICmpSLT(along_k ? other : k, along_k ? other_bound : k_bound);
    llvm::Value* left = at.CreateSub(along_k ? k_bound : other_bound, along_k ? k : other);
    left = at.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, at.getInt64(valid));
    left = at.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, at.getInt64(0));
    return masked(at, row, column, lanes, at.CreateSelect(line_in, left, at.getInt64(0)));
  };
  const auto plain = [&](llvm::IRBuilderBase& at, llvm::Value* row, llvm::Value* column, unsigned lanes,
                         unsigned valid) -> llvm::Value* {
    if (valid < lanes) return masked(at, row, column, lanes, at.getInt64(valid));
    llvm::Value* bits = at.CreateAlignedLoad(bits_of_lanes(at, lanes), address_of(at, row, column), align);
    return at.CreateBitCast(bits, llvm::FixedVectorType::get(element, lanes));
  };
  // A block inside the bounds needs no masks: two loops are cheaper than a mask for every vector.
  llvm::Value* other_extent = builder.getInt64(static_cast<std::uint64_t>(is_a ? plan.shape.m : plan.shape.n));
  llvm::Value* k_extent = builder.getInt64(static_cast<std::uint64_t>(plan.shape.k));
  llvm::Value* inside =
      builder.CreateAnd(builder.CreateICmpSGE(other_bound, other_extent), builder.CreateICmpSGE(k_bound, k_extent));
  auto* interior = llvm::BasicBlock::Create(context, "interior", function);
  auto* edge = llvm::BasicBlock::Create(context, "edge", function);
  builder.CreateCondBr(inside, interior, edge);
  const auto emit = is_a ? emit_pack_a : emit_pack_b;
  builder.SetInsertPoint(interior);
  emit(builder, plan, function->getArg(0), inner, plain, other_extent, k_extent);
  builder.CreateRetVoid();
  builder.SetInsertPoint(edge);
  llvm::Value* other_used = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, other_bound, other_extent);
  llvm::Value* k_used = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k_bound, k_extent);
  emit(builder, plan, function->getArg(0), inner, bounded, other_used, k_used);
  builder.CreateRetVoid();
}

DotPlan add_all(llvm::Module& module, const DotShape& shape, const CpuTarget& target, DotInner a_inner,
                DotInner b_inner) {
  llvm::Expected<DotKernel> kernel = make_dot_kernel(module, shape, target);
  if (!kernel) fail(llvm::toString(kernel.takeError()));
  add_pack(module, kernel->plan, true, a_inner);
  add_pack(module, kernel->plan, false, b_inner);
  llvm::Type* pointer = llvm::PointerType::getUnqual(module.getContext());
  llvm::Type* size = llvm::Type::getInt64Ty(module.getContext());
  const std::array<llvm::Type*, 8> types{pointer, size, pointer, pointer, size, size, size, size};
  llvm::Function* multiply = add_function(module, kernel->plan, "multiply", types);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "entry", multiply));
  const auto argument = [&](unsigned index) { return multiply->getArg(index); };
  emit_multiply(
      builder, *kernel,
      {argument(0), argument(1), argument(2), argument(3), argument(4), argument(5), argument(6), argument(7)});
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
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, target.features,
                                                                         llvm::TargetOptions(), llvm::Reloc::PIC_,
                                                                         std::nullopt, llvm::CodeGenOptLevel::Default));
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

std::unique_ptr<llvm::orc::LLJIT> compile(std::unique_ptr<llvm::Module> module,
                                          std::unique_ptr<llvm::LLVMContext> context, const CpuTarget& target) {
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(target.triple)};
  builder.setCPU(target.cpu);
  builder.addFeatures(llvm::SubtargetFeatures(target.features).getFeatures());
  auto engine = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create();
  if (!engine) fail(llvm::toString(engine.takeError()));
  if (auto error = (*engine)->addIRModule({std::move(module), std::move(context)}))
    fail(llvm::toString(std::move(error)));
  return std::move(*engine);
}

}  // namespace

PeakLoop::~PeakLoop() = default;

PeakLoop::PeakLoop(const DotPlan& plan) {
  constexpr unsigned chains = 12;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("peak", *context);
  llvm::Type* size = llvm::Type::getInt64Ty(*context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(*context);
  llvm::Function* function = add_function(*module, plan, "peak", {size, pointer});
  auto* loop = llvm::BasicBlock::Create(*context, "loop", function);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(*context, "entry", function, loop));
  const auto lanes = static_cast<unsigned>(plan.lanes);
  auto* sums = llvm::FixedVectorType::get(sum_type(*context, plan), lanes);
  llvm::Value* factor = builder.CreateAlignedLoad(llvm::FixedVectorType::get(word_type(*context, plan), lanes),
                                                  function->getArg(1), llvm::Align(1));
  llvm::Value* start = builder.CreateAlignedLoad(sums, function->getArg(1), llvm::Align(1));
  builder.CreateBr(loop);
  llvm::BasicBlock* entry = builder.GetInsertBlock();
  builder.SetInsertPoint(loop);
  llvm::PHINode* step = builder.CreatePHI(size, 2);
  llvm::SmallVector<llvm::PHINode*, chains> carried;
  for (unsigned i = 0; i < chains; ++i) carried.push_back(builder.CreatePHI(sums, 2));
  for (llvm::PHINode* sum : carried) {
    sum->addIncoming(start, entry);
    llvm::Value* next = emit_product(builder, plan, sum, factor, factor);
    // Equal chains would be computed once: an empty assembly makes every value its own.
    auto* opaque = llvm::InlineAsm::get(llvm::FunctionType::get(sums, {sums}, false), "",
                                        plan.target.x86 ? "=v,0" : "=w,0", false);
    sum->addIncoming(builder.CreateCall(opaque, {next}), loop);
  }
  llvm::Value* next_step = builder.CreateAdd(step, builder.getInt64(1));
  step->addIncoming(builder.getInt64(0), entry);
  step->addIncoming(next_step, loop);
  auto* end = llvm::BasicBlock::Create(*context, "end", function);
  builder.CreateCondBr(builder.CreateICmpSLT(next_step, function->getArg(0)), loop, end);
  builder.SetInsertPoint(end);
  for (llvm::PHINode* sum : carried) {
    builder.CreateAlignedStore(sum->getIncomingValueForBlock(loop), function->getArg(1), llvm::Align(1), true);
  }
  builder.CreateRetVoid();
  engine_ = compile(std::move(module), std::move(context), plan.target);
  run_ = llvm::cantFail(engine_->lookup("peak")).toPtr<void (*)(std::int64_t, void*)>();
  operations_per_step_ = 2.0 * chains * plan.lanes * plan.group;
}

HalfCasts::~HalfCasts() = default;

HalfCasts::HalfCasts(const CpuTarget& target, DType half) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("casts", *context);
  DotPlan plan;
  plan.target = target;
  llvm::Type* pointer = llvm::PointerType::getUnqual(*context);
  llvm::Type* halves = llvm::FixedVectorType::get(element_type(*context, half), lanes);
  llvm::Type* floats = llvm::FixedVectorType::get(llvm::Type::getFloatTy(*context), lanes);
  for (const bool widens : {true, false}) {
    llvm::Function* function = add_function(*module, plan, widens ? "widen" : "narrow", {pointer, pointer});
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(*context, "entry", function));
    llvm::Value* value = builder.CreateAlignedLoad(widens ? halves : floats, function->getArg(0), llvm::Align(1));
    value = emit_float_cast(builder, target, value, widens ? floats : halves);
    builder.CreateAlignedStore(value, function->getArg(1), llvm::Align(1));
    builder.CreateRetVoid();
  }
  engine_ = compile(std::move(module), std::move(context), target);
  widen = llvm::cantFail(engine_->lookup("widen")).toPtr<void (*)(const std::uint16_t*, float*)>();
  narrow = llvm::cantFail(engine_->lookup("narrow")).toPtr<void (*)(const float*, std::uint16_t*)>();
}

DotProgram::~DotProgram() = default;

DotProgram::DotProgram(const DotShape& shape, const CpuTarget& target, DotInner a_inner, DotInner b_inner) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("dot", *context);
  plan = add_all(*module, shape, target, a_inner, b_inner);
  const auto machine = machine_of(target);
  const double start = seconds();
  optimise(*module, *machine);
  const double optimised = seconds();
  engine_ = compile(std::move(module), std::move(context), target);
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
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    fail("no assembly for " + target.triple);
  passes.run(module);
  return text.str().str();
}

}  // namespace teeny::test
