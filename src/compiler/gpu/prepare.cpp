// What the GPU lowering does to tt first.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/cpu/prepare.hpp"
#include "compiler/gpu/gpu.hpp"
#include "compiler/gpu/pad.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

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
  return pad_blocks(function);
}

}  // namespace teeny::compiler::gpu
