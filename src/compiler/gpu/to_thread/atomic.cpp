// tt.atomic_rmw, tt.atomic_cas and volatile loads: one thread does what must be done once; the others learn its result.
#include "compiler/gpu/to_thread/exchange.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

LinearLayout element_places(Operation* operation, Type type, const Capability& capability) {
  if (isa<RankedTensorType>(type)) return row_major(tile::layout_of(type));
  auto copies = [](int32_t size) { return std::vector<LinearLayout::Basis>(llvm::Log2_32(uint32_t(size)), {0}); };
  return LinearLayout(
      {{Axis::reg, {}}, {Axis::lane, copies(capability.lanes)}, {Axis::warp, copies(tile::executors(operation).warps)}},
      {{Axis::index0, 1}});
}

bool has_copies(const LinearLayout& places) { return !places.is_injective(); }

// One access of each element: `access` makes it from the register's number, its address in bytes as a base and a
// constant, and the condition under which this thread makes it (null: always).
static LogicalResult emit_once(Emitter& emitter, Operation* operation, Value pointers, Value masks,
                               llvm::function_ref<Value(int, Value, int64_t, Value)> access) {
  LinearLayout places = element_places(operation, pointers.getType(), emitter.capability);
  int32_t copies = places.free_bits(Axis::reg);
  Value owns = emitter.owns(places);
  Scalars addresses(emitter.scalars(pointers)), results;
  for (int number = 0; number < int(addresses.size()); ++number) {
    if (number & copies) {
      results.push_back(results.front());  // not looked at
      continue;
    }
    Emitter::Sum address = emitter.sum(addresses[number]);
    Value mask;
    if (masks) mask = emitter.scalars(masks)[isa<RankedTensorType>(masks.getType()) ? number : 0];
    results.push_back(access(number, address.base ? address.base : addresses[number],
                             address.base ? address.constant : 0, emitter.both(owns, mask)));
  }
  Value result = operation->getResult(0);
  if (result.use_empty() || !has_copies(places)) return emitter.bind(result, std::move(results)), success();
  Value array = scratch_array(emitter, operation, 0);
  if (!array) return failure();
  emitter.bind(result, exchange(emitter, operation, array, places, results, places));
  return success();
}

LogicalResult emit_atomic(Emitter& emitter, tt::AtomicRMWOp atomic) {
  Scalars values(emitter.scalars(atomic.getVal()));
  return emit_once(emitter, atomic, atomic.getPtr(), atomic.getMask(),
                   [&](int number, Value base, int64_t offset, Value mask) -> Value {
                     return thread::AtomicRMWOp::create(emitter.builder, emitter.location, atomic.getAtomicRmwOp(),
                                                        base, values[number], mask, offset, atomic.getSem(),
                                                        atomic.getScope());
                   });
}

LogicalResult emit_compare_and_swap(Emitter& emitter, tt::AtomicCASOp atomic) {
  Scalars expected(emitter.scalars(atomic.getCmp())), values(emitter.scalars(atomic.getVal()));
  return emit_once(
      emitter, atomic, atomic.getPtr(), Value(), [&](int number, Value base, int64_t offset, Value mask) -> Value {
        return thread::AtomicCASOp::create(emitter.builder, emitter.location, base, expected[number], values[number],
                                           mask, offset, atomic.getSem(), atomic.getScope());
      });
}

LogicalResult emit_volatile_load(Emitter& emitter, tt::LoadOp load) {
  Type scalar = Emitter::scalar_type(load.getType());
  if (scalar.isInteger(1) || load.getOther()) {
    InFlightDiagnostic error =
        load.emitOpError("must be of numbers without other values where it is volatile on a GPU; got ")
        << load.getType();
    error.attachNote() << "help: load i8, and select the other values afterwards";
    return error;
  }
  int64_t bytes = element_bytes(tt::pointee_type(load.getPtr().getType()));
  return emit_once(emitter, load, load.getPtr(), load.getMask(),
                   [&](int, Value base, int64_t offset, Value mask) -> Value {
                     return thread::LoadOp::create(emitter.builder, emitter.location, scalar, base, mask, ValueRange(),
                                                   offset, int32_t(bytes), load.getCache(), load.getEvict(), true)
                         .getResult(0);
                   });
}

}  // namespace teeny::compiler::gpu
