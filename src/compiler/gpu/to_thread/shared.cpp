// Blocks in shared memory: allocations, views, loads, stores and copies.
#include "compiler/gpu/to_thread/exchange.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// Where each register of a tensor stands in the array: register, lane, warp -> offset.
LinearLayout places_of(Type tensor, const SharedArray &array) {
  return tile::layout_of(tensor).invert_and_compose(array.layout);
}

int64_t width_of(const Emitter &emitter, const LinearLayout &places, Type element) {
  return std::min<int64_t>(places.consecutive_registers(Axis::offset), widest(emitter, element));
}

Value place(Emitter &emitter, const SharedArray &array, const LinearLayout &places, int number) {
  return emitter.add(array.first, emitter.index_of(places, number, Axis::offset));
}

void store(Emitter &emitter, Value tensor, const SharedArray &array) {
  const LinearLayout places = places_of(tensor.getType(), array);
  const int64_t width = width_of(emitter, places, array.element);
  Scalars values(emitter.scalars(tensor));
  for (size_t first = 0; first < values.size(); first += width)
    store_shared(emitter, array.array, place(emitter, array, places, int(first)), ArrayRef(values).slice(first, width), {});
}

void load(Emitter &emitter, tile::LocalLoadOp load) {
  const SharedArray array = emitter.memory(load.getMemory());
  const LinearLayout places = places_of(load.getType(), array);
  const int64_t width = width_of(emitter, places, array.element);
  Scalars results;
  for (int first = 0; first < Emitter::registers(load.getType()); first += width)
    load_shared(emitter, array.array, place(emitter, array, places, first), width, width,
                Emitter::scalar_type(load.getType()), results);
  emitter.bind(load.getResult(), std::move(results));
}

void copy(Emitter &emitter, tile::CopyInOp copy) {
  const SharedArray array = emitter.memory(copy.getMemory());
  const LinearLayout places = places_of(copy.getPointers().getType(), array);
  const int64_t width = copy.getWidth() / element_bytes(array.element);
  Scalars addresses(emitter.scalars(copy.getPointers()));
  Scalars masks = copy.getMask() ? Scalars(emitter.scalars(copy.getMask())) : Scalars();
  const int32_t copies = places.free_bits(Axis::reg);
  for (size_t first = 0; first < addresses.size(); first += width) {
    if (first & size_t(copies)) continue;
    auto [index, offset] = place_of(emitter, place(emitter, array, places, int(first)));
    Emitter::Sum address = emitter.sum(addresses[first]);
    thread::CopyAsyncOp::create(emitter.builder, emitter.location, array.array, index,
                                address.base ? address.base : addresses[first], masks.empty() ? Value() : masks[first],
                                offset, address.base ? address.constant : 0, copy.getWidth());
  }
}

void allocate(Emitter &emitter, tile::AllocOp allocation) {
  tile::MemType type = allocation.getType();
  auto reference = thread::SharedRefOp::create(
      emitter.builder, emitter.location, thread::SharedType::get(type.getContext(), type.getElement()),
      allocation.getOffset().value_or(0), type.all_elements());
  SharedArray array{reference, {}, type.layout(), type.getElement()};
  if (allocation.getInitial()) store(emitter, allocation.getInitial(), array);
  emitter.bind_memory(allocation.getResult(), std::move(array));
}

void view(Emitter &emitter, tile::ViewTransOp view) {
  SharedArray array = emitter.memory(view.getMemory());
  array.layout = view.getType().layout();
  emitter.bind_memory(view.getResult(), std::move(array));
}

void view(Emitter &emitter, tile::ViewBufferOp view) {
  SharedArray array = emitter.memory(view.getMemory());
  array.first = emitter.add(array.first, emitter.multiply(emitter.scalar(view.getIndex()), view.getType().elements()));
  emitter.bind_memory(view.getResult(), std::move(array));
}

}  // namespace

LogicalResult emit_shared(Emitter &emitter, Operation *operation) {
  if (auto allocation = dyn_cast<tile::AllocOp>(operation)) return allocate(emitter, allocation), success();
  if (auto loaded = dyn_cast<tile::LocalLoadOp>(operation)) return load(emitter, loaded), success();
  if (auto stored = dyn_cast<tile::LocalStoreOp>(operation))
    return store(emitter, stored.getSource(), emitter.memory(stored.getMemory())), success();
  if (auto turned = dyn_cast<tile::ViewTransOp>(operation)) return view(emitter, turned), success();
  if (auto buffer = dyn_cast<tile::ViewBufferOp>(operation)) return view(emitter, buffer), success();
  if (isa<tile::CommitOp>(operation))
    return thread::CopyCommitOp::create(emitter.builder, emitter.location), success();
  if (auto wait = dyn_cast<tile::WaitOp>(operation))
    return thread::CopyWaitOp::create(emitter.builder, emitter.location, wait.getPending()), success();
  auto copied = dyn_cast<tile::CopyInOp>(operation);
  if (copied && copied.getKind() == tile::CopyKind::THREAD) return copy(emitter, copied), success();
  operation->emitOpError("rule: lanes copy to shared memory; got a copy of another kind").attachNote()
      << "help: compile with one stage";
  return failure();
}

}  // namespace teeny::compiler::gpu
