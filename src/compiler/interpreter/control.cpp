// Loops, conditionals and calls.
#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

// A while loop may turn this often without changing memory before it counts as endless.
constexpr std::uint64_t idle_limit = std::uint64_t{1} << 22;
// And so often at all.
constexpr std::uint64_t turn_limit = std::uint64_t{1} << 25;

std::vector<Slot> tail(const std::vector<Slot>& slots, std::size_t first) {
  return {slots.begin() + first, slots.end()};
}

bool same_values(Machine& machine, const std::vector<Slot>& slots, const std::vector<Value>& before) {
  if (before.size() != slots.size()) return false;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (machine.slot(slots[i]).bits != before[i].bits) return false;
  return true;
}

void report_stuck(Machine& machine, const Instruction& instruction, bool reads) {
  if (reads) {
    machine.report("waiting", instruction.index,
                   "waits for memory that nothing changes any more; got a loop that every program of lower id has left "
                   "unsatisfied, expected a wait for programs of lower id only",
                   "programs may run in ascending order one after another: let a program wait only for lower ids");
  } else {
    machine.report("endless_loop", instruction.index,
                   "never ends; got a condition that stays true, expected one that turns false",
                   "change a carried value that the condition reads");
  }
  machine.stop_run();
}

}  // namespace

// operands: lower, upper, step, initial values; integers: [unsigned comparison]. The trip count is fixed before the
// first turn, so that the index cannot wrap.
void run_for(Machine& machine, const Instruction& instruction) {
  const int width = width_of(machine.type(instruction.operands[0]).kind);
  const bool is_unsigned = instruction.integers[0] != 0;
  __int128 bounds[3];
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t bits = machine.branch_value(instruction.operands[i], instruction.index);
    bounds[i] = is_unsigned && i < 2 ? static_cast<__int128>(bits) : static_cast<__int128>(sign_extend(bits, width));
  }
  const auto [lower, upper, step] = bounds;
  if (step <= 0) {
    machine.report(
        "loop_step", instruction.index,
        "step of a range; got " + std::to_string(static_cast<std::int64_t>(step)) + ", expected a positive number",
        "count up and subtract");
    return machine.stop_program();
  }
  const __int128 trips = upper <= lower ? 0 : (upper - lower + step - 1) / step;
  const Region& region = instruction.regions[0];
  const std::vector<Slot> carried = tail(region.blocks[0].arguments, 1);
  std::vector<Slot> current = tail(instruction.operands, 3);
  if (!carried.empty()) machine.assign(carried, current);
  for (__int128 trip = 0; trip < trips; ++trip) {
    Value& index = machine.slot(region.blocks[0].arguments[0]);
    index.bits.assign(1, static_cast<std::uint64_t>(lower + trip * step) & low_mask(width));
    index.clear_shadow();
    const Block* exit = nullptr;
    if (!machine.run_region(region, &exit)) return;
    if (!carried.empty()) machine.assign(carried, exit->operands);
  }
  if (!carried.empty()) machine.assign(instruction.results, carried);
}

void run_while(Machine& machine, const Instruction& instruction) {
  const Region &before = instruction.regions[0], &after = instruction.regions[1];
  const std::vector<Slot>& carried = before.blocks[0].arguments;
  if (!carried.empty()) machine.assign(carried, instruction.operands);
  std::uint64_t changes = machine.memory().changes(), idle = 0;
  const std::uint64_t reads = machine.memory().reads();
  std::vector<Value> state;
  for (std::uint64_t turn = 0;; ++turn) {
    const Block* exit = nullptr;
    if (!machine.run_region(before, &exit)) return;
    const std::vector<Slot> values = tail(exit->operands, 1);
    if (!(machine.branch_value(exit->operands[0], exit->exit_index) & 1)) {
      if (!values.empty()) machine.assign(instruction.results, values);
      return;
    }
    if (!values.empty()) machine.assign(after.blocks[0].arguments, values);
    if (!machine.run_region(after, &exit)) return;
    const std::vector<Slot> yielded = exit->operands;
    // The same carried values over unchanged memory repeat for ever.
    const bool changed = machine.memory().changes() != changes;
    idle = changed ? 0 : idle + 1;
    changes = machine.memory().changes();
    const bool repeated = !changed && turn > 0 && same_values(machine, yielded, state);
    if (repeated || idle > idle_limit) return report_stuck(machine, instruction, machine.memory().reads() != reads);
    if (turn > turn_limit) {
      machine.report("endless_loop", instruction.index, "turns without an end; got 2^25 turns, expected fewer",
                     "bound the loop");
      return machine.stop_run();
    }
    state.clear();
    for (Slot slot : yielded) state.push_back(machine.slot(slot));
    if (!carried.empty()) machine.assign(carried, yielded);
  }
}

void run_if(Machine& machine, const Instruction& instruction) {
  const bool condition = machine.branch_value(instruction.operands[0], instruction.index) & 1;
  const Region& region = instruction.regions[condition ? 0 : 1];
  if (region.blocks.empty() || (region.blocks[0].instructions.empty() && region.blocks[0].operands.empty())) return;
  const Block* exit = nullptr;
  if (machine.run_region(region, &exit) && !instruction.results.empty())
    machine.assign(instruction.results, exit->operands);
}

void run_call(Machine& machine, const Instruction& instruction) {
  const Region& region = instruction.regions[0];
  if (!instruction.operands.empty()) machine.assign(region.blocks[0].arguments, instruction.operands);
  const Block* exit = nullptr;
  if (machine.run_region(region, &exit) && !instruction.results.empty())
    machine.assign(instruction.results, exit->operands);
}

}  // namespace teeny::compiler::interpreter
