#include "compiler/layout/linear_layout.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace teeny::compiler {

namespace {

int log2_of(std::int32_t size) { return std::countr_zero(static_cast<std::uint32_t>(size)); }

// Rows of a system over GF(2): `image` is a point of the output packed into bits, `source` what makes it.
struct Row {
  std::uint64_t image, source;
};

// Adds a vector to a basis in echelon form (distinct highest bits); false where it depends on those there already.
bool insert(std::vector<Row>& basis, Row row) {
  for (const Row& other : basis)
    if (std::bit_width(row.image) == std::bit_width(other.image)) row.image ^= other.image, row.source ^= other.source;
  if (row.image == 0) return false;
  auto place = std::find_if(basis.begin(), basis.end(), [&](const Row& other) { return other.image < row.image; });
  basis.insert(place, row);
  return true;
}

// The source of `image`, or nothing where it is outside of the span.
std::optional<std::uint64_t> solve(const std::vector<Row>& basis, std::uint64_t image) {
  std::uint64_t source = 0;
  for (const Row& row : basis)
    if (std::bit_width(image) == std::bit_width(row.image)) image ^= row.image, source ^= row.source;
  if (image != 0) return std::nullopt;
  return source;
}

// Output coordinates packed one above the other.
std::uint64_t pack(const std::vector<LinearLayout::Output>& outputs, const LinearLayout::Basis& coordinates) {
  std::uint64_t packed = 0;
  int shift = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    packed |= static_cast<std::uint64_t>(coordinates[i]) << shift;
    shift += log2_of(outputs[i].size);
  }
  return packed;
}

LinearLayout::Basis unpack(const std::vector<LinearLayout::Output>& outputs, std::uint64_t packed) {
  LinearLayout::Basis coordinates;
  for (const LinearLayout::Output& output : outputs) {
    coordinates.push_back(static_cast<std::int32_t>(packed & (static_cast<std::uint64_t>(output.size) - 1)));
    packed >>= log2_of(output.size);
  }
  return coordinates;
}

// The images of all input bits, axis by axis, as rows whose source is the bit's own number.
std::vector<Row> rows_of(const LinearLayout& layout) {
  std::vector<Row> rows;
  for (const LinearLayout::Input& input : layout.inputs())
    for (const LinearLayout::Basis& basis : input.bases)
      rows.push_back({pack(layout.outputs(), basis), std::uint64_t(1) << rows.size()});
  return rows;
}

std::vector<Row> echelon(const LinearLayout& layout) {
  std::vector<Row> basis;
  for (const Row& row : rows_of(layout)) insert(basis, row);
  return basis;
}

bool contains(std::span<const Axis> axes, Axis axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

}  // namespace

std::string name_of(Axis axis) {
  switch (axis) {
    case Axis::reg: return "register";
    case Axis::lane: return "lane";
    case Axis::warp: return "warp";
    case Axis::block: return "block";
    case Axis::offset: return "offset";
    default: return "dim" + std::to_string(unsigned(axis) - unsigned(Axis::index0));
  }
}

LinearLayout::LinearLayout(std::vector<Input> inputs, std::vector<Output> outputs)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  for ([[maybe_unused]] const Input& input : inputs_)
    for ([[maybe_unused]] const Basis& basis : input.bases) assert(basis.size() == outputs_.size());
}

LinearLayout LinearLayout::identity(std::int32_t size, Axis input, Axis output) {
  std::vector<Basis> bases;
  for (std::int32_t image = 1; image < size; image *= 2) bases.push_back({image});
  return LinearLayout({{input, std::move(bases)}}, {{output, size}});
}

LinearLayout LinearLayout::zeros(std::int32_t size, Axis input, Axis output, std::int32_t output_size) {
  return LinearLayout({{input, std::vector<Basis>(log2_of(size), Basis{0})}}, {{output, output_size}});
}

bool LinearLayout::has_input(Axis axis) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) { return input.axis == axis; });
}
bool LinearLayout::has_output(Axis axis) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const Output& output) { return output.axis == axis; });
}

int LinearLayout::input_bits(Axis axis) const {
  for (const Input& input : inputs_)
    if (input.axis == axis) return static_cast<int>(input.bases.size());
  return 0;
}
int LinearLayout::output_bits(Axis axis) const { return log2_of(output_size(axis)); }
std::int32_t LinearLayout::input_size(Axis axis) const { return std::int32_t(1) << input_bits(axis); }
std::int32_t LinearLayout::output_size(Axis axis) const {
  for (const Output& output : outputs_)
    if (output.axis == axis) return output.size;
  return 1;
}

int LinearLayout::total_input_bits() const {
  int bits = 0;
  for (const Input& input : inputs_) bits += static_cast<int>(input.bases.size());
  return bits;
}
int LinearLayout::total_output_bits() const {
  int bits = 0;
  for (const Output& output : outputs_) bits += log2_of(output.size);
  return bits;
}

const LinearLayout::Basis& LinearLayout::basis(Axis axis, int bit) const {
  auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.axis == axis; });
  return input->bases[bit];
}

std::int32_t LinearLayout::basis(Axis input, int bit, Axis output) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].axis == output) return basis(input, bit)[i];
  return 0;
}

Point LinearLayout::apply(const Point& point) const {
  Basis image(outputs_.size(), 0);
  for (const auto& [axis, value] : point)
    for (int bit = 0; bit < input_bits(axis); ++bit)
      if (value >> bit & 1)
        for (std::size_t i = 0; i < image.size(); ++i) image[i] ^= basis(axis, bit)[i];
  Point result;
  for (std::size_t i = 0; i < image.size(); ++i) result.emplace_back(outputs_[i].axis, image[i]);
  return result;
}

std::int32_t LinearLayout::apply(const Point& point, Axis output) const {
  for (const auto& [axis, value] : apply(point))
    if (axis == output) return value;
  return 0;
}

LinearLayout LinearLayout::operator*(const LinearLayout& other) const {
  std::vector<Output> outputs = outputs_;
  for (const Output& output : other.outputs_) {
    auto place = std::find_if(outputs.begin(), outputs.end(), [&](const Output& o) { return o.axis == output.axis; });
    if (place == outputs.end())
      outputs.push_back(output);
    else
      place->size *= output.size;
  }
  auto widened = [&](const LinearLayout& from, const Basis& basis, bool upper) {
    Basis image(outputs.size(), 0);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      for (std::size_t k = 0; k < from.outputs_.size(); ++k)
        if (from.outputs_[k].axis == outputs[i].axis)
          image[i] = basis[k] * (upper ? output_size(outputs[i].axis) : 1);
    return image;
  };
  std::vector<Input> inputs;
  for (const Input& input : inputs_) {
    inputs.push_back({input.axis, {}});
    for (const Basis& basis : input.bases) inputs.back().bases.push_back(widened(*this, basis, false));
  }
  for (const Input& input : other.inputs_) {
    auto place = std::find_if(inputs.begin(), inputs.end(), [&](const Input& i) { return i.axis == input.axis; });
    if (place == inputs.end()) place = inputs.insert(inputs.end(), {input.axis, {}});
    for (const Basis& basis : input.bases) place->bases.push_back(widened(other, basis, true));
  }
  return LinearLayout(std::move(inputs), std::move(outputs));
}

LinearLayout LinearLayout::compose(const LinearLayout& outer) const {
  std::vector<Input> inputs;
  for (const Input& input : inputs_) {
    inputs.push_back({input.axis, {}});
    for (const Basis& basis : input.bases) {
      Point point;
      for (std::size_t i = 0; i < outputs_.size(); ++i) point.emplace_back(outputs_[i].axis, basis[i]);
      Basis image;
      for (const auto& [axis, value] : outer.apply(point)) image.push_back(value);
      inputs.back().bases.push_back(std::move(image));
    }
  }
  return LinearLayout(std::move(inputs), outer.outputs_);
}

LinearLayout LinearLayout::invert() const {
  assert(is_bijective());
  std::vector<Input> inputs;
  for (const Output& output : outputs_) {
    inputs.push_back({output.axis, {}});
    for (std::int32_t image = 1; image < output.size; image *= 2) {
      Basis point;
      for (const Output& o : outputs_) point.push_back(o.axis == output.axis ? image : 0);
      inputs.back().bases.push_back(std::move(point));
    }
  }
  return LinearLayout(std::move(inputs), outputs_).invert_and_compose(*this);
}

LinearLayout LinearLayout::invert_and_compose(const LinearLayout& target) const {
  const std::vector<Row> basis = echelon(target);
  std::vector<Output> outputs;
  for (const Input& input : target.inputs_)
    outputs.push_back({input.axis, std::int32_t(1) << static_cast<int>(input.bases.size())});
  std::vector<Input> inputs;
  for (const Input& input : inputs_) {
    inputs.push_back({input.axis, {}});
    for (const Basis& image : input.bases) {
      Basis ordered;
      for (const Output& output : target.outputs_)
        for (std::size_t i = 0; i < outputs_.size(); ++i)
          if (outputs_[i].axis == output.axis) ordered.push_back(image[i]);
      auto source = solve(basis, pack(target.outputs_, ordered));
      assert(source && "the target's image covers this layout's");
      inputs.back().bases.push_back(unpack(outputs, source.value_or(0)));
    }
  }
  return LinearLayout(std::move(inputs), std::move(outputs));
}

std::optional<LinearLayout> LinearLayout::divide_left(const LinearLayout& factor) const {
  std::vector<Output> outputs;
  for (const Output& output : outputs_) {
    if (output.size % factor.output_size(output.axis) != 0) return std::nullopt;
    outputs.push_back({output.axis, output.size / factor.output_size(output.axis)});
  }
  for (const Output& output : factor.outputs_)
    if (!has_output(output.axis) && output.size > 1) return std::nullopt;
  std::vector<Input> inputs;
  for (const Input& input : inputs_) {
    const int inner = factor.input_bits(input.axis);
    if (inner > static_cast<int>(input.bases.size())) return std::nullopt;
    inputs.push_back({input.axis, {}});
    for (int bit = 0; bit < static_cast<int>(input.bases.size()); ++bit) {
      Basis rest;
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        const Axis axis = outputs_[i].axis;
        const std::int32_t value = input.bases[bit][i], size = factor.output_size(axis);
        if (bit < inner && value != factor.basis(input.axis, bit, axis)) return std::nullopt;
        if (bit >= inner && value % size != 0) return std::nullopt;
        rest.push_back(value / size);
      }
      if (bit >= inner) inputs.back().bases.push_back(std::move(rest));
    }
  }
  for (const Input& input : factor.inputs_)
    if (!has_input(input.axis) && !input.bases.empty()) return std::nullopt;
  return LinearLayout(std::move(inputs), std::move(outputs));
}

LinearLayout LinearLayout::sublayout(std::span<const Axis> inputs, std::span<const Axis> outputs) const {
  std::vector<Input> kept;
  std::vector<Output> sizes;
  for (const Output& output : outputs_)
    if (contains(outputs, output.axis)) sizes.push_back(output);
  for (const Input& input : inputs_) {
    if (!contains(inputs, input.axis)) continue;
    kept.push_back({input.axis, {}});
    for (const Basis& basis : input.bases) {
      Basis part;
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        if (contains(outputs, outputs_[i].axis)) part.push_back(basis[i]);
      kept.back().bases.push_back(std::move(part));
    }
  }
  return LinearLayout(std::move(kept), std::move(sizes));
}

bool LinearLayout::sublayout_is_zero(std::span<const Axis> inputs, std::span<const Axis> outputs) const {
  for (const Input& input : sublayout(inputs, outputs).inputs_)
    for (const Basis& basis : input.bases)
      if (std::any_of(basis.begin(), basis.end(), [](std::int32_t value) { return value != 0; })) return false;
  return true;
}

LinearLayout LinearLayout::reorder_inputs(std::span<const Axis> order) const {
  std::vector<Input> inputs;
  for (Axis axis : order)
    for (const Input& input : inputs_)
      if (input.axis == axis) inputs.push_back(input);
  return LinearLayout(std::move(inputs), outputs_);
}

LinearLayout LinearLayout::reorder_outputs(std::span<const Axis> order) const {
  std::vector<Output> outputs;
  std::vector<std::size_t> places;
  for (Axis axis : order)
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].axis == axis) outputs.push_back(outputs_[i]), places.push_back(i);
  std::vector<Input> inputs;
  for (const Input& input : inputs_) {
    inputs.push_back({input.axis, {}});
    for (const Basis& basis : input.bases) {
      Basis ordered;
      for (std::size_t place : places) ordered.push_back(basis[place]);
      inputs.back().bases.push_back(std::move(ordered));
    }
  }
  return LinearLayout(std::move(inputs), std::move(outputs));
}

LinearLayout LinearLayout::reshape_outputs(std::vector<Output> outputs) const {
  std::vector<Input> inputs;
  for (const Input& input : inputs_) {
    inputs.push_back({input.axis, {}});
    for (const Basis& basis : input.bases) inputs.back().bases.push_back(unpack(outputs, pack(outputs_, basis)));
  }
  return LinearLayout(std::move(inputs), std::move(outputs));
}

LinearLayout LinearLayout::rename_input(Axis from, Axis to) const {
  LinearLayout result = *this;
  for (Input& input : result.inputs_)
    if (input.axis == from) input.axis = to;
  return result;
}
LinearLayout LinearLayout::rename_output(Axis from, Axis to) const {
  LinearLayout result = *this;
  for (Output& output : result.outputs_)
    if (output.axis == from) output.axis = to;
  return result;
}

LinearLayout LinearLayout::remove_zero_bases(Axis axis) const {
  LinearLayout result = *this;
  for (Input& input : result.inputs_)
    if (input.axis == axis)
      std::erase_if(input.bases, [](const Basis& basis) {
        return std::all_of(basis.begin(), basis.end(), [](std::int32_t value) { return value == 0; });
      });
  return result;
}

std::int32_t LinearLayout::free_bits(Axis axis) const {
  std::vector<Row> basis;
  std::int32_t free = 0;
  for (const Input& input : inputs_)
    for (std::size_t bit = 0; bit < input.bases.size(); ++bit)
      if (!insert(basis, {pack(outputs_, input.bases[bit]), 0}) && input.axis == axis) free |= std::int32_t(1) << bit;
  return free;
}

int LinearLayout::rank() const { return static_cast<int>(echelon(*this).size()); }
bool LinearLayout::is_surjective() const { return rank() == total_output_bits(); }
bool LinearLayout::is_injective() const { return rank() == total_input_bits(); }

std::int32_t LinearLayout::consecutive_registers(Axis output) const {
  std::int32_t count = 1;
  for (int bit = 0; bit < input_bits(Axis::reg); ++bit) {
    for (const Output& other : outputs_)
      if (basis(Axis::reg, bit, other.axis) != (other.axis == output ? count : 0)) return count;
    // Other bits must leave the group whole.
    for (const Input& input : inputs_)
      for (int k = 0; k < static_cast<int>(input.bases.size()); ++k)
        if (!(input.axis == Axis::reg && k <= bit) && (basis(input.axis, k, output) & (2 * count - 1)) != 0) return count;
    count *= 2;
  }
  return count;
}

std::string LinearLayout::to_string() const {
  std::string text;
  for (const Input& input : inputs_) {
    text += (text.empty() ? "" : ", ") + name_of(input.axis) + " [";
    for (std::size_t bit = 0; bit < input.bases.size(); ++bit) {
      text += bit ? ", [" : "[";
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        text += (i ? ", " : "") + std::to_string(input.bases[bit][i]);
      text += "]";
    }
    text += "]";
  }
  text += " -> ";
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    text += (i ? ", " : "") + name_of(outputs_[i].axis) + " " + std::to_string(outputs_[i].size);
  return text;
}

}  // namespace teeny::compiler
