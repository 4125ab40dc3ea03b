// A kernel's function, its control flow and arithmetic.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>

#include <teeny/error.hpp>

#include "compiler/target/cuda/cuda_emitter.hpp"

namespace teeny::compiler::cuda {

llvm::BasicBlock* CudaEmitter::block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

void CudaEmitter::emit_kernel(mlir::func::FuncOp kernel, const gpu::GpuOptions& options) {
  llvm::SmallVector<llvm::Type*> parameters;
  for (mlir::Type type : kernel.getArgumentTypes()) parameters.push_back(type_of(type));
  if (has_messages(kernel)) parameters.push_back(builder_.getInt64Ty());
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), parameters, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kernel.getName(), module_);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  const auto number = [&](llvm::StringRef name) {
    auto attribute = kernel->getAttrOfType<mlir::IntegerAttr>(name);
    return attribute ? attribute.getInt() : 1;
  };
  const std::int64_t threads = number(thread::warps_attribute) * number(thread::lanes_attribute);
  function_->addFnAttr("nvvm.reqntid", std::to_string(threads) + ",1,1");
  if (options.max_registers > 0) function_->addFnAttr("nvvm.maxnreg", std::to_string(options.max_registers));
  auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), 0);
  shared_ = new llvm::GlobalVariable(module_, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr, "teeny_shared",
                                     nullptr, llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/3);
  shared_->setAlignment(llvm::Align(1024));
  builder_.SetInsertPoint(block("entry"));
  for (auto [argument, incoming] : llvm::zip_first(kernel.getArguments(), function_->args())) bind(argument, &incoming);
  emit_block(kernel.getBody().front());
  builder_.CreateRetVoid();
}

void CudaEmitter::emit_block(mlir::Block& block) {
  for (mlir::Operation& operation : block.without_terminator()) emit(operation);
}

void CudaEmitter::emit(mlir::Operation& operation) {
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(operation)) return emit_constant(constant);
  if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(operation)) return emit_for(loop);
  if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(operation)) return emit_while(loop);
  if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(operation)) return emit_if(branch);
  if (mlir::isa<mlir::ub::PoisonOp>(operation))
    return bind(operation.getResult(0), llvm::Constant::getNullValue(type_of(operation.getResult(0).getType())));
  if (auto message = mlir::dyn_cast<thread::MessageOp>(operation)) return emit_message(message);
  if (emit_approximation(operation) || emit_memory(operation) || emit_lanes(operation) || emit_matrix(operation) ||
      emit_matrix_async(operation))
    return;
  if (!cpu::is_elementwise(&operation))
    cpu::refuse(&operation, "must be an operation that CUDA programs have", "write it with other operations");
  llvm::SmallVector<llvm::Value*, 3> operands;
  for (mlir::Value operand : operation.getOperands()) operands.push_back(value(operand));
  // LLVM's NVPTX shortens the distance of a 64-bit shift to 32 bits before it looks whether it is within the width.
  if (mlir::isa<mlir::arith::ShLIOp, mlir::arith::ShRUIOp, mlir::arith::ShRSIOp>(operation) &&
      operands[1]->getType()->isIntegerTy(64))
    operands[1] = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, operands[1], builder_.getInt64(63));
  for (auto [result, made] : llvm::zip(operation.getResults(), cpu::apply(builder_, &operation, operands, arithmetic_)))
    bind(result, made);
}

void CudaEmitter::emit_constant(mlir::arith::ConstantOp constant) {
  bind(constant, cpu::constant_of(constant.getValue(), constant.getType(), context_));
}

void CudaEmitter::emit_for(mlir::scf::ForOp loop) {
  llvm::BasicBlock *before = builder_.GetInsertBlock(), *head = block("for"), *body = block("body"), *after = block("end");
  llvm::Value *lower = value(loop.getLowerBound()), *upper = value(loop.getUpperBound()), *step = value(loop.getStep());
  // Iterations are counted: the variable itself may pass the end of its type after the last one.
  llvm::Value* runs = loop.getUnsignedCmp() ? builder_.CreateICmpULT(lower, upper) : builder_.CreateICmpSLT(lower, upper);
  llvm::Type* type = lower->getType();
  llvm::Value* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* last = builder_.CreateUDiv(builder_.CreateSub(builder_.CreateSub(upper, lower), one), step);
  llvm::Value* count = builder_.CreateSelect(runs, builder_.CreateAdd(last, one), llvm::ConstantInt::get(type, 0));
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  llvm::SmallVector<llvm::PHINode*> carried;
  llvm::PHINode* iteration = builder_.CreatePHI(type, 2);
  iteration->addIncoming(llvm::ConstantInt::get(type, 0), before);
  llvm::PHINode* counter = builder_.CreatePHI(type, 2);
  counter->addIncoming(lower, before);
  for (auto [argument, initial] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs())) {
    llvm::PHINode* phi = builder_.CreatePHI(type_of(argument.getType()), 2);
    phi->addIncoming(value(initial), before);
    bind(argument, phi);
    carried.push_back(phi);
  }
  bind(loop.getInductionVar(), counter);
  builder_.CreateCondBr(builder_.CreateICmpULT(iteration, count), body, after);
  builder_.SetInsertPoint(body);
  emit_block(*loop.getBody());
  iteration->addIncoming(builder_.CreateAdd(iteration, one, "", /*HasNUW=*/true), builder_.GetInsertBlock());
  counter->addIncoming(builder_.CreateAdd(counter, step), builder_.GetInsertBlock());
  for (auto [phi, yielded] : llvm::zip(carried, loop.getBody()->getTerminator()->getOperands()))
    phi->addIncoming(value(yielded), builder_.GetInsertBlock());
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
  for (auto [result, phi] : llvm::zip(loop.getResults(), carried)) bind(result, phi);
}

// What the expansions left to the device, and divisions where the kernel allows it.
bool CudaEmitter::emit_approximation(mlir::Operation& operation) {
  const auto unit = [&](llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types = {}) {
    llvm::SmallVector<llvm::Value*, 2> operands;
    for (mlir::Value operand : operation.getOperands()) operands.push_back(value(operand));
    bind(operation.getResult(0), builder_.CreateIntrinsic(id, types, operands));
    return true;
  };
  if (operation.getNumResults() != 1 || !operation.getResult(0).getType().isF32()) return false;
  if (mlir::isa<mlir::math::Exp2Op>(operation)) return unit(llvm::Intrinsic::nvvm_ex2_approx_ftz, {builder_.getFloatTy()});
  if (mlir::isa<mlir::math::RsqrtOp>(operation)) return unit(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f);
  if (approximate_ && mlir::isa<mlir::math::SqrtOp>(operation)) return unit(llvm::Intrinsic::nvvm_sqrt_approx_ftz_f);
  if (approximate_ && mlir::isa<mlir::arith::DivFOp>(operation)) return unit(llvm::Intrinsic::nvvm_div_full_ftz);
  return false;
}

void CudaEmitter::emit_while(mlir::scf::WhileOp loop) {
  llvm::BasicBlock *outside = builder_.GetInsertBlock(), *head = block("while"), *body = block("do"), *after = block("end");
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  llvm::SmallVector<llvm::PHINode*> carried;
  for (auto [argument, initial] : llvm::zip(loop.getBeforeArguments(), loop.getInits())) {
    llvm::PHINode* phi = builder_.CreatePHI(type_of(argument.getType()), 2);
    phi->addIncoming(value(initial), outside);
    bind(argument, phi);
    carried.push_back(phi);
  }
  emit_block(*loop.getBeforeBody());
  auto condition = loop.getConditionOp();
  for (auto [argument, passed] : llvm::zip(loop.getAfterArguments(), condition.getArgs())) bind(argument, value(passed));
  for (auto [result, passed] : llvm::zip(loop.getResults(), condition.getArgs())) bind(result, value(passed));
  builder_.CreateCondBr(value(condition.getCondition()), body, after);
  builder_.SetInsertPoint(body);
  emit_block(*loop.getAfterBody());
  for (auto [phi, yielded] : llvm::zip(carried, loop.getYieldOp().getOperands()))
    phi->addIncoming(value(yielded), builder_.GetInsertBlock());
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
}

void CudaEmitter::emit_if(mlir::scf::IfOp branch) {
  llvm::BasicBlock *then_block = block("then"), *else_block = block("else"), *after = block("end");
  builder_.CreateCondBr(value(branch.getCondition()), then_block, else_block);
  llvm::SmallVector<llvm::SmallVector<std::pair<llvm::Value*, llvm::BasicBlock*>>> incoming(branch.getNumResults());
  const auto emit_branch = [&](llvm::BasicBlock* start, mlir::Region& region) {
    builder_.SetInsertPoint(start);
    if (!region.empty()) {
      emit_block(region.front());
      for (auto [index, yielded] : llvm::enumerate(region.front().getTerminator()->getOperands()))
        incoming[index].emplace_back(value(yielded), builder_.GetInsertBlock());
    }
    builder_.CreateBr(after);
  };
  emit_branch(then_block, branch.getThenRegion());
  emit_branch(else_block, branch.getElseRegion());
  builder_.SetInsertPoint(after);
  for (auto [result, values] : llvm::zip(branch.getResults(), incoming)) {
    llvm::PHINode* phi = builder_.CreatePHI(type_of(result.getType()), 2);
    for (auto [yielded, from] : values) phi->addIncoming(yielded, from);
    bind(result, phi);
  }
}

std::unique_ptr<llvm::Module> emit_llvm(mlir::func::FuncOp kernel, const Architecture& architecture,
                                        const gpu::Capability& capability, const gpu::GpuOptions& options,
                                        llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>(kernel.getName(), context);
  CudaEmitter(*module, architecture, capability, options).emit_kernel(kernel, options);
  return module;
}

}  // namespace teeny::compiler::cuda
