// Matrix units: products in registers, and products that read shared memory beside the warps.
//
// A product beside the warps reads its operands when it begins; they may not change before the mma_wait that covers it. It
// sees what a lane wrote where that lane has passed a fence_async, and then a barrier.
#include <algorithm>

#include "compiler/gpu/simulator/machine.hpp"

namespace teeny::compiler::simulator {

namespace {

std::vector<Unit::Place> places_of(const LinearLayout& layout, int rows, int columns) {
  std::vector<Unit::Place> places(std::size_t(rows) * std::size_t(columns));
  for (std::int32_t lane = 0; lane < layout.input_size(Axis::lane); ++lane)
    for (std::int32_t reg = 0; reg < layout.input_size(Axis::reg); ++reg) {
      const Point point = layout.apply({{Axis::reg, reg}, {Axis::lane, lane}});
      places[std::size_t(point[0].second) * std::size_t(columns) + std::size_t(point[1].second)] = {
          static_cast<std::uint16_t>(reg), static_cast<std::uint16_t>(lane)};
    }
  return places;
}

}  // namespace

Unit unit_of(const gpu::MatrixUnit& row) {
  const int rows = row.m / row.warps;
  Unit unit{row.m, row.n, row.k, row.warps, row.operand == "tf32", places_of(row.a, rows, row.k), {},
            places_of(row.accumulators, rows, row.n)};
  if (row.form == gpu::MatrixUnit::Form::fragments) unit.b = places_of(row.b, row.k, row.n);
  return unit;
}

namespace {

// An operand's element; tf32 units look at the upper 19 bits alone.
double number_of(const Unit& unit, Kind kind, Word bits) {
  return interpreter::to_double(kind, unit.tf32 ? bits & ~Word(0x1fff) : bits);
}

// sums[m][n] + the ascending chain over k. Products of operands are exact in double, so each step rounds like a fused
// multiply-add but for rare ties.
void multiply(const Unit& unit, const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& sums,
              bool of_integers) {
  for (int m = 0; m < unit.m / unit.warps; ++m)
    for (int k = 0; k < unit.k; ++k) {
      const double left = a[std::size_t(m * unit.k + k)];
      const double* right = b.data() + std::size_t(k * unit.n);
      double* sum = sums.data() + std::size_t(m * unit.n);
      if (of_integers)
        for (int n = 0; n < unit.n; ++n) sum[n] += left * right[n];
      else
        for (int n = 0; n < unit.n; ++n) sum[n] = static_cast<float>(sum[n] + left * right[n]);
    }
}

void put_sums(Machine& machine, Warp& warp, const Instruction& instruction, const Unit& unit, const std::vector<double>& sums) {
  const Kind sum_kind = instruction.element.to;
  for (std::size_t i = 0; i < unit.sums.size(); ++i) {
    const Word bits = sum_kind == Kind::i32
                          ? static_cast<Word>(static_cast<std::int64_t>(sums[i])) & 0xffffffffu
                          : interpreter::Element<Kind::f32>::put(static_cast<float>(sums[i]));
    machine.values(warp, machine.result(instruction, unit.sums[i].reg))[unit.sums[i].lane] = bits;
  }
}

}  // namespace

void run_mma(Machine& machine, Warp& warp, const Instruction& instruction) {
  if (!machine.whole(warp, instruction)) return;
  const Unit& unit = machine.code().units[instruction.unit];
  const auto first_b = std::uint32_t(instruction.number), first_sum = first_b + std::uint32_t(instruction.bytes);
  const auto word = [&](std::uint32_t first, Unit::Place place) {
    return machine.values(warp, machine.operand(instruction, first + place.reg))[place.lane];
  };
  static thread_local std::vector<double> a, b, sums;
  a.clear(), b.clear(), sums.clear();
  const Kind kind = instruction.element.from, sum_kind = instruction.element.to;
  for (Unit::Place place : unit.a) a.push_back(number_of(unit, kind, word(0, place)));
  for (Unit::Place place : unit.b) b.push_back(number_of(unit, kind, word(first_b, place)));
  for (Unit::Place place : unit.sums) sums.push_back(interpreter::to_double(sum_kind, word(first_sum, place)));
  multiply(unit, a, b, sums, sum_kind == Kind::i32);
  put_sums(machine, warp, instruction, unit, sums);
}

namespace {

// The elements of an operand, row-major as the tables have them: `own` x k where the depth is the second dimension (a),
// k x `own` otherwise. `first_own`: the first row of a that this warp's share has.
std::vector<double> placed_elements(Machine& machine, Warp& warp, const Instruction& instruction, const Placed& placed,
                                    std::int64_t index, const Unit& unit, bool is_a) {
  const int own_extent = is_a ? unit.m / unit.warps : unit.n, bytes = instruction.bytes;
  const int first_own = is_a ? warp.number % unit.warps * own_extent : 0;
  std::vector<double> elements(std::size_t(own_extent) * std::size_t(unit.k));
  Instruction access_to = instruction;
  access_to.array = placed.array;
  const std::int64_t start = placed.array.offset + (index + placed.offset) * bytes;
  for (int own = 0; own < own_extent; ++own)
    for (int k = 0; k < unit.k; ++k) {
      const std::int64_t fast = placed.transposed ? first_own + own : k, slow = placed.transposed ? k : first_own + own;
      const std::int64_t within = placed.swizzle / bytes;
      std::int64_t at = start + fast / within * placed.panel * bytes + slow * placed.swizzle + fast % within * bytes;
      // Bits 4 … are xored with bits 7 …, as many as a row has groups of 16 bytes.
      at ^= (at >> 7 & (placed.swizzle / 16 - 1)) << 4;
      if (machine.place({access_to, machine.thread(warp, 0)}, (at - placed.array.offset) / bytes, 1, bytes) < 0) return {};
      const Word word = machine.begin_reading(warp, instruction, at, bytes);
      elements[std::size_t(is_a ? own * unit.k + k : k * own_extent + own)] = number_of(unit, instruction.element.from, word);
    }
  return elements;
}

}  // namespace

void run_mma_async(Machine& machine, Warp& warp, const Instruction& instruction) {
  if (!machine.whole(warp, instruction)) return;
  const Unit& unit = machine.code().units[instruction.unit];
  const Placed *placed = machine.code().placed.data() + instruction.target, &b_placed = placed[1];
  const auto registers = std::uint32_t(instruction.number), index_b = registers == 0 ? 1u : registers;
  const auto index_of = [&](std::uint32_t operand) {
    return std::int64_t(static_cast<std::int32_t>(machine.values(warp, machine.operand(instruction, operand))[0]));
  };
  std::vector<double> a, sums;
  if (registers == 0)
    a = placed_elements(machine, warp, instruction, placed[0], index_of(0), unit, true);
  else
    for (Unit::Place place : unit.a)
      a.push_back(number_of(unit, instruction.element.from, machine.values(warp, machine.operand(instruction, place.reg))[place.lane]));
  const std::vector<double> b = placed_elements(machine, warp, instruction, b_placed, index_of(index_b), unit, false);
  if (a.empty() || b.empty()) return machine.stop();  // after a finding
  const Kind kind = instruction.element.to;
  for (Unit::Place place : unit.sums)
    sums.push_back(interpreter::to_double(kind, machine.values(warp, machine.operand(instruction, index_b + 1 + place.reg))[place.lane]));
  multiply(unit, a, b, sums, kind == Kind::i32);
  put_sums(machine, warp, instruction, unit, sums);
}

void run_mma_commit(Machine&, Warp& warp, const Instruction&) { ++warp.products; }

void run_mma_wait(Machine& machine, Warp& warp, const Instruction& instruction) {
  run_moves(machine, warp, instruction);
  machine.end_readings(warp, instruction);
}

void run_fence(Machine& machine, Warp& warp, const Instruction&) { machine.fence(warp); }

// ---- what products read and see

Word Machine::begin_reading(Warp& warp, const Instruction& instruction, std::int64_t at, std::int64_t bytes) {
  Word found = 0;
  read_shared({instruction, thread(warp, 0)}, at, reinterpret_cast<std::uint8_t*>(&found), bytes);
  for (std::int64_t i = at; i < at + bytes; ++i)
    if (unseen_[std::size_t(i)] != 0 && first(Fault::race, instruction))
      report(Fault::race, instruction,
             "what lanes write to shared memory is seen by products beside them behind a fence_async and a barrier; got a "
             "read of byte " + std::to_string(i) + " without " + (unseen_[std::size_t(i)] == 2 ? "a fence" : "a barrier"),
             lowering_at_fault);
  warp.readings.push_back({std::int64_t(warp.products), at, bytes, found, &instruction});
  return found;
}

void Machine::end_readings(Warp& warp, const Instruction& wait) {
  const std::int64_t ended = std::int64_t(warp.products) - wait.number;
  const auto ends = [&](const Reading& reading) { return reading.group < ended; };
  for (const Reading& reading : warp.readings) {
    if (!ends(reading)) continue;
    Word now = 0;
    read_shared({*reading.instruction, thread(warp, 0)}, reading.at, reinterpret_cast<std::uint8_t*>(&now), reading.bytes);
    if (now != reading.found && first(Fault::race, *reading.instruction))
      report(Fault::race, *reading.instruction,
             "bytes that an mma_async reads may not change before its mma_wait; got other ones at " + std::to_string(reading.at),
             lowering_at_fault);
  }
  std::erase_if(warp.readings, ends);
}

void Machine::fence(const Warp& warp) {
  for (std::size_t i = 0; i < unseen_.size(); ++i)
    if (unseen_[i] == 2 && int(cells_[i].writer) / lanes() == warp.number && (warp.mask >> (cells_[i].writer % lanes()) & 1) != 0)
      unseen_[i] = 1;
}

}  // namespace teeny::compiler::simulator
