#include "compiler/gpu/dot_plan.hpp"

#include <algorithm>

#include <llvm/ADT/DenseSet.h>

#include "compiler/gpu/assign/layout_rules.hpp"
#include "compiler/gpu/fragments.hpp"
#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// What the products of elements of this type are summed in: by lanes, never narrower than f32.
Type accumulator_of(Type result) {
  if (isa<FloatType>(result)) return result.isF64() ? result : Float32Type::get(result.getContext());
  return result;
}

// Every lane sums a block of up to 4 x 4 elements of one product; lanes, then warps, tile the products as nearly square
// as their shape lets them, then share the batch.
LinearLayout lanes_accumulators(ArrayRef<int64_t> shape, int lanes, int warps) {
  const size_t outer = shape.size() - 2;
  SmallVector<unsigned, 3> size(shape.size(), 1), of_lanes(size), of_warps(size), order;
  for (size_t d = shape.size(); d-- > 0;) {
    order.push_back(unsigned(d));
    if (d >= outer) size[d] = unsigned(std::min<int64_t>(shape[d], 4));
  }
  const auto left = [&](size_t d) { return shape[d] / (size[d] * of_lanes[d] * of_warps[d]); };
  const auto spread = [&](SmallVector<unsigned, 3> &counts, int number) {
    for (; number > 1; number /= 2) {
      const bool batch = outer == 1 && left(1) <= 1 && left(2) <= 1 && left(0) > 1;
      counts[batch ? 0 : left(outer + 1) >= left(outer) ? outer + 1 : outer] *= 2;
    }
  };
  spread(of_lanes, lanes);
  spread(of_warps, warps);
  return blocked_layout(shape, size, of_lanes, of_warps, order);
}

// Rows of `fast` (0 or 1, of a product's own dimensions) follow each other along the other dimension, and the products
// of a batch each other. With `swizzle`, groups of 4 elements are exchanged by the xor with the row, so that lanes that
// store neighbouring rows meet different banks.
LinearLayout rows_of(ArrayRef<int64_t> shape, unsigned fast, bool swizzle) {
  std::vector<LinearLayout::Basis> bases;
  const size_t outer = shape.size() - 2;
  const size_t along = outer + fast, across = outer + 1 - fast;
  const auto add = [&](size_t d, int32_t image, int32_t exchanged) {
    LinearLayout::Basis basis(shape.size(), 0);
    basis[along] = exchanged;
    basis[d] = image;
    bases.push_back(basis);
  };
  for (int32_t image = 1; image < shape[along]; image *= 2) add(along, image, 0);
  for (int32_t image = 1; image < shape[across]; image *= 2)
    add(across, image, swizzle && image < 8 && 4 * image < shape[along] ? 4 * image : 0);
  for (int32_t image = 1; outer == 1 && image < shape[0]; image *= 2) add(0, image, 0);
  std::vector<LinearLayout::Output> outputs;
  for (auto [d, extent] : llvm::enumerate(shape)) outputs.push_back({index_axis(unsigned(d)), int32_t(extent)});
  return LinearLayout({{Axis::offset, bases}}, outputs);
}

// ---- rows of form fragments

std::string operand_name(tt::DotOp dot) {
  Type element = tt::element_type(dot.getA().getType());
  if (element.isF32()) return dot.getInputPrecision() == tt::InputPrecision::TF32 ? "tf32" : "f32";
  if (element.isInteger()) return "i" + std::to_string(element.getIntOrFloatBitWidth());
  return element.isF16() ? "f16" : element.isBF16() ? "bf16" : "f64";
}

bool fits(const MatrixUnit &unit, tt::DotOp dot) {
  ArrayRef<int64_t> a = tt::shape_of(dot.getA().getType()), result = tt::shape_of(dot.getD().getType());
  return result.size() == 2 && unit.operand == operand_name(dot) && result[0] >= unit.m && result[1] >= unit.n &&
         a[1] >= unit.k;
}

// The dimension along which an operand lies in memory where it is loaded; the last one otherwise.
unsigned fast_dimension(Value operand, const AxisInfoAnalysis &axis_info) {
  bool turned = false;
  while (Operation *definition = operand.getDefiningOp()) {
    if (auto load = dyn_cast<tt::LoadOp>(definition)) {
      AxisInfo info = axis_info.of(load.getPtr());
      return unsigned(info.contiguity[1] >= info.contiguity[0]) ^ unsigned(turned);
    }
    if (isa<tt::TransOp>(definition)) turned = !turned;
    else if (definition->getNumOperands() != 1 || !is_elementwise(definition)) break;
    operand = definition->getOperand(0);
  }
  return turned ? 0 : 1;
}

// Whether a value is another one's, or computed from it element by element.
bool follows_product(Value value) {
  SmallVector<Value> pending{value};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *definition = pending.pop_back_val().getDefiningOp();
    if (!definition || !seen.insert(definition).second) continue;
    if (isa<tt::DotOp>(definition)) return true;
    if (is_elementwise(definition)) llvm::append_range(pending, definition->getOperands());
  }
  return false;
}

bool leads_to_product(Value value) {
  SmallVector<Value> pending{value};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (!seen.insert(user).second) continue;
      auto dot = dyn_cast<tt::DotOp>(user);
      if (dot && follows_product(dot.getA())) return true;
      if (is_elementwise(user)) pending.push_back(user->getResult(0));
    }
  return false;
}

// Squares move the fewest operands. Where one product's result is another's operand, a warp has whole rows of both, so
// that it stays in registers.
WarpSplit split_warps(const MatrixUnit &unit, ArrayRef<int64_t> shape, int warps, bool whole_rows) {
  WarpSplit split;
  for (; warps > 1; warps /= 2) {
    const int64_t rows = shape[0] / split.rows, columns = shape[1] / split.columns;
    const bool can_split_rows = rows > unit.m, can_split_columns = columns > unit.n;
    if (can_split_rows && (whole_rows || !can_split_columns || rows >= columns)) split.rows *= 2;
    else split.columns *= 2;
  }
  return split;
}

// Rows of the fast dimension in groups of 16 bytes (or what a warp's lanes read side by side, where they do not read
// whole rows of 8 x 16 bytes), exchanged within 128 bytes by the xor with the row: groups below each other are in
// different banks.
LinearLayout swizzled_rows(ArrayRef<int64_t> shape, unsigned fast, int64_t element_bytes, int64_t group_bytes,
                           const Capability &capability) {
  const int64_t line = int64_t(capability.banks) * capability.bank_bytes, row = shape[fast] * element_bytes;
  const int64_t groups = std::max<int64_t>(1, std::min(row, line) / group_bytes), rows_per_line = std::max<int64_t>(1, line / row);
  std::vector<LinearLayout::Basis> bases;
  for (int32_t image = 1; image < shape[fast]; image *= 2) {
    LinearLayout::Basis basis(2, 0);
    basis[fast] = image;
    bases.push_back(basis);
  }
  for (int32_t image = 1; image < shape[1 - fast]; image *= 2) {
    LinearLayout::Basis basis(2, 0);
    basis[1 - fast] = image;
    const int64_t group = image / rows_per_line;
    if (group >= 1 && group < groups) basis[fast] = int32_t(group * group_bytes / element_bytes);
    bases.push_back(basis);
  }
  return LinearLayout({{Axis::offset, bases}}, {{index_axis(0), int32_t(shape[0])}, {index_axis(1), int32_t(shape[1])}});
}

DotOperand fragment_operand(tt::DotOp dot, int number, const Capability &capability,
                            const AxisInfoAnalysis &axis_info) {
  Value value = number == 0 ? dot.getA() : dot.getB();
  const unsigned fast = fast_dimension(value, axis_info), depth = number == 0 ? 1 : 0;
  const int64_t bytes = element_bytes(tt::element_type(value.getType()));
  // matrix_load takes rows along the depth, or, turned, rows of 16-bit elements along the other dimension.
  const bool whole_rows = capability.matrix_load && (fast == depth || bytes == 2);
  const int64_t lanes_of_group = 8;  // that stand side by side along M or N
  DotOperand operand;
  operand.memory = swizzled_rows(tt::shape_of(value.getType()), fast, bytes,
                                 whole_rows ? 16 : std::max<int64_t>(16, lanes_of_group * bytes), capability);
  return operand;
}

DotPlan fragment_plan(tt::DotOp dot, const MatrixUnit &unit, const Capability &capability, int warps,
                      const AxisInfoAnalysis &axis_info) {
  ArrayRef<int64_t> shape = tt::shape_of(dot.getD().getType());
  const bool chained = follows_product(dot.getA());
  DotPlan plan;
  plan.unit = &unit;
  plan.accumulator = accumulator_of(tt::element_type(dot.getD().getType()));
  plan.accumulators = tiled_accumulators(unit, shape, split_warps(unit, shape, warps, chained || leads_to_product(dot.getD())));
  plan.a = fragment_operand(dot, 0, capability, axis_info);
  plan.b = fragment_operand(dot, 1, capability, axis_info);
  if (chained) {
    plan.a.in_memory = false;
    plan.a.registers = tiled_operand(unit, 0, plan.accumulators, tt::shape_of(dot.getA().getType())[1]);
  }
  return plan;
}

// ---- rows of form memory

// Bytes of the hardware's swizzle for rows of so many bytes; 0 where there is none so narrow.
unsigned swizzle_of(int64_t row_bytes) {
  return row_bytes >= 128 ? 128u : row_bytes >= 32 ? unsigned(row_bytes) : 0u;
}

// Nothing where the unit cannot read the operand as it lies in memory.
std::optional<DotOperand> memory_operand(tt::DotOp dot, int number, const MatrixUnit &unit, const AxisInfoAnalysis &axis_info) {
  Value value = number == 0 ? dot.getA() : dot.getB();
  const unsigned depth = number == 0 ? 1 : 0;
  const unsigned fast = fast_dimension(value, axis_info);
  // Where it would have to be turned around on its way to memory, other units do better.
  if (fast != depth && !(number == 0 ? unit.transposed_a : unit.transposed_b)) return std::nullopt;
  const int64_t bytes = element_bytes(tt::element_type(value.getType()));
  DotOperand operand;
  operand.swizzle = swizzle_of(tt::shape_of(value.getType())[fast] * bytes);
  if (operand.swizzle == 0) return std::nullopt;
  operand.memory = swizzled_panels(tt::shape_of(value.getType()), fast, int32_t(bytes), int32_t(operand.swizzle));
  return operand;
}

// Nothing where the groups of warps cannot share the block, or where operands do not suit the unit.
std::optional<DotPlan> memory_plan(tt::DotOp dot, const MatrixUnit &unit, int warps, const AxisInfoAnalysis &axis_info) {
  if (warps % unit.warps != 0) return std::nullopt;
  ArrayRef<int64_t> shape = tt::shape_of(dot.getD().getType());
  const bool chained = follows_product(dot.getA());
  const WarpSplit split = split_warps(unit, shape, warps / unit.warps, chained || leads_to_product(dot.getD()));
  if (shape[0] / split.rows < unit.m || shape[1] / split.columns < unit.n) return std::nullopt;
  DotPlan plan;
  plan.unit = &unit;
  plan.accumulator = accumulator_of(tt::element_type(dot.getD().getType()));
  plan.accumulators = tiled_accumulators(unit, shape, split);
  if (chained) {
    plan.a.in_memory = false;
    plan.a.registers = tiled_operand(unit, 0, plan.accumulators, tt::shape_of(dot.getA().getType())[1]);
  } else if (auto a = memory_operand(dot, 0, unit, axis_info)) {
    plan.a = *a;
  } else {
    return std::nullopt;
  }
  auto b = memory_operand(dot, 1, unit, axis_info);
  if (!b) return std::nullopt;
  plan.b = *b;
  return plan;
}

DotPlan lanes_plan(tt::DotOp dot, const MatrixUnit &unit, const Capability &capability, int warps) {
  DotPlan plan;
  plan.unit = &unit;
  plan.accumulator = accumulator_of(tt::element_type(dot.getD().getType()));
  plan.accumulators = lanes_accumulators(tt::shape_of(dot.getD().getType()), capability.lanes, warps);
  plan.a.memory = rows_of(tt::shape_of(dot.getA().getType()), 0, true);
  plan.b.memory = rows_of(tt::shape_of(dot.getB().getType()), 1, false);
  return plan;
}

}  // namespace

DotPlan plan_dot(tt::DotOp dot, const Capability &capability, int warps, const AxisInfoAnalysis &axis_info) {
  for (const MatrixUnit &unit : capability.units) {
    if (!fits(unit, dot)) continue;
    if (unit.form == MatrixUnit::Form::fragments) return fragment_plan(dot, unit, capability, warps, axis_info);
    if (unit.form != MatrixUnit::Form::memory) continue;
    if (auto plan = memory_plan(dot, unit, warps, axis_info)) return *plan;
  }
  return lanes_plan(dot, *capability.unit("lanes"), capability, warps);
}

}  // namespace teeny::compiler::gpu
