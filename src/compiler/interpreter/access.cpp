// Loads, stores and descriptors.
#include <algorithm>

#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

// Whether lane `i` of a mask is on. An undefined mask lane is reported; `uncertain` says that another device's mask
// may differ.
bool mask_holds(Machine& machine, const Instruction& instruction, const Value* mask, std::size_t i, bool& uncertain) {
  uncertain = false;
  if (!mask) return true;
  if (const std::uint32_t origin = mask->undefined_at(i))
    machine.report_undefined(origin, instruction.index, "the mask", static_cast<std::int64_t>(i),
                             &machine.shape_of(instruction.operands[0]));
  uncertain = mask->radius_at(i) > 0;
  return mask->bits[mask->size() == 1 ? 0 : i] & 1;
}

}  // namespace

bool admit_address(Machine& machine, const Instruction& instruction, const Value& pointers, std::size_t i) {
  const auto& shape = machine.shape_of(instruction.operands[0]);
  if (const std::uint32_t origin = pointers.undefined_at(i)) {
    machine.report_undefined(origin, instruction.index, "the address", static_cast<std::int64_t>(i), &shape,
                             pointers.bits[i]);
    return false;
  }
  if (pointers.overflow_at(i).any()) {
    machine.report("offset_overflow", instruction.index,
                   "offset left the range of its integer type; got " + element_text(Kind::pointer, pointers.bits[i]) +
                       " after a wrap, expected the exact offset",
                   "cast the index to i64 before it is multiplied", static_cast<std::int64_t>(i), &shape,
                   pointers.bits[i]);
    return false;
  }
  return true;
}

void check_stored_value(Machine& machine, const Instruction& instruction, const Value& value, std::size_t i,
                        std::uint64_t address) {
  if (const std::uint32_t origin = value.undefined_at(i))
    machine.report_undefined(origin, instruction.index, "the stored value", static_cast<std::int64_t>(i),
                             &machine.shape_of(instruction.operands[0]), address);
}

// operands: pointer, mask?, other?; integers: [has mask, has other, is volatile]
void run_load(Machine& machine, const Instruction& instruction) {
  const Value& pointers = machine.slot(instruction.operands[0]);
  const Value* mask = instruction.integers[0] ? &machine.slot(instruction.operands[1]) : nullptr;
  const Value* other =
      instruction.integers[1] ? &machine.slot(instruction.operands[1 + instruction.integers[0]]) : nullptr;
  const bool is_volatile = instruction.integers[2] != 0;
  Value& result = machine.slot(instruction.results[0]);
  const std::size_t count = pointers.size();
  const auto bytes = static_cast<std::uint32_t>(bytes_of(instruction.to));
  result.bits.assign(count, 0);
  result.clear_shadow();
  auto undefined = [&](std::size_t i, std::uint32_t origin) {
    if (!origin) return;
    result.undefined.resize(count, 0);
    result.undefined[i] = origin;
  };
  auto distance = [&](std::size_t i, double radius) {
    if (radius == 0) return;
    result.radius.resize(count, 0);
    result.radius[i] = radius;
  };
  for (std::size_t i = 0; i < count; ++i) {
    bool uncertain = false;
    if (!mask_holds(machine, instruction, mask, i, uncertain)) {
      if (other) {
        const std::size_t from = other->size() == 1 ? 0 : i;
        result.bits[i] = other->bits[from];
        undefined(i, other->undefined_at(i));
        distance(i, uncertain ? std::numeric_limits<double>::infinity() : other->radius_at(i));
      } else if (machine.checking()) {
        undefined(i, instruction.index + 1);
      }
      continue;
    }
    if (!admit_address(machine, instruction, pointers, i)) continue;
    const Lane lane = {instruction, i, pointers.bits[i], bytes};
    MemoryRange* range = machine.memory().locate(lane);
    if (!range) continue;
    if (is_volatile) machine.memory().acquire(lane.address);
    machine.memory().watch(*range, lane, nullptr, is_volatile);
    result.bits[i] = machine.memory().load(lane, instruction.to);
    double radius = machine.memory().radius_at(*range, lane.address);
    if (uncertain && other)
      radius = std::max(radius, std::fabs(to_double(instruction.to, result.bits[i]) -
                                          to_double(instruction.to, other->bits[other->size() == 1 ? 0 : i])) +
                                    other->radius_at(i));
    distance(i, radius);
  }
}

// operands: pointer, value, mask?; integers: [has mask]
void run_store(Machine& machine, const Instruction& instruction) {
  const Value& pointers = machine.slot(instruction.operands[0]);
  const Value& values = machine.slot(instruction.operands[1]);
  const Value* mask = instruction.integers[0] ? &machine.slot(instruction.operands[2]) : nullptr;
  const Kind kind = machine.type(instruction.operands[1]).kind;
  const auto bytes = static_cast<std::uint32_t>(bytes_of(kind));
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    bool uncertain = false;
    const bool on = mask_holds(machine, instruction, mask, i, uncertain);
    if (!on && !uncertain) continue;
    if (!admit_address(machine, instruction, pointers, i)) continue;
    const Lane lane = {instruction, i, pointers.bits[i], bytes};
    MemoryRange* range = machine.memory().locate(lane);
    if (!range) continue;
    if (uncertain) {
      // Another device may or may not store: the old and the new value are both right.
      const double apart =
          std::fabs(to_double(kind, machine.memory().load(lane, kind)) - to_double(kind, values.bits[i]));
      const double radius = std::max(machine.memory().radius_at(*range, lane.address), values.radius_at(i)) + apart;
      const std::uint64_t bits = on ? values.bits[i] : machine.memory().load(lane, kind);
      machine.memory().store(*range, lane, kind, bits, radius);
      continue;
    }
    check_stored_value(machine, instruction, values, i, lane.address);
    machine.memory().watch(*range, lane, &values.bits[i], false);
    machine.memory().store(*range, lane, kind, values.bits[i], values.radius_at(i));
  }
}

// operands: address, shape…, strides…; integers: [padding is NaN, rank]
void run_make_descriptor(Machine& machine, const Instruction& instruction) {
  Value& result = machine.slot(instruction.results[0]);
  const auto rank = static_cast<std::size_t>(instruction.integers[1]);
  result.bits.assign(2 + 2 * rank, 0);
  result.clear_shadow();
  result.bits[0] = machine.slot(instruction.operands[0]).bits[0];
  result.bits[1] = static_cast<std::uint64_t>(instruction.integers[0]);
  for (std::size_t d = 0; d < 2 * rank; ++d) {
    const Slot operand = instruction.operands[1 + d];
    result.bits[2 + d] =
        static_cast<std::uint64_t>(sign_extend(machine.slot(operand).bits[0], width_of(machine.type(operand).kind)));
  }
  for (Slot operand : instruction.operands)
    if (const std::uint32_t origin = machine.slot(operand).undefined_at(0))
      machine.report_undefined(origin, instruction.index, "a part of the descriptor", -1, nullptr);
}

namespace {

// Visits each element of the block: `visit(position, address, inside)`. Indices start at `first` of the operands.
template <class F>
void walk_block(Machine& machine, const Instruction& instruction, std::size_t first, F visit) {
  const Value& descriptor = machine.slot(instruction.operands[0]);
  const SlotType& type = machine.type(instruction.operands[0]);
  const std::size_t rank = type.shape.size();
  const std::int64_t bytes = bytes_of(type.pointee);
  std::vector<std::int64_t> start(rank), place(rank, 0);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const Value& index = machine.slot(instruction.operands[first + d]);
    if (const std::uint32_t origin = index.undefined_at(0))
      machine.report_undefined(origin, instruction.index, "an index of the block", -1, nullptr);
    if (index.overflow_at(0).any())
      machine.report("offset_overflow", instruction.index,
                     "index left the range of its integer type; got " + element_text(Kind::i32, index.bits[0]) +
                         " after a wrap, expected the exact index",
                     "keep block indices below 2^31");
    start[d] = sign_extend(index.bits[0], 32);
    count *= type.shape[d];
  }
  for (std::int64_t position = 0; position < count && !machine.stopped(); ++position) {
    bool inside = true;
    std::uint64_t address = descriptor.bits[0];
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t at = start[d] + place[d];
      inside = inside && at >= 0 && at < static_cast<std::int64_t>(descriptor.bits[2 + d]);
      address += static_cast<std::uint64_t>(at) * descriptor.bits[2 + rank + d] * static_cast<std::uint64_t>(bytes);
    }
    visit(static_cast<std::size_t>(position), address, inside);
    for (std::size_t d = rank; d-- > 0;) {
      if (++place[d] < type.shape[d]) break;
      place[d] = 0;
    }
  }
}

}  // namespace

void run_descriptor_load(Machine& machine, const Instruction& instruction) {
  Value& result = machine.slot(instruction.results[0]);
  const Kind kind = instruction.to;
  result.bits.resize(static_cast<std::size_t>(machine.type(instruction.results[0]).elements));
  result.clear_shadow();
  const bool nan = machine.slot(instruction.operands[0]).bits[1] != 0 && is_float(kind);
  const std::uint64_t padding = nan ? from_double(kind, std::numeric_limits<double>::quiet_NaN()) : 0;
  walk_block(machine, instruction, 1, [&](std::size_t position, std::uint64_t address, bool inside) {
    result.bits[position] = padding;
    const Lane lane = {instruction, position, address, static_cast<std::uint32_t>(bytes_of(kind))};
    MemoryRange* range = inside ? machine.memory().locate(lane) : nullptr;
    if (!range) return;
    machine.memory().watch(*range, lane, nullptr, false);
    result.bits[position] = machine.memory().load(lane, kind);
    if (const double radius = machine.memory().radius_at(*range, address)) {
      result.radius.resize(result.bits.size(), 0);
      result.radius[position] = radius;
    }
  });
}

void run_descriptor_store(Machine& machine, const Instruction& instruction) {
  const Value& values = machine.slot(instruction.operands[1]);
  const Kind kind = machine.type(instruction.operands[1]).kind;
  walk_block(machine, instruction, 2, [&](std::size_t position, std::uint64_t address, bool inside) {
    const Lane lane = {instruction, position, address, static_cast<std::uint32_t>(bytes_of(kind))};
    MemoryRange* range = inside ? machine.memory().locate(lane) : nullptr;
    if (!range) return;
    check_stored_value(machine, instruction, values, position, address);
    machine.memory().watch(*range, lane, &values.bits[position], false);
    machine.memory().store(*range, lane, kind, values.bits[position], values.radius_at(position));
  });
}

}  // namespace teeny::compiler::interpreter
