// Atomics, assertions and printing: one element at a time where order or a call demands it.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/import/element_dtype.hpp"
#include "compiler/cpu/emitter.hpp"
#include "teeny/dtype.hpp"

namespace teeny::compiler::cpu {

namespace {

llvm::AtomicOrdering ordering_of(tt::MemSemantic semantic) {
  switch (semantic) {
    case tt::MemSemantic::RELAXED:
      return llvm::AtomicOrdering::Monotonic;
    case tt::MemSemantic::ACQUIRE:
      return llvm::AtomicOrdering::Acquire;
    case tt::MemSemantic::RELEASE:
      return llvm::AtomicOrdering::Release;
    case tt::MemSemantic::ACQUIRE_RELEASE:
      return llvm::AtomicOrdering::AcquireRelease;
  }
  return llvm::AtomicOrdering::SequentiallyConsistent;
}

llvm::AtomicOrdering failure_ordering(llvm::AtomicOrdering order) {
  if (order == llvm::AtomicOrdering::AcquireRelease) return llvm::AtomicOrdering::Acquire;
  return order == llvm::AtomicOrdering::Release ? llvm::AtomicOrdering::Monotonic : order;
}

// Integer updates that are one instruction; none for floats, which go through compare and exchange.
std::optional<llvm::AtomicRMWInst::BinOp> instruction_of(tt::RMWOp operation) {
  using I = llvm::AtomicRMWInst;
  switch (operation) {
    case tt::RMWOp::AND:
      return I::And;
    case tt::RMWOp::OR:
      return I::Or;
    case tt::RMWOp::XOR:
      return I::Xor;
    case tt::RMWOp::ADD:
      return I::Add;
    case tt::RMWOp::MAX:
      return I::Max;
    case tt::RMWOp::MIN:
      return I::Min;
    case tt::RMWOp::UMAX:
      return I::UMax;
    case tt::RMWOp::UMIN:
      return I::UMin;
    case tt::RMWOp::XCHG:
      return I::Xchg;
    default:
      return std::nullopt;
  }
}

}  // namespace

llvm::Value* Emitter::compare_exchange_loop(llvm::Value* pointer, mlir::Type element, llvm::AtomicOrdering order,
                                            const std::function<llvm::Value*(llvm::Value*)>& update) {
  llvm::Type* bits = builder_.getIntNTy(memory_bytes(element) * 8);
  llvm::Align align(memory_bytes(element));
  auto* first = builder_.CreateAlignedLoad(bits, pointer, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock *before = builder_.GetInsertBlock(), *retry = block("exchange"), *done = block("exchanged");
  builder_.CreateBr(retry);
  builder_.SetInsertPoint(retry);
  llvm::PHINode* old = builder_.CreatePHI(bits, 2);
  old->addIncoming(first, before);
  llvm::Value* value = builder_.CreateBitCast(old, value_type(element, context_));
  llvm::Value* next = builder_.CreateBitCast(update(value), bits);
  llvm::Value* pair = builder_.CreateAtomicCmpXchg(pointer, old, next, align, order, failure_ordering(order));
  old->addIncoming(builder_.CreateExtractValue(pair, 0), builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateExtractValue(pair, 1), done, retry);
  builder_.SetInsertPoint(done);
  return value;
}

llvm::Value* Emitter::atomic_update(tt::AtomicRMWOp atomic, llvm::Value* pointer, llvm::Value* value) {
  mlir::Type element = tt::element_type(atomic.getVal().getType());
  llvm::AtomicOrdering order = ordering_of(atomic.getSem());
  tt::RMWOp kind = atomic.getAtomicRmwOp();
  bool floating = mlir::isa<mlir::FloatType>(element);
  if (auto instruction = instruction_of(kind); instruction && (!floating || kind == tt::RMWOp::XCHG)) {
    llvm::Type* bits = builder_.getIntNTy(memory_bytes(element) * 8);
    llvm::Value* operand =
        element.isInteger(1) ? builder_.CreateZExt(value, bits) : builder_.CreateBitCast(value, bits);
    llvm::Value* old =
        builder_.CreateAtomicRMW(*instruction, pointer, operand, llvm::Align(memory_bytes(element)), order);
    return element.isInteger(1) ? from_memory(old, element) : builder_.CreateBitCast(old, value->getType());
  }
  return compare_exchange_loop(pointer, element, order, [&](llvm::Value* old) -> llvm::Value* {
    bool small = element.isF16() || element.isBF16();
    llvm::Value *left = small ? widen_float(builder_, old, element) : old,
                *right = small ? widen_float(builder_, value, element) : value;
    llvm::Value* result;
    if (kind == tt::RMWOp::FADD || kind == tt::RMWOp::ADD)
      result = builder_.CreateFAdd(left, right);
    else if (kind == tt::RMWOp::FMAX || kind == tt::RMWOp::MAX)
      result = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, left, right);
    else if (kind == tt::RMWOp::FMIN || kind == tt::RMWOp::MIN)
      result = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, left, right);
    else
      refuse(atomic, "must be add, max, min or exch on floats", "use integers for bit operations");
    return small ? narrow_float(builder_, result, element) : result;
  });
}

struct AtomicBody : NestBody {
  AtomicBody(Emitter& e, mlir::Operation& operation, const Buffer* result)
      : e_(e), operation_(operation), result_(result) {}

  llvm::Value* update(const Coordinates& at) {
    Builder& b = e_.builder_;
    if (auto exchange = mlir::dyn_cast<tt::AtomicCASOp>(operation_)) {
      mlir::Type element = tt::element_type(exchange.getType());
      llvm::Type* bits = b.getIntNTy(memory_bytes(element) * 8);
      auto to_bits = [&](mlir::Value value) {
        return b.CreateBitCast(e_.to_memory(e_.evaluate(value, at), element), bits);
      };
      llvm::Value *pointer = e_.evaluate(exchange.getPtr(), at), *expected = to_bits(exchange.getCmp()),
                  *desired = to_bits(exchange.getVal());
      llvm::AtomicOrdering order = ordering_of(exchange.getSem());
      llvm::Value* pair = b.CreateAtomicCmpXchg(pointer, expected, desired, llvm::Align(memory_bytes(element)), order,
                                                failure_ordering(order));
      return b.CreateBitCast(e_.from_memory(b.CreateExtractValue(pair, 0), element), value_type(element, e_.context_));
    }
    auto atomic = mlir::cast<tt::AtomicRMWOp>(operation_);
    llvm::Value *pointer = e_.evaluate(atomic.getPtr(), at), *value = e_.evaluate(atomic.getVal(), at);
    if (!atomic.getMask()) return e_.atomic_update(atomic, pointer, value);
    llvm::Value* mask = e_.evaluate(atomic.getMask(), at);
    llvm::BasicBlock *before = b.GetInsertBlock(), *then = e_.block("atomic"), *after = e_.block("atomic_done");
    b.CreateCondBr(mask, then, after);
    b.SetInsertPoint(then);
    llvm::Value* old = e_.atomic_update(atomic, pointer, value);
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(after);
    b.SetInsertPoint(after);
    llvm::PHINode* result = b.CreatePHI(old->getType(), 2);
    result->addIncoming(old, end);
    result->addIncoming(llvm::Constant::getNullValue(old->getType()), before);
    return result;
  }

  void chunk(const Coordinates& at, unsigned) override {
    llvm::Value* old = update(at);
    if (result_)
      e_.write_buffer(*result_, old, at);
    else
      scalar_ = old;
  }
  Emitter& e_;
  mlir::Operation& operation_;
  const Buffer* result_;
  llvm::Value* scalar_ = nullptr;
};

void Emitter::emit_atomic(mlir::Operation& operation) {
  mlir::Value result = operation.getResult(0);
  Nest nest;
  auto shape = tt::shape_of(result.getType());
  nest.shape.assign(shape.begin(), shape.end());
  Buffer buffer;
  bool kept = mlir::isa<mlir::RankedTensorType>(result.getType()) && !result.use_empty();
  if (kept) buffer = allocate(result);
  AtomicBody body(*this, operation, kept ? &buffer : nullptr);
  emit_nest(nest, {&body});
  if (!mlir::isa<mlir::RankedTensorType>(result.getType())) values_[result] = body.scalar_;
}

llvm::Value* Emitter::text_constant(llvm::StringRef text) {
  return builder_.CreateGlobalString(text, "text", 0, &module_);
}

struct AssertBody : NestBody {
  AssertBody(Emitter& e, tt::AssertOp operation) : e_(e), operation_(operation) {}
  void chunk(const Coordinates& at, unsigned) override {
    Builder& b = e_.builder_;
    llvm::Value* holds = e_.evaluate(operation_.getCondition(), at);
    unsigned lanes = lanes_of(holds);
    llvm::Value* bits = lanes == 1 ? holds : b.CreateBitCast(holds, b.getIntNTy(lanes));
    llvm::Value* fails = b.CreateNot(bits);
    llvm::BasicBlock *report = e_.block("assert_failed"), *after = e_.block("asserted");
    b.CreateCondBr(b.CreateICmpNE(fails, llvm::Constant::getNullValue(fails->getType())), report, after);
    b.SetInsertPoint(report);
    llvm::Value* lane = e_.index(0);
    int lane_dimension = at.lane();
    for (auto [d, coordinate] : llvm::enumerate(at.dimensions)) {
      llvm::Value* place = coordinate.value;
      if (static_cast<int>(d) == lane_dimension && lanes > 1)
        place = b.CreateAdd(
            place, b.CreateZExt(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, fails, b.getFalse()), b.getInt64Ty()));
      lane = b.CreateAdd(b.CreateMul(lane, e_.index(tt::shape_of(operation_.getCondition().getType())[d])), place);
    }
    llvm::Type* pointer = b.getPtrTy();
    auto* type = llvm::FunctionType::get(b.getVoidTy(),
                                         {pointer, b.getInt32Ty(), pointer, b.getInt64Ty(), b.getInt64Ty()}, false);
    llvm::Value* callee = b.CreateLoad(pointer, b.CreateConstGEP1_64(b.getInt8Ty(), e_.context_argument_, 16));
    b.CreateCall(type, callee,
                 {e_.context_argument_, b.getInt32(e_.numbers_.lookup(operation_)),
                  e_.text_constant(operation_.getMessage()), e_.program_, lane});
    b.CreateBr(e_.finish_);
    b.SetInsertPoint(after);
  }
  Emitter& e_;
  tt::AssertOp operation_;
};

void Emitter::emit_assert(tt::AssertOp operation) {
  AssertBody body(*this, operation);
  mlir::Value condition = operation.getCondition();
  if (!mlir::isa<mlir::RankedTensorType>(condition.getType())) return emit_nest(Nest{}, {&body});
  Nest nest = make_nest(tt::shape_of(condition.getType()), {condition});
  nest.unroll = 1;
  emit_nest(nest, {&body});
}

void Emitter::emit_print(tt::PrintOp operation) {
  llvm::Type* pointer = builder_.getPtrTy();
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(),
                                       {pointer, builder_.getInt32Ty(), pointer, builder_.getInt32Ty(), pointer,
                                        builder_.getInt64Ty(), builder_.getInt64Ty()},
                                       false);
  for (auto [number, value] : llvm::enumerate(operation.getArgs())) {
    mlir::Type element = tt::element_type(value.getType());
    auto shape = tt::shape_of(value.getType());
    Buffer buffer = allocate(element, shape);
    if (mlir::isa<mlir::RankedTensorType>(value.getType())) {
      if (auto held = buffers_.find(value); held != buffers_.end())
        copy_buffer(held->second, buffer);
      else
        materialise(value, buffer);
    } else {
      write_buffer(buffer, scalar(value), Coordinates{});
    }
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    bool is_signed = number < operation.getIsSigned().size() && operation.getIsSigned()[number];
    llvm::Value* values = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), arena_, buffer.offset);
    llvm::Value* callee =
        builder_.CreateLoad(pointer, builder_.CreateConstGEP1_64(builder_.getInt8Ty(), context_argument_, 24));
    builder_.CreateCall(
        type, callee,
        {context_argument_, builder_.getInt32(numbers_.lookup(operation)), text_constant(operation.getPrefix()),
         builder_.getInt32(static_cast<int>(dtype_of(element, is_signed))), values, index(count), program_});
    release(buffer);
  }
}

}  // namespace teeny::compiler::cpu
