#include "compiler/gpu/to_thread/conversion.hpp"
#include "compiler/gpu/to_thread/exchange.hpp"
#include "compiler/gpu/to_thread/reduction.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

static void add_reduction(tt::ReduceOp reduction, SmallVector<Scratch, 1> &scratch) {
  ReductionPlan plan = plan_reduction(reduction);
  int64_t elements = 0;
  for (const ReductionStep &step : plan.steps)
    if (step.way == ReductionStep::Way::scratch)
      elements = std::max<int64_t>(elements, plan.partial_results(step).output_size(Axis::index0));
  if (elements == 0) return;
  for (Value source : reduction.getSrcs()) scratch.push_back({elements, stored_type(source.getType())});
}

SmallVector<Scratch, 1> scratch_of(Operation *operation, const Capability &) {
  SmallVector<Scratch, 1> scratch;
  if (auto reduction = dyn_cast<tt::ReduceOp>(operation)) add_reduction(reduction, scratch);
  if (auto conversion = dyn_cast<tile::ConvertLayoutOp>(operation)) {
    RankedTensorType from = conversion.getSource().getType(), to = conversion.getType();
    if (tile::is_distributed(from) && tile::is_distributed(to) &&
        !same_thread_registers(tile::layout_of(from), tile::layout_of(to)))
      scratch.push_back({to.getNumElements(), stored_type(to)});
  }
  return scratch;
}

}  // namespace teeny::compiler::gpu
