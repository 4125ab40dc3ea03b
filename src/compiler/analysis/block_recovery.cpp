#include "compiler/analysis/block_recovery.hpp"

namespace teeny::compiler {

using namespace mlir;

bool LaneTerm::depends_on(unsigned dimension) const { return llvm::is_contained(dimensions, int(dimension)); }

bool LaneExpression::is_uniform() const {
  return is_affine() && llvm::all_of(strides, [](const ScalarExpression &stride) { return stride.is_zero(); });
}

bool LaneExpression::is_affine() const { return terms.empty() && !lane_base; }

bool LaneExpression::is_affine(unsigned d) const {
  return !(lane_base && lane_base->depends_on(d)) &&
         llvm::none_of(terms, [&](const LaneTerm &term) { return term.depends_on(d); });
}

struct BlockRecovery::Implementation {};

BlockRecovery::BlockRecovery(tt::FuncOp) {}
BlockRecovery::~BlockRecovery() = default;
BlockRecovery::BlockRecovery(BlockRecovery &&) = default;

std::optional<BlockAccess> BlockRecovery::recover(Operation *access) {
  Value pointers = access->getNumOperands() ? access->getOperand(0) : Value();
  if (!isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(access)) return std::nullopt;
  BlockAccess block;
  static_cast<LaneExpression &>(block) = lanes_of(pointers);
  block.operation = access;
  block.element = tt::pointee_type(pointers.getType());
  block.shape.assign(tt::shape_of(pointers.getType()).begin(), tt::shape_of(pointers.getType()).end());
  return block;
}

LaneExpression BlockRecovery::lanes_of(Value value) {
  LaneExpression lanes;
  lanes.strides.resize(tt::shape_of(value.getType()).size());
  if (lanes.rank() == 0 && isa<tt::PointerType>(value.getType())) {
    lanes.base = value;
    return lanes;
  }
  LaneTerm term{value};
  for (unsigned d = 0; d < lanes.rank(); ++d) term.dimensions.push_back(int(d));
  if (isa<tt::PointerType>(tt::element_type(value.getType()))) lanes.lane_base = term;
  else lanes.terms.push_back(term);
  return lanes;
}

ScalarExpression BlockRecovery::scalar(Value) { return {}; }

}  // namespace teeny::compiler
