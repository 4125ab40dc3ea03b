// Which lane this is, what lanes tell each other, and barriers.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/target/cuda/cuda_emitter.hpp"

namespace teeny::compiler::cuda {

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

llvm::Intrinsic::ID program_id(tt::ProgramIDDim axis) {
  switch (axis) {
    case tt::ProgramIDDim::X: return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x;
    case tt::ProgramIDDim::Y: return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y;
    case tt::ProgramIDDim::Z: return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z;
  }
  return 0;
}

llvm::Intrinsic::ID num_programs(tt::ProgramIDDim axis) {
  switch (axis) {
    case tt::ProgramIDDim::X: return llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x;
    case tt::ProgramIDDim::Y: return llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y;
    case tt::ProgramIDDim::Z: return llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z;
  }
  return 0;
}

}  // namespace

bool CudaEmitter::emit_lanes(mlir::Operation& operation) {
  if (auto id = mlir::dyn_cast<thread::ProgramIdOp>(operation))
    return bind(id, special_register(program_id(id.getAxis()))), true;
  if (auto count = mlir::dyn_cast<thread::NumProgramsOp>(operation))
    return bind(count, special_register(num_programs(count.getAxis()))), true;
  if (mlir::isa<thread::LaneIdOp, thread::WarpIdOp>(operation)) {
    // Programs are one-dimensional: thread = lane + 32 * warp.
    llvm::Value* thread = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
    bind(operation.getResult(0),
         mlir::isa<thread::LaneIdOp>(operation) ? builder_.CreateAnd(thread, 31) : builder_.CreateLShr(thread, 5));
    return true;
  }
  if (auto moved = mlir::dyn_cast<thread::ShuffleOp>(operation)) return emit_shuffle(moved), true;
  if (auto ballot = mlir::dyn_cast<thread::BallotOp>(operation)) {
    llvm::Value* bits = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_ballot_sync, llvm::ArrayRef<llvm::Type*>(),
                                                 {builder_.getInt32(all_lanes), value(ballot.getCondition())});
    return bind(ballot, builder_.CreateZExt(bits, builder_.getInt64Ty())), true;
  }
  if (auto barrier = mlir::dyn_cast<thread::BarrierOp>(operation)) {
    if (barrier.getWarps() != 0)
      cpu::refuse(&operation, "barriers of a part of the warps are not lowered to PTX yet", "use a barrier of the program");
    // It orders accesses to shared and to global memory among the program's threads.
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, llvm::ArrayRef<llvm::Type*>(), {builder_.getInt32(0)});
    return true;
  }
  if (auto rounded = mlir::dyn_cast<thread::RoundTf32Op>(operation))
    return bind(rounded, round_tf32(value(rounded.getValue()))), true;
  return false;
}

// Half of the last kept place is added to the magnitude, which rounds ties away from zero; infinities and NaN stay.
llvm::Value* CudaEmitter::round_tf32(llvm::Value* number) {
  if (architecture_.number >= 80) {
    auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), {number->getType()}, false);
    llvm::CallInst* rounded =
        builder_.CreateCall(llvm::InlineAsm::get(type, "cvt.rna.tf32.f32 $0, $1;", "=r,f", false), {number});
    rounded->setDoesNotAccessMemory();
    return builder_.CreateBitCast(rounded, number->getType());
  }
  llvm::Value* bits = builder_.CreateBitCast(number, builder_.getInt32Ty());
  llvm::Value* rounded = builder_.CreateAnd(builder_.CreateAdd(bits, builder_.getInt32(1u << 12)), ~((1u << 13) - 1));
  llvm::Value* exponent = builder_.CreateAnd(bits, 0x7f800000u);
  llvm::Value* finite = builder_.CreateICmpNE(exponent, builder_.getInt32(0x7f800000u));
  return builder_.CreateBitCast(builder_.CreateSelect(finite, rounded, bits), number->getType());
}

llvm::Value* CudaEmitter::shuffle(thread::ShuffleKind kind, llvm::Value* word, llvm::Value* lane) {
  using llvm::Intrinsic::ID;
  static constexpr ID ids[] = {llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, llvm::Intrinsic::nvvm_shfl_sync_idx_i32,
                               llvm::Intrinsic::nvvm_shfl_sync_up_i32, llvm::Intrinsic::nvvm_shfl_sync_down_i32};
  // The last operand bounds the source lane: 0 below, 31 above.
  const unsigned bound = kind == thread::ShuffleKind::UP ? 0 : 31;
  return builder_.CreateIntrinsic(ids[unsigned(kind)], llvm::ArrayRef<llvm::Type*>(),
                                  {builder_.getInt32(all_lanes), word, lane, builder_.getInt32(bound)});
}

void CudaEmitter::emit_shuffle(thread::ShuffleOp moved) {
  llvm::Value *from = value(moved.getValue()), *lane = value(moved.getLane());
  llvm::Type* type = from->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Value* integer = builder_.CreateBitCast(from, builder_.getIntNTy(bits));
  llvm::Value* result;
  if (bits == 64) {
    llvm::Value* low = shuffle(moved.getKind(), builder_.CreateTrunc(integer, builder_.getInt32Ty()), lane);
    llvm::Value* high =
        shuffle(moved.getKind(), builder_.CreateTrunc(builder_.CreateLShr(integer, 32), builder_.getInt32Ty()), lane);
    result = builder_.CreateOr(builder_.CreateZExt(low, integer->getType()),
                               builder_.CreateShl(builder_.CreateZExt(high, integer->getType()), 32));
  } else {
    llvm::Value* word = builder_.CreateZExtOrTrunc(integer, builder_.getInt32Ty());
    result = builder_.CreateTrunc(shuffle(moved.getKind(), word, lane), integer->getType());
  }
  bind(moved, builder_.CreateBitCast(result, type));
}

}  // namespace teeny::compiler::cuda
