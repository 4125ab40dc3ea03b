// What each form promises (reference of the levels: T1 laid out, T2 staged, T3 synchronised). Later forms keep what
// earlier ones promise.
#include <mlir/IR/Builders.h>

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

// ---- T2

// Where the row of the matrix table takes its operands from.
LogicalResult verify_product(tile::MmaOp product, const Capability &capability) {
  const MatrixUnit *unit = capability.unit(product.getUnit());
  if (!unit)
    return product.emitOpError("rule: the target's matrix table has the unit; got ") << product.getUnit();
  using Form = MatrixUnit::Form;
  const auto is = [&]<typename Encoding>(std::type_identity<Encoding>, Value operand) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    return tensor && isa_and_nonnull<Encoding>(tensor.getEncoding());
  };
  const auto in_memory = [](Value operand) { return isa<tile::MemType>(operand.getType()); };
  const auto distributed = [&](Value operand) { return is(std::type_identity<tile::DistAttr>(), operand); };
  const auto opaque = [&](Value operand, tile::Role role) {
    return is(std::type_identity<tile::OpaqueAttr>(), operand) &&
           cast<tile::OpaqueAttr>(cast<RankedTensorType>(operand.getType()).getEncoding()).getRole() == role;
  };
  const Value a = product.getA(), b = product.getB(), sums = product.getAccumulators();
  bool fits = distributed(sums);
  switch (unit->form) {
    case Form::lanes: fits &= in_memory(a) && in_memory(b); break;
    case Form::fragments: fits &= (in_memory(a) || distributed(a)) && (in_memory(b) || distributed(b)); break;
    case Form::memory: fits &= in_memory(b) && (unit->a_from_memory ? in_memory(a) || distributed(a) : distributed(a)); break;
    case Form::opaque:
      fits = opaque(a, tile::Role::A) && opaque(b, tile::Role::B) && opaque(sums, tile::Role::ACC);
      break;
  }
  if (!fits)
    return product.emitOpError("rule: operands stand where the unit takes them from; got ")
           << a.getType() << ", " << b.getType() << " and " << sums.getType();
  return success();
}

// An asynchronous product's sums are read behind a wait, or by the next one.
LogicalResult verify_waited(tile::MmaOp product) {
  if (!product.getAsync()) return success();
  for (OpOperand &use : product.getResult().getUses()) {
    auto next = dyn_cast<tile::MmaOp>(use.getOwner());
    if (isa<tile::MmaWaitOp>(use.getOwner()) || use.getOwner()->hasTrait<OpTrait::IsTerminator>() ||
        (next && next.getAsync() && use.get() == next.getAccumulators()))
      continue;
    return product.emitOpError("rule: the sums of an asynchronous product are read behind a wait; got a use by ")
           << use.getOwner()->getName();
  }
  return success();
}

// A group that closes them follows the copies of its block, so that waits count them.
LogicalResult verify_copy(tile::CopyInOp copy) {
  if (copy.getKind() != tile::CopyKind::THREAD) return success();
  for (Operation *next = copy->getNextNode(); next; next = next->getNextNode())
    if (isa<tile::CommitOp>(next)) return success();
  return copy.emitOpError("rule: a commit follows a lane's copies in their block; got none");
}

LogicalResult verify_staged(tt::FuncOp function, const Capability &capability) {
  bool copies = false, waits = false;
  WalkResult result = function.walk([&](Operation *operation) -> WalkResult {
    waits |= isa<tile::WaitOp>(operation);
    if (auto product = dyn_cast<tile::MmaOp>(operation))
      return success(succeeded(verify_product(product, capability)) && succeeded(verify_waited(product)));
    if (auto copy = dyn_cast<tile::CopyInOp>(operation)) {
      copies |= copy.getKind() == tile::CopyKind::THREAD;
      return verify_copy(copy);
    }
    return success();
  });
  if (result.wasInterrupted()) return failure();
  if (copies && !waits) return function.emitOpError("rule: copies by lanes are waited for; got no tile.wait");
  return success();
}

// ---- T3

LogicalResult verify_place(Operation *operation, IntegerAttr offset, int64_t bytes, int64_t aligned, int64_t end) {
  if (!offset) return operation->emitOpError("rule: has a place in shared memory; got no offset");
  const int64_t first = offset.getInt();
  if (first < 0 || first % aligned != 0 || first + bytes > end)
    return operation->emitOpError("rule: a place is aligned and within the function's shared memory; got bytes ")
           << first << " to " << first + bytes << ", expected a multiple of " << aligned << " up to " << end;
  return success();
}

int64_t bytes_of(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

LogicalResult verify_places(Operation *operation, int64_t end, const Capability &capability) {
  if (auto allocation = dyn_cast<tile::AllocOp>(operation)) {
    const tile::MemType type = allocation.getType();
    return verify_place(operation, allocation.getOffsetAttr(), type.all_elements() * bytes_of(type.getElement()),
                        type.getEncoding().getSwizzle() ? 1024 : 16, end);
  }
  if (auto bar = dyn_cast<tile::BarInitOp>(operation))
    return verify_place(operation, bar.getOffsetAttr(), bar.getType().getCount() * 8, 8, end);
  const auto scratch = scratch_of(operation, capability);
  auto offsets = operation->getAttrOfType<DenseI64ArrayAttr>(scratch_offsets_attribute);
  if (scratch.size() != size_t(offsets ? offsets.size() : 0))
    return operation->emitOpError("rule: each array that is exchanged has a place; got ")
           << (offsets ? offsets.size() : 0) << ", expected " << scratch.size();
  for (auto [number, part] : llvm::enumerate(scratch))
    if (failed(verify_place(operation, Builder(operation->getContext()).getI64IntegerAttr(offsets[number]),
                            part.elements * bytes_of(part.element), 1, end)))
      return failure();
  return success();
}

// All warps have a partition.
LogicalResult verify_partitions(tile::SpecializeOp specialize) {
  int warps = 0;
  for (int32_t count : specialize.getWarps()) warps += count;
  if (const int all = tile::executors(specialize).warps; warps != all)
    return specialize.emitOpError("rule: partitions share the warps; got ") << warps << ", expected " << all;
  return success();
}

int64_t barriers_of(tt::FuncOp function) {
  int64_t count = 0;
  function.walk([&](tile::BarrierOp) { ++count; });
  return count;
}

// Where all warps run one text, the insertion finds nothing to add. Partitions are ordered by arrivals.
LogicalResult verify_barriers(tt::FuncOp function, const Capability &capability) {
  if (function.walk([](tile::SpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted()) return success();
  OwningOpRef<tt::FuncOp> copy(function.clone());
  if (failed(insert_barriers(*copy, capability))) return failure();
  if (const int64_t missing = barriers_of(*copy) - barriers_of(function))
    return function.emitOpError("rule: barriers order the accesses of different lanes; got a function that lacks ") << missing;
  return success();
}

LogicalResult verify_synchronised(tt::FuncOp function, const Capability &capability) {
  auto bytes = function->getAttrOfType<IntegerAttr>(thread::shared_bytes_attribute);
  if (!bytes || bytes.getInt() > capability.shared_bytes)
    return function.emitOpError("rule: says what shared memory it needs, at most ") << capability.shared_bytes << " bytes";
  WalkResult result = function.walk([&](Operation *operation) -> WalkResult {
    if (isa<tt::BarrierOp>(operation)) return operation->emitOpError("rule: tile.barrier stands for it");
    if (auto specialize = dyn_cast<tile::SpecializeOp>(operation))
      if (failed(verify_partitions(specialize))) return failure();
    return verify_places(operation, bytes.getInt(), capability);
  });
  if (result.wasInterrupted()) return failure();
  return verify_barriers(function, capability);
}

}  // namespace

LogicalResult verify_form(tt::FuncOp function, Form form, const Capability &capability) {
  if (failed(verify_laid_out(function, capability))) return failure();
  if (form >= Form::staged && failed(verify_staged(function, capability))) return failure();
  if (form >= Form::synchronised) return verify_synchronised(function, capability);
  return success();
}

}  // namespace teeny::compiler::gpu
