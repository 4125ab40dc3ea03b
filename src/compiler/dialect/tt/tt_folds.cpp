// Folds of tt's shape operations. None changes a value, so they hold on every device.
#include "compiler/dialect/tt/tt.hpp"

#include <mlir/IR/Matchers.h>

namespace teeny::tt {

using namespace mlir;

namespace {

// A splat constant of `type` when `operand` is one.
OpFoldResult resplat(Attribute operand, Type type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(operand);
  if (!splat) return {};
  return DenseElementsAttr::get(cast<ShapedType>(type), splat.getSplatValue<Attribute>());
}

}  // namespace

OpFoldResult MakeRangeOp::fold(FoldAdaptor) {
  if (getEnd() - getStart() != 1) return {};
  return DenseElementsAttr::get(cast<ShapedType>(getType()), IntegerAttr::get(element_type(getType()), getStart()));
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  if (!adaptor.getSrc() || isa<PointerType>(element_type(getType()))) return {};
  return DenseElementsAttr::get(cast<ShapedType>(getType()), adaptor.getSrc());
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) { return resplat(adaptor.getSrc(), getType()); }

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getType() == getSrc().getType()) return getSrc();
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getType() == getSrc().getType()) return getSrc();
  if (auto inner = getSrc().getDefiningOp<ReshapeOp>()) {
    getSrcMutable().assign(inner.getSrc());
    return getResult();
  }
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  bool identity = true;
  for (auto [index, from] : llvm::enumerate(getOrder())) identity &= static_cast<int32_t>(index) == from;
  if (identity) return getSrc();
  if (auto inner = getSrc().getDefiningOp<TransOp>()) {
    SmallVector<int32_t> order;
    for (int32_t from : getOrder()) order.push_back(inner.getOrder()[from]);
    setOrder(order);
    getSrcMutable().assign(inner.getSrc());
    return getResult();
  }
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult AddPtrOp::fold(FoldAdaptor adaptor) {
  if (matchPattern(adaptor.getOffset(), m_Zero())) return getPtr();
  return {};
}

OpFoldResult UnsplatOp::fold(FoldAdaptor adaptor) {
  if (auto splat = getSrc().getDefiningOp<SplatOp>()) return splat.getSrc();
  auto constant = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSrc());
  return constant ? constant.getSplatValue<Attribute>() : Attribute();
}

OpFoldResult IntToPtrOp::fold(FoldAdaptor) {
  auto inner = getSrc().getDefiningOp<PtrToIntOp>();
  bool whole = inner && element_type(inner.getType()).isInteger(64);
  return whole && inner.getSrc().getType() == getType() ? inner.getSrc() : Value();
}

OpFoldResult PtrToIntOp::fold(FoldAdaptor) {
  auto inner = getSrc().getDefiningOp<IntToPtrOp>();
  bool whole = inner && element_type(getType()).isInteger(64);
  return whole && inner.getSrc().getType() == getType() ? inner.getSrc() : Value();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  if (getSrc().getType() == getType()) return getSrc();
  if (auto inner = getSrc().getDefiningOp<BitcastOp>()) {
    getSrcMutable().assign(inner.getSrc());
    return getResult();
  }
  return {};
}

OpFoldResult HintOp::fold(FoldAdaptor adaptor) {
  if (!getDivisibility() && !getContiguity()) return getSrc();
  return adaptor.getSrc();  // what is promised of a constant is known
}

}  // namespace teeny::tt
