#include "compiler/gpu/to_thread/conversion.hpp"
#include "compiler/gpu/to_thread/exchange.hpp"
#include "compiler/gpu/to_thread/reduction.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

static void add_reduction(tt::ReduceOp reduction, SmallVector<Scratch, 1>& scratch) {
  ReductionPlan plan = plan_reduction(reduction);
  int64_t elements = 0;
  for (const ReductionStep& step : plan.steps)
    if (step.way == ReductionStep::Way::scratch)
      elements = std::max<int64_t>(elements, plan.partial_results(step).output_size(Axis::index0));
  if (elements == 0) return;
  for (Value source : reduction.getSrcs()) scratch.push_back({elements, stored_type(source.getType())});
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
  if (auto reduction = dyn_cast<tt::ReduceOp>(operation)) add_reduction(reduction, scratch);
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
  if (auto scan = dyn_cast<tt::ScanOp>(operation); scan && tensors)
    for (Value source : scan.getSrcs())
      scratch.push_back({cast<RankedTensorType>(source.getType()).getNumElements(), stored_type(source.getType())});
  return scratch;
}

}  // namespace teeny::compiler::gpu
