// What the GPU lowering does to tt first, and what it refuses.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/cpu/prepare.hpp"
#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

LogicalResult check_extents(Operation* operation) {
  for (Value result : operation->getResults())
    for (std::int64_t extent : tt::shape_of(result.getType()))
      if (extent <= 0 || !llvm::isPowerOf2_64(static_cast<std::uint64_t>(extent))) {
        auto error = operation->emitOpError("rule: on a GPU a block's extents are powers of two; got ");
        llvm::interleave(tt::shape_of(result.getType()), error, "x");
        return error.attachNote() << "help: use the next power of two and a mask, or run it on the CPU", failure();
      }
  return success();
}

}  // namespace

LogicalResult prepare(tt::FuncOp function, const Capability&, const GpuOptions&) {
  cpu::lower_descriptors(function);
  WalkResult walked = function.walk([](Operation* operation) {
    if (isa<tt::DotOp>(operation) && tt::shape_of(operation->getResult(0).getType()).size() != 2) {
      operation->emitOpError("rule: on a GPU a dot is of two dimensions; got a batch of them").attachNote()
          << "help: let a program do one product of the batch, or run it on the CPU";
      return WalkResult::interrupt();
    }
    if (isa<arith::RemFOp>(operation) && tt::element_type(operation->getResult(0).getType()).isF64()) {
      operation->emitOpError("rule: the device must have an exact remainder; got f64 for a GPU").attachNote()
          << "help: use f32, or run it on the CPU";
      return WalkResult::interrupt();
    }
    return failed(check_extents(operation)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

}  // namespace teeny::compiler::gpu
