// What follows an element-wise instruction: undefined lanes, wrapped offsets, radii.
#include <algorithm>

#include "compiler/interpreter/map.hpp"

namespace teeny::compiler::interpreter {
namespace {

bool is_division(Op op) { return op >= Op::divsi && op <= Op::floordivsi; }
bool is_offset_arithmetic(Op op) { return op == Op::addi || op == Op::subi || op == Op::muli || op == Op::shli; }

// An operand that is defined and decides the result alone: 0 of an and or a product, all ones of an or.
bool decided(const Instruction& instruction, std::uint64_t bits) {
  switch (instruction.op) {
    case Op::andi:
    case Op::muli: return bits == 0;
    case Op::ori: return bits == low_mask(width_of(instruction.from));
    default: return false;
  }
}

void spread_undefined(Machine& machine, const Instruction& instruction, Value& result) {
  const std::size_t count = result.size(), operands = instruction.operands.size();
  result.undefined.assign(count, 0);
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t origin = 0;
    if (instruction.op == Op::select) {
      const Value& condition = machine.slot(instruction.operands[0]);
      origin = condition.undefined_at(i);
      const bool chosen = condition.bits[condition.size() == 1 ? 0 : i] & 1;
      if (!origin) origin = machine.slot(instruction.operands[chosen ? 1 : 2]).undefined_at(i);
    } else {
      for (std::size_t operand = 0; operand < operands; ++operand) {
        const Value& value = machine.slot(instruction.operands[operand]);
        const std::uint32_t own = value.undefined_at(i);
        if (own) {
          origin = origin ? origin : own;
        } else if (decided(instruction, value.bits[value.size() == 1 ? 0 : i])) {
          origin = 0;
          break;
        }
      }
    }
    result.undefined[i] = origin;
    any = any || origin;
  }
  if (!any) result.undefined.clear();
}

// An integer division by zero gives 0, which nobody should see.
void mark_divisions(Machine& machine, const Instruction& instruction, Value& result) {
  const Value& divisor = machine.slot(instruction.operands[1]);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (divisor.bits[divisor.size() == 1 ? 0 : i] != 0 || divisor.undefined_at(i)) continue;
    result.undefined.resize(result.size(), 0);
    result.undefined[i] = instruction.index + 1;
  }
}

std::int32_t saturate(__int128 value) {
  return static_cast<std::int32_t>(
      std::clamp<__int128>(value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

__int128 compute(Op op, __int128 a, __int128 b) {
  switch (op) {
    case Op::addi: return a + b;
    case Op::subi: return a - b;
    default: return a * b;
  }
}

// Exact index arithmetic beside the wrapped one, for widths below 64; wider values only keep the mark.
void track_overflow(Machine& machine, const Instruction& instruction, Value& result) {
  const Value &a = machine.slot(instruction.operands[0]), &b = machine.slot(instruction.operands[1]);
  const int width = width_of(instruction.from);
  const std::size_t count = result.size(), sa = step_of(a), sb = step_of(b);
  const bool marked = !a.overflow.empty() || !b.overflow.empty();
  if (width == 1 || (width >= 64 && !marked)) return;
  const __int128 modulus = static_cast<__int128>(1) << width;
  for (std::size_t i = 0; i < count; ++i) {
    const Overflow oa = a.overflow_at(i), ob = b.overflow_at(i);
    Overflow out;
    if (width >= 64) {
      const bool zero =
          instruction.op == Op::muli && ((!oa.any() && a.bits[i * sa] == 0) || (!ob.any() && b.bits[i * sb] == 0));
      if (!zero && (oa.any() || ob.any())) out = {1, 1};
    } else {
      std::uint64_t y = b.bits[i * sb];
      const bool shift = instruction.op == Op::shli;
      if (shift) y = y < static_cast<std::uint64_t>(width) ? std::uint64_t{1} << y : 0;
      const __int128 signed_b = shift ? static_cast<__int128>(y) : sign_extend(y, width) + ob.as_signed * modulus;
      const __int128 unsigned_b =
          shift ? static_cast<__int128>(y) : static_cast<__int128>(y) + ob.as_unsigned * modulus;
      const __int128 exact_signed =
          compute(instruction.op, sign_extend(a.bits[i * sa], width) + oa.as_signed * modulus, signed_b);
      const __int128 exact_unsigned =
          compute(instruction.op, static_cast<__int128>(a.bits[i * sa]) + oa.as_unsigned * modulus, unsigned_b);
      out.as_signed = saturate((exact_signed - sign_extend(result.bits[i], width)) >> width);
      out.as_unsigned = saturate((exact_unsigned - static_cast<__int128>(result.bits[i])) >> width);
    }
    if (out.any() && result.overflow.empty()) result.overflow.assign(count, Overflow{});
    if (!result.overflow.empty()) result.overflow[i] = out;
  }
}

// Widening fixes a loss for good: signed, what a signed reading lost; unsigned, only what both readings lost, as
// x - 3 may have become x + (2^32 - 3).
void carry_overflow(Machine& machine, const Instruction& instruction, Value& result) {
  const Op op = instruction.op;
  const Value& a = machine.slot(instruction.operands[0]);
  auto mark = [&](std::size_t i, Overflow overflow) {
    if (!overflow.any()) return;
    result.overflow.resize(result.size());
    result.overflow[i] = overflow;
  };
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (op == Op::select) {
      const bool chosen = a.bits[a.size() == 1 ? 0 : i] & 1;
      mark(i, machine.slot(instruction.operands[chosen ? 1 : 2]).overflow_at(i));
    } else if (op == Op::addptr) {
      const Overflow offset = machine.slot(instruction.operands[1]).overflow_at(i);
      if (a.overflow_at(i).any() || offset.as_signed != 0) mark(i, {1, 1});
    } else if (op == Op::extsi) {
      if (a.overflow_at(i).as_signed != 0) mark(i, {1, 1});
    } else if (op == Op::extui) {
      if (a.overflow_at(i).as_signed != 0 && a.overflow_at(i).as_unsigned != 0) mark(i, {1, 1});
    } else if (op == Op::bitcast && instruction.from == Kind::pointer) {
      mark(i, a.overflow_at(i));
    }
  }
}

}  // namespace

void update_shadow(Machine& machine, const Instruction& instruction) {
  Value& result = machine.slot(instruction.results[0]);
  bool undefined = false, overflow = false, radius = false;
  for (Slot operand : instruction.operands) {
    const Value& value = machine.slot(operand);
    undefined = undefined || !value.undefined.empty();
    overflow = overflow || !value.overflow.empty();
    radius = radius || !value.radius.empty();
  }
  result.clear_shadow();
  if (machine.checking()) {
    if (undefined) spread_undefined(machine, instruction, result);
    if (is_division(instruction.op)) mark_divisions(machine, instruction, result);
    if (is_offset_arithmetic(instruction.op))
      track_overflow(machine, instruction, result);
    else if (overflow)
      carry_overflow(machine, instruction, result);
  }
  if (machine.with_radius() && (radius || machine.rounding_scale() > 0)) update_radius(machine, instruction);
}

}  // namespace teeny::compiler::interpreter
