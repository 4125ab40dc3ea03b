#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

LogicalResult verify_tensor(Operation *operation, Type type, const Capability &capability) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || isa_and_nonnull<tile::OpaqueAttr>(tensor.getEncoding())) return success();
  if (!tile::is_distributed(tensor)) return operation->emitOpError("rule: a tensor has a layout; got ") << tensor;
  LinearLayout layout = tile::layout_of(tensor);
  int warps = tile::executors(operation).warps;
  if (layout.input_size(Axis::lane) != capability.lanes || layout.input_size(Axis::warp) != warps)
    return operation->emitOpError("rule: a layout names all lanes and warps; expected ")
           << capability.lanes << " lanes and " << warps << " warps, got " << tensor;
  if (!layout.is_surjective()) return operation->emitOpError("rule: a layout covers its tensor; got ") << tensor;
  return success();
}

bool may_change_layout(Operation *operation) {
  return isa<tile::ConvertLayoutOp, tt::ReduceOp, tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp, tt::ReshapeOp,
             tile::MmaOp, tile::MmaWaitOp, tt::PrintOp>(operation) ||
         operation->getNumRegions() != 0 || operation->hasTrait<OpTrait::IsTerminator>();
}

// Operations that compute each element from the same element of their operands have one layout.
LogicalResult verify_one_layout(Operation *operation) {
  if (may_change_layout(operation)) return success();
  Attribute first;
  SmallVector<Type> types(operation->getOperandTypes());
  llvm::append_range(types, operation->getResultTypes());
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor) continue;
    if (!first) first = tensor.getEncoding();
    if (first != tensor.getEncoding())
      return operation->emitOpError("rule: operands and results have one layout; got ") << first << " and " << tensor;
  }
  return success();
}

LogicalResult verify_laid_out(tt::FuncOp function, const Capability &capability) {
  WalkResult result = function.walk([&](Operation *operation) -> WalkResult {
    if (operation == function) return success();
    if (isa<tt::DotOp>(operation)) return operation->emitOpError("rule: tile.mma stands for tt.dot in a tile function");
    for (Type type : operation->getOperandTypes())
      if (failed(verify_tensor(operation, type, capability))) return failure();
    for (Type type : operation->getResultTypes())
      if (failed(verify_tensor(operation, type, capability))) return failure();
    return verify_one_layout(operation);
  });
  return failure(result.wasInterrupted());
}

}  // namespace

LogicalResult verify_form(tt::FuncOp function, Form form, const Capability &capability) {
  switch (form) {
    case Form::laid_out:
    case Form::staged:
    case Form::synchronised:
      return verify_laid_out(function, capability);
  }
  return success();
}

}  // namespace teeny::compiler::gpu
