// Linear layouts: maps over GF(2) from named input bits (which register of a lane, which lane, which warp, which
// offset in memory) to named output bits (which index along each dimension of a tensor).
//
// Why. "Which element does register r of lane l of warp w hold?" has a long list of ad-hoc answers: blocked tensors,
// slices of them, fragments of matrix units, swizzled memory. All of them are linear over GF(2), the field of two
// elements whose addition is xor: the coordinates of the element for a sum of bits are the xor of those for each bit.
// So a layout is written down by the images of the single bits, its basis vectors, and any point is the xor of the
// images of its bits.
//
// An example. A tensor of 8 x 4 elements over 2 registers, 8 lanes and 2 warps; a lane holds two neighbours of a row, two
// lanes make a row, four rows a warp:
//
//   register 1 -> (0, 1)     lane 1 -> (0, 2)     warp 1 -> (4, 0)
//                            lane 2 -> (1, 0)
//                            lane 4 -> (2, 0)
//
// Register 1 of lane 5 = 4 + 1 of warp 1 holds (0, 1) ^ (2, 0) ^ (0, 2) ^ (4, 0) = (6, 3). No bit occurs in two images
// here, so that xor is addition; code generation uses that for addresses that differ by constants.
//
// Copies are zero basis vectors: with a third warp bit -> (0, 0), warps 2 and 3 hold what 0 and 1 hold, and only one
// of them may store it (free_bits). A slice along a dimension leaves that coordinate out; transposing exchanges
// coordinates.
//
// Converting from layout A to layout B is composition with an inverse: the place in B of what A's point p holds is
// B^-1(A(p)), found by Gaussian elimination (invert_and_compose). Where it only moves register bits, no code is needed;
// where it leaves warp bits alone, lanes can exchange by shuffles; otherwise the tensor goes through shared memory,
// whose own arrangement is a layout from offset to indices.
//
// Swizzled memory is a layout with basis vectors of more than one bit. Rows of 4 elements in 4 banks, read by columns,
// would all meet one bank; with offset 4 -> (1, 1) and 8 -> (2, 2) instead of (1, 0) and (2, 0), column c of row r stands
// at place c ^ r of its row, and a column is spread over all banks.
//
// The idea is from Linear Layouts (arXiv 2505.23819); the code is our own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace teeny::compiler {

// What the bits of an input or an output count. Indices along the dimensions of a tensor are index(0), index(1), …
enum class Axis : std::uint8_t { reg, lane, warp, block, offset, index0 };
constexpr Axis index_axis(unsigned dimension) { return Axis(unsigned(Axis::index0) + dimension); }
constexpr bool is_index(Axis axis) { return axis >= Axis::index0; }
std::string name_of(Axis axis);  // "register", "lane", "warp", "block", "offset", "dim0", …

// A coordinate along one axis, and a point: a value for each axis, in the order of the layout.
using Point = std::vector<std::pair<Axis, std::int32_t>>;

class LinearLayout {
 public:
  // One coordinate for each output axis, in order: the image of one input bit.
  using Basis = std::vector<std::int32_t>;
  struct Input {
    Axis axis;
    std::vector<Basis> bases;  // the images of 1, 2, 4, …; an axis of size 1 has none
    bool operator==(const Input&) const = default;
  };
  struct Output {
    Axis axis;
    std::int32_t size;  // a power of two
    bool operator==(const Output&) const = default;
  };

  LinearLayout() = default;  // no axes: the one map from nothing to nothing
  LinearLayout(std::vector<Input> inputs, std::vector<Output> outputs);

  // `input` counts 0 … size - 1 along `output`.
  static LinearLayout identity(std::int32_t size, Axis input, Axis output);
  // `size` values of `input`, all at index 0 of `output` (whose size is `output_size`): a broadcast.
  static LinearLayout zeros(std::int32_t size, Axis input, Axis output, std::int32_t output_size = 1);

  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  bool has_input(Axis axis) const;
  bool has_output(Axis axis) const;
  std::int32_t input_size(Axis axis) const;   // 1 for an axis that it lacks
  std::int32_t output_size(Axis axis) const;  // likewise
  int input_bits(Axis axis) const;            // log2
  int output_bits(Axis axis) const;
  int total_input_bits() const;
  int total_output_bits() const;
  // The coordinate along `output` of the image of bit `bit` of `input`.
  std::int32_t basis(Axis input, int bit, Axis output) const;
  const Basis& basis(Axis input, int bit) const;

  // The image of a point; axes left out are 0.
  Point apply(const Point& point) const;
  std::int32_t apply(const Point& point, Axis output) const;

  // Direct sum: bits of an axis that both have are joined, this layout's below `other`'s; likewise outputs. Where an
  // output occurs in both, `other`'s coordinates are multiplied by this layout's size.
  LinearLayout operator*(const LinearLayout& other) const;
  // `outer` after this layout; this layout's outputs are `outer`'s inputs (in any order).
  LinearLayout compose(const LinearLayout& outer) const;
  // The inverse of a bijection.
  LinearLayout invert() const;
  // A layout X with X(p) such that target(X(p)) = this(p) for every p: from places in this layout to places in `target`.
  // Free choices (target's broadcasts) are 0. `target`'s image must cover this layout's.
  LinearLayout invert_and_compose(const LinearLayout& target) const;
  // The layout X with this = factor * X, if there is one: whether `factor` is this layout's innermost tile.
  std::optional<LinearLayout> divide_left(const LinearLayout& factor) const;
  // Only these inputs and outputs, in the order of this layout.
  LinearLayout sublayout(std::span<const Axis> inputs, std::span<const Axis> outputs) const;
  bool sublayout_is_zero(std::span<const Axis> inputs, std::span<const Axis> outputs) const;
  LinearLayout reorder_inputs(std::span<const Axis> order) const;
  LinearLayout reorder_outputs(std::span<const Axis> order) const;
  // The same map with all outputs (first axis fastest) counted along one axis, or split into those given.
  LinearLayout reshape_outputs(std::vector<Output> outputs) const;
  LinearLayout rename_input(Axis from, Axis to) const;
  LinearLayout rename_output(Axis from, Axis to) const;
  LinearLayout remove_zero_bases(Axis input) const;

  // Bits of `input` that do not change the image's span: a maximal set of bits whose images depend on lower bits (of
  // earlier axes first). Zero for an injective layout; a lane with a free bit set holds a copy.
  std::int32_t free_bits(Axis input) const;
  int rank() const;  // of the matrix
  bool is_surjective() const;
  bool is_injective() const;
  bool is_bijective() const { return is_surjective() && is_injective(); }

  // The largest n for which registers 0 … n-1 (and every aligned group of n) are consecutive indices along `output`,
  // starting at a multiple of n.
  std::int32_t consecutive_registers(Axis output) const;

  // "register [[1, 0], [2, 0]], lane [[4, 0]] -> dim0 8, dim1 1"
  std::string to_string() const;
  bool operator==(const LinearLayout&) const = default;

 private:
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

}  // namespace teeny::compiler
