#include "compiler/gpu/to_thread/matrix.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

void wait(Emitter &emitter, tile::MmaWaitOp wait) {
  Scalars accumulators;
  for (Value value : wait.getAccumulators()) llvm::append_range(accumulators, emitter.scalars(value));
  auto waited = thread::MmaWaitOp::create(emitter.builder, emitter.location, TypeRange(ValueRange(accumulators)),
                                          wait.getPending(), accumulators);
  ValueRange results = waited.getResults();
  for (Value value : wait.getResults()) {
    const size_t count = size_t(Emitter::registers(value.getType()));
    emitter.bind(value, Scalars(results.take_front(count)));
    results = results.drop_front(count);
  }
}

}  // namespace

LogicalResult emit_matrix(Emitter &emitter, Operation *operation) {
  if (auto waited = dyn_cast<tile::MmaWaitOp>(operation)) return wait(emitter, waited), success();
  if (isa<tile::FenceOp>(operation))
    return thread::FenceAsyncOp::create(emitter.builder, emitter.location), success();
  auto product = cast<tile::MmaOp>(operation);
  const MatrixUnit *unit = emitter.capability.unit(product.getUnit());
  if (unit && unit->form == MatrixUnit::Form::lanes) return emit_lanes_product(emitter, product), success();
  if (unit && unit->form == MatrixUnit::Form::fragments)
    return emit_fragments_product(emitter, product, *unit), success();
  if (unit && unit->form == MatrixUnit::Form::memory) return emit_memory_product(emitter, product, *unit), success();
  return product->emitOpError("rule: the matrix table must have the unit, in a form that lanes can feed; got ")
             << product.getUnit(),
         failure();
}

}  // namespace teeny::compiler::gpu
