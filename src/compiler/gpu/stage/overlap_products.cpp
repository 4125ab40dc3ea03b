#include "compiler/gpu/stage/overlap_products.hpp"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/gpu/assign/layout_rules.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// Nothing where the product does not sum from turn to turn, or something else takes its sums.
std::optional<LateProduct> summing(tile::MmaOp product, scf::ForOp loop) {
  LateProduct late{.product = product};
  Value sums = product.getAccumulators();
  while (Operation *definition = sums.getDefiningOp()) {
    if (definition->getBlock() != loop.getBody() || !is_elementwise(definition) || !sums.hasOneUse()) return {};
    late.chain.push_back(definition);
    // The sums come through the operand of their own layout that leads to a carried value.
    Value next;
    for (Value operand : definition->getOperands())
      if (operand.getType() == sums.getType() && operand.hasOneUse() &&
          (isa<BlockArgument>(operand) || is_elementwise(operand.getDefiningOp())))
        if (!next || isa<BlockArgument>(operand)) next = operand;
    if (!next) return {};
    sums = next;
  }
  auto argument = dyn_cast<BlockArgument>(sums);
  if (!argument || argument.getOwner() != loop.getBody() || argument.getArgNumber() == 0 || !sums.hasOneUse()) return {};
  late.carried = argument.getArgNumber() - 1;
  Value result = product.getResult();
  if (!result.hasOneUse() || loop.getYieldedValues()[late.carried] != result) return {};
  std::reverse(late.chain.begin(), late.chain.end());
  return late;
}

// Whether what the product reads in memory is still there a turn later.
bool reads_lasting_memory(tile::MmaOp product, scf::ForOp loop, ArrayRef<Value> lasting) {
  return llvm::all_of(ValueRange{product.getA(), product.getB()}, [&](Value operand) {
    if (!isa<tile::MemType>(operand.getType())) return true;
    if (auto turned = operand.getDefiningOp<tile::ViewTransOp>()) operand = turned.getMemory();
    auto buffer = operand.getDefiningOp<tile::ViewBufferOp>();
    return loop.isDefinedOutsideOfLoop(buffer ? buffer.getMemory() : operand) || llvm::is_contained(lasting, operand);
  });
}

bool depends_on_product(tile::MmaOp product, scf::ForOp loop) {
  SmallVector<Value> pending{product.getA(), product.getB()};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *definition = pending.pop_back_val().getDefiningOp();
    if (!definition || !loop->isAncestor(definition) || !seen.insert(definition).second) continue;
    if (isa<tile::MmaOp>(definition)) return true;
    definition->walk([&](Operation *inner) { llvm::append_range(pending, inner->getOperands()); });
  }
  return false;
}

// Whether a result of `products` has been taken before.
bool comes_after_user(tile::MmaOp product, ArrayRef<tile::MmaOp> products) {
  return llvm::any_of(products, [&](tile::MmaOp earlier) {
    return llvm::any_of(earlier->getUsers(), [&](Operation *user) {
      Operation *ancestor = product->getBlock()->findAncestorOpInBlock(*user);
      return ancestor && ancestor->isBeforeInBlock(product);
    });
  });
}

// What shows memory, or the same values at more places than its operand has: cheaper to compute again than to carry.
bool is_cheap_view(Operation *operation) {
  return isa<tile::ViewBufferOp, tile::ViewTransOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::SplatOp>(operation);
}

class Overlapper {
 public:
  Overlapper(scf::ForOp loop, const OverlapPlan &plan)
      : loop_(loop), plan_(plan), builder_(loop), location_(loop.getLoc()) {}

  scf::ForOp run() {
    for (const LateProduct &late : plan_.late) {
      late_places_.insert(late.carried);
      late_.insert(late.chain.begin(), late.chain.end());
      late_.insert(late.product);
    }
    for (size_t i = 0; i < late_.size(); ++i)
      for (Value operand : late_[i]->getOperands()) add_operand(operand);
    for (Operation &operation : loop_.getBody()->without_terminator())
      if (late_.contains(&operation)) in_order_.push_back(&operation);
    Value any = arith::CmpIOp::create(builder_, location_,
                                      loop_.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt,
                                      loop_.getLowerBound(), loop_.getUpperBound());
    auto branch = scf::IfOp::create(builder_, location_, loop_.getResultTypes(), any, true);
    builder_.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder_, location_, loop_.getInitArgs());
    builder_.setInsertionPointToStart(branch.thenBlock());
    scf::ForOp made = make_turns();
    builder_.setInsertionPointAfter(branch);
    wait({}, 0);  // nothing behind it touches what products read
    loop_.replaceAllUsesWith(branch.getResults());
    loop_.erase();
    return made;
  }

 private:
  bool is_late_sum(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() > 0 && late_places_.contains(argument.getArgNumber() - 1);
  }

  // An operand of a late operation: computed late too, or carried from the turn before.
  void add_operand(Value operand) {
    if (auto argument = dyn_cast<BlockArgument>(operand)) {
      if (argument.getOwner() == loop_.getBody() && !is_late_sum(argument)) carried_.insert(operand);
      return;
    }
    Operation *definition = operand.getDefiningOp();
    if (!loop_->isAncestor(definition) || late_.contains(definition)) return;
    if (is_cheap_view(definition)) copies_.insert(definition), late_.insert(definition);
    else carried_.insert(operand);
  }

  SmallVector<Value> wait(ArrayRef<Value> sums, int pending) {
    auto wait = tile::MmaWaitOp::create(builder_, location_, TypeRange(ValueRange(sums)), pending, sums);
    return SmallVector<Value>(wait.getResults());
  }

  // The late products of the turn whose values `values` has. Their sums, waited for or not.
  SmallVector<Value> make_late(IRMapping &values, bool async) {
    SmallVector<Value> sums;
    for (Operation *operation : in_order_) {
      Operation *made = builder_.clone(*operation, values);
      if (auto product = dyn_cast<tile::MmaOp>(made)) product.setAsync(async);
    }
    for (LateProduct late : plan_.late) sums.push_back(values.lookup(late.product.getResult()));
    return sums;
  }

  // A turn without its late products, but with those of the turn before, which `late` makes. `pending`: how many those
  // are.
  void make_early(IRMapping &values, llvm::function_ref<void()> late, int pending) {
    llvm::SmallSetVector<Operation *, 4> begun(plan_.early.begin(), plan_.early.end());
    bool waited = false;
    for (Operation &operation : loop_.getBody()->without_terminator()) {
      if (late_.contains(&operation) && !is_needed_early(&operation)) continue;
      const bool takes = llvm::any_of(operation.getOperands(), [&](Value operand) { return begun.contains(operand.getDefiningOp()); });
      if (!waited && (takes || operation.getNumRegions() != 0)) wait_for_early(values, pending), waited = true;
      Operation *made = builder_.clone(operation, values);
      if (!begun.contains(&operation)) continue;
      cast<tile::MmaOp>(made).setAsync(true);
      if (&operation == begun.back()) late();
    }
    if (!waited) wait_for_early(values, pending);
  }

  void wait_for_early(IRMapping &values, int pending) {
    SmallVector<Value> sums;
    for (tile::MmaOp product : plan_.early) sums.push_back(values.lookup(product.getResult()));
    for (auto [product, waited] : llvm::zip_equal(plan_.early, wait(sums, pending))) values.map(tile::MmaOp(product).getResult(), waited);
  }

  // A view that late products have copies of may have other users.
  bool is_needed_early(Operation *operation) {
    return copies_.contains(operation) &&
           llvm::any_of(operation->getUsers(), [&](Operation *user) { return !late_.contains(user) || is_needed_early(user); });
  }

  // The turn's carried values: the loop's own but the late sums, then what late operations take from a turn.
  SmallVector<Value> carried_of(IRMapping &values) {
    SmallVector<Value> carried;
    for (auto [index, value] : llvm::enumerate(loop_.getYieldedValues()))
      if (!late_places_.contains(index)) carried.push_back(values.lookupOrDefault(value));
    for (Value value : carried_) carried.push_back(values.lookupOrDefault(value));
    return carried;
  }

  // The loop's first turn up to its late products, the other turns, and the last late products; yields the loop's results.
  scf::ForOp make_turns() {
    IRMapping values;
    values.map(loop_.getInductionVar(), loop_.getLowerBound());
    values.map(loop_.getRegionIterArgs(), loop_.getInitArgs());
    make_early(values, [] {}, 0);
    SmallVector<Value> carried;
    for (const LateProduct &late : plan_.late) carried.push_back(loop_.getInitArgs()[late.carried]);
    llvm::append_range(carried, carried_of(values));
    scf::ForOp made = scf::ForOp::create(builder_, location_, second_turn(), loop_.getUpperBound(), loop_.getStep(), carried,
                                         nullptr, loop_.getUnsignedCmp());
    made->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    if (!made.getBody()->empty()) made.getBody()->back().erase();
    builder_.setInsertionPointToEnd(made.getBody());
    make_body(made);
    builder_.setInsertionPointAfter(made);
    IRMapping last;
    SmallVector<Value> results(loop_.getNumResults());
    map_turn(last, made.getResults(), results);
    wait_for_late(last);
    for (auto [late, sum] : llvm::zip_equal(plan_.late, wait(make_late(last, true), 0))) results[late.carried] = sum;
    scf::YieldOp::create(builder_, location_, results);
    return made;
  }

  // The variable of the second turn, the loop's end where there is none: the distance as an unsigned number does not overflow.
  Value second_turn() {
    Value first = loop_.getLowerBound(), end = loop_.getUpperBound(), step = loop_.getStep();
    Value left = arith::SubIOp::create(builder_, location_, end, first);
    Value exists = arith::CmpIOp::create(builder_, location_, arith::CmpIPredicate::ugt, left, step);
    Value second = arith::AddIOp::create(builder_, location_, first, step);
    return arith::SelectOp::create(builder_, location_, exists, second, end);
  }

  // Maps what late operations take to what the turn before left in `carried`; `others`: the loop's carried values.
  void map_turn(IRMapping &values, ValueRange carried, SmallVector<Value> &others) {
    unsigned next = 0;
    for (const LateProduct &late : plan_.late) values.map(loop_.getRegionIterArg(late.carried), carried[next++]);
    for (unsigned index = 0; index < loop_.getNumResults(); ++index)
      if (!late_places_.contains(index)) others[index] = carried[next++];
    for (Value value : carried_) values.map(value, carried[next++]);
  }

  void make_body(scf::ForOp made) {
    IRMapping before, values;
    SmallVector<Value> own(loop_.getNumResults()), late_sums;
    map_turn(before, made.getRegionIterArgs(), own);
    values.map(loop_.getInductionVar(), made.getInductionVar());
    for (unsigned index = 0; index < own.size(); ++index)
      if (own[index]) values.map(loop_.getRegionIterArg(index), own[index]);
    wait_for_late(before);
    make_early(values, [&] { late_sums = make_late(before, true); }, int(plan_.late.size()));
    llvm::append_range(late_sums, carried_of(values));
    scf::YieldOp::create(builder_, location_, late_sums);
  }

  // Late products are waited for where the next turn starts: ptxas moves a wait at the end of a turn up, in front of what
  // should run beside them.
  void wait_for_late(IRMapping &values) {
    SmallVector<Value> sums;
    for (const LateProduct &late : plan_.late) sums.push_back(values.lookup(loop_.getRegionIterArg(late.carried)));
    for (auto [late, waited] : llvm::zip_equal(plan_.late, wait(sums, 0))) values.map(loop_.getRegionIterArg(late.carried), waited);
  }

  scf::ForOp loop_;
  const OverlapPlan &plan_;
  OpBuilder builder_;
  Location location_;
  llvm::DenseSet<unsigned> late_places_;
  llvm::SmallSetVector<Operation *, 16> late_;
  llvm::DenseSet<Operation *> copies_;  // of late_: views that may be needed early as well
  SmallVector<Operation *> in_order_;
  llvm::SmallSetVector<Value, 8> carried_;
};

}  // namespace

OverlapPlan plan_overlap(scf::ForOp loop, const Capability &capability, ArrayRef<Value> lasting) {
  OverlapPlan plan;
  bool beside = true, lasts = true;
  loop->walk([&](tile::MmaOp product) {
    beside &= is_beside_lanes(product, capability) && product->getBlock() == loop.getBody();
    if (!beside) return;
    if (!depends_on_product(product, loop)) {
      if (!comes_after_user(product, plan.early)) plan.early.push_back(product);
    } else if (auto late = summing(product, loop)) {
      lasts &= reads_lasting_memory(product, loop, lasting);
      plan.late.push_back(std::move(*late));
    }
  });
  if (!beside || !lasts || plan.early.empty()) return {};
  return plan;
}

scf::ForOp overlap_products(scf::ForOp loop, const OverlapPlan &plan) { return Overlapper(loop, plan).run(); }

}  // namespace teeny::compiler::gpu
