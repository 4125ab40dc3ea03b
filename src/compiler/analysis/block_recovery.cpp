#include "compiler/analysis/block_recovery.hpp"

#include "compiler/analysis/axis_info.hpp"
#include "compiler/analysis/block_recovery_implementation.hpp"
#include "compiler/analysis/lane_arithmetic.hpp"

namespace teeny::compiler {

using namespace mlir;

BlockRecovery::BlockRecovery(tt::FuncOp) : implementation_(std::make_unique<Implementation>()) {}
BlockRecovery::~BlockRecovery() = default;
BlockRecovery::BlockRecovery(BlockRecovery &&) = default;

LaneExpression BlockRecovery::lanes_of(Value value) { return implementation_->lanes_of(value); }
ScalarExpression BlockRecovery::scalar(Value value) { return implementation_->scalar(value); }
ScalarExpression BlockRecovery::combine(ScalarOperation operation, const ScalarExpression &left,
                                        const ScalarExpression &right) {
  return implementation_->combine(operation, left, right);
}
ScalarExpression BlockRecovery::zero_extended(const ScalarExpression &expression, unsigned width) {
  return implementation_->zero_extended(expression, width);
}

namespace {

// base + sum over all dimensions of index * stride; the block keeps the descriptor's last `rank` dimensions.
std::optional<BlockAccess> recover_descriptor(BlockRecovery &blocks, Value descriptor, OperandRange indices,
                                              RankedTensorType tensor) {
  auto make = descriptor.getDefiningOp<tt::MakeTensorDescOp>();
  if (!make) return std::nullopt;
  BlockAccess block;
  static_cast<LaneExpression &>(block) = blocks.lanes_of(make.getBase());
  unsigned rank = tensor.getRank(), dropped = indices.size() - rank;
  for (auto [d, index] : llvm::enumerate(indices)) {
    ScalarExpression stride = blocks.scalar(make.getStrides()[d]);
    block.offset += blocks.scalar(index) * stride;
    if (d >= dropped) block.strides.push_back(stride);
  }
  block.element = tensor.getElementType();
  block.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  block.from_descriptor = true;
  return block;
}

}  // namespace

std::optional<BlockAccess> BlockRecovery::recover(Operation *access) {
  std::optional<BlockAccess> block;
  if (auto load = dyn_cast<tt::DescriptorLoadOp>(access)) {
    block = recover_descriptor(*this, load.getDesc(), load.getIndices(), cast<RankedTensorType>(load.getType()));
  } else if (auto store = dyn_cast<tt::DescriptorStoreOp>(access)) {
    block = recover_descriptor(*this, store.getDesc(), store.getIndices(),
                               cast<RankedTensorType>(store.getSrc().getType()));
  } else if (isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(access)) {
    Value pointers = access->getOperand(0);
    ArrayRef<int64_t> shape = tt::shape_of(pointers.getType());
    block.emplace();
    static_cast<LaneExpression &>(*block) = implementation_->lanes_of(pointers);
    block->element = tt::pointee_type(pointers.getType());
    block->shape.assign(shape.begin(), shape.end());
  }
  if (block) block->operation = access;
  return block;
}

using Implementation = BlockRecovery::Implementation;

const Atom *Implementation::make_atom(Atom atom) {
  atom.id = atoms.size();
  return &atoms.emplace_back(std::move(atom));
}

const Atom *Implementation::value_atom(Value value) {
  if (const Atom *atom = value_atoms.lookup(value)) return atom;
  Atom atom{Atom::Kind::value};
  atom.value = value;
  atom.non_negative = value.getDefiningOp<tt::GetProgramIdOp>() || value.getDefiningOp<tt::GetNumProgramsOp>() ||
                      value.getDefiningOp<arith::ExtUIOp>();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && value == loop.getInductionVar()) {
      auto step = scalar(loop.getStep()).constant();
      atom.non_negative = !loop.getUnsignedCmp() && step && *step > 0 && scalar(loop.getLowerBound()).is_non_negative();
    }
  }
  return value_atoms[value] = make_atom(std::move(atom));
}

const Atom *Implementation::trip_count_atom(scf::ForOp loop) {
  const Atom *&atom = trip_count_atoms[loop];
  if (!atom) {
    Atom made{Atom::Kind::trip_count};
    made.loop = loop;
    made.non_negative = true;
    atom = make_atom(std::move(made));
  }
  return atom;
}

// step * (number of iterations done): without a division where step is a multiple of the loop's own step.
ScalarExpression Implementation::iterations_done(scf::ForOp loop, const ScalarExpression &step) {
  if (step.is_zero()) return {};
  if (auto quotient = step.divided_by(scalar(loop.getStep()))) {
    ScalarExpression induction(value_atom(loop.getInductionVar()));
    return *quotient * (induction - scalar(loop.getLowerBound()));
  }
  const Atom *&atom = iteration_atoms[loop];
  if (!atom) {
    Atom made{Atom::Kind::iteration};
    made.loop = loop;
    made.non_negative = true;
    atom = make_atom(std::move(made));
  }
  return step * ScalarExpression(atom);
}

namespace {

std::optional<int64_t> fold(ScalarOperation operation, int64_t left, int64_t right) {
  switch (operation) {
    case ScalarOperation::divide_signed:
    case ScalarOperation::remainder_signed:
      if (right == 0 || (left == INT64_MIN && right == -1)) return std::nullopt;
      return operation == ScalarOperation::divide_signed ? left / right : left % right;
    case ScalarOperation::minimum_signed: return std::min(left, right);
    case ScalarOperation::maximum_signed: return std::max(left, right);
    case ScalarOperation::bitwise_and: return left & right;
    default: return std::nullopt;
  }
}

bool result_is_non_negative(ScalarOperation operation, const ScalarExpression &left, const ScalarExpression &right) {
  switch (operation) {
    case ScalarOperation::remainder_signed: return left.is_non_negative();
    case ScalarOperation::maximum_signed:
    case ScalarOperation::bitwise_and: return left.is_non_negative() || right.is_non_negative();
    default: return left.is_non_negative() && right.is_non_negative();
  }
}

}  // namespace

ScalarExpression Implementation::combine(ScalarOperation operation, const ScalarExpression &left,
                                         const ScalarExpression &right) {
  if (operation == ScalarOperation::add) return left + right;
  if (operation == ScalarOperation::multiply) return left * right;
  auto left_constant = left.constant(), right_constant = right.constant();
  if (left_constant && right_constant)
    if (auto folded = fold(operation, *left_constant, *right_constant)) return *folded;
  bool divides = operation == ScalarOperation::divide_signed;
  if (divides && right_constant && *right_constant != 0)
    if (auto quotient = left.divided_by(right)) return *quotient;
  if (operation == ScalarOperation::remainder_signed && right_constant && *right_constant != 0 &&
      left.divided_by(right))
    return 0;
  bool idempotent = operation == ScalarOperation::minimum_signed || operation == ScalarOperation::maximum_signed;
  if (idempotent && left == right) return left;
  for (const Atom *atom : operation_atoms)
    if (atom->operation == operation && atom->left == left && atom->right == right) return ScalarExpression(atom);
  Atom atom{Atom::Kind::operation};
  atom.operation = operation;
  atom.left = left;
  atom.right = right;
  atom.non_negative = result_is_non_negative(operation, left, right);
  operation_atoms.push_back(make_atom(std::move(atom)));
  return ScalarExpression(operation_atoms.back());
}

ScalarExpression Implementation::zero_extended(const ScalarExpression &expression, unsigned width) {
  if (width >= 64 || expression.is_non_negative()) return expression;
  return combine(ScalarOperation::bitwise_and, expression, int64_t((uint64_t(1) << width) - 1));
}

ScalarExpression Implementation::scalar(Value value) {
  const LaneExpression &lanes = lanes_of(value);
  return !lanes.base && lanes.is_uniform() ? lanes.offset : ScalarExpression(value_atom(value));
}

}  // namespace teeny::compiler
