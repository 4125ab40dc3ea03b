// Loads, stores, atomics and copies: lane by lane, in the order of their numbers.
#include "compiler/gpu/simulator/machine.hpp"

namespace teeny::compiler::simulator {

namespace {

std::uint8_t* bytes_of(Word& word) { return reinterpret_cast<std::uint8_t*>(&word); }

// Of an access of several elements.
constexpr std::int64_t widest_access = 16;

std::int64_t alignment_of(const Instruction& instruction, std::int64_t count) {
  const std::int64_t all = std::min<std::int64_t>(count * instruction.bytes, widest_access);
  return std::max<std::int64_t>({instruction.number, all, instruction.bytes});
}

std::int64_t index_of(Word word, const Instruction& instruction) {
  return static_cast<std::int32_t>(word) + instruction.offset;
}

}  // namespace

void run_load(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* addresses = machine.values(warp, machine.operand(instruction, 0));
  const Word lanes = machine.accessing(warp, instruction);
  const std::int64_t count = instruction.result_count, alignment = alignment_of(instruction, count);
  const bool others = instruction.operand_count > 1;
  for (std::uint32_t k = 0; k < instruction.result_count; ++k) {
    Word* results = machine.values(warp, machine.result(instruction, k));
    if (others)
      std::copy_n(machine.values(warp, machine.operand(instruction, 1 + k)), machine.lanes(), results);
    else
      std::fill_n(results, machine.lanes(), Word(0));
  }
  for_each_lane(lanes, [&](int lane) {
    const Access access{instruction, machine.thread(warp, lane)};
    const Word address = addresses[lane] + Word(instruction.offset);
    if (!machine.reach(access, address, count * instruction.bytes, alignment)) return;
    for (std::uint32_t k = 0; k < instruction.result_count; ++k) {
      Word value = 0;
      machine.read_global(access, address + k * Word(instruction.bytes), bytes_of(value), instruction.bytes);
      machine.values(warp, machine.result(instruction, k))[lane] = value;
    }
  });
}

void run_store(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* addresses = machine.values(warp, machine.operand(instruction, 0));
  const std::uint32_t count = instruction.operand_count - 1;
  const std::int64_t alignment = alignment_of(instruction, count);
  for_each_lane(machine.accessing(warp, instruction), [&](int lane) {
    const Access access{instruction, machine.thread(warp, lane)};
    const Word address = addresses[lane] + Word(instruction.offset);
    if (!machine.reach(access, address, count * instruction.bytes, alignment)) return;
    for (std::uint32_t k = 0; k < count; ++k) {
      Word value = machine.values(warp, machine.operand(instruction, 1 + k))[lane];
      machine.write_global(access, address + k * Word(instruction.bytes), bytes_of(value), instruction.bytes);
    }
  });
}

namespace {

// Lanes that do not take part get 0.
void clear_result(Machine& machine, Warp& warp, const Instruction& instruction) {
  std::fill_n(machine.values(warp, machine.result(instruction, 0)), machine.lanes(), Word(0));
}

template <class Combine>
void update_global(Machine& machine, Warp& warp, const Instruction& instruction, Combine combined) {
  const Word* addresses = machine.values(warp, machine.operand(instruction, 0));
  Word* results = machine.values(warp, machine.result(instruction, 0));
  const Word lanes = machine.accessing(warp, instruction);
  clear_result(machine, warp, instruction);
  for_each_lane(lanes, [&](int lane) {
    const Access access{instruction, machine.thread(warp, lane), true};
    const Word address = addresses[lane] + Word(instruction.offset);
    if (!machine.reach(access, address, instruction.bytes, instruction.bytes)) return;
    Word old = 0;
    machine.read_global(access, address, bytes_of(old), instruction.bytes);
    Word value = combined(lane, old);
    machine.write_global(access, address, bytes_of(value), instruction.bytes);
    results[lane] = old;
  });
}

}  // namespace

void run_atomic_rmw(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* values = machine.values(warp, machine.operand(instruction, 1));
  update_global(machine, warp, instruction, [&](int lane, Word old) {
    return interpreter::combine(static_cast<tt::RMWOp>(instruction.number), instruction.element.from, old,
                                values[lane]);
  });
}

void run_atomic_cas(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* expected = machine.values(warp, machine.operand(instruction, 1));
  const Word* values = machine.values(warp, machine.operand(instruction, 2));
  update_global(machine, warp, instruction,
                [&](int lane, Word old) { return old == expected[lane] ? values[lane] : old; });
}

namespace {

// Calls work(access, lane, byte offset) for each lane that makes an access inside of its array.
template <class Work>
void each_place(Machine& machine, Warp& warp, const Instruction& instruction, std::int64_t count, bool atomic,
                Work work) {
  const Word* indices = machine.values(warp, machine.operand(instruction, 0));
  std::int64_t places[64];
  std::fill_n(places, machine.lanes(), -1);
  for_each_lane(machine.accessing(warp, instruction), [&](int lane) {
    const Access access{instruction, machine.thread(warp, lane), atomic};
    places[lane] = machine.place(access, index_of(indices[lane], instruction), count, instruction.bytes);
    if (places[lane] >= 0) work(access, lane, places[lane]);
  });
  machine.count_banks(instruction, places, machine.lanes(), count * instruction.bytes);
}

}  // namespace

void run_shared_load(Machine& machine, Warp& warp, const Instruction& instruction) {
  for (std::uint32_t k = 0; k < instruction.result_count; ++k)
    std::fill_n(machine.values(warp, machine.result(instruction, k)), machine.lanes(), Word(0));
  each_place(machine, warp, instruction, instruction.result_count, false,
             [&](const Access& access, int lane, std::int64_t at) {
               for (std::uint32_t k = 0; k < instruction.result_count; ++k) {
                 Word value = 0;
                 machine.read_shared(access, at + k * instruction.bytes, bytes_of(value), instruction.bytes);
                 machine.values(warp, machine.result(instruction, k))[lane] = value;
               }
             });
}

void run_shared_store(Machine& machine, Warp& warp, const Instruction& instruction) {
  const std::uint32_t count = instruction.operand_count - 1;
  each_place(machine, warp, instruction, count, false, [&](const Access& access, int lane, std::int64_t at) {
    for (std::uint32_t k = 0; k < count; ++k) {
      Word value = machine.values(warp, machine.operand(instruction, 1 + k))[lane];
      machine.write_shared(access, at + k * instruction.bytes, bytes_of(value), instruction.bytes);
    }
  });
}

void run_shared_atomic(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* values = machine.values(warp, machine.operand(instruction, 1));
  Word* results = machine.values(warp, machine.result(instruction, 0));
  clear_result(machine, warp, instruction);
  each_place(machine, warp, instruction, 1, true, [&](const Access& access, int lane, std::int64_t at) {
    Word old = 0;
    machine.read_shared(access, at, bytes_of(old), instruction.bytes);
    Word value = interpreter::combine(static_cast<tt::RMWOp>(instruction.number), instruction.element.from, old,
                                      values[lane]);
    machine.write_shared(access, at, bytes_of(value), instruction.bytes);
    results[lane] = old;
  });
}

// Lanes whose mask does not hold write zeros.
void run_copy(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* indices = machine.values(warp, machine.operand(instruction, 0));
  const Word* addresses = machine.values(warp, machine.operand(instruction, 1));
  const Word reading = machine.accessing(warp, instruction);
  for_each_lane(warp.mask, [&](int lane) {
    const Access access{instruction, machine.thread(warp, lane)};
    Copy copy{.lane = lane,
              .group = warp.groups[std::size_t(lane)],
              .from = addresses[lane] + Word(instruction.address_offset),
              .bytes = instruction.number,
              .reads = (reading >> lane & 1) != 0,
              .instruction = &instruction};
    copy.to = machine.place(access, index_of(indices[lane], instruction), copy.bytes / instruction.bytes,
                            instruction.bytes);
    if (copy.to < 0 || (copy.reads && !machine.reach(access, copy.from, copy.bytes, copy.bytes))) return;
    machine.begin_copy(warp, copy);
  });
}

void run_commit(Machine&, Warp& warp, const Instruction&) {
  for_each_lane(warp.mask, [&](int lane) { ++warp.groups[std::size_t(lane)]; });
}

void run_wait(Machine& machine, Warp& warp, const Instruction& instruction) {
  machine.land_copies(warp, instruction);
}

}  // namespace teeny::compiler::simulator
