// The thread dialect: scalar code of one lane of a program, for any GPU. See thread_ops.td for the operations.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/dialect/tt/tt.hpp"

#include "compiler/dialect/thread/thread_dialect.hpp.inc"
#include "compiler/dialect/thread/thread_enums.hpp.inc"

namespace teeny::thread {

// The memory that the lanes of a program share.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() final { return "<shared memory>"; }
};
// The registers of a warp's other lanes.
struct Lanes : mlir::SideEffects::Resource::Base<Lanes> {
  llvm::StringRef getName() final { return "<lanes>"; }
};

// Attributes of a kernel's func.func: numbers of warps and of lanes in each, bytes of shared memory (all i32).
inline constexpr llvm::StringLiteral warps_attribute = "thread.warps";
inline constexpr llvm::StringLiteral lanes_attribute = "thread.lanes";
inline constexpr llvm::StringLiteral shared_bytes_attribute = "thread.shared_bytes";

}  // namespace teeny::thread

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/thread/thread_types.hpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/thread/thread_ops.hpp.inc"
