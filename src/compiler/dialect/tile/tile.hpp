// The tile dialect: layouts, shared memory, asynchronous copies and matrix units of tile programs. See tile_ops.td.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/dialect/thread/thread.hpp"
#include "compiler/dialect/tt/tt.hpp"
#include "compiler/layout/linear_layout.hpp"

#include "compiler/dialect/tile/tile_dialect.hpp.inc"
#include "compiler/dialect/tile/tile_enums.hpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/tile/tile_attributes.hpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tile/tile_types.hpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/tile/tile_ops.hpp.inc"

namespace teeny::tile {

// The layout of a tensor whose encoding is #tile.dist. `type` must be one.
compiler::LinearLayout layout_of(mlir::Type type);
// Whether it is.
bool is_distributed(mlir::Type type);
// The tensor in another layout.
mlir::RankedTensorType with_layout(mlir::RankedTensorType type, const compiler::LinearLayout &layout);

// The warps that run an operation: those of the nearest partition, or of the function (its attribute
// thread.warps). The only place that says so.
struct Executors {
  int first_warp = 0;
  int warps = 1;
};
Executors executors(mlir::Operation *operation);

}  // namespace teeny::tile
