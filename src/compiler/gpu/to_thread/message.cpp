// device_print and device_assert: each element is told to the host by the one lane whose copy counts.
#include <mlir/Dialect/Arith/IR/Arith.h>

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
    Value mask = emitter.both(owns, mask_of(scalar));
    if (!mask) mask = emitter.constant(emitter.builder.getBoolAttr(true));
    thread::MessageOp::create(emitter.builder, emitter.location, kind, site ? int32_t(site.getInt()) : -1, operand,
                              emitter.index_of(places, int(number), Axis::index0), bits_of(emitter, scalar), mask);
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
