#include "compiler/gpu/stage/carried_values.hpp"

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// The carried values that effects, nested regions or used results depend on.
llvm::DenseSet<unsigned> used_values(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  llvm::DenseSet<unsigned> used;
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> pending;
  const auto need = [&](Value value) { pending.push_back(value); };
  for (Operation &operation : loop.getBody()->without_terminator())
    if (operation.getNumRegions() != 0 || !isMemoryEffectFree(&operation)) {
      operation.walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), need); });
      seen.insert(&operation);
    }
  for (auto [index, result] : llvm::enumerate(loop.getResults()))
    if (!result.use_empty()) {
      used.insert(index);
      need(yield->getOperand(index));
    }
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop.getBody()) {
      if (argument.getArgNumber() > 0 && used.insert(argument.getArgNumber() - 1).second)
        need(yield->getOperand(argument.getArgNumber() - 1));
      continue;
    }
    Operation *definition = value.getDefiningOp();
    if (!definition || definition->getBlock() != loop.getBody() || !seen.insert(definition).second) continue;
    llvm::for_each(definition->getOperands(), need);
  }
  return used;
}

}  // namespace

scf::ForOp drop_unused_carried_values(scf::ForOp loop) {
  const llvm::DenseSet<unsigned> used = used_values(loop);
  if (used.size() == loop.getNumRegionIterArgs()) return loop;
  SmallVector<Value> kept, yielded;
  for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
    if (used.contains(index)) kept.push_back(loop.getInitArgs()[index]);
  OpBuilder builder(loop);
  auto made = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), kept,
                                 nullptr, loop.getUnsignedCmp());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (!made.getBody()->empty()) made.getBody()->back().erase();
  IRMapping values;
  values.map(loop.getInductionVar(), made.getInductionVar());
  unsigned next = 0;
  for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
    values.map(loop.getRegionIterArg(index),
               used.contains(index) ? Value(made.getRegionIterArg(next++)) : loop.getInitArgs()[index]);
  builder.setInsertionPointToEnd(made.getBody());
  for (Operation &operation : loop.getBody()->without_terminator()) builder.clone(operation, values);
  for (auto [index, value] : llvm::enumerate(loop.getYieldedValues()))
    if (used.contains(index)) yielded.push_back(values.lookupOrDefault(value));
  scf::YieldOp::create(builder, loop.getLoc(), yielded);
  next = 0;
  for (unsigned index = 0; index < loop.getNumResults(); ++index)
    if (used.contains(index)) loop.getResult(index).replaceAllUsesWith(made.getResult(next++));
  loop.erase();
  return made;
}

}  // namespace teeny::compiler::gpu
