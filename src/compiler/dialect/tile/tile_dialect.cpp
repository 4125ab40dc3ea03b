#include "compiler/dialect/tile/tile.hpp"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>
#include <mlir/IR/OpImplementation.h>

#include "compiler/dialect/tile/tile_dialect.cpp.inc"
#include "compiler/dialect/tile/tile_enums.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/tile/tile_ops.cpp.inc"

namespace teeny::tile {

using namespace mlir;

void TileDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/tile/tile_ops.cpp.inc"
      >();
}

compiler::LinearLayout layout_of(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return cast<DistAttr>(tensor.getEncoding()).layout(tensor.getShape());
}

bool is_distributed(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<DistAttr>(tensor.getEncoding());
}

RankedTensorType with_layout(RankedTensorType type, const compiler::LinearLayout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), DistAttr::get(type.getContext(), layout));
}

Executors executors(Operation *operation) {
  for (Operation *child = operation, *parent = operation->getParentOp(); parent; child = parent, parent = parent->getParentOp()) {
    if (auto specialize = dyn_cast<SpecializeOp>(parent)) {
      Executors result{executors(parent).first_warp, 0};
      for (auto [index, region] : llvm::enumerate(specialize.getPartitions())) {
        result.warps = specialize.getWarps()[index];
        if (&region == child->getParentRegion()) break;
        result.first_warp += result.warps;
      }
      return result;
    }
    if (auto warps = parent->getAttrOfType<IntegerAttr>(thread::warps_attribute)) return {0, int(warps.getInt())};
  }
  return {0, 1};
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType()) return getSource();
  // A conversion of a conversion starts from the first source.
  if (auto inner = getSource().getDefiningOp<ConvertLayoutOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}

static LogicalResult verify_same_block(Operation *op, RankedTensorType tensor, MemType memory) {
  if (tensor.getShape() != memory.getShape() || tensor.getElementType() != memory.getElement())
    return op->emitOpError("rule: tensor and memory hold the same block; got ") << tensor << " and " << memory;
  if (memory.getBuffers() != 0) return op->emitOpError("rule: one buffer of the memory is meant; got ") << memory;
  return success();
}

LogicalResult AllocOp::verify() {
  if (!getInitial()) return success();
  return verify_same_block(*this, cast<RankedTensorType>(getInitial().getType()), getType());
}
LogicalResult LocalLoadOp::verify() { return verify_same_block(*this, cast<RankedTensorType>(getType()), getMemory().getType()); }
LogicalResult LocalStoreOp::verify() {
  return verify_same_block(*this, cast<RankedTensorType>(getSource().getType()), getMemory().getType());
}

LogicalResult ViewBufferOp::verify() {
  if (getMemory().getType().getBuffers() == 0) return emitOpError("rule: the memory has buffers");
  if (getType() != getMemory().getType().one_buffer())
    return emitOpError("rule: the result is one buffer; expected ") << getMemory().getType().one_buffer();
  return success();
}

LogicalResult ViewTransOp::verify() {
  MemType from = getMemory().getType(), to = getType();
  if (getOrder().size() != from.getShape().size()) return emitOpError("rule: `order` has a number for each dimension");
  for (auto [d, source] : llvm::enumerate(getOrder()))
    if (source < 0 || source >= int(from.getShape().size()) || to.getShape()[d] != from.getShape()[source])
      return emitOpError("rule: result dimension d is source dimension order[d]");
  return success();
}

LogicalResult CopyInOp::verify() {
  if (getMemory().getType().getBuffers() != 0) return emitOpError("rule: one buffer of the memory is meant");
  if (getKind() == CopyKind::TILE) {
    if (!getMap() || !getBar()) return emitOpError("rule: a copy by tile has a map and a bar");
    return success();
  }
  if (!getPointers()) return emitOpError("rule: a copy by lanes has pointers");
  if (getKind() == CopyKind::THREAD && getWidth() != 4 && getWidth() != 8 && getWidth() != 16)
    return emitOpError("rule: a lane copies 4, 8 or 16 bytes at once; got ") << getWidth();
  return success();
}

static ArrayRef<int64_t> block_of(Type type) {
  if (auto memory = dyn_cast<MemType>(type)) return memory.getShape();
  return cast<RankedTensorType>(type).getShape();
}

LogicalResult MmaOp::verify() {
  ArrayRef<int64_t> a = block_of(getA().getType()), b = block_of(getB().getType()),
                    c = block_of(getAccumulators().getType());
  if (a.size() != b.size() || a.size() != c.size() || a.size() < 2) return emitOpError("rule: operands have one rank, at least 2");
  size_t rank = a.size();
  if (a[rank - 1] != b[rank - 2] || a[rank - 2] != c[rank - 2] || b[rank - 1] != c[rank - 1])
    return emitOpError("rule: M x K times K x N plus M x N");
  if (getType() != getAccumulators().getType()) return emitOpError("rule: the result is of the accumulators' type");
  return success();
}

LogicalResult SpecializeOp::verify() {
  if (getWarps().size() != getPartitions().size() || getRegisters().size() != getPartitions().size())
    return emitOpError("rule: each partition has a number of warps and of registers");
  for (int32_t warps : getWarps())
    if (warps <= 0) return emitOpError("rule: a partition has warps");
  return success();
}

}  // namespace teeny::tile
