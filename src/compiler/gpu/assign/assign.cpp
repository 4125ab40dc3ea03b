#include <mlir/IR/Builders.h>

#include "compiler/gpu/assign/rewrite.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

LogicalResult assign_layouts(tt::FuncOp function, const Capability &capability, const GpuOptions &options) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("func: rule: control flow is structured (scf); got several blocks")
               .attachNote() << "help: run teeny-structure-control-flow first",
           failure();
  int warps = options.warps ? options.warps : capability.default_warps;
  while (warps > 1 && warps * capability.lanes > capability.max_threads) warps /= 2;
  function.getContext()->loadDialect<tile::TileDialect>();  // a pass that calls this names it as a dependent dialect
  Builder builder(function.getContext());
  function->setAttr(thread::warps_attribute, builder.getI32IntegerAttr(warps));
  if (options.reproducible) function->setAttr(reproducible_attribute, builder.getUnitAttr());
  function->setAttr(thread::lanes_attribute, builder.getI32IntegerAttr(capability.lanes));
  Homes homes(function, capability, warps);
  rewrite_to_homes(function, homes);
  return success();
}

}  // namespace teeny::compiler::gpu
