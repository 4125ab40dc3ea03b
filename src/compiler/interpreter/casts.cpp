// Conversions of the element type.
#include "compiler/interpreter/map.hpp"

namespace teeny::compiler::interpreter {
namespace {

using Word = std::uint64_t;

void run_integer_cast(const Elementwise& instruction, const Elements& elements) {
  const int width = width_of(instruction.from);
  const Word mask = low_mask(width_of(instruction.to));
  if (instruction.op == Op::extsi)
    return map1(elements, [=](Word a) { return static_cast<Word>(sign_extend(a, width)) & mask; });
  map1(elements, [mask](Word a) { return a & mask; });
}

// Exact value, then one rounding to f16 or bf16: 64-bit integers do not fit double, so those round to odd first.
double integer_to_odd(Word magnitude, bool negative) {
  const int excess = 64 - std::countl_zero(magnitude) - 53;
  if (excess > 0) {
    const bool inexact = (magnitude & low_mask(excess)) != 0;
    magnitude = (magnitude >> excess | static_cast<Word>(inexact)) << excess;
  }
  const double value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

template <Kind To>
void run_from_integer(const Elementwise& instruction, const Elements& elements) {
  const int width = width_of(instruction.from);
  const bool as_signed = instruction.op == Op::sitofp;
  map1(elements, [=](Word a) {
    const bool negative = as_signed && sign_extend(a, width) < 0;
    const Word magnitude = negative ? 0 - static_cast<Word>(sign_extend(a, width)) : a;
    if constexpr (To == Kind::f32)
      return Element<To>::put(negative ? -static_cast<float>(magnitude) : static_cast<float>(magnitude));
    if constexpr (To == Kind::f64)
      return Element<To>::put(negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude));
    return Element<To>::put(static_cast<typename Element<To>::Real>(integer_to_odd(magnitude, negative)));
  });
}

template <Kind From>
void run_to_integer(const Elementwise& instruction, const Elements& elements) {
  const int width = width_of(instruction.to);
  const bool as_signed = instruction.op == Op::fptosi;
  const double limit = std::ldexp(1.0, as_signed ? width - 1 : width);
  const double lowest = as_signed ? -limit : 0.0;
  map1(elements, [=](Word a) -> Word {
    const double value = std::trunc(static_cast<double>(Element<From>::get(a)));
    if (value != value) return 0;
    if (value >= limit) return as_signed ? low_mask(width - 1) : low_mask(width);
    if (value <= lowest) return as_signed ? Word{1} << (width - 1) : 0;
    return (as_signed ? static_cast<Word>(static_cast<std::int64_t>(value)) : static_cast<Word>(value)) &
           low_mask(width);
  });
}

template <Kind From, Kind To>
void run_convert(const Elementwise& instruction, const Elements& elements) {
  const bool toward_zero = instruction.op == Op::convertf_to_zero;
  map1(elements, [=](Word a) -> Word {
    const double value = Element<From>::get(a);
    if constexpr (To == Kind::f16) return round_to_format(value, 5, 10, toward_zero);
    if constexpr (To == Kind::bf16) return round_to_format(value, 8, 7, toward_zero);
    if constexpr (To == Kind::f32) return round_to_format(value, 8, 23, toward_zero);
    return Element<Kind::f64>::put(value);
  });
}

template <Kind From>
ElementFunction convert_from(Kind to) {
  switch (to) {
    case Kind::f16: return run_convert<From, Kind::f16>;
    case Kind::bf16: return run_convert<From, Kind::bf16>;
    case Kind::f32: return run_convert<From, Kind::f32>;
    case Kind::f64: return run_convert<From, Kind::f64>;
    default: return nullptr;
  }
}

}  // namespace

ElementFunction cast_function(Op op, Kind from, Kind to) {
  switch (op) {
    case Op::extsi:
    case Op::extui:
    case Op::trunci:
    case Op::bitcast: return run_integer_cast;
    case Op::sitofp:
    case Op::uitofp:
      switch (to) {
        case Kind::f16: return run_from_integer<Kind::f16>;
        case Kind::bf16: return run_from_integer<Kind::bf16>;
        case Kind::f32: return run_from_integer<Kind::f32>;
        case Kind::f64: return run_from_integer<Kind::f64>;
        default: return nullptr;
      }
    case Op::fptosi:
    case Op::fptoui:
      switch (from) {
        case Kind::f16: return run_to_integer<Kind::f16>;
        case Kind::bf16: return run_to_integer<Kind::bf16>;
        case Kind::f32: return run_to_integer<Kind::f32>;
        case Kind::f64: return run_to_integer<Kind::f64>;
        default: return nullptr;
      }
    default:
      switch (from) {
        case Kind::f16: return convert_from<Kind::f16>(to);
        case Kind::bf16: return convert_from<Kind::bf16>(to);
        case Kind::f32: return convert_from<Kind::f32>(to);
        case Kind::f64: return convert_from<Kind::f64>(to);
        default: return nullptr;
      }
  }
}

}  // namespace teeny::compiler::interpreter
