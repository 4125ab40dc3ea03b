// Arithmetic whose meaning arith or the hardware leaves open, written out so that every device computes what
// lang/operations.def says.
//
// In arith, an integer division by zero, lowest / -1, a shift by the width or more and a float outside of the integer's
// range are undefined; machines trap, wrap or differ. After this pass, on scalars, vectors and tensors:
//   divsi, divui     x / 0 = 0, lowest / -1 = lowest              remsi, remui    x % 0 = 0, lowest % -1 = 0
//   shli, shrui      0 for distances of the width or more         shrsi           the sign for such distances
//   fptosi, fptoui   truncated and saturated, NaN gives 0         truncf          nearest, ties to even, subnormals kept
//   sitofp, uitofp   rounded once, to f16 and bf16 as well
//   maxnumf, minnumf, maximumf, minimumf   +0 above -0 and the stated NaN rule, where the target does not promise it
//   math.fma         rounded once, where the target does not promise it
//   divf, math.sqrt  of f16, bf16 and f32: correctly rounded, where the target does not promise it
//   remf             exact, sign of the dividend (f16, bf16, f32; needs f64 arithmetic; f64 is left to the target)
//   tt.clampf, tt.mulhiui, tt.precise_divf, tt.precise_sqrt, tt.fp_to_fp   their forms in arith and math
// A constant divisor or distance that cannot go wrong is left alone, and so are operations on `index`. What the pass
// has made or found right is marked with the attribute "teeny.exact" where it could be taken for unguarded: it may run
// twice.
#pragma once

#include <memory>

#include <mlir/IR/Operation.h>
#include <mlir/Pass/Pass.h>

namespace teeny::compiler {

/// What the target's own instructions promise.
struct ExactFacts {
  /// math.fma rounds once.
  bool fma_fused = true;
  /// arith.divf and math.sqrt of f16, bf16 and f32 are correctly rounded (Vulkan's are not). Where false, they are
  /// computed in f64 and rounded: a quotient or root of numbers of up to 24 bits never lies so near the middle of two
  /// f32 numbers that an error of a few ulp of f64 would matter.
  bool division_rounds = true;
  bool sqrt_rounds = true;
  /// The remainder of a negative operand is defined (SPIR-V's is not). Where false, it is made from the quotient.
  bool signed_remainder = true;
  /// f32 -> f16 rounds to nearest even and keeps subnormals (Vulkan's rounding is the implementation's choice).
  bool truncates_to_f16 = true;
  /// f32 -> bf16 does (AVX-512's flushes subnormals).
  bool truncates_to_bf16 = false;
  /// min and max order the zeros and treat NaN as arith says.
  bool orders_min_max = true;
  /// There is arithmetic of f64. Where false, what would be computed in it is made from integers of 64 bits.
  bool has_f64 = true;
};

/// Rewrites every such operation nested in `root`.
mlir::LogicalResult expand_exact(mlir::Operation* root, ExactFacts facts);

/// The pass "teeny-expand-exact", on any operation, with an option for each fact.
std::unique_ptr<mlir::Pass> create_expand_exact_pass(ExactFacts facts = {});
void register_expand_exact_pass();

}  // namespace teeny::compiler
