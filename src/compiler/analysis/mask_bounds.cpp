#include "compiler/analysis/mask_bounds.hpp"

namespace teeny::compiler {

using namespace mlir;

bool MaskBounds::is_all_true() const {
  return !never && conditions.empty() && factors.empty() &&
         llvm::all_of(dimensions, [](const DimensionBounds &bounds) { return bounds.is_full(); });
}

MaskBounds MaskBoundsAnalysis::of(Value mask, ArrayRef<int64_t> shape) {
  MaskBounds bounds;
  for (int64_t extent : shape) bounds.dimensions.push_back({extent});
  if (!mask) return bounds;
  MaskFactor factor{mask};
  for (unsigned d = 0; d < shape.size(); ++d) factor.dimensions.push_back(int(d));
  bounds.factors.push_back(factor);
  return bounds;
}

}  // namespace teeny::compiler
