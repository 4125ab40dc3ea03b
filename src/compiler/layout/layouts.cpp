#include "compiler/layout/layouts.hpp"

#include <algorithm>

namespace teeny::compiler {

namespace {

// Takes bits of one input axis for the dimensions in turn, fastest first.
struct BlockFiller {
  std::span<const std::int64_t> shape;
  std::vector<std::int64_t> filled;  // elements covered so far along each dimension

  LinearLayout::Basis zero() const { return LinearLayout::Basis(shape.size(), 0); }
  void take(std::vector<LinearLayout::Basis>& bases, unsigned dimension, unsigned count, bool keep_copies) {
    for (; count > 1; count /= 2) {
      LinearLayout::Basis basis = zero();
      if (filled[dimension] < shape[dimension]) {
        basis[dimension] = static_cast<std::int32_t>(filled[dimension]);
        filled[dimension] *= 2;
      } else if (!keep_copies) {
        continue;
      }
      bases.push_back(std::move(basis));
    }
  }
};

std::vector<LinearLayout::Output> outputs_of(std::span<const std::int64_t> shape) {
  std::vector<LinearLayout::Output> outputs;
  for (std::size_t d = 0; d < shape.size(); ++d)
    outputs.push_back({index_axis(static_cast<unsigned>(d)), static_cast<std::int32_t>(shape[d])});
  return outputs;
}

}  // namespace

LinearLayout blocked_layout(std::span<const std::int64_t> shape, std::span<const unsigned> size_per_thread,
                            std::span<const unsigned> lanes_per_warp, std::span<const unsigned> warps,
                            std::span<const unsigned> order) {
  BlockFiller filler{shape, std::vector<std::int64_t>(shape.size(), 1)};
  std::vector<LinearLayout::Basis> registers, lanes, of_warps;
  for (unsigned d : order) filler.take(registers, d, size_per_thread[d], false);
  for (unsigned d : order) filler.take(lanes, d, lanes_per_warp[d], true);
  for (unsigned d : order) filler.take(of_warps, d, warps[d], true);
  for (unsigned d : order)
    filler.take(registers, d, static_cast<unsigned>(shape[d] / filler.filled[d]), false);
  return LinearLayout({{Axis::reg, registers}, {Axis::lane, lanes}, {Axis::warp, of_warps}}, outputs_of(shape));
}

LinearLayout drop_repeated_registers(const LinearLayout& layout) {
  const std::int32_t free = layout.free_bits(Axis::reg);
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  for (LinearLayout::Input& input : inputs) {
    if (input.axis != Axis::reg) continue;
    std::vector<LinearLayout::Basis> kept;
    for (std::size_t bit = 0; bit < input.bases.size(); ++bit)
      if (!(free >> bit & 1)) kept.push_back(input.bases[bit]);
    input.bases = std::move(kept);
  }
  return LinearLayout(std::move(inputs), layout.outputs());
}

LinearLayout slice_layout(const LinearLayout& layout, unsigned dimension) {
  std::vector<LinearLayout::Output> outputs;
  for (const LinearLayout::Output& output : layout.outputs())
    if (output.axis != index_axis(dimension))
      outputs.push_back({index_axis(static_cast<unsigned>(outputs.size())), output.size});
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  for (LinearLayout::Input& input : inputs)
    for (LinearLayout::Basis& basis : input.bases) basis.erase(basis.begin() + dimension);
  return drop_repeated_registers(LinearLayout(std::move(inputs), std::move(outputs)));
}

LinearLayout expand_layout(const LinearLayout& sliced, unsigned dimension) {
  std::vector<LinearLayout::Output> outputs;
  for (std::size_t d = 0; d <= sliced.outputs().size(); ++d) {
    const std::int32_t size = d == dimension ? 1 : sliced.outputs()[d - (d > dimension)].size;
    outputs.push_back({index_axis(static_cast<unsigned>(d)), size});
  }
  std::vector<LinearLayout::Input> inputs = sliced.inputs();
  for (LinearLayout::Input& input : inputs)
    for (LinearLayout::Basis& basis : input.bases) basis.insert(basis.begin() + dimension, 0);
  return LinearLayout(std::move(inputs), std::move(outputs));
}

LinearLayout transpose_layout(const LinearLayout& layout, std::span<const std::int32_t> order) {
  std::vector<LinearLayout::Output> outputs;
  for (std::int32_t source : order)
    outputs.push_back({index_axis(static_cast<unsigned>(outputs.size())), layout.outputs()[source].size});
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  for (LinearLayout::Input& input : inputs)
    for (LinearLayout::Basis& basis : input.bases) {
      LinearLayout::Basis moved;
      for (std::int32_t source : order) moved.push_back(basis[source]);
      basis = std::move(moved);
    }
  return LinearLayout(std::move(inputs), std::move(outputs));
}

LinearLayout swizzled_panels(std::span<const std::int64_t> shape, unsigned fast, std::int32_t element_bytes,
                             std::int32_t swizzle) {
  const unsigned slow = 1 - fast;
  std::vector<LinearLayout::Basis> bases;
  const auto add = [&](unsigned dimension, std::int32_t image, std::int32_t exchanged) {
    LinearLayout::Basis basis(2, 0);
    basis[dimension] = image;
    basis[fast] += exchanged;
    bases.push_back(std::move(basis));
  };
  const std::int32_t panel = swizzle / element_bytes;
  for (std::int32_t image = 1; image < panel; image *= 2) add(fast, image, 0);
  for (std::int32_t image = 1; image < shape[slow]; image *= 2) {
    // The byte that the row begins at, in units of 128: the group of 16 bytes that its first one is exchanged with.
    const std::int32_t group = image * swizzle / 128;
    add(slow, image, group >= 1 && group < swizzle / 16 ? group * 16 / element_bytes : 0);
  }
  for (std::int32_t image = panel; image < shape[fast]; image *= 2) add(fast, image, 0);
  return LinearLayout({{Axis::offset, bases}}, outputs_of(shape));
}

LinearLayout reshape_layout(const LinearLayout& layout, std::span<const std::int64_t> shape) {
  // Row-major counts the last dimension fastest, a layout's flattening the first output: reverse, reshape, reverse.
  auto reversed = [](std::vector<LinearLayout::Output> outputs) {
    std::reverse(outputs.begin(), outputs.end());
    return outputs;
  };
  std::vector<Axis> from, to;
  for (const LinearLayout::Output& output : reversed(layout.outputs())) from.push_back(output.axis);
  std::vector<LinearLayout::Output> outputs = outputs_of(shape);
  for (const LinearLayout::Output& output : outputs) to.push_back(output.axis);
  return layout.reorder_outputs(from).reshape_outputs(reversed(outputs)).reorder_outputs(to);
}

}  // namespace teeny::compiler
