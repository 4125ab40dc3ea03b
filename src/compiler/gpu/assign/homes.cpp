#include "compiler/gpu/assign/homes.hpp"

#include <mlir/Dialect/SCF/IR/SCF.h>

namespace teeny::compiler::gpu {

using namespace mlir;
using tile::DistAttr;

Value representative(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument.getArgNumber() > 0) return loop.getResult(argument.getArgNumber() - 1);
    auto repeat = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp());
    if (repeat && argument.getOwner() == repeat.getAfterBody()) return repeat.getResult(argument.getArgNumber());
  }
  return value;
}

Value joined_value(OpOperand &use) {
  Operation *owner = use.getOwner(), *parent = owner->getParentOp();
  unsigned index = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    unsigned control = loop.getNumControlOperands();
    return index < control ? Value() : Value(loop.getResult(index - control));
  }
  if (auto repeat = dyn_cast<scf::WhileOp>(owner)) return repeat.getBeforeArguments()[index];
  if (isa<scf::ConditionOp>(owner)) return index == 0 ? Value() : Value(parent->getResult(index - 1));
  if (!isa<scf::YieldOp>(owner)) return {};
  if (auto repeat = dyn_cast<scf::WhileOp>(parent)) return repeat.getBeforeArguments()[index];
  return parent->getResult(index);
}

// What flows into a representative that control flow joins, the value of a loop's end first.
static SmallVector<Value, 2> sources_of(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp());
    if (!repeat) return {};
    return {repeat.getYieldOp().getOperand(argument.getArgNumber()), repeat.getInits()[argument.getArgNumber()]};
  }
  unsigned index = cast<OpResult>(value).getResultNumber();
  Operation *owner = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(owner))
    return {loop.getBody()->getTerminator()->getOperand(index), loop.getInitArgs()[index]};
  if (auto repeat = dyn_cast<scf::WhileOp>(owner)) return {repeat.getConditionOp().getArgs()[index]};
  SmallVector<Value, 2> sources;
  for (Region &region : owner->getRegions())
    if (!region.empty()) sources.push_back(region.front().getTerminator()->getOperand(index));
  return sources;
}

DistAttr Homes::of(Value value) {
  value = representative(value);
  if (DistAttr known = homes_.lookup(value)) return known;
  DistAttr home = forward(value);
  if (!home) home = wanted(value);
  if (!home) home = default_layout(tensor_of(value));
  return homes_[value] = home;
}

DistAttr Homes::forward(Value value) {
  value = representative(value);
  if (DistAttr home = homes_.lookup(value)) return home;
  auto [place, is_new] = forward_.try_emplace(value);
  if (!is_new) return place->second;  // null as well while it is being derived, in a loop
  DistAttr home = derive_forward(value);
  if (home) homes_[value] = home;
  return forward_[value] = home;
}

// Accumulators of matrix units first: they are the dearest to convert.
DistAttr Homes::carried_forward(ValueRange sources) {
  DistAttr first;
  for (Value source : sources) {
    if (!tensor_of(source)) continue;
    DistAttr home = forward(source);
    if (home && accumulators_.contains(home)) return home;
    if (!first) first = home;
  }
  return first;
}

DistAttr Homes::derive_forward(Value value) {
  Operation *owner = value.getDefiningOp();
  if (!owner || isa_and_nonnull<scf::SCFDialect>(owner->getDialect())) return carried_forward(sources_of(value));
  if (auto dot = dyn_cast<tt::DotOp>(owner)) return DistAttr::get(context_, plan(dot).accumulators);
  if (pointers_of(owner)) return of_access(owner);
  const LayoutRules *rules = rules_of(owner);
  if (!rules || owner->getNumOperands() == 0) return {};
  if (isa<tt::ReduceOp, tt::ScanOp>(owner)) return rules->result(owner, of(owner->getOperand(0)));
  DistAttr operand = carried_forward(owner->getOperands());
  return operand ? rules->result(owner, operand) : DistAttr();
}

DistAttr Homes::wanted(Value value) {
  value = representative(value);
  if (!visiting_.insert(value).second) return {};
  DistAttr found;
  auto search = [&](Value uses) {
    for (OpOperand &use : uses.getUses())
      if (!found) found = wanted_by(use);
  };
  if (auto loop = value.getDefiningOp<scf::ForOp>())
    search(loop.getRegionIterArg(cast<OpResult>(value).getResultNumber()));
  if (auto repeat = value.getDefiningOp<scf::WhileOp>())
    search(repeat.getAfterArguments()[cast<OpResult>(value).getResultNumber()]);
  search(value);
  visiting_.erase(value);
  return found;
}

DistAttr Homes::wanted_by(OpOperand &use) {
  Operation *owner = use.getOwner();
  auto target = [&](Value result) {
    DistAttr home = forward(result);
    return home ? home : wanted(result);
  };
  if (Value joined = joined_value(use)) return target(joined);
  if (auto dot = dyn_cast<tt::DotOp>(owner))
    return use.getOperandNumber() == 2 ? DistAttr::get(context_, plan(dot).accumulators) : DistAttr();
  if (pointers_of(owner)) return of_access(owner);
  const LayoutRules *rules = rules_of(owner);
  if (!rules || isa<tt::ReduceOp, tt::ScanOp>(owner)) return {};
  DistAttr result = target(owner->getResult(0));
  return result ? rules->operand(owner, result) : DistAttr();
}

}  // namespace teeny::compiler::gpu
