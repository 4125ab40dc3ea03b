// The interpreter: runs a tt module slowly and exactly, with every dtype's real rounding. It is the definition of the
// language; with `check` it also watches memory, and with `radius` it says how far another device may be off.
//
// Meanings fixed here:
// - Each float operation rounds once to its type, nothing is contracted. dot is an ascending chain of fused
//   multiply-adds in f32 (f64 for f64, i32 for i8) that starts from the accumulator; a reduction folds x[i] with
//   x[i + 2^b] over the bits b of the logical index, highest first, pairs without a partner pass through; a scan is a
//   left fold in order.
// - Integers wrap; x / 0 and x % 0 are 0, lowest / -1 is lowest; a shift by the width or more gives 0 or the sign;
//   floats to integers truncate and saturate, NaN gives 0.
// - Programs run one after another in ascending linear id x + grid.x * (y + grid.y * z).
// - exp, exp2, log, log2, sin, cos, erf, tanh and rsqrt run through the expansions that every device compiles.
//
// Radius: 0 for what is defined bit for bit. Formulas, u the accumulator's unit roundoff, gamma(n) = n u / (1 - n u)
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, sections 3.1 and 4.2): two orders of one sum
// of n terms differ by at most 2 gamma(n - 1) sum |x|; a dot of K terms and an accumulator by 2 gamma(K + 1) (|c| +
// sum |a b|); both are 0 where all terms are multiples of one quantum q and the magnitudes sum to less than q / u, as
// then no order rounds. Later operations carry radii as intervals with the operation's own rounding at the end points,
// which is sound since IEEE operations are monotonous in each operand; a comparison that could turn out otherwise makes
// its boolean uncertain, and a select on it covers both sides; division by an interval around zero is unbounded.
// Control flow follows the value computed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <mlir/IR/BuiltinOps.h>

#include "support/compiler_abi.h"

namespace teeny::compiler::interpreter {

// One thing that is wrong with a kernel or a launch.
struct Finding {
  // "out_of_bounds" | "masked_lane" | "race" | "position_race" | "false_hint" | "false_assume" | "offset_overflow" |
  // "division_by_zero" | "uninitialised" | "waiting" | "endless_loop" | "loop_step" | "assert" | "undefined_value" |
  // "launch" | "unsupported"
  std::string kind;
  std::string message;  // `op: rule; got …, expected …`
  std::string help;
  std::int32_t operation = -1;  // pre-order number in the trace; -1 for tt text
  std::string location;         // "file:line:column" of tt text
  std::array<std::uint32_t, 3> program = {0, 0, 0};
  std::string lane;  // "[3, 5]"; empty for a scalar
  std::uint64_t address = 0;
};

struct Result {
  bool ok = false;                              // ran to the end with no finding
  std::vector<Finding> findings;                // one for each operation and kind, in the order met
  std::vector<std::uint64_t> radius_addresses;  // with `radius`: every stored element, ascending
  std::vector<double> radii;
};

// Runs the module's public function (the only one, or the first) over the request's grid. `request.program` is not
// read. Memory is touched only inside the request's ranges; an access outside is a finding and is skipped. Nothing is
// thrown; what cannot be run is a finding of kind "unsupported" with nothing written.
Result run(mlir::ModuleOp module, const teeny_interpret_request& request);

// The findings as the JSON text of teeny_interpret_result.
std::string to_json(const std::vector<Finding>& findings);

}  // namespace teeny::compiler::interpreter
