#include "compiler/gpu/assign/rewrite.hpp"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;
using tile::DistAttr;

namespace {

DistAttr layout_of(Value value) { return cast<DistAttr>(tensor_of(value).getEncoding()); }

void set_layout(Value value, DistAttr layout) {
  RankedTensorType type = with_encoding(tensor_of(value), layout);
  value.setType(type);
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant) return;
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  constant.setValueAttr(elements.isSplat() ? elements.resizeSplat(type) : elements.reshape(type));
}

class Rewriter {
 public:
  Rewriter(tt::FuncOp function, Homes &homes) : function_(function), homes_(homes), builder_(function.getContext()) {}

  void run() {
    settle_types();
    for (Operation *operation : operations_) {
      if (auto dot = dyn_cast<tt::DotOp>(operation)) {
        rewrite_dot(dot);
        continue;
      }
      for (OpOperand &use : operation->getOpOperands())
        if (tensor_of(use.get()))
          if (DistAttr layout = required(use)) use.set(demand(use.get(), layout));
      if (operation->getNumOperands() > 0 && operation->getNumResults() > 0) settle_results(operation);
    }
    erase_unused();
  }

 private:
  // All homes are decided before the first type changes.
  void settle_types() {
    std::vector<std::pair<Value, DistAttr>> decided;
    auto decide = [&](Value value) {
      if (tensor_of(value)) decided.push_back({value, homes_.of(value)});
    };
    function_.walk([&](Operation *operation) {
      operations_.push_back(operation);
      for (Value result : operation->getResults()) decide(result);
      for (Region &region : operation->getRegions())
        for (Value argument : region.getArguments()) decide(argument);
      if (pointers_of(operation)) accesses_[operation] = homes_.of_access(operation);
    });
    for (auto &[value, layout] : decided) set_layout(value, layout);
  }

  // The layout in which an operation takes an operand; null: in any.
  DistAttr required(OpOperand &use) {
    Operation *owner = use.getOwner();
    if (Value joined = joined_value(use)) return layout_of(joined);
    if (DistAttr access = accesses_.lookup(owner)) return access;
    if (isa<tt::ReduceOp, tt::ScanOp>(owner)) return layout_of(owner->getOperand(0));
    const LayoutRules *rules = rules_of(owner);
    return rules ? rules->operand(owner, layout_of(owner->getResult(0))) : DistAttr();
  }

  // A result stands where its operand puts it; what was asked for is a conversion of it.
  Value settle_results(Operation *operation) {
    const LayoutRules *rules = rules_of(operation);
    Value first;
    for (Value result : operation->getResults()) {
      if (!rules || !tensor_of(result) || !tensor_of(operation->getOperand(0))) continue;
      DistAttr wanted = layout_of(result), natural = rules->result(operation, layout_of(operation->getOperand(0)));
      Value settled = result;
      if (natural && natural != wanted) {
        set_layout(result, natural);
        builder_.setInsertionPointAfter(operation);
        settled = convert(result, wanted);
        result.replaceAllUsesExcept(settled, settled.getDefiningOp());
      }
      if (!first) first = settled;
    }
    return first;
  }

  Value convert(Value value, DistAttr layout) {
    return tile::ConvertLayoutOp::create(builder_, value.getLoc(), with_encoding(tensor_of(value), layout), value);
  }

  void insert_after_definition(Value value) {
    if (Operation *definition = value.getDefiningOp()) builder_.setInsertionPointAfter(definition);
    else builder_.setInsertionPointToStart(cast<BlockArgument>(value).getOwner());
  }

  // The value in another layout, once for each: beside its definition, so that loops that do not change it do not
  // repeat the work, and all later users see it.
  Value demand(Value value, DistAttr layout) {
    if (layout_of(value) == layout) return value;
    if (auto conversion = value.getDefiningOp<tile::ConvertLayoutOp>()) return demand(conversion.getSource(), layout);
    if (Value known = known_.lookup({value, layout})) return known;
    Operation *definition = value.getDefiningOp();
    const LayoutRules *rules = definition ? rules_of(definition) : nullptr;
    Value result;
    if (rules && (rules->cost(definition) == Cost::smaller || is_rebuildable(value))) {
      result = rebuild(definition, *rules, layout);
    } else {
      insert_after_definition(value);
      result = convert(value, layout);
    }
    return known_[{value, layout}] = result;
  }

  Value rebuild(Operation *definition, const LayoutRules &rules, DistAttr layout) {
    SmallVector<Value> operands(definition->getOperands());
    for (Value &operand : operands)
      if (tensor_of(operand)) operand = demand(operand, rules.operand(definition, layout));
    builder_.setInsertionPointAfter(definition);
    Operation *copy = builder_.clone(*definition);
    copy->setOperands(operands);
    set_layout(copy->getResult(0), layout);
    if (operands.empty() || !tensor_of(operands[0])) return copy->getResult(0);
    return settle_results(copy);
  }

  // ---- products
  Value cast_to(Value value, Type element) {
    RankedTensorType type = tensor_of(value);
    if (!element || type.getElementType() == element) return value;
    auto result = RankedTensorType::get(type.getShape(), element, type.getEncoding());
    bool widens = element.getIntOrFloatBitWidth() > type.getElementTypeBitWidth();
    Location location = value.getLoc();
    if (isa<FloatType>(element)) {
      if (widens) return arith::ExtFOp::create(builder_, location, result, value);
      return arith::TruncFOp::create(builder_, location, result, value);
    }
    if (widens) return arith::ExtSIOp::create(builder_, location, result, value);
    return arith::TruncIOp::create(builder_, location, result, value);
  }

  // Once for all turns of the loops that do not change the value, else before the dot.
  Value to_memory(tt::DotOp dot, Value value, const LinearLayout &layout, unsigned swizzle) {
    RankedTensorType type = tensor_of(value);
    auto encoding = tile::SharedAttr::get(dot.getContext(), layout, swizzle);
    auto memory = tile::MemType::get(dot.getContext(), 0, type.getShape(), type.getElementType(), encoding,
                                     tile::MemorySpace::SHARED);
    OpBuilder::InsertionGuard guard(builder_);
    Value &known = memories_[{value, memory}];
    if (known && stands_before(known, dot)) return known;
    if (is_outside_of_loop(dot, value)) insert_after_definition(value);
    return known = tile::AllocOp::create(builder_, dot.getLoc(), memory, value, IntegerAttr());
  }

  static bool stands_before(Value memory, Operation *operation) {
    Operation *definition = memory.getDefiningOp(), *ancestor = definition->getBlock()->findAncestorOpInBlock(*operation);
    return ancestor && definition->isBeforeInBlock(ancestor);
  }

  static bool is_outside_of_loop(Operation *operation, Value value) {
    for (Operation *parent = operation->getParentOp(); parent; parent = parent->getParentOp())
      if (isa<scf::ForOp, scf::WhileOp>(parent)) return value.getParentRegion()->isProperAncestor(operation->getParentRegion());
    return false;
  }

  Value operand_of(tt::DotOp dot, Value value, const DotOperand &plan) {
    builder_.setInsertionPoint(dot);
    if (!plan.in_memory) {
      value = cast_to(value, plan.element);
      Value placed = demand(value, DistAttr::get(dot.getContext(), plan.registers));
      builder_.setInsertionPoint(dot);
      return placed;
    }
    auto trans = value.getDefiningOp<tt::TransOp>();
    if (!trans) return to_memory(dot, cast_to(value, plan.element), plan.memory, plan.swizzle);
    // The memory holds what was loaded; only the view of it is turned.
    ArrayRef<int32_t> order = trans.getOrder();
    SmallVector<int32_t> inverse(order.size());
    for (auto [d, source] : llvm::enumerate(order)) inverse[source] = int32_t(d);
    Value source = cast_to(trans.getSrc(), plan.element);
    Value memory = to_memory(dot, source, transpose_layout(plan.memory, inverse), plan.swizzle);
    auto view = tile::MemType::get(dot.getContext(), 0, tensor_of(value).getShape(), tensor_of(source).getElementType(),
                                   tile::SharedAttr::get(dot.getContext(), plan.memory, plan.swizzle),
                                   tile::MemorySpace::SHARED);
    return tile::ViewTransOp::create(builder_, dot.getLoc(), view, memory, order);
  }

  void rewrite_dot(tt::DotOp dot) {
    const DotPlan &plan = homes_.plan(dot);
    Type element = tensor_of(dot.getD()).getElementType();
    Value a = operand_of(dot, dot.getA(), plan.a), b = operand_of(dot, dot.getB(), plan.b);
    Value accumulators = demand(dot.getC(), DistAttr::get(dot.getContext(), plan.accumulators));
    builder_.setInsertionPoint(dot);
    accumulators = cast_to(accumulators, plan.accumulator);
    Value product = tile::MmaOp::create(builder_, dot.getLoc(), accumulators.getType(), plan.unit->name, a, b,
                                        accumulators, dot.getInputPrecision());
    dot.getD().replaceAllUsesWith(cast_to(product, element));
    dot.erase();
  }

  void erase_unused() {
    std::vector<Operation *> operations;  // users after what they use
    function_.walk<WalkOrder::PreOrder>([&](Operation *operation) { operations.push_back(operation); });
    for (Operation *operation : llvm::reverse(operations))
      if (isOpTriviallyDead(operation)) operation->erase();
  }

  tt::FuncOp function_;
  Homes &homes_;
  OpBuilder builder_;
  std::vector<Operation *> operations_;
  llvm::DenseMap<Operation *, DistAttr> accesses_;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> known_;
  llvm::DenseMap<std::pair<Value, Type>, Value> memories_;
};

}  // namespace

void rewrite_to_homes(tt::FuncOp function, Homes &homes) { Rewriter(function, homes).run(); }

}  // namespace teeny::compiler::gpu
