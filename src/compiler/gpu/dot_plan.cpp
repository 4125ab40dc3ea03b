#include "compiler/gpu/dot_plan.hpp"

#include <algorithm>

#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// What the products of elements of this type are summed in: by lanes, never narrower than f32.
Type accumulator_of(Type result) {
  if (isa<FloatType>(result)) return result.isF64() ? result : Float32Type::get(result.getContext());
  return result;
}

// Every lane sums a block of up to 8 x 8 elements, as vectors of 4 along both dimensions; lanes, then warps, tile the
// result as nearly square as its shape lets them.
LinearLayout lanes_accumulators(ArrayRef<int64_t> shape, int lanes, int warps) {
  const unsigned size[] = {unsigned(std::min<int64_t>(shape[0], 4)), unsigned(std::min<int64_t>(shape[1], 4))};
  unsigned of_lanes[] = {1, 1}, of_warps[] = {1, 1};
  const auto spread = [&](unsigned (&counts)[2], int number) {
    for (; number > 1; number /= 2) {
      const int64_t rows = shape[0] / (size[0] * of_lanes[0] * of_warps[0]);
      const int64_t columns = shape[1] / (size[1] * of_lanes[1] * of_warps[1]);
      counts[columns >= rows ? 1 : 0] *= 2;
    }
  };
  spread(of_lanes, lanes);
  spread(of_warps, warps);
  const unsigned order[] = {1, 0};
  return blocked_layout(shape, size, of_lanes, of_warps, order);
}

// Rows of `fast` follow each other along the other dimension. With `swizzle`, groups of 4 elements are exchanged by the
// xor with the row, so that lanes that store neighbouring rows meet different banks.
LinearLayout rows_of(ArrayRef<int64_t> shape, unsigned fast, bool swizzle) {
  std::vector<LinearLayout::Basis> bases;
  const unsigned slow = 1 - fast;
  for (int32_t image = 1; image < shape[fast]; image *= 2) {
    LinearLayout::Basis basis(2, 0);
    basis[fast] = image;
    bases.push_back(basis);
  }
  for (int32_t image = 1; image < shape[slow]; image *= 2) {
    LinearLayout::Basis basis(2, 0);
    basis[slow] = image;
    if (swizzle && image < 8 && 4 * image < shape[fast]) basis[fast] = 4 * image;
    bases.push_back(basis);
  }
  return LinearLayout({{Axis::offset, bases}},
                      {{index_axis(0), int32_t(shape[0])}, {index_axis(1), int32_t(shape[1])}});
}

}  // namespace

DotPlan plan_dot(tt::DotOp dot, const Capability &capability, int warps) {
  ArrayRef<int64_t> shape = tt::shape_of(dot.getD().getType());
  DotPlan plan;
  plan.unit = capability.unit("lanes");
  plan.accumulator = accumulator_of(tt::element_type(dot.getD().getType()));
  plan.accumulators = lanes_accumulators(shape, capability.lanes, warps);
  plan.a.memory = rows_of(tt::shape_of(dot.getA().getType()), 0, true);
  plan.b.memory = rows_of(tt::shape_of(dot.getB().getType()), 1, false);
  return plan;
}

}  // namespace teeny::compiler::gpu
