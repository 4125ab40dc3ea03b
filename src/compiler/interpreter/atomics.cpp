// Atomic operations and the barrier. Lanes of one operation act in ascending order.
#include <algorithm>

#include "compiler/interpreter/bounds.hpp"
#include "compiler/interpreter/build.hpp"
#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

using tt::MemSemantic;
using tt::RMWOp;

// What an atomic leaves in memory.
std::uint64_t combine_integer(RMWOp op, Kind kind, std::uint64_t old, std::uint64_t value) {
  const int width = width_of(kind);
  const std::int64_t a = sign_extend(old, width), b = sign_extend(value, width);
  switch (op) {
    case RMWOp::AND: return old & value;
    case RMWOp::OR: return old | value;
    case RMWOp::XOR: return old ^ value;
    case RMWOp::ADD: return (old + value) & low_mask(width);
    case RMWOp::MAX: return a > b ? old : value;
    case RMWOp::MIN: return a < b ? old : value;
    case RMWOp::UMAX: return std::max(old, value);
    case RMWOp::UMIN: return std::min(old, value);
    default: return value;  // XCHG
  }
}

template <Kind K>
std::uint64_t combine_float(RMWOp op, std::uint64_t old, std::uint64_t value) {
  const auto a = Element<K>::get(old), b = Element<K>::get(value);
  switch (op) {
    case RMWOp::FADD:
    case RMWOp::ADD: return Element<K>::put(a + b);
    case RMWOp::FMAX:
    case RMWOp::MAX: return a != a ? value : b != b ? old : a > b || (a == b && !std::signbit(a)) ? old : value;
    case RMWOp::FMIN:
    case RMWOp::MIN: return a != a ? value : b != b ? old : a < b || (a == b && std::signbit(a)) ? old : value;
    default: return value;
  }
}

}  // namespace

std::uint64_t combine(RMWOp op, Kind kind, std::uint64_t old, std::uint64_t value) {
  switch (kind) {
    case Kind::f16: return combine_float<Kind::f16>(op, old, value);
    case Kind::bf16: return combine_float<Kind::bf16>(op, old, value);
    case Kind::f32: return combine_float<Kind::f32>(op, old, value);
    case Kind::f64: return combine_float<Kind::f64>(op, old, value);
    default: return combine_integer(op, kind, old, value);
  }
}

namespace {

bool is_sum(RMWOp op, Kind kind) { return is_float(kind) && (op == RMWOp::FADD || op == RMWOp::ADD); }

// The radius an element has after one more float addition in whatever order the launch's programs come.
double add_radius(Machine& machine, Kind kind, std::uint64_t address, double old, double old_radius, double value,
                  double value_radius) {
  AtomicSum& sum = machine.memory().atomic_sum(address);
  if (sum.terms == 0) {
    sum.magnitude = std::fabs(old);
    sum.radius = old_radius;
    sum.quantum = quantum_of(old);
  }
  ++sum.terms;
  sum.magnitude += std::fabs(value);
  sum.radius += value_radius;
  sum.quantum = std::min(sum.quantum, quantum_of(value));
  return sum_radius(static_cast<double>(sum.terms), sum.magnitude + sum.radius, sum.radius > 0 ? 0 : sum.quantum,
                    unit_roundoff(kind)) +
         sum.radius;
}

// One lane: reads, combines, writes. Returns the old value.
template <class Combine>
std::uint64_t update(Machine& machine, MemoryRange& range, const Lane& lane, Kind kind, Combine combined) {
  const std::uint64_t old = machine.memory().load(lane, kind);
  const auto [bits, radius] = combined(old, machine.memory().radius_at(range, lane.address));
  machine.memory().watch(range, lane, &bits, true);
  machine.memory().store(range, lane, kind, bits, radius);
  return old;
}

// Runs `body(i, lane, range)` for each active lane between the acquire and the release that the operation asks for.
template <class Body>
void run_atomic(Machine& machine, const Instruction& instruction, MemSemantic order, const Value* mask, Body body) {
  const Value& pointers = machine.slot(instruction.operands[0]);
  const auto bytes = static_cast<std::uint32_t>(bytes_of(machine.type(instruction.operands[0]).pointee));
  Memory& memory = machine.memory();
  memory.new_phase();
  auto active = [&](std::size_t i) { return !mask || (mask->bits[mask->size() == 1 ? 0 : i] & 1); };
  const bool acquires = order == MemSemantic::ACQUIRE || order == MemSemantic::ACQUIRE_RELEASE;
  const bool releases = order == MemSemantic::RELEASE || order == MemSemantic::ACQUIRE_RELEASE;
  for (std::size_t i = 0; acquires && i < pointers.size(); ++i)
    if (active(i)) memory.acquire(pointers.bits[i]);
  for (std::size_t i = 0; i < pointers.size() && !machine.stopped(); ++i) {
    if (mask)
      if (const std::uint32_t origin = mask->undefined_at(i))
        machine.report_undefined(origin, instruction.index, "the mask", static_cast<std::int64_t>(i),
                                 &machine.shape_of(instruction.operands[0]));
    if (!active(i) || !admit_address(machine, instruction, pointers, i)) continue;
    const Lane lane = {instruction, i, pointers.bits[i], bytes};
    if (MemoryRange* range = memory.locate(lane)) body(i, lane, *range);
  }
  for (std::size_t i = 0; releases && i < pointers.size(); ++i)
    if (active(i)) memory.release(pointers.bits[i]);
  memory.end_release();
  memory.new_phase();
}

}  // namespace

// operands: pointer, value, mask?; integers: [RMWOp, MemSemantic, has mask]
void run_atomic_rmw(Machine& machine, const Instruction& instruction) {
  const auto op = static_cast<RMWOp>(instruction.integers[0]);
  const Value& values = machine.slot(instruction.operands[1]);
  const Value* mask = instruction.integers[2] ? &machine.slot(instruction.operands[2]) : nullptr;
  const Kind kind = machine.type(instruction.operands[1]).kind;
  Value result;
  result.bits.assign(machine.slot(instruction.operands[0]).size(), 0);
  const bool orders_matter = machine.with_radius() && is_sum(op, kind);
  run_atomic(machine, instruction, static_cast<MemSemantic>(instruction.integers[1]), mask,
             [&](std::size_t i, const Lane& lane, MemoryRange& range) {
               check_stored_value(machine, instruction, values, i, lane.address);
               result.bits[i] = update(machine, range, lane, kind, [&](std::uint64_t old, double old_radius) {
                 const std::uint64_t bits = combine(op, kind, old, values.bits[i]);
                 double radius = std::max(op == RMWOp::XCHG ? 0.0 : old_radius, values.radius_at(i));
                 if (orders_matter)
                   radius = add_radius(machine, kind, lane.address, to_double(kind, old), old_radius,
                                       to_double(kind, values.bits[i]), values.radius_at(i));
                 return std::make_pair(bits, radius);
               });
               // What a lane finds before its own addition depends on who came first.
               if (orders_matter) {
                 result.radius.resize(result.bits.size(), 0);
                 result.radius[i] = std::numeric_limits<double>::infinity();
               }
             });
  machine.slot(instruction.results[0]) = std::move(result);
}

// operands: pointer, expected, desired; compares bits
void run_atomic_cas(Machine& machine, const Instruction& instruction) {
  const Value& expected = machine.slot(instruction.operands[1]);
  const Value& desired = machine.slot(instruction.operands[2]);
  const Kind kind = machine.type(instruction.operands[1]).kind;
  Value result;
  result.bits.assign(machine.slot(instruction.operands[0]).size(), 0);
  run_atomic(machine, instruction, static_cast<MemSemantic>(instruction.integers[1]), nullptr,
             [&](std::size_t i, const Lane& lane, MemoryRange& range) {
               check_stored_value(machine, instruction, expected, i, lane.address);
               check_stored_value(machine, instruction, desired, i, lane.address);
               result.bits[i] = update(machine, range, lane, kind, [&](std::uint64_t old, double old_radius) {
                 const bool equal = old == expected.bits[i];
                 return std::make_pair(equal ? desired.bits[i] : old, equal ? desired.radius_at(i) : old_radius);
               });
             });
  machine.slot(instruction.results[0]) = std::move(result);
}

void run_barrier(Machine& machine, const Instruction&) { machine.memory().new_phase(); }

}  // namespace teeny::compiler::interpreter
