#include "compiler/gpu/assign/layout_rules.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>

#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;
using tile::DistAttr;

namespace {

LinearLayout over(Value value, DistAttr layout) { return layout.layout(tensor_of(value).getShape()); }
DistAttr attribute(Operation *operation, const LinearLayout &layout) {
  return DistAttr::get(operation->getContext(), layout);
}

DistAttr same(Operation *, DistAttr layout) { return layout; }
DistAttr unknown(Operation *, DistAttr) { return {}; }
Cost free_cost(Operation *) { return Cost::free; }
Cost smaller_cost(Operation *) { return Cost::smaller; }
Cost high_cost(Operation *) { return Cost::high; }

DistAttr expanded(Operation *operation, DistAttr operand) {
  unsigned axis = cast<tt::ExpandDimsOp>(operation).getAxis();
  return attribute(operation, expand_layout(over(operation->getOperand(0), operand), axis));
}
DistAttr expand_operand(Operation *operation, DistAttr result) {
  unsigned axis = cast<tt::ExpandDimsOp>(operation).getAxis();
  return attribute(operation, slice_layout(over(operation->getResult(0), result), axis));
}

// The images along dimensions of extent 1 become 0; registers that then hold a second copy go.
DistAttr broadcast_operand(Operation *operation, DistAttr result) {
  ArrayRef<int64_t> shape = tensor_of(operation->getOperand(0)).getShape();
  LinearLayout layout = over(operation->getResult(0), result);
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  std::vector<LinearLayout::Output> outputs = layout.outputs();
  for (size_t d = 0; d < outputs.size(); ++d) outputs[d].size = int32_t(shape[d]);
  for (LinearLayout::Input &input : inputs) {
    for (LinearLayout::Basis &basis : input.bases)
      for (size_t d = 0; d < basis.size(); ++d)
        if (shape[d] == 1) basis[d] = 0;
    auto is_zero = [](const LinearLayout::Basis &basis) {
      return llvm::all_of(basis, [](int32_t x) { return x == 0; });
    };
    if (input.axis == Axis::reg) std::erase_if(input.bases, is_zero);
  }
  return attribute(operation, LinearLayout(std::move(inputs), std::move(outputs)));
}

DistAttr transposed(Operation *operation, DistAttr operand) {
  ArrayRef<int32_t> order = cast<tt::TransOp>(operation).getOrder();
  return attribute(operation, transpose_layout(over(operation->getOperand(0), operand), order));
}
DistAttr trans_operand(Operation *operation, DistAttr result) {
  ArrayRef<int32_t> order = cast<tt::TransOp>(operation).getOrder();
  SmallVector<int32_t> inverse(order.size());
  for (auto [d, source] : llvm::enumerate(order)) inverse[source] = int32_t(d);
  return attribute(operation, transpose_layout(over(operation->getResult(0), result), inverse));
}

DistAttr reshaped(Operation *operation, DistAttr operand) {
  ArrayRef<int64_t> shape = tensor_of(operation->getResult(0)).getShape();
  return attribute(operation, reshape_layout(over(operation->getOperand(0), operand), shape));
}
DistAttr reshape_operand(Operation *operation, DistAttr result) {
  ArrayRef<int64_t> shape = tensor_of(operation->getOperand(0)).getShape();
  return attribute(operation, reshape_layout(over(operation->getResult(0), result), shape));
}

DistAttr sliced(Operation *operation, DistAttr operand) {
  unsigned axis = cast<tt::ReduceOp>(operation).getAxis();
  return attribute(operation, slice_layout(over(operation->getOperand(0), operand), axis));
}

unsigned element_bits(Type type) {
  Type element = tt::element_type(type);
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

// Casts that widen move fewer bytes before them; float arithmetic is done once unless its operands cost nothing either.
Cost elementwise_cost(Operation *operation) {
  if (operation->getNumResults() != 1) return Cost::high;  // what is made anew has one result
  if (isa_and_nonnull<math::MathDialect>(operation->getDialect())) return Cost::high;
  if (isa<arith::DivFOp, arith::RemFOp, tt::PreciseDivFOp, tt::PreciseSqrtOp>(operation)) return Cost::high;
  if (operation->getNumOperands() == 1 && isa<CastOpInterface, tt::FpToFpOp>(operation) &&
      element_bits(operation->getOperand(0).getType()) < element_bits(operation->getResult(0).getType()))
    return Cost::smaller;
  return Cost::free;
}

}  // namespace

bool is_elementwise(Operation *operation) {
  if (operation->getNumResults() == 0 || operation->getNumRegions() != 0) return false;
  if (!llvm::all_equal(operation->getResultTypes())) return false;  // mul*_extended has two of one type
  if (!isMemoryEffectFree(operation)) return false;
  if (isa_and_nonnull<tile::TileDialect>(operation->getDialect())) return false;
  RankedTensorType result = tensor_of(operation->getResult(0));
  if (!result) return false;
  return llvm::all_of(operation->getOperands(), [&](Value operand) {
    RankedTensorType type = tensor_of(operand);
    return !type || type.getShape() == result.getShape();
  });
}

const LayoutRules *rules_of(Operation *operation) {
  static const LayoutRules leaf{unknown, unknown, free_cost}, elementwise{same, same, elementwise_cost},
      expand{expanded, expand_operand, smaller_cost}, broadcast{unknown, broadcast_operand, smaller_cost},
      trans{transposed, trans_operand, free_cost}, reshape{reshaped, reshape_operand, free_cost},
      reduce{sliced, unknown, high_cost}, scan{same, unknown, high_cost};
  if (operation->hasTrait<OpTrait::ConstantLike>() || isa<tt::MakeRangeOp, tt::SplatOp>(operation)) return &leaf;
  if (isa<tt::ExpandDimsOp>(operation)) return &expand;
  if (isa<tt::BroadcastOp>(operation)) return &broadcast;
  if (isa<tt::TransOp>(operation)) return &trans;
  if (isa<tt::ReshapeOp>(operation)) return &reshape;
  if (isa<tt::ReduceOp>(operation)) return &reduce;
  if (isa<tt::ScanOp>(operation)) return &scan;
  if (isa<tt::LoadOp, tt::DotOp>(operation)) return nullptr;
  return is_elementwise(operation) ? &elementwise : nullptr;
}

static bool is_rebuildable(Value value, unsigned &budget) {
  if (!tensor_of(value)) return true;
  Operation *operation = value.getDefiningOp();
  if (!operation || budget == 0) return false;
  --budget;
  const LayoutRules *rules = rules_of(operation);
  if (!rules || rules->cost(operation) == Cost::high) return false;
  return llvm::all_of(operation->getOperands(), [&](Value operand) { return is_rebuildable(operand, budget); });
}

bool is_rebuildable(Value value) {
  unsigned budget = 64;  // operations; more of them cost as much as an exchange
  return is_rebuildable(value, budget);
}

}  // namespace teeny::compiler::gpu
