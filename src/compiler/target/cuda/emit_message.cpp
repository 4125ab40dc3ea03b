// Messages to the host: gpu_program_abi.h.
#include <cstddef>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/target/cuda/cuda_emitter.hpp"
#include "support/gpu_program_abi.h"

namespace teeny::compiler::cuda {

// One function for all messages of a kernel, called by the lanes that have one:
// void (buffer, operation, operand | kind << 16, element, value).
llvm::Function* CudaEmitter::message_function() {
  if (message_function_) return message_function_;
  llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {i64, i32, i32, i32, i64}, false);
  message_function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "teeny_message", module_);
  message_function_->addFnAttr(llvm::Attribute::NoInline);
  const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
  llvm::Function* kernel = std::exchange(function_, message_function_);
  llvm::BasicBlock *entry = block("entry"), *write = block("write"), *end = block("end");
  builder_.SetInsertPoint(entry);
  llvm::Value* buffer = builder_.CreateIntToPtr(message_function_->getArg(0), builder_.getPtrTy(1));
  const auto at = [&](llvm::Value* base, std::size_t offset) { return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), base, offset); };
  llvm::Value* number =
      builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at(buffer, offsetof(teeny_gpu_message_buffer, count)),
                               builder_.getInt32(1), llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
  llvm::Value* capacity = builder_.CreateLoad(i32, at(buffer, offsetof(teeny_gpu_message_buffer, capacity)));
  builder_.CreateCondBr(builder_.CreateICmpULT(number, capacity), write, end);
  builder_.SetInsertPoint(write);
  llvm::Value* offset = builder_.CreateMul(builder_.CreateZExt(number, i64), builder_.getInt64(sizeof(teeny_gpu_message)));
  llvm::Value* message = builder_.CreateGEP(builder_.getInt8Ty(), at(buffer, offsetof(teeny_gpu_message_buffer, messages)), offset);
  const auto wide = [&](llvm::Intrinsic::ID id) { return builder_.CreateZExt(special_register(id), i64); };
  using namespace llvm::Intrinsic;
  llvm::Value* program = builder_.CreateAdd(
      builder_.CreateMul(builder_.CreateAdd(builder_.CreateMul(wide(nvvm_read_ptx_sreg_ctaid_z), wide(nvvm_read_ptx_sreg_nctaid_y)),
                                            wide(nvvm_read_ptx_sreg_ctaid_y)),
                         wide(nvvm_read_ptx_sreg_nctaid_x)),
      wide(nvvm_read_ptx_sreg_ctaid_x));
  builder_.CreateStore(message_function_->getArg(1), at(message, offsetof(teeny_gpu_message, operation)));
  builder_.CreateStore(message_function_->getArg(2), at(message, offsetof(teeny_gpu_message, operand)));
  builder_.CreateStore(program, at(message, offsetof(teeny_gpu_message, program)));
  builder_.CreateStore(builder_.CreateZExt(message_function_->getArg(3), i64), at(message, offsetof(teeny_gpu_message, element)));
  builder_.CreateStore(message_function_->getArg(4), at(message, offsetof(teeny_gpu_message, value)));
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  builder_.CreateRetVoid();
  function_ = kernel;
  return message_function_;
}

void CudaEmitter::emit_message(thread::MessageOp message) {
  static_assert(TEENY_GPU_PRINT == int(thread::MessageKind::PRINT) && TEENY_GPU_ASSERT == int(thread::MessageKind::ASSERT));
  where(message.getMask(), [&]() -> llvm::Value* {
    llvm::Function* function = message_function();
    builder_.CreateCall(function, {function_->getArg(function_->arg_size() - 1), builder_.getInt32(message.getSite()),
                                   builder_.getInt32(message.getArgument() | unsigned(message.getKind()) << 16),
                                   value(message.getElement()), value(message.getValue())});
    return nullptr;
  });
}

}  // namespace teeny::compiler::cuda
