// The entry, the loop over programs, scalars and the arena.
#include "compiler/cpu/emitter.hpp"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/IR/RegionGraphTraits.h>

#include "compiler/import/operation_number.hpp"

namespace teeny::compiler::cpu {

Emitter::Emitter(tt::FuncOp function, const CpuTarget& target, const CpuOptions& options, llvm::Module& module)
    : function_(function),
      target_(target),
      options_(options),
      module_(module),
      context_(module.getContext()),
      builder_(context_),
      plan_(function) {
  std::uint32_t number = 0;
  function.getBody().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* operation) {
    numbers_[operation] = operation_number(operation->getLoc()).value_or(number);
    ++number;
  });
  levels_.assign(1, {});
}

CpuMetadata Emitter::run() {
  emit_entry();
  emit_grid_loop();
  return {function_.getName().str(), arena_bytes_};
}

llvm::BasicBlock* Emitter::block(const char* name) { return llvm::BasicBlock::Create(context_, name, entry_); }

llvm::Type* Emitter::value_type_of(mlir::Value value) {
  return value_type(tt::element_type(value.getType()), context_);
}

llvm::Value* Emitter::variable(llvm::Type* type, const char* name) {
  Builder builder(allocas_, allocas_->begin());
  return builder.CreateAlloca(type, nullptr, name);
}

void Emitter::emit_entry() {
  llvm::Type* pointer = builder_.getPtrTy();
  auto* type = llvm::FunctionType::get(
      builder_.getVoidTy(), {pointer, pointer, builder_.getInt64Ty(), builder_.getInt64Ty(), pointer}, false);
  entry_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, function_.getName(), module_);
  entry_->addFnAttr(llvm::Attribute::NoUnwind);
  entry_->addFnAttr("target-cpu", target_.cpu);
  if (!target_.features.empty()) entry_->addFnAttr("target-features", target_.features);
  entry_->addFnAttr("prefer-vector-width", std::to_string(target_.vector_bytes * 8));
  for (unsigned number : {0u, 1u, 4u}) entry_->addParamAttr(number, llvm::Attribute::NoAlias);
  begin_debug_info();
  allocas_ = block("entry");
  llvm::BasicBlock* start = block("start");
  Builder(allocas_).CreateBr(start);
  builder_.SetInsertPoint(start);
  llvm::Argument* arguments = entry_->getArg(0);
  context_argument_ = entry_->getArg(4);
  arena_ = builder_.CreateAlignedLoad(pointer, context_argument_, llvm::Align(8), "arena");
  for (unsigned axis = 0; axis < 3; ++axis)
    grid_[axis] = builder_.CreateAlignedLoad(
        builder_.getInt32Ty(), builder_.CreateConstGEP1_64(builder_.getInt32Ty(), entry_->getArg(1), axis),
        llvm::Align(4));
  for (auto [number, argument] : llvm::enumerate(function_.getArguments())) {
    if (mlir::isa<mlir::RankedTensorType, tt::TensorDescType>(argument.getType()))
      refuse(function_, "takes scalars and pointers", "pass a pointer and make the descriptor in the kernel");
    llvm::Value* slot = builder_.CreateConstGEP1_64(builder_.getInt64Ty(), arguments, number);
    llvm::Value* value = builder_.CreateAlignedLoad(memory_type(argument.getType(), context_), slot, llvm::Align(8));
    values_[argument] = from_memory(value, argument.getType());
  }
}

// Line tables only: a compile unit, the entry, and the operations' own places.
void Emitter::begin_debug_info() {
  if (!options_.debug_info) return;
  auto place = function_->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  llvm::DIBuilder builder(module_);
  llvm::DIFile* file = builder.createFile(place ? place.getFilename().str() : "kernel", ".");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus, file, "teeny", true, "", 0, "",
                            llvm::DICompileUnit::LineTablesOnly);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  unsigned line = place ? place.getLine() : 0;
  subprogram_ = builder.createFunction(file, function_.getName(), function_.getName(), file, line, type, line,
                                       llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  builder.finalizeSubprogram(subprogram_);
  builder.finalize();
  entry_->setSubprogram(subprogram_);
  module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  builder_.SetCurrentDebugLocation(llvm::DILocation::get(context_, line, 0, subprogram_));
}

// Programs run in order of their linear ids; the three ids advance like an odometer.
void Emitter::emit_grid_loop() {
  llvm::Value *first = entry_->getArg(2), *last = entry_->getArg(3);
  llvm::Value* linear = variable(builder_.getInt64Ty(), "program");
  llvm::Value* ids[3];
  llvm::BasicBlock *head = block("program"), *body = block("body");
  next_program_ = block("next"), finish_ = block("finish");
  for (llvm::Value*& id : ids) id = variable(builder_.getInt32Ty(), "id");
  builder_.CreateStore(first, linear);
  llvm::BasicBlock* set_up = block("ids");
  builder_.CreateCondBr(builder_.CreateICmpULT(first, last), set_up, finish_);
  builder_.SetInsertPoint(set_up);
  llvm::Value* rest = first;
  for (unsigned axis = 0; axis < 3; ++axis) {
    llvm::Value* extent = builder_.CreateZExt(grid_[axis], builder_.getInt64Ty());
    llvm::Value* id = axis == 2 ? rest : builder_.CreateURem(rest, extent);
    builder_.CreateStore(builder_.CreateTrunc(id, builder_.getInt32Ty()), ids[axis]);
    if (axis < 2) rest = builder_.CreateUDiv(rest, extent);
  }
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  bool asserts = false;
  function_.walk([&](tt::AssertOp) { asserts = true; });
  if (asserts) {
    llvm::Value* stop = builder_.CreateLoad(
        builder_.getInt32Ty(), builder_.CreateConstGEP1_64(builder_.getInt8Ty(), context_argument_, 32), true);
    builder_.CreateCondBr(builder_.CreateICmpEQ(stop, builder_.getInt32(0)), body, finish_);
  } else {
    builder_.CreateBr(body);
  }
  builder_.SetInsertPoint(body);
  program_ = builder_.CreateLoad(builder_.getInt64Ty(), linear);
  for (unsigned axis = 0; axis < 3; ++axis) program_ids_[axis] = builder_.CreateLoad(builder_.getInt32Ty(), ids[axis]);
  emit_region(function_.getBody());
  builder_.SetInsertPoint(next_program_);
  llvm::Value* next = builder_.CreateAdd(builder_.CreateLoad(builder_.getInt64Ty(), linear), index(1));
  builder_.CreateStore(next, linear);
  llvm::Value* carry = builder_.getInt32(1);
  for (unsigned axis = 0; axis < 3; ++axis) {
    llvm::Value* id = builder_.CreateAdd(builder_.CreateLoad(builder_.getInt32Ty(), ids[axis]), carry);
    llvm::Value* wraps = axis < 2 ? builder_.CreateICmpEQ(id, grid_[axis]) : builder_.getFalse();
    builder_.CreateStore(builder_.CreateSelect(wraps, builder_.getInt32(0), id), ids[axis]);
    carry = builder_.CreateZExt(wraps, builder_.getInt32Ty());
  }
  builder_.CreateCondBr(builder_.CreateICmpULT(next, last), head, finish_);
  builder_.SetInsertPoint(finish_);
  if (streams_ && target_.x86) builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {});
  builder_.CreateRetVoid();
}

// ---- blocks and operations

void Emitter::emit_region(mlir::Region& region) {
  // Definitions before their uses, whatever the order of the text; what cannot be reached is left out.
  llvm::ReversePostOrderTraversal<mlir::Region*> order(&region);
  for (mlir::Block* inner : order) {
    blocks_[inner] = inner->isEntryBlock() ? builder_.GetInsertBlock() : block("block");
    if (!inner->isEntryBlock()) declare(inner->getArguments());
  }
  for (mlir::Block* inner : order) {
    builder_.SetInsertPoint(blocks_[inner]);
    if (!inner->isEntryBlock()) load_variables(inner->getArguments());
    emit_block(*inner);
  }
}

void Emitter::emit_block(mlir::Block& inner) {
  for (mlir::Operation& operation : inner) {
    emit_operation(operation);
    for (mlir::Value value : plan_.dead_after(&operation))
      if (auto found = buffers_.find(value); found != buffers_.end() && !borrowed_.contains(value))
        release(found->second);
  }
}

void Emitter::emit_operation(mlir::Operation& operation) {
  if (const Group* group = plan_.group_at(&operation)) emit_group(*group);
  set_location(&operation);
  if (is_expression(&operation) || mlir::isa<tt::ReduceOp>(operation)) return;
  if (auto store = mlir::dyn_cast<tt::StoreOp>(operation)) {
    if (!mlir::isa<mlir::RankedTensorType>(store.getPtr().getType())) emit_store(store, Coordinates{}, false);
    return;
  }
  if (auto scan = mlir::dyn_cast<tt::ScanOp>(operation)) return emit_scan(scan);
  if (auto dot = mlir::dyn_cast<tt::DotOp>(operation)) return emit_dot(dot);
  if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(operation)) return emit_for(loop);
  if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(operation)) return emit_if(branch);
  if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(operation)) return emit_while(loop);
  if (mlir::isa<mlir::scf::YieldOp, mlir::scf::ConditionOp>(operation)) return;  // their parents read them
  if (operation.hasTrait<mlir::OpTrait::IsTerminator>()) return emit_branch(operation);
  if (mlir::isa<tt::AtomicRMWOp, tt::AtomicCASOp>(operation)) return emit_atomic(operation);
  if (auto check = mlir::dyn_cast<tt::AssertOp>(operation)) return emit_assert(check);
  if (auto print = mlir::dyn_cast<tt::PrintOp>(operation)) return emit_print(print);
  if (mlir::isa<tt::AssumeOp, tt::BarrierOp>(operation) || operation.getName().getStringRef() == "llvm.intr.assume")
    return;
  emit_scalar(operation);
}

void Emitter::emit_scalar(mlir::Operation& operation) {
  auto bind = [&](llvm::Value* value) { values_[operation.getResult(0)] = value; };
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(operation))
    return bind(constant_of(constant.getValue(), constant.getType(), context_));
  if (auto id = mlir::dyn_cast<tt::GetProgramIdOp>(operation))
    return bind(program_ids_[static_cast<int>(id.getAxis())]);
  if (auto count = mlir::dyn_cast<tt::GetNumProgramsOp>(operation))
    return bind(grid_[static_cast<int>(count.getAxis())]);
  if (mlir::isa<mlir::ub::PoisonOp>(operation))
    return bind(llvm::Constant::getNullValue(value_type_of(operation.getResult(0))));
  if (auto load = mlir::dyn_cast<tt::LoadOp>(operation)) {
    llvm::Value* mask = load.getMask() ? scalar(load.getMask()) : nullptr;
    llvm::Value* other = load.getOther() ? scalar(load.getOther()) : nullptr;
    llvm::Value* loaded = load_scalar(load.getType(), scalar(load.getPtr()), mask, other);
    if (load.getIsVolatile()) {
      llvm::Value* memory = loaded;
      while (!llvm::isa<llvm::LoadInst>(memory))
        memory = llvm::cast<llvm::Instruction>(memory)->getOperand(llvm::isa<llvm::SelectInst>(memory) ? 1 : 0);
      llvm::cast<llvm::LoadInst>(memory)->setVolatile(true);
    }
    return bind(loaded);
  }
  if (auto unsplat = mlir::dyn_cast<tt::UnsplatOp>(operation)) {
    Coordinates origin;
    origin.dimensions.assign(tt::shape_of(unsplat.getSrc().getType()).size(), {index(0)});
    levels_.assign(1, {});
    bind(evaluate(unsplat.getSrc(), origin));
    levels_.assign(1, {});
    return;
  }
  llvm::SmallVector<llvm::Value*, 3> operands;
  for (mlir::Value operand : operation.getOperands()) operands.push_back(scalar(operand));
  for (auto [result, value] : llvm::zip(operation.getResults(), apply(builder_, &operation, operands, options_)))
    values_[result] = value;
}

llvm::Value* Emitter::scalar(mlir::Value value) {
  auto found = values_.find(value);
  if (found != values_.end()) return found->second;
  mlir::Operation* operation = value.getDefiningOp();
  refuse(operation ? operation : function_.getOperation(), "gives a value of type that the CPU does not carry",
         "use scalars, pointers and tensors of them");
}

void Emitter::set_location(mlir::Operation* operation) {
  if (!subprogram_) return;
  auto place = operation->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  if (place)
    builder_.SetCurrentDebugLocation(llvm::DILocation::get(context_, place.getLine(), place.getColumn(), subprogram_));
}

// ---- the arena

Buffer& Emitter::allocate(mlir::Value value) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  return buffers_[value] = allocate(type.getElementType(), type.getShape());
}

Buffer Emitter::allocate(mlir::Type element, llvm::ArrayRef<std::int64_t> shape) {
  Buffer buffer;
  buffer.element = element;
  buffer.shape.assign(shape.begin(), shape.end());
  std::uint64_t bytes = memory_bytes(element);
  for (std::int64_t extent : shape) bytes *= static_cast<std::uint64_t>(extent);
  buffer.bytes = (bytes + 63) / 64 * 64;
  buffer.offset = allocate_bytes(buffer.bytes);
  return buffer;
}

std::uint64_t Emitter::allocate_bytes(std::uint64_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  for (auto place = free_.begin(); place != free_.end(); ++place) {
    if (place->second < bytes) continue;
    std::uint64_t offset = place->first;
    place->first += bytes, place->second -= bytes;
    if (place->second == 0) free_.erase(place);
    return offset;
  }
  std::uint64_t offset = arena_top_;
  arena_top_ += bytes;
  arena_bytes_ = std::max(arena_bytes_, arena_top_);
  return offset;
}

void Emitter::release(const Buffer& buffer) { release_bytes(buffer.offset, buffer.bytes); }

void Emitter::release_bytes(std::uint64_t offset, std::uint64_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  auto place = llvm::lower_bound(free_, std::make_pair(offset, std::uint64_t{0}));
  place = free_.insert(place, {offset, bytes});
  if (auto next = std::next(place); next != free_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    free_.erase(next);
  }
  if (place != free_.begin()) {
    auto previous = std::prev(place);
    if (previous->first + previous->second == place->first) {
      previous->second += place->second;
      place = std::prev(free_.erase(place));
    }
  }
  if (place->first + place->second == arena_top_) arena_top_ = place->first, free_.erase(place);
}

}  // namespace teeny::compiler::cpu
