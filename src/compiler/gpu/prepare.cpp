// What the GPU lowering does to tt first, and what it refuses.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

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

bool writes_memory(Operation* operation) { return !isMemoryEffectFree(operation) && !isa<tt::LoadOp>(operation); }

// A trace keeps loads in front of what does not depend on them. Behind a reduction that its first user follows, a load
// need not hold registers during the exchange.
void sink_loads(Block& block) {
  for (Operation& operation : llvm::make_early_inc_range(llvm::reverse(block))) {
    for (Region& region : operation.getRegions())
      for (Block& inner : region) sink_loads(inner);
    auto load = dyn_cast<tt::LoadOp>(operation);
    if (!load || load.getIsVolatile() || load->use_empty()) continue;
    Operation* user = nullptr;
    for (Operation* other : load->getUsers()) {
      Operation* here = block.findAncestorOpInBlock(*other);
      if (!user || here->isBeforeInBlock(user)) user = here;
    }
    bool exchanges = false, written = false;
    for (Operation* between = load->getNextNode(); between != user; between = between->getNextNode()) {
      exchanges |= isa<tt::ReduceOp, tt::ScanOp>(between);
      written |= writes_memory(between);
    }
    if (exchanges && !written) load->moveBefore(user);
  }
}

}  // namespace

LogicalResult prepare(tt::FuncOp function, const Capability&, const GpuOptions&) {
  cpu::lower_descriptors(function);
  sink_loads(function.getBody().front());
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
