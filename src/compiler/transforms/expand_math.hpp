// Mathematical functions written out in arithmetic, the same on every device.
//
// exp, exp2, log, log2, sin, cos, erf, tanh and rsqrt of the math dialect become arith operations, math.fma and (rsqrt)
// math.sqrt: polynomials without tables, loops or branches, so that they can stand in an inner loop of vectors.
// Scalars, vectors and ranked tensors of f16, bf16, f32 and f64 are taken; 16-bit types are computed in f32 and rounded
// once. The bounds in units in the last place stand in docs/math.md and are asserted by test/unit/math.
//
// Meanings at the edges: NaN gives NaN; results below the normal range are rounded, not flushed; exp2 of an integer is
// exact; |tanh|, |erf|, |sin|, |cos| never exceed 1; sin and cos reduce their argument exactly, however large;
// log(±0) = -inf, log(x < 0) = NaN, rsqrt(±0) = ±inf.
#pragma once

#include <memory>

#include <mlir/IR/Builders.h>
#include <mlir/IR/Operation.h>
#include <mlir/Pass/Pass.h>

namespace teeny::compiler {

/// What the target promises about arithmetic.
struct MathFacts {
  /// math.fma rounds once. Where false, no math.fma is made, and the expansions' error bounds are those of the second
  /// column of docs/math.md.
  bool fma_fused = true;
  /// arith.divf of f32 is correctly rounded. Where false (and fma_fused), one residual step makes up for it.
  bool division_rounds = true;
  /// The target has units for exp2 and rsqrt of f32, and the kernel may use them: these operations are left, and exp is
  /// made from exp2. Bounds: docs/math.md, "Approximations".
  bool approximate = false;
};

/// Expands every operation named above that is nested in `root`. Fails, after an error at the operation, for element
/// types other than those named; everything else is left alone. Scalar sin and cos make an scf.if around the exact
/// reduction; tensors and vectors compute both reductions and select.
mlir::LogicalResult expand_math(mlir::Operation* root, MathFacts facts);

/// 1 / (1 + exp(-x)) without overflow or cancellation, written out; element types as above.
mlir::Value expand_sigmoid(mlir::OpBuilder& builder, mlir::Location location, mlir::Value x, MathFacts facts);

/// Divisions of tensors of f32 by one number for several elements become products with its reciprocal.
void multiply_by_reciprocals(mlir::Operation* root);

/// The pass "teeny-expand-math" (options fma-fused, division-rounds), on any operation.
std::unique_ptr<mlir::Pass> create_expand_math_pass(MathFacts facts = {});
void register_expand_math_pass();

}  // namespace teeny::compiler
