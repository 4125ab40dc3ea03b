#include "compiler/gpu/to_thread/conversion.hpp"
#include "compiler/gpu/to_thread/exchange.hpp"
#include "compiler/gpu/to_thread/reduction.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

static void add(const ReductionPlan& plan, ValueRange sources, SmallVector<Scratch, 1>& scratch) {
  if (int64_t elements = plan.scratch_elements())
    for (Value source : sources) scratch.push_back({elements, stored_type(source.getType())});
}

// A result that threads learn from the one that has it.
static void add_once(Operation* operation, const Capability& capability, SmallVector<Scratch, 1>& scratch) {
  Value result = operation->getResult(0);
  if (result.use_empty()) return;
  LinearLayout places = element_places(operation, result.getType(), capability);
  if (has_copies(places)) scratch.push_back({places.output_size(Axis::index0), stored_type(result.getType())});
}

SmallVector<Scratch, 1> scratch_of(Operation* operation, const Capability& capability) {
  SmallVector<Scratch, 1> scratch;
  if (auto reduction = dyn_cast<tt::ReduceOp>(operation)) add(plan_reduction(reduction), reduction.getSrcs(), scratch);
  if (auto conversion = dyn_cast<tile::ConvertLayoutOp>(operation)) {
    RankedTensorType from = conversion.getSource().getType(), to = conversion.getType();
    if (tile::is_distributed(from) && tile::is_distributed(to) &&
        !same_thread_registers(tile::layout_of(from), tile::layout_of(to)))
      scratch.push_back({to.getNumElements(), stored_type(to)});
  }
  auto load = dyn_cast<tt::LoadOp>(operation);
  bool tensors = llvm::all_of(operation->getResultTypes(),
                              [](Type type) { return !isa<RankedTensorType>(type) || tile::is_distributed(type); });
  if (tensors && (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(operation) || (load && load.getIsVolatile())))
    add_once(operation, capability, scratch);
  if (auto scan = dyn_cast<tt::ScanOp>(operation); scan && tensors) add(plan_scan(scan), scan.getSrcs(), scratch);
  return scratch;
}

}  // namespace teeny::compiler::gpu
