// Blocks in shared memory: allocations, views, loads and stores.
#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// Where each register of a tensor stands in the array: register, lane, warp -> offset.
LinearLayout places_of(Type tensor, const SharedArray &array) {
  return tile::layout_of(tensor).invert_and_compose(array.layout);
}

int64_t width_of(const Emitter &emitter, const LinearLayout &places, Type element) {
  const int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  return std::min<int64_t>(places.consecutive_registers(Axis::offset), emitter.capability.max_vector_bytes / bytes);
}

void store(Emitter &emitter, Value tensor, const SharedArray &array) {
  const LinearLayout places = places_of(tensor.getType(), array);
  const int64_t width = width_of(emitter, places, array.element);
  Scalars values(emitter.scalars(tensor));
  for (size_t first = 0; first < values.size(); first += width) {
    Value index = emitter.index_of(places, int(first), Axis::offset);
    if (!index) index = emitter.constant(0);
    thread::SharedStoreOp::create(emitter.builder, emitter.location, array.array, emitter.add(array.first, index),
                                  ArrayRef(values).slice(first, width), Value(), 0);
  }
}

void load(Emitter &emitter, tile::LocalLoadOp load) {
  const SharedArray array = emitter.memory(load.getMemory());
  const LinearLayout places = places_of(load.getType(), array);
  const int64_t width = width_of(emitter, places, array.element);
  Scalars results;
  for (int first = 0; first < Emitter::registers(load.getType()); first += width) {
    Value index = emitter.index_of(places, first, Axis::offset);
    if (!index) index = emitter.constant(0);
    auto made = thread::SharedLoadOp::create(emitter.builder, emitter.location, SmallVector<Type>(width, array.element),
                                             array.array, emitter.add(array.first, index), Value(), 0);
    llvm::append_range(results, made.getValues());
  }
  emitter.bind(load.getResult(), std::move(results));
}

void allocate(Emitter &emitter, tile::AllocOp allocation) {
  tile::MemType type = allocation.getType();
  auto reference = thread::SharedRefOp::create(
      emitter.builder, emitter.location, thread::SharedType::get(type.getContext(), type.getElement()),
      allocation.getOffset().value_or(0), type.elements() * std::max<int64_t>(type.getBuffers(), 1));
  SharedArray array{reference, {}, type.layout(), type.getElement()};
  if (allocation.getInitial()) store(emitter, allocation.getInitial(), array);
  emitter.bind_memory(allocation.getResult(), std::move(array));
}

}  // namespace

LogicalResult emit_shared(Emitter &emitter, Operation *operation) {
  if (auto allocation = dyn_cast<tile::AllocOp>(operation)) return allocate(emitter, allocation), success();
  if (auto loaded = dyn_cast<tile::LocalLoadOp>(operation)) return load(emitter, loaded), success();
  if (auto stored = dyn_cast<tile::LocalStoreOp>(operation))
    return store(emitter, stored.getSource(), emitter.memory(stored.getMemory())), success();
  if (auto view = dyn_cast<tile::ViewTransOp>(operation)) {
    SharedArray array = emitter.memory(view.getMemory());
    array.layout = view.getType().layout();
    emitter.bind_memory(view.getResult(), std::move(array));
    return success();
  }
  if (auto view = dyn_cast<tile::ViewBufferOp>(operation)) {
    SharedArray array = emitter.memory(view.getMemory());
    array.first = emitter.add(array.first, emitter.multiply(emitter.scalar(view.getIndex()), view.getType().elements()));
    emitter.bind_memory(view.getResult(), std::move(array));
    return success();
  }
  operation->emitOpError("rule: the device must have a way to run it; got an asynchronous copy").attachNote()
      << "help: compile with one stage";
  return failure();
}

}  // namespace teeny::compiler::gpu
