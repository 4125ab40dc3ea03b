// The rules of block recovery: what each operation does to a LaneExpression.
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Matchers.h>

#include "compiler/analysis/axis_info.hpp"
#include "compiler/analysis/block_recovery_implementation.hpp"
#include "compiler/analysis/lane_arithmetic.hpp"

namespace teeny::compiler {

using namespace mlir;
using Implementation = BlockRecovery::Implementation;

namespace {

bool is_lane_type(Type type) {
  Type element = tt::element_type(type);
  return isa<tt::PointerType, IntegerType, IndexType>(element);
}

unsigned integer_width(Type type) {
  Type element = tt::element_type(type);
  return isa<IndexType>(element) ? 64 : element.getIntOrFloatBitWidth();
}

// Index arithmetic is not assumed free of overflow below this width.
bool is_index_arithmetic(Type type) {
  return is_lane_type(type) && !isa<tt::PointerType>(tt::element_type(type)) && integer_width(type) >= 32;
}

bool is_element_wise(Operation *operation) {
  return operation->hasTrait<OpTrait::Elementwise>() && operation->getNumResults() == 1 &&
         isMemoryEffectFree(operation);
}

bool looks_through(Operation *operation) {
  return isa<tt::SplatOp, tt::UnsplatOp, tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp, tt::AddPtrOp,
             tt::HintOp, tt::BitcastOp>(operation) ||
         is_element_wise(operation);
}

}  // namespace

const LaneExpression &Implementation::remember(Value value, LaneExpression lanes) {
  auto &slot = known[value];
  slot = std::make_unique<LaneExpression>(std::move(lanes));
  known_order.push_back(value);
  return *slot;
}

// Operands first, on an explicit stack: chains of operations can be longer than the machine's stack is deep.
const LaneExpression &Implementation::lanes_of(Value value) {
  SmallVector<Value> stack{value};
  while (!stack.empty()) {
    Value top = stack.back();
    if (known.contains(top)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    if (Operation *operation = top.getDefiningOp(); operation && looks_through(operation)) {
      for (Value operand : operation->getOperands()) {
        if (!is_lane_type(operand.getType()) || known.contains(operand)) continue;
        stack.push_back(operand);
        ready = false;
      }
    }
    if (!ready) continue;
    LaneExpression lanes = evaluate(top);
    if (!known.contains(top)) remember(top, std::move(lanes));
  }
  return *known.find(value)->second;
}

LaneExpression Implementation::opaque(Value value, bool element_wise) {
  Type type = value.getType();
  if (!isa<RankedTensorType>(type) && !isa<tt::PointerType>(type)) {
    LaneExpression lanes;
    lanes.offset = ScalarExpression(value_atom(value));
    return lanes;
  }
  return opaque_lanes(value, [&](unsigned d) {
    return !element_wise || llvm::any_of(value.getDefiningOp()->getOperands(), [&](Value operand) {
      if (!is_lane_type(operand.getType())) return true;
      const LaneExpression &lanes = *known.find(operand)->second;
      return d < lanes.rank() && lanes.depends_on(d);
    });
  });
}

namespace {

// The integer that a constant is, in every lane.
std::optional<int64_t> constant_value(Value value) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute))) return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute)) {
    if (!dense.isSplat()) return std::nullopt;
    attribute = dense.getSplatValue<Attribute>();
  }
  auto integer = dyn_cast<IntegerAttr>(attribute);
  // An i1 is a truth value: 0 or 1.
  if (!integer) return std::nullopt;
  return integer.getValue().getBitWidth() == 1 ? int64_t(integer.getValue().getZExtValue())
                                               : integer.getValue().getSExtValue();
}

}  // namespace

LaneExpression Implementation::evaluate(Value value) {
  if (!is_lane_type(value.getType())) return opaque(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() == 0) return opaque(value);
    return evaluate_carried(loop, argument.getArgNumber() - 1);
  }
  if (auto constant = constant_value(value)) {
    LaneExpression lanes;
    lanes.offset = *constant;
    lanes.strides.resize(tt::shape_of(value.getType()).size());
    return lanes;
  }
  auto operand = [&](unsigned index) -> const LaneExpression & {
    return *known.find(value.getDefiningOp()->getOperand(index))->second;
  };
  ArrayRef<int64_t> shape = tt::shape_of(value.getType());
  Operation *operation = value.getDefiningOp();
  return llvm::TypeSwitch<Operation *, LaneExpression>(operation)
      .Case([&](scf::ForOp loop) { return evaluate_loop_result(loop, cast<OpResult>(value).getResultNumber()); })
      .Case([&](tt::MakeRangeOp range) {
        LaneExpression lanes;
        lanes.offset = int64_t(int32_t(range.getStart()));
        lanes.strides.push_back(shape[0] == 1 ? 0 : 1);
        return lanes;
      })
      .Case([&](tt::SplatOp) {
        // A tensor without dimensions has no index, so what holds of its element holds of every lane.
        return map_dimensions(operand(0), {}, shape.size());
      })
      .Case([&](tt::UnsplatOp) {
        if (!operand(0).is_uniform()) return opaque(value);
        LaneExpression lanes = operand(0);
        lanes.strides.clear();
        return lanes;
      })
      .Case([&](tt::ExpandDimsOp expand) {
        return map_dimensions(operand(0), expand_dimensions_map(operand(0).rank(), expand.getAxis()), shape.size());
      })
      .Case<tt::BroadcastOp, tt::HintOp>([&](Operation *) { return operand(0); })
      .Case([&](tt::TransOp trans) {
        return map_dimensions(operand(0), transpose_map(trans.getOrder()), shape.size());
      })
      .Case([&](tt::ReshapeOp reshape) {
        if (reshape.getAllowReorder()) return opaque(value);
        auto lanes = reshape_lanes(operand(0), tt::shape_of(reshape.getSrc().getType()), shape);
        return lanes ? *lanes : opaque(value);
      })
      .Case([&](tt::AddPtrOp) {
        auto sum = add_lanes(operand(0), operand(1));
        return sum ? *sum : opaque(value);
      })
      .Case([&](tt::BitcastOp cast) {
        Type from = tt::element_type(cast.getSrc().getType()), to = tt::element_type(value.getType());
        auto from_pointer = dyn_cast<tt::PointerType>(from), to_pointer = dyn_cast<tt::PointerType>(to);
        bool same_step = from_pointer && to_pointer && element_bytes(from_pointer.getPointeeType()) ==
                                                           element_bytes(to_pointer.getPointeeType());
        return same_step ? operand(0) : opaque(value);
      })
      .Default([&](Operation *other) { return is_element_wise(other) ? evaluate_arithmetic(other) : opaque(value); });
}

LaneExpression Implementation::evaluate_arithmetic(Operation *operation) {
  Value value = operation->getResult(0);
  if (!is_index_arithmetic(value.getType()) || !llvm::all_of(operation->getOperandTypes(), is_lane_type))
    return opaque(value, /*element_wise=*/true);
  auto operand = [&](unsigned index) -> const LaneExpression & {
    return *known.find(operation->getOperand(index))->second;
  };
  std::optional<LaneExpression> lanes;
  if (isa<arith::AddIOp>(operation)) {
    lanes = add_lanes(operand(0), operand(1));
  } else if (isa<arith::SubIOp>(operation)) {
    lanes = subtract_lanes(operand(0), operand(1));
  } else if (isa<arith::MulIOp>(operation)) {
    lanes = multiply_lanes(operand(0), operand(1));
  } else if (isa<arith::ShLIOp>(operation)) {
    auto amount = operand(1).is_uniform() ? operand(1).offset.constant() : std::nullopt;
    if (amount && *amount >= 0 && *amount < 62) lanes = scale_lanes(operand(0), int64_t(1) << *amount);
  } else if (isa<arith::ExtSIOp, arith::IndexCastOp>(operation)) {
    bool widens = integer_width(operation->getOperand(0).getType()) <= integer_width(value.getType());
    if (widens && integer_width(operation->getOperand(0).getType()) > 1) lanes = operand(0);
  } else if (isa<arith::ExtUIOp>(operation)) {
    return evaluate_zero_extension(operation);
  } else if (isa<arith::DivSIOp, arith::DivUIOp>(operation)) {
    return evaluate_division(operation, ScalarOperation::divide_signed, isa<arith::DivUIOp>(operation));
  } else if (isa<arith::RemSIOp, arith::RemUIOp>(operation)) {
    return evaluate_division(operation, ScalarOperation::remainder_signed, isa<arith::RemUIOp>(operation));
  } else if (isa<arith::MinSIOp>(operation)) {
    return evaluate_division(operation, ScalarOperation::minimum_signed, false);
  } else if (isa<arith::MaxSIOp>(operation)) {
    return evaluate_division(operation, ScalarOperation::maximum_signed, false);
  } else if (isa<arith::SelectOp>(operation) && operand(1) == operand(2)) {
    lanes = operand(1);
  }
  return lanes ? *lanes : opaque(value, /*element_wise=*/true);
}

LaneExpression Implementation::evaluate_zero_extension(Operation *operation) {
  Value value = operation->getResult(0);
  const LaneExpression &source = *known.find(operation->getOperand(0))->second;
  unsigned width = integer_width(operation->getOperand(0).getType());
  if (width == 1) return opaque(value, /*element_wise=*/true);
  bool non_negative = source.is_affine() && source.offset.is_non_negative() &&
                      llvm::all_of(source.strides, [](const auto &stride) { return stride.is_non_negative(); });
  if (non_negative) return source;
  if (!isa<RankedTensorType>(value.getType()) || !source.is_uniform()) return opaque(value, /*element_wise=*/true);
  LaneExpression lanes = source;
  lanes.offset = zero_extended(source.offset, width);
  return lanes;
}

// Division, remainder, minimum, maximum: of uniform tensors, an atom; a remainder of a range by a uniform value, a
// wrapped range. Scalars stay the values they are.
LaneExpression Implementation::evaluate_division(Operation *operation, ScalarOperation kind, bool is_unsigned) {
  Value value = operation->getResult(0);
  const LaneExpression &left = *known.find(operation->getOperand(0))->second;
  const LaneExpression &right = *known.find(operation->getOperand(1))->second;
  bool known_signs = !is_unsigned || (left.offset.is_non_negative() && right.offset.is_non_negative() &&
                                      llvm::all_of(left.strides, [](const auto &s) { return s.is_non_negative(); }));
  if (!right.is_uniform() || !left.is_affine() || !known_signs) return opaque(value, /*element_wise=*/true);
  if (left.is_uniform()) {
    bool folds = left.offset.constant() && right.offset.constant();
    if (!isa<RankedTensorType>(value.getType()) && !folds) return opaque(value);
    LaneExpression lanes = left;
    lanes.offset = combine(kind, left.offset, right.offset);
    return lanes;
  }
  LaneExpression lanes = opaque(value, /*element_wise=*/true);
  if (kind != ScalarOperation::remainder_signed || lanes.terms.empty()) return lanes;
  std::optional<unsigned> only;
  for (unsigned d = 0; d < left.rank(); ++d) {
    if (left.strides[d].is_zero()) continue;
    if (only || left.strides[d].constant() != 1) return lanes;
    only = d;
  }
  if (only) lanes.terms[0].wrap = LaneTerm::Wrap{*only, left.offset, right.offset};
  return lanes;
}

// ---- loop-carried values

// The value at the end of an iteration less that at its beginning, where that is affine and loop-invariant. While it is
// computed, the carried value stands for itself; what was computed then is dropped if it turns out to be more.
std::optional<LaneExpression> Implementation::carried_step(scf::ForOp loop, unsigned index) {
  // An induction variable that counts beyond the signed numbers is not looked at.
  if (loop.getUnsignedCmp()) return std::nullopt;
  Value carried = loop.getRegionIterArg(index);
  Value yielded = cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperand(index);
  size_t mark = known_order.size();
  LaneExpression itself = opaque(carried);
  remember(carried, itself);
  std::optional<LaneExpression> step;
  if (is_index_arithmetic(carried.getType()) || isa<tt::PointerType>(tt::element_type(carried.getType())))
    step = subtract_lanes(lanes_of(yielded), itself);
  auto varies = [&](const ScalarExpression &expression) { return expression.varies_in(loop); };
  if (step && (!step->terms.empty() || varies(step->offset) || llvm::any_of(step->strides, varies))) step.reset();
  if (!step) return std::nullopt;
  for (Value value : ArrayRef(known_order).drop_front(mark)) {
    known.erase(value);
    steps.erase(value);
  }
  known_order.truncate(mark);
  return step;
}

LaneExpression Implementation::evaluate_carried(scf::ForOp loop, unsigned index) {
  Value carried = loop.getRegionIterArg(index);
  if (loop.getYieldedValues()[index] == carried) {
    steps[carried].strides.resize(tt::shape_of(carried.getType()).size());
    return lanes_of(loop.getInitArgs()[index]);
  }
  auto step = carried_step(loop, index);
  if (!step) return opaque(carried);
  LaneExpression lanes = lanes_of(loop.getInitArgs()[index]);
  lanes.offset += iterations_done(loop, step->offset);
  for (auto [stride, addend] : llvm::zip_equal(lanes.strides, step->strides))
    stride += iterations_done(loop, addend);
  steps[carried] = std::move(*step);
  return lanes;
}

LaneExpression Implementation::evaluate_loop_result(scf::ForOp loop, unsigned index) {
  Value carried = loop.getRegionIterArg(index);
  lanes_of(carried);
  auto found = steps.find(carried);
  if (found == steps.end()) return opaque(loop.getResult(index));
  LaneExpression step = found->second;
  LaneExpression lanes = lanes_of(loop.getInitArgs()[index]);
  ScalarExpression trips(trip_count_atom(loop));
  lanes.offset += step.offset * trips;
  for (auto [stride, addend] : llvm::zip_equal(lanes.strides, step.strides)) stride += addend * trips;
  return lanes;
}

}  // namespace teeny::compiler
