// The tt dialect: tile programs over scalars, pointers and tensors of both. See tt_ops.td for the operations.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/SymbolTable.h>
#include <mlir/Interfaces/CallInterfaces.h>
#include <mlir/Interfaces/ControlFlowInterfaces.h>
#include <mlir/Interfaces/FunctionInterfaces.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/dialect/tt/tt_dialect.hpp.inc"
#include "compiler/dialect/tt/tt_enums.hpp.inc"

namespace teeny::tt {

// The element type of a tensor, or the type itself.
inline mlir::Type element_type(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

// The one memory that kernels read and write.
struct GlobalMemory : mlir::SideEffects::Resource::Base<GlobalMemory> {
  llvm::StringRef getName() final { return "<global memory>"; }
};

}  // namespace teeny::tt

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tt/tt_types.hpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/tt/tt_ops.hpp.inc"

namespace teeny::tt {

// What a pointer or a tensor of pointers points to.
inline mlir::Type pointee_type(mlir::Type type) {
  return llvm::cast<PointerType>(element_type(type)).getPointeeType();
}

// The shape of a tensor; empty for a scalar.
inline llvm::ArrayRef<int64_t> shape_of(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getShape() : llvm::ArrayRef<int64_t>();
}

// `element` in the shape (and the layout) of `like`, which may be a scalar.
inline mlir::Type same_shape(mlir::Type like, mlir::Type element) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(like);
  return tensor ? mlir::Type(tensor.clone(element)) : element;
}

}  // namespace teeny::tt
