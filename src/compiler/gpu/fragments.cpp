#include "compiler/gpu/fragments.hpp"

#include <algorithm>

namespace teeny::compiler::gpu {

namespace {

using Basis = LinearLayout::Basis;

const std::vector<Basis> &bases_of(const LinearLayout &layout, Axis axis) {
  static const std::vector<Basis> none;
  for (const LinearLayout::Input &input : layout.inputs())
    if (input.axis == axis) return input.bases;
  return none;
}

}  // namespace

LinearLayout tiled_accumulators(const MatrixUnit &unit, std::span<const std::int64_t> shape, WarpSplit split) {
  const auto rows = std::int32_t(shape[0]), columns = std::int32_t(shape[1]);
  std::vector<Basis> registers = bases_of(unit.accumulators, Axis::reg), warps = bases_of(unit.accumulators, Axis::warp);
  const std::int32_t warp_rows = std::max(unit.m, rows / split.rows), warp_columns = std::max(unit.n, columns / split.columns);
  for (std::int32_t image = unit.n; image < warp_columns; image *= 2) registers.push_back({0, image});
  for (std::int32_t image = unit.m; image < warp_rows; image *= 2) registers.push_back({image, 0});
  const auto spread = [&](int dimension, std::int32_t first, int count, std::int32_t extent) {
    for (; count > 1; count /= 2, first *= 2) {
      Basis basis(2, 0);
      if (first < extent) basis[dimension] = first;
      warps.push_back(basis);
    }
  };
  spread(1, warp_columns, split.columns, columns);
  spread(0, warp_rows, split.rows, rows);
  return LinearLayout({{Axis::reg, registers}, {Axis::lane, bases_of(unit.accumulators, Axis::lane)}, {Axis::warp, warps}},
                      {{index_axis(0), rows}, {index_axis(1), columns}});
}

LinearLayout tiled_operand(const MatrixUnit &unit, int operand, const LinearLayout &accumulators, std::int64_t depth) {
  const LinearLayout &fragment = operand == 0 ? unit.a : unit.b;
  const int own = operand, along = 1 - operand;  // the operand's dimension that is the result's, and that of the depth
  std::vector<Basis> registers = bases_of(fragment, Axis::reg), warps;
  const auto only_own = [&](Basis basis) {
    basis[along] = 0;
    return basis;
  };
  const std::vector<Basis> &held = bases_of(accumulators, Axis::reg);
  for (std::size_t bit = bases_of(unit.accumulators, Axis::reg).size(); bit < held.size(); ++bit)
    if (held[bit][own] != 0) registers.push_back(only_own(held[bit]));
  for (std::int32_t image = unit.k; image < depth; image *= 2) {
    Basis basis(2, 0);
    basis[along] = image;
    registers.push_back(basis);
  }
  const std::vector<Basis> &of_warps = bases_of(accumulators, Axis::warp);
  for (std::size_t bit = warps.size(); bit < of_warps.size(); ++bit) warps.push_back(only_own(of_warps[bit]));
  std::int32_t extents[2];
  extents[own] = accumulators.outputs()[own].size, extents[along] = std::int32_t(depth);
  return LinearLayout({{Axis::reg, registers}, {Axis::lane, bases_of(fragment, Axis::lane)}, {Axis::warp, warps}},
                      {{index_axis(0), extents[0]}, {index_axis(1), extents[1]}});
}

int operand_fragment(const MatrixUnit &unit, const LinearLayout &accumulators, int operand, int number) {
  const int first = unit.accumulators.input_bits(Axis::reg);
  int fragment = 0, bits = 0;
  for (int bit = first; bit < accumulators.input_bits(Axis::reg); ++bit)
    if (accumulators.basis(Axis::reg, bit)[std::size_t(operand)] != 0) fragment |= (number >> (bit - first) & 1) << bits++;
  return fragment;
}

}  // namespace teeny::compiler::gpu
