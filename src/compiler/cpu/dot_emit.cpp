#include "compiler/cpu/dot_emit.hpp"

#include <llvm/IR/Intrinsics.h>

namespace teeny::compiler::cpu {

llvm::Type* element_type(llvm::LLVMContext& context, DType type) {
  switch (type) {
    case DType::f16:
      return llvm::Type::getHalfTy(context);
    case DType::bf16:
      return llvm::Type::getBFloatTy(context);
    case DType::f32:
      return llvm::Type::getFloatTy(context);
    case DType::f64:
      return llvm::Type::getDoubleTy(context);
    default:
      return llvm::Type::getIntNTy(context, static_cast<unsigned>(size_of(type)) * 8);
  }
}

llvm::Type* sum_type(llvm::LLVMContext& context, const DotPlan& plan) {
  if (plan.product == DotProduct::pairs_bf16) return llvm::Type::getFloatTy(context);
  return plan.group > 1 ? llvm::Type::getInt32Ty(context) : element_type(context, plan.packed_a);
}

llvm::Type* word_type(llvm::LLVMContext& context, const DotPlan& plan) {
  return plan.group > 1 ? llvm::Type::getInt32Ty(context) : element_type(context, plan.packed_a);
}

llvm::SmallVector<DotSegment, 4> row_segments(const DotPlan& plan) {
  const DotPartition& rows = plan.rows;
  llvm::SmallVector<DotSegment, 4> result{{rows.first, rows.first_count, 0, 0}};
  if (rows.second_count) result.push_back({rows.first - 1, rows.second_count, rows.first * rows.first_count, 0});
  return result;
}

llvm::SmallVector<DotSegment, 4> panel_segments(const DotPlan& plan) {
  const DotPartition& panels = plan.panels;
  llvm::SmallVector<DotSegment, 4> result{{panels.first, panels.first_count, 0, 0}};
  if (panels.second_count)
    result.push_back({panels.first - 1, panels.second_count, panels.first * panels.first_count, 0});
  if (const auto tail = static_cast<unsigned>(plan.shape.n % plan.lanes)) {
    DotSegment& last = result.back();
    --last.count;
    const DotSegment edge{last.size, 1, last.start + last.size * last.count, tail};
    if (!last.count) result.pop_back();
    result.push_back(edge);
  }
  return result;
}

void emit_loop(llvm::IRBuilderBase& builder, llvm::Value* count, const llvm::Twine& name,
               llvm::function_ref<void(llvm::Value* index)> body) {
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::LLVMContext& context = builder.getContext();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, name, function, before->getNextNode());
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, name + ".end", function, loop->getNextNode());
  // A caller may stand in the middle of a block: what follows moves behind the loop.
  after->splice(after->end(), before, builder.GetInsertPoint(), before->end());
  after->replaceSuccessorsPhiUsesWith(before, after);
  builder.SetInsertPoint(before);
  builder.CreateCondBr(builder.CreateICmpSGT(count, builder.getInt64(0)), loop, after);
  builder.SetInsertPoint(loop);
  llvm::PHINode* index = builder.CreatePHI(builder.getInt64Ty(), 2, name + ".index");
  body(index);
  llvm::Value* next = builder.CreateAdd(index, builder.getInt64(1), "", true, true);
  index->addIncoming(builder.getInt64(0), before);
  index->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(next, count), loop, after);
  builder.SetInsertPoint(after, after->begin());
}

llvm::Value* emit_piece_count(llvm::IRBuilderBase& builder, const DotSegment& segment, std::int64_t scale,
                              llvm::Value* used) {
  const std::int64_t size = segment.size * scale;
  llvm::Value* left = builder.CreateSub(used, builder.getInt64(segment.start * scale));
  left = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, builder.getInt64(0));
  llvm::Value* pieces = builder.CreateUDiv(builder.CreateAdd(left, builder.getInt64(size - 1)), builder.getInt64(size));
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, pieces, builder.getInt64(segment.count));
}

llvm::Value* emit_word_count(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* k_used) {
  if (plan.group == 1) return k_used;
  return builder.CreateUDiv(builder.CreateAdd(k_used, builder.getInt64(plan.group - 1)), builder.getInt64(plan.group));
}

llvm::Value* emit_address(llvm::IRBuilderBase& builder, llvm::Value* pointer, llvm::Value* bytes) {
  return builder.CreateGEP(builder.getInt8Ty(), pointer, bytes);
}

llvm::Value* emit_intrinsic(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Type*> overloads,
                            llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Module* module = builder.GetInsertBlock()->getModule();
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  llvm::Function* function = llvm::Intrinsic::getOrInsertDeclaration(module, id, overloads);
  llvm::SmallVector<llvm::Value*, 4> cast;
  for (const auto& [index, argument] : llvm::enumerate(arguments)) {
    cast.push_back(builder.CreateBitCast(argument, function->getFunctionType()->getParamType(index)));
  }
  return builder.CreateCall(function, cast);
}

namespace {

llvm::Value* emit_pairs_i16(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* sum, llvm::Value* a,
                            llvm::Value* b) {
  const int bytes = plan.target.vector_bytes;
  if (plan.target.dot_i16 && bytes >= 32) {
    return emit_intrinsic(builder, "llvm.x86.avx512.vpdpwssd." + std::to_string(bytes * 8), {}, {sum, a, b});
  }
  const char* name = bytes == 64   ? "llvm.x86.avx512.pmaddw.d.512"
                     : bytes == 32 ? "llvm.x86.avx2.pmadd.wd"
                                   : "llvm.x86.sse2.pmadd.wd";
  return builder.CreateAdd(sum, emit_intrinsic(builder, name, {}, {a, b}));
}

llvm::Value* emit_quads_u8s8(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* sum, llvm::Value* u8,
                             llvm::Value* s8) {
  return emit_intrinsic(builder, "llvm.x86.avx512.vpdpbusd." + std::to_string(plan.target.vector_bytes * 8), {},
                        {sum, u8, s8});
}

}  // namespace

llvm::Value* emit_product(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* sum, llvm::Value* a,
                          llvm::Value* b) {
  switch (plan.product) {
    case DotProduct::multiply_add_float:
      // Without the instruction llvm.fma would become a call per lane.
      if (plan.target.fma) return builder.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
      return builder.CreateFAdd(sum, builder.CreateFMul(a, b));
    case DotProduct::multiply_add_integer:
      return builder.CreateAdd(sum, builder.CreateMul(a, b));
    case DotProduct::pairs_bf16:
      return emit_intrinsic(builder, "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(plan.target.vector_bytes * 8), {},
                            {sum, a, b});
    case DotProduct::pairs_i16:
      return emit_pairs_i16(builder, plan, sum, a, b);
    case DotProduct::quads_u8s8:
      return emit_quads_u8s8(builder, plan, sum, a, b);
    case DotProduct::quads_s8u8:
      return emit_quads_u8s8(builder, plan, sum, b, a);
    case DotProduct::quads_s8s8: {
      llvm::Type* bytes = llvm::FixedVectorType::get(builder.getInt8Ty(), plan.target.vector_bytes);
      return emit_intrinsic(builder, "llvm.aarch64.neon.sdot", {sum->getType(), bytes}, {sum, a, b});
    }
  }
  return nullptr;
}

}  // namespace teeny::compiler::cpu
