#include "compiler/analysis/mask_bounds.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Matchers.h>

#include "compiler/analysis/lane_arithmetic.hpp"

namespace teeny::compiler {

using namespace mlir;
using arith::CmpIPredicate;

bool MaskBounds::is_all_true() const {
  return !never && conditions.empty() && factors.empty() &&
         llvm::all_of(dimensions, [](const DimensionBounds &bounds) { return bounds.is_full(); });
}

std::string MaskBounds::to_string() const {
  if (never) return "never";
  SmallVector<std::string> parts;
  for (auto [d, bounds] : llvm::enumerate(dimensions)) {
    std::string index = "i" + std::to_string(d);
    for (const ScalarExpression &low : bounds.lows) parts.push_back(index + " >= " + low.to_string());
    for (const ScalarExpression &high : bounds.highs) parts.push_back(index + " < " + high.to_string());
  }
  for (const UniformCondition &condition : conditions) {
    std::string text = condition.negated ? "if not " : "if ";
    if (condition.value) text += value_name(condition.value);
    else text += condition.expression.to_string() + " " + stringifyCmpIPredicate(condition.predicate).str() + " 0";
    parts.push_back(text);
  }
  for (const MaskFactor &factor : factors) {
    std::string text = (factor.negated ? "test not " : "test ") + value_name(factor.mask) + "[";
    for (auto [k, dimension] : llvm::enumerate(factor.dimensions))
      text += (k ? ", " : "") + (dimension < 0 ? "0" : "i" + std::to_string(dimension));
    parts.push_back(text + "]");
  }
  return parts.empty() ? "all" : llvm::join(parts, ", ");
}

namespace {

// A part of the mask that is still to be taken apart. Dimension k of `mask` is dimension map[k] of the block; -1 where
// it has extent 1 and the block may not.
struct Part {
  Value mask;
  SmallVector<int, 4> map;
  bool negated = false;
};

class Decomposition {
 public:
  Decomposition(BlockRecovery &blocks, ArrayRef<int64_t> shape) : blocks_(blocks) {
    for (int64_t extent : shape) bounds_.dimensions.push_back({extent});
  }

  MaskBounds run(Value mask) {
    Part whole{mask};
    for (unsigned d = 0; d < bounds_.dimensions.size(); ++d)
      whole.map.push_back(bounds_.dimensions[d].extent == 1 ? -1 : int(d));
    parts_.push_back(std::move(whole));
    while (!parts_.empty()) take_apart(parts_.pop_back_val());
    return std::move(bounds_);
  }

  // Lanes with expression + scale * i_d < 0, for a constant scale other than 0.
  void add_less_than_zero(unsigned d, int64_t scale, const ScalarExpression &expression);
  // A condition on the whole block.
  void add_uniform(CmpIPredicate predicate, const ScalarExpression &expression);
  MaskBounds &bounds() { return bounds_; }

 private:
  void take_apart(Part part);
  void take_apart_scalar(const Part &part);
  bool take_apart_shape(const Part &part);
  bool take_apart_logic(const Part &part);
  bool take_apart_comparison(const Part &part, arith::CmpIOp comparison);
  bool add_comparison(const LaneExpression &difference, ArrayRef<int> map, CmpIPredicate predicate);
  void add_factor(const Part &part);

  BlockRecovery &blocks_;
  MaskBounds bounds_;
  SmallVector<Part> parts_;
};

std::optional<bool> constant_truth(Value mask) {
  Attribute attribute;
  if (!matchPattern(mask, m_Constant(&attribute))) return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute)) {
    if (!dense.isSplat()) return std::nullopt;
    return !dense.getSplatValue<APInt>().isZero();
  }
  auto integer = dyn_cast<IntegerAttr>(attribute);
  return integer ? std::optional(!integer.getValue().isZero()) : std::nullopt;
}

// `other` where the operation is `other xor true`.
Value negated_operand(Operation *operation) {
  auto exclusive = dyn_cast<arith::XOrIOp>(operation);
  if (!exclusive) return {};
  if (constant_truth(exclusive.getRhs()) == true) return exclusive.getLhs();
  if (constant_truth(exclusive.getLhs()) == true) return exclusive.getRhs();
  return {};
}

bool holds(CmpIPredicate predicate, int64_t value) {
  switch (predicate) {
    case CmpIPredicate::eq: return value == 0;
    case CmpIPredicate::ne: return value != 0;
    case CmpIPredicate::slt: return value < 0;
    case CmpIPredicate::sle: return value <= 0;
    case CmpIPredicate::sgt: return value > 0;
    default: return value >= 0;
  }
}

std::optional<CmpIPredicate> signed_form(CmpIPredicate predicate) {
  switch (predicate) {
    case CmpIPredicate::ult: return CmpIPredicate::slt;
    case CmpIPredicate::ule: return CmpIPredicate::sle;
    case CmpIPredicate::ugt: return CmpIPredicate::sgt;
    case CmpIPredicate::uge: return CmpIPredicate::sge;
    default: return std::nullopt;
  }
}

void Decomposition::take_apart(Part part) {
  if (auto truth = constant_truth(part.mask)) {
    if (*truth == part.negated) bounds_.never = true;
    return;
  }
  if (!isa<RankedTensorType>(part.mask.getType())) return take_apart_scalar(part);
  if (!part.mask.getDefiningOp()) return add_factor(part);
  if (take_apart_shape(part) || take_apart_logic(part)) return;
  auto comparison = part.mask.getDefiningOp<arith::CmpIOp>();
  if (comparison && take_apart_comparison(part, comparison)) return;
  add_factor(part);
}

void Decomposition::take_apart_scalar(const Part &part) {
  if (part.mask.getDefiningOp() && take_apart_logic(part)) return;
  if (auto comparison = part.mask.getDefiningOp<arith::CmpIOp>()) {
    // Only to see whether it is known; otherwise the scalar that the program computes is used as it is.
    ScalarExpression difference = blocks_.scalar(comparison.getLhs()) - blocks_.scalar(comparison.getRhs());
    bool is_signed = !signed_form(comparison.getPredicate());
    Type type = comparison.getLhs().getType();
    bool wide = isa<IndexType>(type) || type.getIntOrFloatBitWidth() >= 32;
    if (auto constant = is_signed && wide ? difference.constant() : std::nullopt) {
      if (holds(comparison.getPredicate(), *constant) == part.negated) bounds_.never = true;
      return;
    }
  }
  UniformCondition condition;
  condition.value = part.mask;
  condition.negated = part.negated;
  bounds_.conditions.push_back(condition);
}

bool Decomposition::take_apart_shape(const Part &part) {
  Operation *operation = part.mask.getDefiningOp();
  Part source = part;
  source.mask = operation->getNumOperands() ? operation->getOperand(0) : Value();
  if (auto splat = dyn_cast<tt::SplatOp>(operation)) {
    source.map.clear();
  } else if (auto broadcast = dyn_cast<tt::BroadcastOp>(operation)) {
    auto from = tt::shape_of(broadcast.getSrc().getType());
    for (auto [d, extent] : llvm::enumerate(from))
      if (extent == 1) source.map[d] = -1;
  } else if (auto expand = dyn_cast<tt::ExpandDimsOp>(operation)) {
    source.map.erase(source.map.begin() + expand.getAxis());
  } else if (auto trans = dyn_cast<tt::TransOp>(operation)) {
    for (auto [d, from] : llvm::enumerate(trans.getOrder())) source.map[from] = part.map[d];
  } else if (auto reshape = dyn_cast<tt::ReshapeOp>(operation)) {
    // Only where dimensions of extent 1 come and go.
    auto from = tt::shape_of(reshape.getSrc().getType()), to = tt::shape_of(reshape.getType());
    SmallVector<int64_t> long_from, long_to;
    llvm::copy_if(from, std::back_inserter(long_from), [](int64_t extent) { return extent != 1; });
    llvm::copy_if(to, std::back_inserter(long_to), [](int64_t extent) { return extent != 1; });
    if (long_from != long_to || reshape.getAllowReorder()) return false;
    source.map.assign(from.size(), -1);
    unsigned target = 0;
    for (auto [d, extent] : llvm::enumerate(from)) {
      if (extent == 1) continue;
      while (to[target] == 1) ++target;
      source.map[d] = part.map[target++];
    }
  } else if (!isa<tt::HintOp>(operation)) {
    return false;
  }
  parts_.push_back(std::move(source));
  return true;
}

bool Decomposition::take_apart_logic(const Part &part) {
  Operation *operation = part.mask.getDefiningOp();
  auto push = [&](Value mask, bool negated, bool is_scalar = false) {
    parts_.push_back({mask, is_scalar ? SmallVector<int, 4>() : part.map, negated});
  };
  if (Value other = negated_operand(operation)) {
    push(other, !part.negated);
    return true;
  }
  bool conjunction = part.negated ? isa<arith::OrIOp>(operation) : isa<arith::AndIOp>(operation);
  if (conjunction) {
    push(operation->getOperand(1), part.negated);
    push(operation->getOperand(0), part.negated);
    return true;
  }
  auto select = dyn_cast<arith::SelectOp>(operation);
  if (!select) return false;
  // c ? x : false is c and x; c ? false : x is not c and x; with the roles of true and false exchanged when negated.
  bool scalar_condition = !isa<RankedTensorType>(select.getCondition().getType());
  bool absorbing = part.negated;
  if (constant_truth(select.getFalseValue()) == absorbing) {
    push(select.getTrueValue(), part.negated);
    push(select.getCondition(), false, scalar_condition);
    return true;
  }
  if (constant_truth(select.getTrueValue()) == absorbing) {
    push(select.getFalseValue(), part.negated);
    push(select.getCondition(), true, scalar_condition);
    return true;
  }
  return false;
}

bool is_non_negative(const LaneExpression &lanes) {
  return lanes.is_affine() && !lanes.base && lanes.offset.is_non_negative() &&
         llvm::all_of(lanes.strides, [](const ScalarExpression &stride) { return stride.is_non_negative(); });
}

bool Decomposition::take_apart_comparison(const Part &part, arith::CmpIOp comparison) {
  auto element = dyn_cast<IntegerType>(tt::element_type(comparison.getLhs().getType()));
  if (!element || element.getWidth() == 1) return false;
  LaneExpression left = blocks_.lanes_of(comparison.getLhs());
  LaneExpression right = blocks_.lanes_of(comparison.getRhs());
  CmpIPredicate predicate = comparison.getPredicate();
  if (auto as_signed = signed_form(predicate)) {
    // Numbers that are the same read as signed or unsigned; a uniform side can be made so.
    for (LaneExpression *side : {&left, &right}) {
      if (!is_non_negative(*side) && side->is_uniform() && element.getWidth() < 64)
        side->offset = blocks_.zero_extended(side->offset, element.getWidth());
      if (!is_non_negative(*side)) return false;
    }
    predicate = *as_signed;
  }
  if (part.negated) predicate = arith::invertPredicate(predicate);
  auto difference = subtract_lanes(left, right);
  return difference && add_comparison(*difference, part.map, predicate);
}

// difference `predicate` 0. False where it is neither uniform nor a bound of one dimension.
bool Decomposition::add_comparison(const LaneExpression &difference, ArrayRef<int> map, CmpIPredicate predicate) {
  if (!difference.is_affine()) return false;
  std::optional<unsigned> varying;
  for (unsigned d = 0; d < difference.rank(); ++d) {
    if (difference.strides[d].is_zero()) continue;
    if (varying) return false;
    varying = d;
  }
  if (!varying) {
    add_uniform(predicate, difference.offset);
    return true;
  }
  auto scale = difference.strides[*varying].constant();
  int dimension = map[*varying];
  if (!scale || *scale == INT64_MIN || dimension < 0) return false;
  const ScalarExpression &offset = difference.offset;
  ScalarExpression opposite = -offset;
  auto less_or_equal = [&] { add_less_than_zero(dimension, *scale, offset - 1); };
  auto greater_or_equal = [&] { add_less_than_zero(dimension, -*scale, opposite - 1); };
  switch (predicate) {
    case CmpIPredicate::slt: add_less_than_zero(dimension, *scale, offset); return true;
    case CmpIPredicate::sgt: add_less_than_zero(dimension, -*scale, opposite); return true;
    case CmpIPredicate::sle: less_or_equal(); return true;
    case CmpIPredicate::sge: greater_or_equal(); return true;
    case CmpIPredicate::eq: less_or_equal(); greater_or_equal(); return true;
    default: return false;
  }
}

void Decomposition::add_less_than_zero(unsigned d, int64_t scale, const ScalarExpression &expression) {
  DimensionBounds &bounds = bounds_.dimensions[d];
  int64_t magnitude = scale < 0 ? -scale : scale;
  // Up: i < ceil(-e / s). Down: i > e / s, so i >= ceil((e + 1) / s). Both as (x + s - 1) / s truncated to 0, which
  // differs from the ceiling only where both are <= 0, and there 0 clamps.
  ScalarExpression numerator = scale > 0 ? ScalarExpression(magnitude - 1) - expression
                                         : expression + ScalarExpression(magnitude);
  ScalarExpression bound = blocks_.combine(ScalarOperation::divide_signed, numerator, magnitude);
  auto constant = bound.constant();
  if (scale > 0) {
    if (constant && *constant <= 0) bounds_.never = true;
    if (constant && *constant >= bounds.extent) return;
    if (!llvm::is_contained(bounds.highs, bound)) bounds.highs.push_back(std::move(bound));
  } else {
    if (constant && *constant >= bounds.extent) bounds_.never = true;
    if (constant && *constant <= 0) return;
    if (!llvm::is_contained(bounds.lows, bound)) bounds.lows.push_back(std::move(bound));
  }
}

void Decomposition::add_uniform(CmpIPredicate predicate, const ScalarExpression &expression) {
  if (auto constant = expression.constant()) {
    if (!holds(predicate, *constant)) bounds_.never = true;
    return;
  }
  if (predicate == CmpIPredicate::sge && expression.is_non_negative()) return;
  UniformCondition condition;
  condition.predicate = predicate;
  condition.expression = expression;
  bounds_.conditions.push_back(std::move(condition));
}

void Decomposition::add_factor(const Part &part) {
  LaneExpression lanes = blocks_.lanes_of(part.mask);
  MaskFactor factor{part.mask, part.map, part.negated};
  for (auto [d, dimension] : llvm::enumerate(factor.dimensions))
    if (!lanes.depends_on(d)) dimension = -1;
  bounds_.factors.push_back(std::move(factor));
}

}  // namespace

MaskBounds MaskBoundsAnalysis::of(Value mask, ArrayRef<int64_t> shape) {
  Decomposition decomposition(blocks_, shape);
  return mask ? decomposition.run(mask) : std::move(decomposition.bounds());
}

namespace {

// The part of a descriptor's block that lies inside its tensor; dimensions that the result drops become conditions.
std::optional<MaskBounds> descriptor_bounds(BlockRecovery &blocks, Value descriptor, OperandRange indices,
                                            RankedTensorType tensor) {
  auto make = descriptor.getDefiningOp<tt::MakeTensorDescOp>();
  if (!make) return std::nullopt;
  Decomposition decomposition(blocks, tensor.getShape());
  unsigned dropped = indices.size() - tensor.getRank();
  for (auto [d, index] : llvm::enumerate(indices)) {
    ScalarExpression first = blocks.scalar(index), beyond = first - blocks.scalar(make.getShape()[d]);
    if (d < dropped) {
      decomposition.add_uniform(CmpIPredicate::sge, first);
      decomposition.add_uniform(CmpIPredicate::slt, beyond);
      continue;
    }
    if (!first.is_non_negative()) decomposition.add_less_than_zero(d - dropped, -1, -first - 1);
    decomposition.add_less_than_zero(d - dropped, 1, beyond);
  }
  return std::move(decomposition.bounds());
}

}  // namespace

std::optional<MaskBounds> MaskBoundsAnalysis::of_access(Operation *access) {
  return llvm::TypeSwitch<Operation *, std::optional<MaskBounds>>(access)
      .Case<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp>(
          [&](auto op) { return of(op.getMask(), tt::shape_of(op.getPtr().getType())); })
      .Case([&](tt::AtomicCASOp op) { return of({}, tt::shape_of(op.getPtr().getType())); })
      .Case([&](tt::DescriptorLoadOp op) {
        return descriptor_bounds(blocks_, op.getDesc(), op.getIndices(), cast<RankedTensorType>(op.getType()));
      })
      .Case([&](tt::DescriptorStoreOp op) {
        return descriptor_bounds(blocks_, op.getDesc(), op.getIndices(), cast<RankedTensorType>(op.getSrc().getType()));
      })
      .Default([](Operation *) { return std::nullopt; });
}

}  // namespace teeny::compiler
