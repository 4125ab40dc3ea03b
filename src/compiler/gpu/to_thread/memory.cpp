// tt.load and tt.store: accesses of as many registers at once as stand side by side in memory.
#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/gpu/to_thread/exchange.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

// Elements of one access: consecutive registers along a dimension whose addresses and mask agree to it.
static int64_t access_width(Emitter &emitter, Value pointers, Value mask) {
  auto type = dyn_cast<RankedTensorType>(pointers.getType());
  if (!type) return 1;
  LinearLayout layout = tile::layout_of(type);
  int64_t bytes = element_bytes(tt::pointee_type(type)), width = 1;
  for (unsigned dimension = 0; dimension < type.getRank(); ++dimension) {
    int64_t registers = layout.consecutive_registers(index_axis(dimension));
    if (registers <= width) continue;
    width = std::max(width, std::min(registers, emitter.axis_info.vector_width(pointers, mask, dimension)));
  }
  return std::max<int64_t>(1, std::min(width, emitter.capability.max_vector_bytes / bytes));
}

static Value mask_of(Emitter &emitter, Value mask, int number) {
  if (!mask) return {};
  ArrayRef<Value> masks = emitter.scalars(mask);
  return masks.size() == 1 ? masks.front() : masks[number];
}

static LogicalResult emit_load(Emitter &emitter, tt::LoadOp load) {
  if (load.getIsVolatile()) return emit_volatile_load(emitter, load);
  OpBuilder &builder = emitter.builder;
  Type scalar = Emitter::scalar_type(load.getType()), stored = stored_type(scalar);
  int64_t bytes = element_bytes(tt::pointee_type(load.getPtr().getType()));
  int64_t width = access_width(emitter, load.getPtr(), load.getMask());
  Scalars addresses(emitter.scalars(load.getPtr())), results;
  for (size_t first = 0; first < addresses.size(); first += width) {
    Emitter::Sum address = emitter.sum(addresses[first]);
    SmallVector<Value> other;
    for (int64_t k = 0; load.getOther() && k < width; ++k) {
      Value value = emitter.scalars(load.getOther())[first + k];
      other.push_back(scalar == stored ? value : emitter.make<arith::ExtUIOp>({value}, stored));
    }
    Value base = address.base ? address.base : addresses[first];
    auto made = thread::LoadOp::create(builder, emitter.location, SmallVector<Type>(width, stored), base,
                                       mask_of(emitter, load.getMask(), first), other,
                                       address.base ? address.constant : 0, int32_t(bytes * width), load.getCache(),
                                       load.getEvict(), false);
    for (Value value : made.getValues()) results.push_back(scalar == stored ? value : is_nonzero(emitter, value));
  }
  emitter.bind(load.getResult(), std::move(results));
  return success();
}

static LogicalResult emit_store(Emitter &emitter, tt::StoreOp store) {
  OpBuilder &builder = emitter.builder;
  Type scalar = Emitter::scalar_type(store.getValue().getType()), stored = stored_type(scalar);
  int64_t bytes = element_bytes(tt::pointee_type(store.getPtr().getType()));
  int64_t width = access_width(emitter, store.getPtr(), store.getMask());
  int32_t copies = 0;
  Value owns;
  if (isa<RankedTensorType>(store.getPtr().getType())) {
    LinearLayout layout = tile::layout_of(store.getPtr().getType());
    copies = layout.free_bits(Axis::reg);
    owns = emitter.owns(layout);
  } else {  // one thread of those that run it
    tile::Executors executors = tile::executors(store);
    OpBuilder &b = builder;
    auto equal = [&](Value left, int64_t right) -> Value {
      return arith::CmpIOp::create(b, emitter.location, arith::CmpIPredicate::eq, left, emitter.constant(right));
    };
    owns = emitter.both(equal(emitter.lane(), 0), equal(emitter.warp(), executors.first_warp));
  }
  Scalars addresses(emitter.scalars(store.getPtr())), values(emitter.scalars(store.getValue()));
  for (size_t first = 0; first < addresses.size(); first += width) {
    if (first & size_t(copies)) continue;
    Emitter::Sum address = emitter.sum(addresses[first]);
    SmallVector<Value> parts;
    for (Value value : ArrayRef(values).slice(first, width))
      parts.push_back(scalar == stored ? value : emitter.make<arith::ExtUIOp>({value}, stored));
    Value base = address.base ? address.base : addresses[first];
    thread::StoreOp::create(builder, emitter.location, base, parts,
                            emitter.both(owns, mask_of(emitter, store.getMask(), first)),
                            address.base ? address.constant : 0, int32_t(bytes * width), store.getCache(),
                            store.getEvict());
  }
  return success();
}

LogicalResult emit_memory(Emitter &emitter, Operation *operation) {
  if (auto load = dyn_cast<tt::LoadOp>(operation)) return emit_load(emitter, load);
  if (auto atomic = dyn_cast<tt::AtomicRMWOp>(operation)) return emit_atomic(emitter, atomic);
  if (auto atomic = dyn_cast<tt::AtomicCASOp>(operation)) return emit_compare_and_swap(emitter, atomic);
  return emit_store(emitter, cast<tt::StoreOp>(operation));
}

}  // namespace teeny::compiler::gpu
