// Arithmetic and control flow. Arithmetic runs for all lanes: what an inactive lane computes, nobody reads.
#include "compiler/gpu/simulator/machine.hpp"

namespace teeny::compiler::simulator {

void run_elements(Machine& machine, Warp& warp, const Instruction& instruction) {
  interpreter::Elements elements;
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
    elements.operands[i] = machine.values(warp, machine.operand(instruction, i));
    elements.steps[i] = 1;
  }
  elements.result = machine.values(warp, machine.result(instruction, 0));
  elements.count = std::size_t(machine.lanes());
  instruction.apply(instruction.element, elements);
}

// All at once: a loop may exchange what it carries.
void run_moves(Machine& machine, Warp& warp, const Instruction& instruction) {
  const std::size_t lanes = std::size_t(machine.lanes());
  std::vector<Word>& kept = machine.scratch();
  kept.resize(instruction.operand_count * lanes);
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i)
    std::copy_n(machine.values(warp, machine.operand(instruction, i)), lanes, kept.data() + i * lanes);
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
    Word* to = machine.values(warp, machine.result(instruction, i));
    const Word* from = kept.data() + i * lanes;
    if (warp.mask == machine.all_lanes())
      std::copy_n(from, lanes, to);
    else
      for_each_lane(warp.mask, [&](int lane) { to[lane] = from[lane]; });
  }
}

static Word lanes_where(Machine& machine, Warp& warp, Slot slot) {
  const Word* values = machine.values(warp, slot);
  Word mask = 0;
  for_each_lane(warp.mask, [&](int lane) { mask |= Word(values[lane] != 0) << lane; });
  return mask;
}

void run_branch(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word taken = lanes_where(machine, warp, machine.operand(instruction, 0));
  warp.masks.push_back(warp.mask);
  warp.masks.push_back(warp.mask & ~taken);
  warp.mask = taken;
  if (taken == 0) machine.jump(warp, instruction.target);
}

void run_else(Machine& machine, Warp& warp, const Instruction& instruction) {
  warp.mask = warp.masks.back();
  warp.masks.pop_back();
  if (warp.mask == 0) machine.jump(warp, instruction.target);
}

void run_join(Machine&, Warp& warp, const Instruction&) {
  warp.mask = warp.masks.back();
  warp.masks.pop_back();
}

void run_save(Machine&, Warp& warp, const Instruction&) { warp.masks.push_back(warp.mask); }

// The variable itself may pass the end of its type after the last round.
void run_count(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* lower = machine.values(warp, machine.operand(instruction, 0));
  const Word* upper = machine.values(warp, machine.operand(instruction, 1));
  const Word* step = machine.values(warp, machine.operand(instruction, 2));
  Word* rounds = machine.values(warp, machine.result(instruction, 0));
  const int width = interpreter::width_of(machine.code().kinds[machine.operand(instruction, 0)]);
  for_each_lane(warp.mask, [&](int lane) {
    const bool runs = instruction.number ? lower[lane] < upper[lane]
                                         : interpreter::sign_extend(lower[lane], width) <
                                               interpreter::sign_extend(upper[lane], width);
    if (!runs || step[lane] == 0) {
      rounds[lane] = 0;
      return;
    }
    const Word last = (upper[lane] - lower[lane] - 1) & interpreter::low_mask(width);
    rounds[lane] = last / step[lane] + 1;
  });
}

void run_test(Machine& machine, Warp& warp, const Instruction& instruction) {
  warp.mask = lanes_where(machine, warp, machine.operand(instruction, 0));
  if (warp.mask == 0) machine.jump(warp, instruction.target);
}

void run_next(Machine& machine, Warp& warp, const Instruction& instruction) {
  if (!machine.repeat(instruction)) return;
  const Slot slot = machine.operand(instruction, 0);
  Word* variable = machine.values(warp, slot);
  const Word* step = machine.values(warp, machine.operand(instruction, 1));
  Word* rounds = machine.values(warp, machine.operand(instruction, 2));
  const Word mask = interpreter::low_mask(interpreter::width_of(machine.code().kinds[slot]));
  for_each_lane(warp.mask, [&](int lane) {
    variable[lane] = (variable[lane] + step[lane]) & mask;
    --rounds[lane];
  });
  machine.jump(warp, instruction.target);
}

void run_again(Machine& machine, Warp& warp, const Instruction& instruction) {
  if (machine.repeat(instruction)) machine.jump(warp, instruction.target);
}

void run_end(Machine&, Warp& warp, const Instruction&) { warp.done = true; }

void run_barrier(Machine& machine, Warp& warp, const Instruction& instruction) {
  if (machine.whole(warp, instruction)) warp.barrier = &instruction;
}

}  // namespace teeny::compiler::simulator
