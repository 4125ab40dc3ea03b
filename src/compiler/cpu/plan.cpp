#include "compiler/cpu/plan.hpp"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>

#include "compiler/cpu/elementwise.hpp"

namespace teeny::compiler::cpu {

namespace {

bool is_tensor(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }

bool is_shape_operation(mlir::Operation* operation) {
  return mlir::isa<tt::SplatOp, tt::ExpandDimsOp, tt::BroadcastOp, tt::ReshapeOp, tt::TransOp>(operation);
}

bool reads(mlir::Operation* operation) {
  if (operation->getNumRegions() && !mlir::isa<tt::ReduceOp, tt::ScanOp>(operation)) return true;
  auto effects = mlir::dyn_cast<mlir::MemoryEffectOpInterface>(operation);
  return effects && !effects.hasNoEffect();
}

bool writes(mlir::Operation* operation) {
  if (mlir::isa<tt::AssumeOp, tt::AssertOp, tt::PrintOp>(operation)) return false;
  bool found = false;
  if (auto effects = mlir::dyn_cast<mlir::MemoryEffectOpInterface>(operation))
    found = effects.hasEffect<mlir::MemoryEffects::Write>();
  for (mlir::Region& region : operation->getRegions())
    for (mlir::Block& block : region)
      for (mlir::Operation& inner : block) found = found || writes(&inner);
  return found;
}

unsigned own_cost(mlir::Operation* operation) {
  if (mlir::isa<tt::LoadOp>(operation)) return 4;
  if (mlir::isa<mlir::arith::DivFOp, tt::PreciseDivFOp, mlir::math::SqrtOp, tt::PreciseSqrtOp>(operation)) return 6;
  if (mlir::isa<mlir::arith::DivSIOp, mlir::arith::DivUIOp, mlir::arith::RemSIOp, mlir::arith::RemUIOp>(operation))
    return 8;
  return is_elementwise(operation) ? 1 : 0;
}

}  // namespace

llvm::ArrayRef<int64_t> iteration_shape(const Root& root) {
  return tt::shape_of(root.stored ? root.stored.getType() : root.operation->getOperand(0).getType());
}

mlir::Value base_pointer(mlir::Value pointer) {
  while (mlir::Operation* operation = pointer.getDefiningOp()) {
    if (!mlir::isa<tt::AddPtrOp, tt::BitcastOp, tt::HintOp>(operation) && !is_shape_operation(operation)) return {};
    pointer = operation->getOperand(0);
  }
  auto argument = mlir::cast<mlir::BlockArgument>(pointer);
  if (mlir::isa<tt::FuncOp>(argument.getOwner()->getParentOp()))
    return argument.getOwner()->isEntryBlock() ? pointer : mlir::Value();
  if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(argument.getOwner()->getParentOp());
      loop && argument.getArgNumber() > 0) {
    // A pointer that a loop carries and only moves keeps its base.
    mlir::Value yielded = loop.getYieldedValues()[argument.getArgNumber() - 1];
    while (mlir::Operation* operation = yielded.getDefiningOp()) {
      if (!mlir::isa<tt::AddPtrOp, tt::BitcastOp, tt::HintOp>(operation) && !is_shape_operation(operation)) return {};
      yielded = operation->getOperand(0);
    }
    return yielded == pointer ? base_pointer(loop.getInitArgs()[argument.getArgNumber() - 1]) : mlir::Value();
  }
  return {};
}

bool same_value(mlir::Value a, mlir::Value b) {
  if (a == b) return true;
  mlir::Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || x->getAttrDictionary() != y->getAttrDictionary()) return false;
  if (a.getType() != b.getType() || x->getNumResults() != 1 || x->getNumRegions() ||
      x->getNumOperands() != y->getNumOperands())
    return false;
  if (!mlir::isPure(x)) return false;
  for (auto [left, right] : llvm::zip(x->getOperands(), y->getOperands()))
    if (!same_value(left, right)) return false;
  return true;
}

bool is_expression(mlir::Operation* operation) {
  if (operation->getNumResults() == 0 || !is_tensor(operation->getResult(0))) return false;
  return is_elementwise(operation) || is_shape_operation(operation) ||
         mlir::isa<tt::MakeRangeOp, mlir::arith::ConstantOp, tt::LoadOp, mlir::ub::PoisonOp>(operation);
}

const Group* Plan::group_at(mlir::Operation* operation) const {
  auto found = groups_.find(operation);
  return found == groups_.end() ? nullptr : &found->second;
}

llvm::ArrayRef<mlir::Value> Plan::dead_after(mlir::Operation* operation) const {
  auto found = dead_after_.find(operation);
  return found == dead_after_.end() ? llvm::ArrayRef<mlir::Value>() : llvm::ArrayRef<mlir::Value>(found->second);
}

llvm::ArrayRef<mlir::Operation*> Plan::consumers(mlir::Value value) const {
  auto found = consumers_.find(value);
  return found == consumers_.end() ? llvm::ArrayRef<mlir::Operation*>()
                                   : llvm::ArrayRef<mlir::Operation*>(found->second);
}

unsigned Plan::cost(mlir::Value value) const { return costs_.lookup(value); }

// ---- which tensors are stored

Plan::Plan(tt::FuncOp function) {
  count_costs(function);
  // Backwards, so that what reads a value has been decided before it.
  llvm::SmallVector<mlir::Operation*> operations;
  function.getBody().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* operation) {
    if (!mlir::isa<tt::ReduceOp, tt::ScanOp>(operation->getParentOp())) operations.push_back(operation);
  });
  for (mlir::Operation* operation : llvm::reverse(operations)) decide(operation);
  function.walk([&](mlir::Block* block) {
    for (mlir::BlockArgument argument : block->getArguments())
      if (is_tensor(argument)) stored_.insert(argument);
  });
  function.walk([&](mlir::Block* block) {
    if (!mlir::isa<tt::ReduceOp, tt::ScanOp>(block->getParentOp())) group_block(*block);
  });
  find_last_uses();
}

void Plan::count_costs(tt::FuncOp function) {
  function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* operation) {
    if (!is_expression(operation)) return;
    unsigned total = own_cost(operation);
    for (mlir::Value operand : operation->getOperands()) total = std::min(1000u, total + costs_.lookup(operand));
    for (mlir::Value result : operation->getResults()) costs_[result] = total;
  });
}

void Plan::decide(mlir::Operation* operation) {
  for (mlir::Value value : operation->getResults()) {
    if (!is_tensor(value)) continue;
    llvm::SetVector<mlir::Operation*> readers;
    for (mlir::Operation* user : value.getUsers()) {
      if (!is_expression(user) || stored_.contains(user->getResult(0))) {
        readers.insert(user);
        continue;
      }
      for (mlir::Value result : user->getResults()) {
        auto further = consumers(result);
        readers.insert(further.begin(), further.end());
      }
    }
    auto list = readers.takeVector();
    if (must_store(operation, value, list)) stored_.insert(value);
    consumers_[value].assign(list.begin(), list.end());
  }
}

bool Plan::must_store(mlir::Operation* operation, mlir::Value value, llvm::ArrayRef<mlir::Operation*> readers) const {
  if (!is_expression(operation)) return true;
  if (readers.empty() || mlir::isa<mlir::arith::ConstantOp, tt::MakeRangeOp, tt::SplatOp>(operation)) return false;
  auto load = mlir::dyn_cast<tt::LoadOp>(operation);
  if (load && load.getIsVolatile()) return true;
  bool has_load = false;
  leaves(value, [&](mlir::Value leaf, bool) { has_load |= leaf.getDefiningOp<tt::LoadOp>() != nullptr; });
  unsigned work = cost(value);
  bool is_mask_or_pointer =
      tt::element_type(value.getType()).isInteger(1) || mlir::isa<tt::PointerType>(tt::element_type(value.getType()));
  for (mlir::Operation* reader : readers) {
    bool nested = reader->getBlock() != operation->getBlock();
    if (nested && has_load) return true;
    if (nested && work > 12 && !is_mask_or_pointer) return true;
    if (load && overtaken(load, reader)) return true;
  }
  if (readers.size() < 2 || is_shape_operation(operation)) return false;
  return !load && work > 10 && !is_mask_or_pointer && (has_load || work > 20);
}

// Whether memory may have changed between the load and where its reader runs.
bool Plan::overtaken(tt::LoadOp load, mlir::Operation* reader) const {
  mlir::Operation* end = load->getBlock()->findAncestorOpInBlock(*reader);
  if (!end) return true;
  for (mlir::Operation* between = load->getNextNode(); between && between != end; between = between->getNextNode())
    if (writes(between)) return true;
  if (mlir::isa<tt::AtomicRMWOp, tt::AtomicCASOp>(reader)) return true;
  auto store = mlir::dyn_cast<tt::StoreOp>(reader);
  if (!store || !is_tensor(store.getPtr())) return false;
  mlir::Value from = base_pointer(load.getPtr()), to = base_pointer(store.getPtr());
  if (from && to && from != to) return false;
  if (!same_value(load.getPtr(), store.getPtr())) return true;
  bool shifted = false;
  leaves(Root{store, {}}, [&](mlir::Value leaf, bool identity) { shifted |= leaf == load.getResult() && !identity; });
  return shifted;
}

void Plan::leaves(mlir::Value value, llvm::function_ref<void(mlir::Value, bool)> visit) const {
  llvm::SmallVector<std::pair<mlir::Value, bool>> work{{value, true}};
  llvm::DenseSet<std::pair<mlir::Value, char>> seen;
  while (!work.empty()) {
    auto [current, identity] = work.pop_back_val();
    if (!seen.insert({current, identity}).second) continue;
    mlir::Operation* operation = current.getDefiningOp();
    bool is_root_value = current == value;
    if (!operation || !is_tensor(current) || !is_expression(operation) ||
        (stored_.contains(current) && !is_root_value)) {
      visit(current, identity);
      continue;
    }
    if (mlir::isa<tt::LoadOp>(operation)) visit(current, identity);
    bool keeps = identity && !is_shape_operation(operation);
    for (mlir::Value operand : operation->getOperands()) work.push_back({operand, keeps});
  }
}

void Plan::leaves(const Root& root, llvm::function_ref<void(mlir::Value, bool)> visit) const {
  if (root.stored) return leaves(root.stored, visit);
  for (mlir::Value operand : root.operation->getOperands()) {
    if (is_tensor(operand) && stored_.contains(operand))
      visit(operand, true);
    else
      leaves(operand, visit);
  }
}

// ---- which roots share a nest

void Plan::group_block(mlir::Block& block) {
  llvm::SmallVector<Group> groups;
  for (mlir::Operation& operation : block) {
    llvm::SmallVector<Root, 2> roots;
    if (is_expression(&operation)) {
      for (mlir::Value result : operation.getResults())
        if (stored_.contains(result)) roots.push_back({&operation, result});
    } else if (mlir::isa<tt::ReduceOp>(operation) ||
               (mlir::isa<tt::StoreOp>(operation) && is_tensor(operation.getOperand(0)))) {
      roots.push_back({&operation, {}});
    }
    for (const Root& root : roots) {
      if (!groups.empty() && can_join(groups.back(), root))
        groups.back().push_back(root);
      else
        groups.push_back({root});
    }
  }
  for (Group& group : groups) {
    mlir::Operation* leader = group.front().operation;
    // Two results of one operation that could not share a nest still start at one position: they run one after another.
    auto [place, inserted] = groups_.try_emplace(leader, group);
    if (!inserted) place->second.append(group.begin(), group.end());
  }
}

bool Plan::can_join(const Group& group, const Root& root) const {
  return iteration_shape(group.front()) == iteration_shape(root) && available(group, root) && in_order(group, root);
}

// Everything that the root reads exists where the group runs, or is made by the group at the same element.
bool Plan::available(const Group& group, const Root& root) const {
  mlir::Operation* leader = group.front().operation;
  bool fits = true;
  leaves(root, [&](mlir::Value leaf, bool identity) {
    mlir::Operation* definition = leaf.getDefiningOp();
    if (!fits || !definition || definition->getBlock() != leader->getBlock() || definition->isBeforeInBlock(leader))
      return;
    if (definition->hasTrait<mlir::OpTrait::ConstantLike>()) return;
    bool made_here = llvm::any_of(group, [&](const Root& member) { return member.stored == leaf; });
    if (made_here)
      fits = identity;
    else if (!mlir::isa<tt::LoadOp>(definition) || !is_tensor(leaf) || stored_.contains(leaf))
      fits = leaf == root.stored;  // only a tensor's load is part of the expression and moves with it
  });
  return fits;
}

// Running the root where the group runs, element by element with it, changes no load's value.
bool Plan::in_order(const Group& group, const Root& root) const {
  auto store = mlir::dyn_cast<tt::StoreOp>(root.operation);
  for (mlir::Operation* between = group.front().operation; between != root.operation;
       between = between->getNextNode()) {
    if (llvm::any_of(group, [&](const Root& member) { return member.operation == between; })) continue;
    if (writes(between)) return false;
    if (!store || !reads(between)) continue;
    auto load = mlir::dyn_cast<tt::LoadOp>(between);
    if (!load || !is_tensor(load.getResult())) return false;
    for (mlir::Operation* reader : consumers(load.getResult()))
      if (reader != root.operation) return false;
  }
  bool fits = true;
  auto conflict = [&](tt::StoreOp writer, mlir::Value leaf, bool identity) {
    auto load = leaf.getDefiningOp<tt::LoadOp>();
    if (!load || !writer || stored_.contains(leaf)) return;
    mlir::Value from = base_pointer(load.getPtr()), to = base_pointer(writer.getPtr());
    if (from && to && from != to) return;
    fits = fits && identity && load->isBeforeInBlock(writer) && same_value(load.getPtr(), writer.getPtr());
  };
  for (const Root& member : group) {
    auto earlier = mlir::dyn_cast<tt::StoreOp>(member.operation);
    leaves(root, [&](mlir::Value leaf, bool identity) { conflict(earlier, leaf, identity); });
    leaves(member, [&](mlir::Value leaf, bool identity) { conflict(store, leaf, identity); });
    if (member.stored && member.stored.getDefiningOp<tt::LoadOp>() && store) {
      auto load = member.stored.getDefiningOp<tt::LoadOp>();
      mlir::Value from = base_pointer(load.getPtr()), to = base_pointer(store.getPtr());
      if (!(from && to && from != to)) fits = fits && same_value(load.getPtr(), store.getPtr());
    }
    // Two stores to one buffer keep their order only at equal elements.
    if (earlier && store && base_pointer(earlier.getPtr()) == base_pointer(store.getPtr()))
      fits = fits && same_value(earlier.getPtr(), store.getPtr());
  }
  return fits;
}

// ---- lifetimes

void Plan::find_last_uses() {
  for (mlir::Value value : stored_) {
    if (mlir::isa<mlir::BlockArgument>(value)) continue;
    mlir::Block* block = value.getDefiningOp()->getBlock();
    mlir::Operation* last = value.getDefiningOp();
    bool known = true;
    for (mlir::Operation* reader : consumers(value)) {
      mlir::Operation* place = block->findAncestorOpInBlock(*reader);
      if (!place)
        known = false;
      else if (last->isBeforeInBlock(place))
        last = place;
    }
    if (known) dead_after_[last].push_back(value);
  }
}

}  // namespace teeny::compiler::cpu
