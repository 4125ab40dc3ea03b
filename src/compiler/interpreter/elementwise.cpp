// Element-wise float operations, one rounding each.
#include "compiler/interpreter/map.hpp"

namespace teeny::compiler::interpreter {
namespace {

// The larger (smaller) number; a NaN loses, and +0 is above -0.
template <class Real>
Real larger(Real a, Real b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <class Real>
Real smaller(Real a, Real b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class Real>
Real nan_or(Real a, Real b, Real otherwise) {
  return a != a ? a : b != b ? b : otherwise;
}

template <Kind K>
void run_unary(const Elementwise& instruction, const Elements& elements) {
  using E = Element<K>;
  constexpr std::uint64_t sign = std::uint64_t{1} << (width_of(K) - 1);
  auto real = [&](auto f) { map1(elements, [f](std::uint64_t x) { return E::put(f(E::get(x))); }); };
  auto test = [&](auto f) {
    map1(elements, [f](std::uint64_t x) -> std::uint64_t { return f(E::get(x)); });
  };
  switch (instruction.op) {
    case Op::negf: return map1(elements, [](std::uint64_t x) { return x ^ sign; });
    case Op::absf: return map1(elements, [](std::uint64_t x) { return x & ~sign; });
    case Op::sqrt: return real([](auto x) { return std::sqrt(x); });
    case Op::floor: return real([](auto x) { return std::floor(x); });
    case Op::ceil: return real([](auto x) { return std::ceil(x); });
    case Op::trunc: return real([](auto x) { return std::trunc(x); });
    case Op::round: return real([](auto x) { return std::round(x); });
    case Op::roundeven: return real([](auto x) { return std::nearbyint(x); });
    case Op::isnan: return test([](auto x) { return x != x; });
    case Op::isinf: return test([](auto x) { return std::isinf(x); });
    default: return test([](auto x) { return std::isfinite(x); });
  }
}

template <Kind K>
void run_binary(const Elementwise& instruction, const Elements& elements) {
  using E = Element<K>;
  constexpr std::uint64_t sign = std::uint64_t{1} << (width_of(K) - 1);
  auto real = [&](auto f) {
    map2(elements, [f](std::uint64_t x, std::uint64_t y) { return E::put(f(E::get(x), E::get(y))); });
  };
  switch (instruction.op) {
    case Op::addf: return real([](auto x, auto y) { return x + y; });
    case Op::subf: return real([](auto x, auto y) { return x - y; });
    case Op::mulf: return real([](auto x, auto y) { return x * y; });
    case Op::divf: return real([](auto x, auto y) { return x / y; });
    case Op::remf: return real([](auto x, auto y) { return std::fmod(x, y); });
    case Op::maxnumf: return real([](auto x, auto y) { return larger(x, y); });
    case Op::minnumf: return real([](auto x, auto y) { return smaller(x, y); });
    case Op::maximumf: return real([](auto x, auto y) { return nan_or(x, y, larger(x, y)); });
    case Op::minimumf: return real([](auto x, auto y) { return nan_or(x, y, smaller(x, y)); });
    default:  // copysign
      return map2(elements, [](std::uint64_t x, std::uint64_t y) { return (x & ~sign) | (y & sign); });
  }
}

template <Kind K>
void run_ternary(const Elementwise& instruction, const Elements& elements) {
  using E = Element<K>;
  if (instruction.op == Op::fma)
    return map3(elements, [](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
      return E::fused(E::get(x), E::get(y), E::get(z));
    });
  const bool propagate = instruction.op == Op::clampf_nan;
  // x > low ? x : low, so that a NaN gives low (propagating: x < low ? low : x), then high where that is above it.
  map3(elements, [propagate](std::uint64_t x, std::uint64_t low, std::uint64_t high) {
    const bool keep = propagate ? !(E::get(x) < E::get(low)) : E::get(x) > E::get(low);
    const std::uint64_t raised = keep ? x : low;
    return E::get(raised) > E::get(high) ? high : raised;
  });
}

// attributes: [predicate], numbered as arith::CmpFPredicate.
template <Kind K>
void run_compare(const Elementwise& instruction, const Elements& elements) {
  using E = Element<K>;
  const auto predicate = instruction.attributes[0];
  static constexpr struct {
    bool less, equal, greater, unordered;
  } table[16] = {{},
                 {false, true, false, false},
                 {false, false, true, false},
                 {false, true, true, false},
                 {true, false, false, false},
                 {true, true, false, false},
                 {true, false, true, false},
                 {true, true, true, false},
                 {false, true, false, true},
                 {false, false, true, true},
                 {false, true, true, true},
                 {true, false, false, true},
                 {true, true, false, true},
                 {true, false, true, true},
                 {false, false, false, true},
                 {true, true, true, true}};
  const auto row = table[predicate];
  map2(elements, [row](std::uint64_t x, std::uint64_t y) -> std::uint64_t {
    const auto a = E::get(x), b = E::get(y);
    return a < b ? row.less : a == b ? row.equal : a > b ? row.greater : row.unordered;
  });
}

template <Kind K>
ElementFunction float_function(Op op) {
  if (op == Op::cmpf) return run_compare<K>;
  if (op == Op::fma || op == Op::clampf || op == Op::clampf_nan) return run_ternary<K>;
  switch (op) {
    case Op::addf:
    case Op::subf:
    case Op::mulf:
    case Op::divf:
    case Op::remf:
    case Op::maxnumf:
    case Op::minnumf:
    case Op::maximumf:
    case Op::minimumf:
    case Op::copysign: return run_binary<K>;
    default: return run_unary<K>;
  }
}

}  // namespace

ElementFunction element_function(Op op, Kind from, Kind to) {
  if (op <= Op::isfinite) {
    switch (from) {
      case Kind::f16: return float_function<Kind::f16>(op);
      case Kind::bf16: return float_function<Kind::bf16>(op);
      case Kind::f32: return float_function<Kind::f32>(op);
      case Kind::f64: return float_function<Kind::f64>(op);
      default: return nullptr;
    }
  }
  if (op >= Op::extsi && op <= Op::bitcast) return cast_function(op, from, to);
  return integer_function(op);
}

void run_elementwise(Machine& machine, const Instruction& instruction) {
  Elements elements;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i)
    elements.count = std::max(elements.count, machine.slot(instruction.operands[i]).size());
  Value& result = machine.slot(instruction.results[0]);
  result.bits.resize(elements.count);
  elements.result = result.bits.data();
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const Value& operand = machine.slot(instruction.operands[i]);
    elements.operands[i] = operand.bits.data();
    elements.steps[i] = step_of(operand);
  }
  instruction.apply(instruction, elements);
}

// The expansion computes the value; the shadows follow in update_shadow.
void run_math(Machine& machine, const Instruction& instruction) {
  Value result = machine.run_expansion(*instruction.expansion, machine.slot(instruction.operands[0]));
  machine.slot(instruction.results[0]) = std::move(result);
}

}  // namespace teeny::compiler::interpreter
