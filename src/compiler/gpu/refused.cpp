// Parts of the lowering that are not there: what needs them is refused by name before it gets here.
#include "compiler/gpu/dot_plan.hpp"
#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {

DotPlan plan_dot(tt::DotOp, const Capability &, int) { llvm::report_fatal_error("prepare() refuses dots"); }
mlir::LogicalResult emit_shared(Emitter &, mlir::Operation *operation) {
  return operation->emitOpError("has no GPU lowering; got shared memory");
}
mlir::LogicalResult emit_matrix(Emitter &, tile::MmaOp product) {
  return product->emitOpError("has no GPU lowering; got a matrix product");
}

}  // namespace teeny::compiler::gpu
