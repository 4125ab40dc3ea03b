// Reductions by the defined tree and scans in order. The combine region runs on many lanes at once where it is
// element-wise, else lane by lane.
#include <algorithm>

#include "compiler/interpreter/bounds.hpp"
#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

using Places = std::vector<std::uint32_t>;

template <class T>
void take(const std::vector<T>& source, const Places& places, std::vector<T>& result) {
  result.clear();
  if (source.empty()) return;
  result.reserve(places.size());
  for (std::uint32_t place : places) result.push_back(source[place]);
}

void take(const Value& source, const Places& places, Value& result) {
  take(source.bits, places, result.bits);
  take(source.undefined, places, result.undefined);
  take(source.overflow, places, result.overflow);
  take(source.radius, places, result.radius);
}

template <class T>
void put(std::vector<T>& target, const Places& places, const std::vector<T>& source, std::size_t count) {
  if (source.empty() && target.empty()) return;
  target.resize(count);
  for (std::size_t i = 0; i < places.size(); ++i)
    target[places[i]] = source.empty() ? T{} : source[source.size() == 1 ? 0 : i];
}

void put(Value& target, const Places& places, const Value& source) {
  const std::size_t count = target.bits.size();
  put(target.bits, places, source.bits, count);
  put(target.undefined, places, source.undefined, count);
  put(target.overflow, places, source.overflow, count);
  put(target.radius, places, source.radius, count);
}

// A fold along an axis of several tensors: elements sit at (outer * length + k) * inner + i.
class Fold {
 public:
  Fold(Machine& machine, const Instruction& instruction)
      : machine_(machine), region_(instruction.regions[0]), count_(instruction.operands.size()) {
    const auto& shape = machine.shape_of(instruction.operands[0]);
    const auto axis = static_cast<std::size_t>(instruction.integers[0]);
    for (std::size_t d = 0; d < axis; ++d) outer_ *= shape[d];
    length_ = shape[axis];
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner_ *= shape[d];
    for (Slot operand : instruction.operands) values_.push_back(machine.slot(operand));
    const Block& block = region_.blocks[0];
    pure_sum_ = count_ == 1 && region_.blocks.size() == 1 && block.instructions.size() == 1 &&
                region_.float_additions == 1 && is_float(block.instructions[0].to);
    kind_ = instruction.from;
    if (machine.with_radius() && pure_sum_) {
      terms_ = values_[0];
      values_[0].radius.clear();
    }
  }

  // Elements with index k along the axis.
  Places line(std::int64_t k) const {
    Places places;
    lines(k, k + 1, 0, places);
    return places;
  }
  void lines(std::int64_t first, std::int64_t last, std::int64_t shift, Places& places) const {
    places.clear();
    for (std::int64_t o = 0; o < outer_; ++o)
      for (std::int64_t k = first; k < last; ++k)
        for (std::int64_t i = 0; i < inner_; ++i)
          places.push_back(static_cast<std::uint32_t>((o * length_ + k + shift) * inner_ + i));
  }

  // values[left] = combine(values[left], values[right]) for each operand.
  bool combine(const Places& left, const Places& right, const Places& target) {
    if (region_.elementwise) return combine_lanes(left, right, target);
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!combine_lanes({left[i]}, {right[i]}, {target[i]})) return false;
    return true;
  }

  std::int64_t length() const { return length_; }
  std::vector<Value>& values() { return values_; }
  // Other devices fold in other orders: a region that rounds adds to the radius, scaled from this tree's depth to a
  // chain.
  void start(double scale) {
    if (machine_.with_radius() && !pure_sum_) machine_.set_rounding_scale(scale);
  }
  void stop() { machine_.set_rounding_scale(0); }

  // Radius of a float sum of elements first … last - 1 (or, reversed, last - 1 … first) of every line, at each `k`.
  template <class Visit>
  void sum_radii(bool reverse, Visit visit) const {
    if (!machine_.with_radius() || !pure_sum_) return;
    const double u = unit_roundoff(kind_);
    for (std::int64_t o = 0; o < outer_; ++o)
      for (std::int64_t i = 0; i < inner_; ++i) {
        bool special = false;  // an infinity or NaN decides the sum in every order
        double magnitude = 0, radius = 0, quantum = std::numeric_limits<double>::infinity();
        for (std::int64_t step = 0; step < length_; ++step) {
          const std::int64_t k = reverse ? length_ - 1 - step : step;
          const auto at = static_cast<std::size_t>((o * length_ + k) * inner_ + i);
          const double x = to_double(kind_, terms_.bits[at]);
          if (std::isfinite(x)) {
            magnitude += std::fabs(x);
            quantum = std::min(quantum, quantum_of(x));
          } else {
            special = true;
          }
          radius += terms_.radius_at(at);
          const double allowed =
              sum_radius(static_cast<double>(step), magnitude + radius, radius > 0 ? 0 : quantum, u) + radius;
          visit(at, step, o * inner_ + i, special && magnitude < safe_magnitude(kind_) ? 0.0 : allowed);
        }
      }
  }

 private:
  bool combine_lanes(const Places& left, const Places& right, const Places& target) {
    const Block& block = region_.blocks[0];
    for (std::size_t operand = 0; operand < count_; ++operand) {
      take(values_[operand], left, machine_.slot(block.arguments[operand]));
      take(values_[operand], right, machine_.slot(block.arguments[count_ + operand]));
    }
    const Block* exit = nullptr;
    if (!machine_.run_region(region_, &exit)) return false;
    std::vector<Value> results;
    for (Slot slot : exit->operands) results.push_back(machine_.slot(slot));
    for (std::size_t operand = 0; operand < count_; ++operand) put(values_[operand], target, results[operand]);
    return true;
  }

  Machine& machine_;
  const Region& region_;
  std::size_t count_;
  std::int64_t outer_ = 1, length_ = 1, inner_ = 1;
  std::vector<Value> values_;
  Value terms_;  // the summands, for the radius of a float sum
  bool pure_sum_ = false;
  Kind kind_ = Kind::i32;
};

void set_radius(Value& value, std::size_t at, double radius) {
  if (radius == 0 && value.radius.empty()) return;
  value.radius.resize(value.size(), 0);
  value.radius[at] = radius;
}

}  // namespace

// integers: [axis]
void run_reduce(Machine& machine, const Instruction& instruction) {
  Fold fold(machine, instruction);
  const std::int64_t length = fold.length();
  const int levels = length > 1 ? 64 - std::countl_zero(static_cast<std::uint64_t>(length - 1)) : 0;
  fold.start(levels ? static_cast<double>(length - 1) / levels : 0);
  std::int64_t remaining = length;
  Places left, right;
  bool done = true;
  for (int bit = levels; done && bit-- > 0;) {
    const std::int64_t half = std::int64_t{1} << bit;
    fold.lines(0, remaining - half, 0, left);
    fold.lines(0, remaining - half, half, right);
    done = fold.combine(left, right, left);
    remaining = half;
  }
  fold.stop();
  if (!done) return;
  const Places first = fold.line(0);
  for (std::size_t operand = 0; operand < instruction.results.size(); ++operand)
    take(fold.values()[operand], first, machine.slot(instruction.results[operand]));
  Value& result = machine.slot(instruction.results[0]);
  fold.sum_radii(false, [&](std::size_t, std::int64_t step, std::int64_t line, double radius) {
    if (step == length - 1) set_radius(result, static_cast<std::size_t>(line), radius);
  });
}

// integers: [axis, reverse]
void run_scan(Machine& machine, const Instruction& instruction) {
  Fold fold(machine, instruction);
  const bool reverse = instruction.integers[1] != 0;
  fold.start(1);
  bool done = true;
  for (std::int64_t step = 1; done && step < fold.length(); ++step) {
    const std::int64_t k = reverse ? fold.length() - 1 - step : step;
    const Places here = fold.line(k);
    done = fold.combine(fold.line(reverse ? k + 1 : k - 1), here, here);
  }
  fold.stop();
  if (!done) return;
  for (std::size_t operand = 0; operand < instruction.results.size(); ++operand)
    machine.slot(instruction.results[operand]) = fold.values()[operand];
  Value& result = machine.slot(instruction.results[0]);
  fold.sum_radii(reverse,
                 [&](std::size_t at, std::int64_t, std::int64_t, double radius) { set_radius(result, at, radius); });
}

}  // namespace teeny::compiler::interpreter
