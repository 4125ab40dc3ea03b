// Radii through element-wise operations: intervals of the operands, the operation's own rounding at the end points.
#include <algorithm>

#include "compiler/interpreter/bounds.hpp"
#include "compiler/interpreter/map.hpp"

namespace teeny::compiler::interpreter {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Interval {
  double low, high;
};

Interval hull(std::initializer_list<double> values) {
  Interval result = {unbounded, -unbounded};
  for (double value : values) {
    if (value != value) return {value, value};
    result.low = std::min(result.low, value);
    result.high = std::max(result.high, value);
  }
  return result;
}

double distance(double a, double b) {
  if (a == b) return 0;
  const double apart = std::fabs(a - b);
  return apart != apart ? unbounded : apart;
}

// How far the interval's ends, rounded to the kind, lie from the value.
double radius_of(Kind kind, Interval interval, double value) {
  if (value != value && interval.low != interval.low) return 0;  // NaN either way
  const double low = to_double(kind, from_double(kind, interval.low)),
               high = to_double(kind, from_double(kind, interval.high));
  return std::max(distance(low, value), distance(high, value));
}

struct Operand {
  Kind kind = Kind::i32;
  std::uint64_t bits = 0;
  double value = 0, radius = 0;
  Interval interval() const { return {value - radius, value + radius}; }
  bool may_be_zero() const { return value - radius <= 0 && value + radius >= 0; }
};

Interval product(const Operand& a, const Operand& b) {
  const Interval x = a.interval(), y = b.interval();
  return hull({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
}

Interval float_interval(Op op, const Operand& a, const Operand& b, const Operand& c) {
  const Interval x = a.interval(), y = b.interval();
  auto monotonous = [&](auto f) { return Interval{f(x.low), f(x.high)}; };
  switch (op) {
    case Op::addf: return {x.low + y.low, x.high + y.high};
    case Op::subf: return {x.low - y.high, x.high - y.low};
    case Op::mulf: return product(a, b);
    case Op::divf:
      if (b.radius > 0 && b.may_be_zero()) return {-unbounded, unbounded};
      return hull({x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high});
    case Op::fma: {
      const Interval p = product(a, b), z = c.interval();
      return {p.low + z.low, p.high + z.high};
    }
    case Op::negf: return {-x.high, -x.low};
    case Op::absf:
      return a.may_be_zero() ? Interval{0, std::max(-x.low, x.high)} : hull({std::fabs(x.low), std::fabs(x.high)});
    case Op::sqrt: return monotonous([](double v) { return std::sqrt(std::max(v, 0.0)); });
    case Op::floor: return monotonous([](double v) { return std::floor(v); });
    case Op::ceil: return monotonous([](double v) { return std::ceil(v); });
    case Op::trunc: return monotonous([](double v) { return std::trunc(v); });
    case Op::round: return monotonous([](double v) { return std::round(v); });
    case Op::roundeven: return monotonous([](double v) { return std::nearbyint(v); });
    case Op::maxnumf:
    case Op::maximumf: return {std::max(x.low, y.low), std::max(x.high, y.high)};
    case Op::minnumf:
    case Op::minimumf: return {std::min(x.low, y.low), std::min(x.high, y.high)};
    case Op::clampf:
    case Op::clampf_nan: {
      const Interval z = c.interval();
      return {std::min(std::max(x.low, y.low), z.low), std::min(std::max(x.high, y.high), z.high)};
    }
    default: return {x.low, x.high};  // conversions
  }
}

double integer_radius(const Instruction& instruction, const Operand& a, const Operand& b) {
  switch (instruction.op) {
    case Op::addi:
    case Op::subi: return a.radius + b.radius;
    case Op::muli: return std::fabs(a.value) * b.radius + std::fabs(b.value) * a.radius + a.radius * b.radius;
    case Op::shli: return b.radius > 0 ? unbounded : std::ldexp(a.radius, static_cast<int>(std::min(b.value, 64.0)));
    case Op::shrsi:
    case Op::shrui:
      return b.radius > 0 ? unbounded : std::ceil(std::ldexp(a.radius, -static_cast<int>(std::min(b.value, 64.0))));
    case Op::divsi: return b.radius > 0 || b.value == 0 ? unbounded : std::ceil(a.radius / std::fabs(b.value));
    case Op::maxsi:
    case Op::minsi: return std::max(a.radius, b.radius);
    case Op::absi:
    case Op::extsi:
    case Op::extui: return a.radius;
    case Op::trunci: return a.radius < std::ldexp(1.0, width_of(instruction.to) - 1) ? a.radius : unbounded;
    // Masks: 1 where the outcome may differ.
    case Op::andi:
      if (instruction.from != Kind::i1) return unbounded;
      return (a.radius == 0 && a.value == 0) || (b.radius == 0 && b.value == 0) ? 0 : 1;
    case Op::ori:
      if (instruction.from != Kind::i1) return unbounded;
      return (a.radius == 0 && a.value != 0) || (b.radius == 0 && b.value != 0) ? 0 : 1;
    case Op::xori: return instruction.from == Kind::i1 ? 1 : unbounded;
    default: return unbounded;
  }
}

double compare_radius(const Operand& a, const Operand& b) {
  if (a.value != a.value || b.value != b.value) return 0;
  return std::fabs(a.value - b.value) > a.radius + b.radius ? 0 : 1;
}

// Bits and numbers of one sign grow together.
double bitcast_radius(const Instruction& instruction, const Operand& a, double result) {
  if (instruction.from == instruction.to || instruction.from == Kind::pointer) return a.radius;
  auto reinterpreted = [&](double value) { return to_double(instruction.to, from_double(instruction.from, value)); };
  const Interval x = a.interval();
  if (a.radius == unbounded || std::signbit(x.low) != std::signbit(x.high)) return unbounded;
  return std::max(distance(reinterpreted(x.low), result), distance(reinterpreted(x.high), result));
}

double radius_at(const Instruction& instruction, const Operand (&o)[3], double result) {
  const Op op = instruction.op;
  switch (op) {
    case Op::cmpf:
    case Op::cmpi: return compare_radius(o[0], o[1]);
    case Op::isnan:
    case Op::isinf:
    case Op::isfinite: return 0;
    case Op::select: {
      const Operand &chosen = o[o[0].value != 0 ? 1 : 2], &other = o[o[0].value != 0 ? 2 : 1];
      if (o[0].radius == 0) return chosen.radius;
      return std::max(chosen.radius, distance(chosen.value, other.value) + other.radius);
    }
    case Op::addptr: return 0;
    case Op::bitcast: return bitcast_radius(instruction, o[0], result);
    case Op::fptosi:
    case Op::fptoui: {
      const Interval x = o[0].interval();
      const double value = std::trunc(o[0].value);
      return std::max(distance(std::trunc(x.low), value), distance(std::trunc(x.high), value));
    }
    case Op::remf: {
      const bool same = o[1].radius == 0 &&
                        std::trunc(o[0].interval().low / o[1].value) == std::trunc(o[0].interval().high / o[1].value);
      return same ? o[0].radius : std::fabs(o[1].value) + o[1].radius;
    }
    case Op::copysign: return o[0].radius + (o[1].radius > 0 && o[1].may_be_zero() ? 2 * std::fabs(o[0].value) : 0);
    default: break;
  }
  if (op <= Op::isfinite || (op >= Op::sitofp && op <= Op::uitofp) || op == Op::convertf || op == Op::convertf_to_zero)
    return radius_of(instruction.to, float_interval(op, o[0], o[1], o[2]), result);
  return integer_radius(instruction, o[0], o[1]);
}

bool rounds(Op op) {
  switch (op) {
    case Op::addf:
    case Op::subf:
    case Op::mulf:
    case Op::divf:
    case Op::fma:
    case Op::sqrt:
    case Op::convertf:
    case Op::math: return true;
    default: return false;
  }
}

// exp, log, erf, tanh … are monotonous: the expansion at both ends, and two units in the last place for its steps.
void math_radius(Machine& machine, const Instruction& instruction, Value& result) {
  const Value& operand = machine.slot(instruction.operands[0]);
  const std::string& name = machine.source(instruction.index).math;
  const Kind kind = instruction.from;
  Value low = {operand.bits, {}, {}, {}}, high = low;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const double value = to_double(kind, operand.bits[i]), radius = operand.radius_at(i);
    low.bits[i] = from_double(kind, value - radius);
    high.bits[i] = from_double(kind, value + radius);
  }
  const Value at_low = machine.run_expansion(*instruction.expansion, low);
  const Value at_high = machine.run_expansion(*instruction.expansion, high);
  result.radius.assign(result.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double radius = operand.radius_at(i), value = to_double(kind, result.bits[i]);
    if (radius == 0) continue;
    const double slack = 4 * unit_roundoff(kind) * std::fabs(value);
    if (name == "sin" || name == "cos") {
      result.radius[i] = std::min(radius, 2.0) + slack;
    } else if (name == "rsqrt" && to_double(kind, low.bits[i]) <= 0) {
      result.radius[i] = unbounded;
    } else {
      result.radius[i] = std::max(distance(to_double(kind, at_low.bits[i]), value),
                                  distance(to_double(kind, at_high.bits[i]), value)) +
                         slack;
    }
  }
}

}  // namespace

void update_radius(Machine& machine, const Instruction& instruction) {
  Value& result = machine.slot(instruction.results[0]);
  const Value* values[3] = {};
  const std::size_t operands = std::min<std::size_t>(3, instruction.operands.size());
  bool any = false;
  for (std::size_t k = 0; k < operands; ++k) {
    values[k] = &machine.slot(instruction.operands[k]);
    any = any || !values[k]->radius.empty();
  }
  if (any && instruction.op == Op::math) math_radius(machine, instruction, result);
  for (std::size_t i = 0; any && instruction.op != Op::math && i < result.size(); ++i) {
    Operand o[3];
    bool here = false;
    for (std::size_t k = 0; k < operands; ++k) {
      o[k].kind = machine.type(instruction.operands[k]).kind;
      o[k].bits = values[k]->bits[values[k]->size() == 1 ? 0 : i];
      o[k].value = to_double(o[k].kind, o[k].bits);
      o[k].radius = values[k]->radius_at(i);
      here = here || o[k].radius > 0;
    }
    if (!here) continue;
    const double radius = radius_at(instruction, o, to_double(instruction.to, result.bits[i]));
    if (radius == 0) continue;
    result.radius.resize(result.size(), 0);
    result.radius[i] = radius;
  }
  if (machine.rounding_scale() == 0 || !rounds(instruction.op) || !is_float(instruction.to)) return;
  // The roundings of a product add up over all factors in any order, those of a sum only along the path to the root.
  const bool sums = instruction.op == Op::addf || instruction.op == Op::subf || instruction.op == Op::fma;
  const double scale = sums ? machine.rounding_scale() : 1;
  result.radius.resize(result.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double value = std::fabs(to_double(instruction.to, result.bits[i]));
    if (std::isfinite(value)) result.radius[i] += 2 * scale * unit_roundoff(instruction.to) * value;
  }
}

}  // namespace teeny::compiler::interpreter
