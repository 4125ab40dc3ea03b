#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <string>

#include "compiler/cpu/dot_emit.hpp"

namespace teeny::compiler::cpu {

namespace {

// Emits the function of one plan. Panels are the outer loop: a panel of b stays in the first-level cache while all rows
// of a, which the second level holds, pass by it.
class KernelEmitter {
 public:
  KernelEmitter(const DotPlan& plan, llvm::Function* function)
      : plan_(plan), function_(function), context_(function->getContext()), builder_(context_) {
    word_vector_ = llvm::FixedVectorType::get(word_type(context_, plan), static_cast<unsigned>(plan.lanes));
    sum_vector_ = llvm::FixedVectorType::get(sum_type(context_, plan), static_cast<unsigned>(plan.lanes));
    memory_vector_ =
        llvm::FixedVectorType::get(element_type(context_, plan.shape.accumulator), static_cast<unsigned>(plan.lanes));
  }

  void emit();

 private:
  using Values = llvm::SmallVector<llvm::Value*, 32>;

  void emit_panels(const DotSegment& panels);
  void emit_tile(const DotSegment& rows, const DotSegment& panels, llvm::Value* row, llvm::Value* panel_index);
  Values load_sums(const DotSegment& rows, const DotSegment& panels, llvm::Value* tile, llvm::Value* panel_index);
  Values emit_k_loop(const DotSegment& rows, const DotSegment& panels, llvm::Value* row, Values sums);
  void store_sums(const DotSegment& rows, const DotSegment& panels, llvm::Value* tile, const Values& sums);

  llvm::Value* sum_address(llvm::Value* tile, std::int64_t row, std::int64_t vector) {
    llvm::Value* line = emit_address(builder_, tile, builder_.CreateMul(sum_row_bytes_, builder_.getInt64(row)));
    return emit_address(builder_, line, builder_.getInt64(vector * plan_.lanes * sum_bytes()));
  }
  std::int64_t sum_bytes() const { return static_cast<std::int64_t>(size_of(plan_.shape.accumulator)); }
  llvm::Align sum_align() const { return llvm::Align(static_cast<std::uint64_t>(sum_bytes())); }
  llvm::Value* tail_mask(unsigned valid);
  llvm::Value* convert(llvm::Value* value, llvm::Type* to);

  const DotPlan& plan_;
  llvm::Function* function_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::Type *word_vector_, *sum_vector_, *memory_vector_;
  llvm::Value *a_ = nullptr, *a_row_bytes_ = nullptr, *b_ = nullptr, *sums_ = nullptr, *sum_row_bytes_ = nullptr;
  llvm::Value *m_used_ = nullptr, *n_used_ = nullptr, *k_words_ = nullptr;
  llvm::Value* panel_ = nullptr;  // the current panel of b
};

void KernelEmitter::emit() {
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", function_);
  llvm::BasicBlock* work = llvm::BasicBlock::Create(context_, "work", function_);
  llvm::BasicBlock* nothing = llvm::BasicBlock::Create(context_, "nothing", function_);
  builder_.SetInsertPoint(nothing);
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(entry);
  a_ = function_->getArg(0);
  a_row_bytes_ = function_->getArg(1);
  b_ = function_->getArg(2);
  sums_ = function_->getArg(3);
  sum_row_bytes_ = builder_.CreateMul(function_->getArg(4), builder_.getInt64(sum_bytes()));
  m_used_ = function_->getArg(5);
  n_used_ = function_->getArg(6);
  k_words_ = emit_word_count(builder_, plan_, function_->getArg(7));
  builder_.CreateCondBr(builder_.CreateICmpSGT(k_words_, builder_.getInt64(0)), work, nothing);
  builder_.SetInsertPoint(work);
  for (const DotSegment& panels : panel_segments(plan_)) emit_panels(panels);
  builder_.CreateRetVoid();
}

void KernelEmitter::emit_panels(const DotSegment& panels) {
  const std::int64_t vector_bytes = plan_.target.vector_bytes;
  emit_loop(builder_, emit_piece_count(builder_, panels, plan_.lanes, n_used_), "panel", [&](llvm::Value* index) {
    // Panels lie one after another, so the offset of one is that of its first register column.
    llvm::Value* vectors =
        builder_.CreateAdd(builder_.CreateMul(index, builder_.getInt64(panels.size)), builder_.getInt64(panels.start));
    panel_ = emit_address(builder_, b_, builder_.CreateMul(vectors, builder_.getInt64(plan_.k_words * vector_bytes)));
    for (const DotSegment& rows : row_segments(plan_)) {
      emit_loop(builder_, emit_piece_count(builder_, rows, 1, m_used_), "rows", [&](llvm::Value* tile) {
        llvm::Value* row =
            builder_.CreateAdd(builder_.CreateMul(tile, builder_.getInt64(rows.size)), builder_.getInt64(rows.start));
        emit_tile(rows, panels, row, vectors);
      });
    }
  });
}

void KernelEmitter::emit_tile(const DotSegment& rows, const DotSegment& panels, llvm::Value* row,
                              llvm::Value* vectors) {
  llvm::Value* tile = emit_address(builder_, sums_, builder_.CreateMul(row, sum_row_bytes_));
  tile = emit_address(builder_, tile, builder_.CreateMul(vectors, builder_.getInt64(plan_.lanes * sum_bytes())));
  store_sums(rows, panels, tile, emit_k_loop(rows, panels, row, load_sums(rows, panels, tile, vectors)));
}

llvm::Value* KernelEmitter::tail_mask(unsigned valid) {
  llvm::SmallVector<llvm::Constant*, 16> lanes;
  for (unsigned lane = 0; lane < static_cast<unsigned>(plan_.lanes); ++lane)
    lanes.push_back(builder_.getInt1(lane < valid));
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* KernelEmitter::convert(llvm::Value* value, llvm::Type* to) {
  if (value->getType() == to) return value;
  return to->isFPOrFPVectorTy() ? emit_float_cast(builder_, plan_.target, value, to)
                                : builder_.CreateSExtOrTrunc(value, to);
}

KernelEmitter::Values KernelEmitter::load_sums(const DotSegment& rows, const DotSegment& panels, llvm::Value* tile,
                                               llvm::Value* vectors) {
  Values corrections;
  if (plan_.compensate) {
    const std::int64_t vector_bytes = plan_.target.vector_bytes;
    const std::int64_t all = (plan_.shape.n + plan_.lanes - 1) / plan_.lanes * plan_.k_words * vector_bytes;
    for (std::int64_t vector = 0; vector < panels.size; ++vector) {
      llvm::Value* column = builder_.CreateAdd(vectors, builder_.getInt64(vector));
      llvm::Value* offset =
          builder_.CreateAdd(builder_.CreateMul(column, builder_.getInt64(vector_bytes)), builder_.getInt64(all));
      corrections.push_back(builder_.CreateAlignedLoad(sum_vector_, emit_address(builder_, b_, offset),
                                                       llvm::Align(static_cast<std::uint64_t>(vector_bytes))));
    }
  }
  Values sums;
  for (std::int64_t row = 0; row < rows.size; ++row) {
    for (std::int64_t vector = 0; vector < panels.size; ++vector) {
      llvm::Value* address = sum_address(tile, row, vector);
      const bool edge = panels.tail && vector == panels.size - 1;
      llvm::Value* sum = edge ? static_cast<llvm::Value*>(builder_.CreateMaskedLoad(
                                    memory_vector_, address, sum_align(), tail_mask(panels.tail),
                                    llvm::Constant::getNullValue(memory_vector_)))
                              : builder_.CreateAlignedLoad(memory_vector_, address, sum_align());
      sum = convert(sum, sum_vector_);
      if (plan_.compensate) sum = builder_.CreateSub(sum, corrections[static_cast<std::size_t>(vector)]);
      sums.push_back(sum);
    }
  }
  return sums;
}

KernelEmitter::Values KernelEmitter::emit_k_loop(const DotSegment& rows, const DotSegment& panels, llvm::Value* row,
                                                 Values sums) {
  Values row_pointers;
  for (std::int64_t i = 0; i < rows.size; ++i) {
    llvm::Value* index = builder_.CreateAdd(row, builder_.getInt64(i));
    row_pointers.push_back(emit_address(builder_, a_, builder_.CreateMul(index, a_row_bytes_)));
  }
  const auto register_align = llvm::Align(static_cast<std::uint64_t>(plan_.target.vector_bytes));
  // Elements of a that is used where it lies are aligned to their own size only.
  const auto word_align =
      llvm::Align(plan_.a_direct ? size_of(plan_.packed_a) : static_cast<std::uint64_t>(plan_.word_bytes));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context_, "k", function_, before->getNextNode());
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "k.end", function_, loop->getNextNode());
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* k = builder_.CreatePHI(builder_.getInt64Ty(), 2, "k");
  k->addIncoming(builder_.getInt64(0), before);
  llvm::SmallVector<llvm::PHINode*, 32> carried;
  for (llvm::Value* sum : sums) {
    carried.push_back(builder_.CreatePHI(sum_vector_, 2));
    carried.back()->addIncoming(sum, before);
  }
  const std::int64_t vector_bytes = plan_.target.vector_bytes;
  llvm::Value* line =
      emit_address(builder_, panel_, builder_.CreateMul(k, builder_.getInt64(panels.size * vector_bytes)));
  Values columns;
  for (std::int64_t vector = 0; vector < panels.size; ++vector) {
    llvm::Value* address = emit_address(builder_, line, builder_.getInt64(vector * vector_bytes));
    columns.push_back(builder_.CreateAlignedLoad(word_vector_, address, register_align));
  }
  llvm::Value* offset = builder_.CreateMul(k, builder_.getInt64(plan_.word_bytes));
  for (std::int64_t i = 0; i < rows.size; ++i) {
    llvm::Value* address = emit_address(builder_, row_pointers[static_cast<std::size_t>(i)], offset);
    llvm::Value* word = builder_.CreateAlignedLoad(word_type(context_, plan_), address, word_align);
    llvm::Value* spread = builder_.CreateVectorSplat(static_cast<unsigned>(plan_.lanes), word);
    for (std::int64_t vector = 0; vector < panels.size; ++vector) {
      const auto at = static_cast<std::size_t>(i * panels.size + vector);
      sums[at] = emit_product(builder_, plan_, carried[at], spread, columns[static_cast<std::size_t>(vector)]);
    }
  }
  llvm::Value* next = builder_.CreateAdd(k, builder_.getInt64(1), "", true, true);
  k->addIncoming(next, loop);
  for (std::size_t at = 0; at < sums.size(); ++at) carried[at]->addIncoming(sums[at], loop);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, k_words_), loop, after);
  builder_.SetInsertPoint(after);
  return sums;
}

void KernelEmitter::store_sums(const DotSegment& rows, const DotSegment& panels, llvm::Value* tile,
                               const Values& sums) {
  for (std::int64_t row = 0; row < rows.size; ++row) {
    for (std::int64_t vector = 0; vector < panels.size; ++vector) {
      llvm::Value* value = convert(sums[static_cast<std::size_t>(row * panels.size + vector)], memory_vector_);
      llvm::Value* address = sum_address(tile, row, vector);
      if (panels.tail && vector == panels.size - 1) {
        builder_.CreateMaskedStore(value, address, sum_align(), tail_mask(panels.tail));
      } else {
        builder_.CreateAlignedStore(value, address, sum_align());
      }
    }
  }
}

std::string kernel_name(const DotShape& shape) {
  std::string name =
      "teeny.dot." + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  for (const DType type : {shape.a, shape.b, shape.accumulator}) name += std::string(".") + name_of(type);
  if (shape.precision == DotPrecision::fast) name += ".fast";
  if (shape.reproducible) name += ".reproducible";
  return name;
}

llvm::Function* declare_kernel(llvm::Module& module, const DotPlan& plan, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* size = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, size, pointer, pointer, size, size, size, size}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr("target-cpu", plan.target.cpu);
  if (!plan.target.features.empty()) function->addFnAttr("target-features", plan.target.features);
  const std::string bits = std::to_string(plan.target.vector_bytes * 8);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  // One copy, compiled alone: the tile's registers are not shared with a caller's values.
  function->addFnAttr(llvm::Attribute::NoInline);
  for (const unsigned argument : {0u, 2u, 3u}) function->addParamAttr(argument, llvm::Attribute::NoAlias);
  for (const unsigned argument : {0u, 2u}) function->addParamAttr(argument, llvm::Attribute::ReadOnly);
  return function;
}

}  // namespace

llvm::Expected<DotKernel> make_dot_kernel(llvm::Module& module, const DotShape& shape, const CpuTarget& target) {
  llvm::Expected<DotPlan> plan = plan_dot(shape, target);
  if (!plan) return plan.takeError();
  DotKernel kernel{nullptr, std::move(*plan)};
  const std::string name = kernel_name(shape);
  kernel.function = module.getFunction(name);
  if (kernel.function) return kernel;
  kernel.function = declare_kernel(module, kernel.plan, name);
  KernelEmitter(kernel.plan, kernel.function).emit();
  return kernel;
}

void emit_multiply(llvm::IRBuilderBase& builder, const DotKernel& kernel, const DotCall& call) {
  builder.CreateCall(kernel.function, {call.a, call.a_row_bytes, call.b, call.accumulator,
                                       call.accumulator_row_elements, call.m_used, call.n_used, call.k_used});
}

}  // namespace teeny::compiler::cpu
