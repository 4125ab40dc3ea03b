// Structured and unstructured control flow. What it carries lives in variables (scalars) and buffers (tensors); the
// variables become registers again in optimise().
#include <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/cpu/emitter.hpp"

namespace teeny::compiler::cpu {

namespace {

bool is_tensor(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }

}  // namespace

void Emitter::declare(mlir::ValueRange values) {
  for (mlir::Value value : values) {
    if (is_tensor(value)) {
      if (!buffers_.contains(value)) allocate(value);
    } else if (!variables_.contains(value)) {
      variables_[value] = variable(value_type_of(value), "carried");
    }
  }
}

void Emitter::load_variables(mlir::ValueRange values) {
  for (mlir::Value value : values)
    if (!is_tensor(value)) values_[value] = builder_.CreateLoad(value_type_of(value), variables_[value]);
}

// One place for both: `alias` names what `value` is declared as.
void Emitter::share(mlir::ValueRange aliases, mlir::ValueRange values) {
  for (auto [alias, value] : llvm::zip(aliases, values)) {
    if (is_tensor(value)) {
      Buffer buffer = buffers_.at(value);
      buffers_[alias] = buffer;
    } else {
      llvm::Value* place = variables_.at(value);
      variables_[alias] = place;
    }
  }
}

void Emitter::assign(mlir::ValueRange values, mlir::ValueRange targets) {
  llvm::SmallVector<std::pair<llvm::Value*, llvm::Value*>> scalars;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> tensors;
  for (auto [value, target] : llvm::zip(values, targets)) {
    if (!is_tensor(value)) {
      scalars.push_back({scalar(value), variables_.at(target)});
      continue;
    }
    auto held = buffers_.find(value);
    if (held == buffers_.end() || held->second.offset != buffers_.at(target).offset) tensors.push_back({value, target});
  }
  // A tensor that reads what another assignment overwrites, or its own target at other elements, goes through a copy.
  llvm::SmallVector<std::pair<Buffer, Buffer>> copies;
  llvm::SmallVector<std::pair<mlir::Value, Buffer>> direct;
  for (auto [value, target] : tensors) {
    bool endangered = false;
    auto check = [&](mlir::Value leaf, bool identity) {
      auto found = buffers_.find(leaf);
      if (found == buffers_.end()) return;
      for (auto& [other, overwritten] : tensors)
        if (found->second.offset == buffers_.at(overwritten).offset && (overwritten != target || !identity))
          endangered = true;
    };
    if (plan_.is_stored(value))
      check(value, true);
    else
      plan_.leaves(value, check);
    Buffer destination = buffers_.at(target);
    if (endangered) {
      Buffer copy = allocate(destination.element, destination.shape);
      materialise(value, copy);
      copies.push_back({copy, destination});
    } else {
      direct.push_back({value, destination});
    }
  }
  for (auto& [value, destination] : direct) materialise(value, destination);
  for (auto& [copy, destination] : copies) {
    copy_buffer(copy, destination);
    release(copy);
  }
  for (auto [value, place] : scalars) builder_.CreateStore(value, place);
}

void Emitter::emit_for(mlir::scf::ForOp loop) {
  declare(loop.getResults());
  share(loop.getRegionIterArgs(), loop.getResults());
  assign(loop.getInitArgs(), loop.getRegionIterArgs());
  llvm::Value *low = scalar(loop.getLowerBound()), *high = scalar(loop.getUpperBound()), *step = scalar(loop.getStep());
  llvm::Value* counter = variable(low->getType(), "counter");
  builder_.CreateStore(low, counter);
  llvm::BasicBlock *head = block("for"), *body = block("for_body"), *exit = block("for_done");
  bool is_unsigned = loop.getUnsignedCmp();
  auto below = [&](llvm::Value* left, llvm::Value* right) {
    return is_unsigned ? builder_.CreateICmpULT(left, right) : builder_.CreateICmpSLT(left, right);
  };
  builder_.CreateCondBr(below(low, high), body, exit);
  builder_.SetInsertPoint(body);
  values_[loop.getInductionVar()] = builder_.CreateLoad(low->getType(), counter);
  load_variables(loop.getRegionIterArgs());
  emit_block(*loop.getBody());
  assign(loop.getYieldedValues(), loop.getRegionIterArgs());
  builder_.CreateBr(head);
  // Counted by what is left, so that a bound near the largest integer does not wrap.
  builder_.SetInsertPoint(head);
  llvm::Value* current = builder_.CreateLoad(low->getType(), counter);
  llvm::Value* left = builder_.CreateSub(high, current);
  builder_.CreateStore(builder_.CreateAdd(current, step), counter);
  builder_.CreateCondBr(builder_.CreateICmpUGT(left, step), body, exit);
  builder_.SetInsertPoint(exit);
  load_variables(loop.getResults());
}

void Emitter::emit_if(mlir::scf::IfOp branch) {
  declare(branch.getResults());
  llvm::BasicBlock *then = block("then"), *otherwise = block("else"), *exit = block("if_done");
  builder_.CreateCondBr(scalar(branch.getCondition()), then, otherwise);
  for (bool is_then : {true, false}) {
    builder_.SetInsertPoint(is_then ? then : otherwise);
    mlir::Block* inner = is_then ? branch.thenBlock() : branch.elseBlock();
    if (inner) {
      emit_block(*inner);
      assign(inner->getTerminator()->getOperands(), branch.getResults());
    }
    builder_.CreateBr(exit);
  }
  builder_.SetInsertPoint(exit);
  load_variables(branch.getResults());
}

void Emitter::emit_while(mlir::scf::WhileOp loop) {
  declare(loop.getResults());
  share(loop.getAfterArguments(), loop.getResults());
  declare(loop.getBeforeArguments());
  assign(loop.getInits(), loop.getBeforeArguments());
  llvm::BasicBlock *head = block("while"), *body = block("while_body"), *exit = block("while_done");
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  load_variables(loop.getBeforeArguments());
  emit_block(*loop.getBeforeBody());
  assign(loop.getConditionOp().getArgs(), loop.getAfterArguments());
  builder_.CreateCondBr(scalar(loop.getConditionOp().getCondition()), body, exit);
  builder_.SetInsertPoint(body);
  load_variables(loop.getAfterArguments());
  emit_block(*loop.getAfterBody());
  assign(loop.getYieldOp().getOperands(), loop.getBeforeArguments());
  builder_.CreateBr(head);
  builder_.SetInsertPoint(exit);
  load_variables(loop.getResults());
}

void Emitter::emit_branch(mlir::Operation& operation) {
  if (mlir::isa<tt::ReturnOp>(operation)) {
    builder_.CreateBr(next_program_);
    return;
  }
  if (auto jump = mlir::dyn_cast<mlir::cf::BranchOp>(operation)) {
    assign(jump.getDestOperands(), jump.getDest()->getArguments());
    builder_.CreateBr(blocks_.at(jump.getDest()));
    return;
  }
  auto branch = mlir::dyn_cast<mlir::cf::CondBranchOp>(operation);
  if (!branch) refuse(&operation, "ends a block in a way that the CPU does not know", "use br, cond_br or return");
  llvm::BasicBlock *yes = block("true"), *no = block("false");
  builder_.CreateCondBr(scalar(branch.getCondition()), yes, no);
  builder_.SetInsertPoint(yes);
  assign(branch.getTrueDestOperands(), branch.getTrueDest()->getArguments());
  builder_.CreateBr(blocks_.at(branch.getTrueDest()));
  builder_.SetInsertPoint(no);
  assign(branch.getFalseDestOperands(), branch.getFalseDest()->getArguments());
  builder_.CreateBr(blocks_.at(branch.getFalseDest()));
}

}  // namespace teeny::compiler::cpu
