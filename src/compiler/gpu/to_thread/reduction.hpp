// How a reduction or a scan proceeds: one bit of the axis' index after the other.
#pragma once

#include <vector>

#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {

// A place (register, lane, warp) of the source holds the element of its index. A step for bit k of the index along the
// axis combines each place's value with that of the place whose index differs in that bit alone, so that afterwards all
// places that differ in combined bits hold one value. Copies of elements take part like any other place and end equal.
struct ReductionStep {
  enum class Way {
    registers,  // the other place is another register of the same thread
    lanes,      // of another lane of the warp
    scratch     // of another warp: all partial results of the step's bits meet in shared memory
  };
  Way way;
  std::vector<int> bits;  // of the index along the axis, ascending; one unless way is scratch
  int reg = 0, lane = 0;  // the other place: this one xor these
  std::int32_t rest = 0;  // bits of the index along the axis that are not combined after this step

  bool operator==(const ReductionStep&) const = default;
};

struct ReductionPlan {
  LinearLayout source;
  unsigned axis = 0;
  bool ordered = false;  // the operand of lower index stands left, and steps go from the highest bit down
  std::vector<ReductionStep> steps;
  bool in_turn = false;  // a scan that goes along the axis element by element, in memory: no steps

  // For a step through scratch: places -> number of the partial result along index0, the step's bits lowest.
  LinearLayout partial_results(const ReductionStep& step) const;
  // What each operand's array in shared memory holds; 0: none is needed.
  int64_t scratch_elements() const;
};

// Free order for combinations that are known to commute, unless the function has reproducible_attribute.
ReductionPlan plan_reduction(tt::ReduceOp reduction);
// From the lowest bit up, one bit a step; in turn if the function has reproducible_attribute.
ReductionPlan plan_scan(tt::ScanOp scan);

// i1: bit `bit` of the index along `axis` of this thread's element in register `number`. Null where no lane or warp has
// a part in it.
mlir::Value in_upper_half(Emitter& emitter, const LinearLayout& layout, int number, Axis axis, int bit);

}  // namespace teeny::compiler::gpu
