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

}  // namespace teeny::tt
