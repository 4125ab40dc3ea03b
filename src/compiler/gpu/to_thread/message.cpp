// device_print and device_assert: each element is told to the host by the one lane whose copy counts.
#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/gpu/pad.hpp"
#include "compiler/gpu/to_thread/exchange.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// The bits of a scalar in the low bytes of an i64.
Value bits_of(Emitter &emitter, Value scalar) {
  auto type = cast<Type>(scalar.getType());
  Type wide = emitter.builder.getI64Type();
  if (isa<FloatType>(type)) {
    type = emitter.builder.getIntegerType(type.getIntOrFloatBitWidth());
    scalar = arith::BitcastOp::create(emitter.builder, emitter.location, type, scalar);
  }
  return type == wide ? scalar : arith::ExtUIOp::create(emitter.builder, emitter.location, wide, scalar);
}

Value negated(Emitter &emitter, Value condition) {
  Value yes = emitter.constant(emitter.builder.getBoolAttr(true));
  return arith::XOrIOp::create(emitter.builder, emitter.location, condition, yes);
}

// Row-major number of an element, and whether it stands within the written block (null: all do).
std::pair<Value, Value> position_of(Emitter &emitter, Operation *operation, int operand, Type type,
                                    const LinearLayout &places, int number) {
  auto blocks = operation->getAttrOfType<ArrayAttr>(block_attribute);
  if (!blocks || !isa<RankedTensorType>(type)) return {emitter.index_of(places, number, Axis::index0), Value()};
  const LinearLayout layout = tile::layout_of(type);
  Value position, within;
  for (auto [d, extent] : llvm::enumerate(cast<DenseI64ArrayAttr>(blocks[operand]).asArrayRef())) {
    Value index = emitter.index_of(layout, number, index_axis(unsigned(d)));
    if (extent != layout.output_size(index_axis(unsigned(d))))
      within = emitter.both(within, arith::CmpIOp::create(emitter.builder, emitter.location, arith::CmpIPredicate::slt,
                                                          index, emitter.constant(extent)));
    position = emitter.add(emitter.multiply(position, extent), index);
  }
  return {position, within};
}

// `mask_of` gives the condition under which a scalar is told; null: always.
void tell(Emitter &emitter, Operation *operation, thread::MessageKind kind, int operand, Value value,
          llvm::function_ref<Value(Value scalar)> mask_of) {
  LinearLayout places = element_places(operation, value.getType(), emitter.capability);
  const int32_t copies = places.free_bits(Axis::reg);
  Value owns = emitter.owns(places);
  auto site = operation->getAttrOfType<IntegerAttr>(message_site_attribute);
  Scalars scalars(emitter.scalars(value));
  for (auto [number, scalar] : llvm::enumerate(scalars)) {
    if (number & size_t(copies)) continue;
    auto [position, within] = position_of(emitter, operation, operand, value.getType(), places, int(number));
    Value mask = emitter.both(emitter.both(owns, within), mask_of(scalar));
    if (!mask) mask = emitter.constant(emitter.builder.getBoolAttr(true));
    thread::MessageOp::create(emitter.builder, emitter.location, kind, site ? int32_t(site.getInt()) : -1, operand,
                              position, bits_of(emitter, scalar), mask);
  }
}

}  // namespace

LogicalResult emit_message(Emitter &emitter, Operation *operation) {
  if (auto check = dyn_cast<tt::AssertOp>(operation)) {
    tell(emitter, operation, thread::MessageKind::ASSERT, 0, check.getCondition(),
         [&](Value scalar) { return negated(emitter, scalar); });
    return success();
  }
  for (auto [operand, value] : llvm::enumerate(cast<tt::PrintOp>(operation).getArgs()))
    tell(emitter, operation, thread::MessageKind::PRINT, int(operand), value, [](Value) { return Value(); });
  return success();
}

}  // namespace teeny::compiler::gpu
