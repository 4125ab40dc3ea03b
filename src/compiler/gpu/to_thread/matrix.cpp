#include "compiler/gpu/to_thread/matrix.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

LogicalResult emit_matrix(Emitter &emitter, tile::MmaOp product) {
  const MatrixUnit *unit = emitter.capability.unit(product.getUnit());
  if (unit && unit->form == MatrixUnit::Form::lanes) return emit_lanes_product(emitter, product), success();
  if (unit && unit->form == MatrixUnit::Form::fragments)
    return emit_fragments_product(emitter, product, *unit), success();
  return product->emitOpError("rule: the matrix table must have the unit, with fragments in registers; got ")
             << product.getUnit(),
         failure();
}

}  // namespace teeny::compiler::gpu
