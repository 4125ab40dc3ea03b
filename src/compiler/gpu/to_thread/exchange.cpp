#include "compiler/gpu/to_thread/exchange.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>

namespace teeny::compiler::gpu {

using namespace mlir;

Type stored_type(Type type) {
  Type scalar = Emitter::scalar_type(type);
  return scalar.isInteger(1) ? Type(IntegerType::get(scalar.getContext(), 8)) : scalar;
}

Value is_nonzero(Emitter& emitter, Value stored) {
  Value zero = emitter.constant(emitter.builder.getIntegerAttr(stored.getType(), 0));
  return arith::CmpIOp::create(emitter.builder, emitter.location, arith::CmpIPredicate::ne, stored, zero);
}

Value scratch_array(Emitter& emitter, Operation* operation, unsigned number) {
  auto offsets = operation->getAttrOfType<DenseI64ArrayAttr>(scratch_offsets_attribute);
  SmallVector<Scratch, 1> scratch = scratch_of(operation, emitter.capability);
  if (!offsets || offsets.size() != int64_t(scratch.size())) {
    InFlightDiagnostic error =
        operation->emitOpError("must have a place in shared memory for each array it exchanges; got ")
        << (offsets ? offsets.size() : 0) << " places, expected " << scratch.size();
    error.attachNote() << "help: run allocate_shared before to_thread";
    return {};
  }
  OpBuilder& builder = emitter.builder;
  NamedAttribute attributes[] = {builder.getNamedAttr("offset", builder.getI64IntegerAttr(offsets[number])),
                                 builder.getNamedAttr("elements", builder.getI64IntegerAttr(scratch[number].elements))};
  OperationName name(thread::SharedRefOp::getOperationName(), builder.getContext());
  return emitter.number(name, {}, thread::SharedType::get(builder.getContext(), scratch[number].element),
                        builder.getDictionaryAttr(attributes));
}

std::pair<Value, int32_t> place_of(Emitter& emitter, Value index) {
  Emitter::Sum sum = emitter.sum(index);
  if (!sum.base) return {emitter.constant(0), int32_t(sum.constant)};
  return {sum.base, int32_t(sum.constant)};
}

void store_shared(Emitter& emitter, Value array, Value index, ArrayRef<Value> values, Value mask) {
  Type stored = cast<thread::SharedType>(array.getType()).getElement();
  SmallVector<Value> parts;
  for (Value value : values) {
    if (value.getType() != stored) value = arith::ExtUIOp::create(emitter.builder, emitter.location, stored, value);
    parts.push_back(value);
  }
  auto [base, offset] = place_of(emitter, index);
  thread::SharedStoreOp::create(emitter.builder, emitter.location, array, base, parts, mask, offset);
}

void load_shared(Emitter& emitter, Value array, Value index, int64_t count, int64_t width, Type scalar,
                 Scalars& results) {
  OpBuilder& builder = emitter.builder;
  Type stored = cast<thread::SharedType>(array.getType()).getElement();
  auto [base, offset] = place_of(emitter, index);
  width = std::min(width, count);
  for (int64_t first = 0; first < count; first += width) {
    auto load = thread::SharedLoadOp::create(builder, emitter.location, SmallVector<Type>(width, stored), array, base,
                                             Value(), int32_t(offset + first));
    for (Value value : load.getValues()) {
      if (stored != scalar) value = is_nonzero(emitter, value);
      results.push_back(value);
    }
  }
}

void shared_barrier(Emitter& emitter, Operation* operation) {
  tile::Executors executors = tile::executors(operation);
  bool all = !operation->getParentOfType<tile::SpecializeOp>();
  thread::BarrierOp::create(emitter.builder, emitter.location, thread::BarrierMemory::SHARED,
                            all ? 0 : executors.first_warp, all ? 0 : executors.warps);
}

LinearLayout row_major(const LinearLayout& layout) {
  int32_t elements = 1;
  std::vector<int32_t> strides(layout.outputs().size());
  for (size_t d = strides.size(); d-- > 0;) strides[d] = elements, elements *= layout.outputs()[d].size;
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  for (LinearLayout::Input& input : inputs)
    for (LinearLayout::Basis& basis : input.bases) {
      int32_t element = 0;
      for (size_t d = 0; d < strides.size(); ++d) element += basis[d] * strides[d];
      basis = {element};
    }
  return LinearLayout(std::move(inputs), {{Axis::index0, elements}});
}

int64_t widest(const Emitter& emitter, Type stored) {
  return std::max<int64_t>(1, emitter.capability.max_vector_bytes / element_bytes(stored));
}

Scalars exchange(Emitter& emitter, Operation* operation, Value array, const LinearLayout& from, ArrayRef<Value> values,
                 const LinearLayout& to) {
  Type stored = cast<thread::SharedType>(array.getType()).getElement(), scalar = values.front().getType();
  int64_t limit = widest(emitter, stored);
  int64_t width = std::min<int64_t>(limit, from.consecutive_registers(Axis::index0));
  int32_t copies = from.free_bits(Axis::reg);
  Value owns = emitter.owns(from);
  for (int first = 0; first < from.input_size(Axis::reg); first += width)
    if ((first & copies) == 0)
      store_shared(emitter, array, emitter.index_of(from, first, Axis::index0), values.slice(first, width), owns);
  shared_barrier(emitter, operation);
  Scalars results;
  width = std::min<int64_t>(limit, to.consecutive_registers(Axis::index0));
  for (int first = 0; first < to.input_size(Axis::reg); first += width)
    load_shared(emitter, array, emitter.index_of(to, first, Axis::index0), width, width, scalar, results);
  return results;
}

}  // namespace teeny::compiler::gpu
