// Constants, indices, movement of elements, hints, assertions and printing.
#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {

void run_move(Machine& machine, const Instruction& instruction) {
  machine.slot(instruction.results[0]) = machine.slot(instruction.operands[0]);
}

void run_constant(Machine& machine, const Instruction& instruction) {
  machine.slot(instruction.results[0]).bits = instruction.constant;
}

void run_poison(Machine& machine, const Instruction& instruction) {
  Value& result = machine.slot(instruction.results[0]);
  const auto count = static_cast<std::size_t>(machine.type(instruction.results[0]).elements);
  result.bits.assign(count, 0);
  if (machine.checking()) result.undefined.assign(count, instruction.index + 1);
}

void run_program_id(Machine& machine, const Instruction& instruction) {
  machine.slot(instruction.results[0]).bits.assign(1, machine.program_id()[instruction.integers[0]]);
}

void run_num_programs(Machine& machine, const Instruction& instruction) {
  machine.slot(instruction.results[0]).bits.assign(1, machine.grid()[instruction.integers[0]]);
}

void run_make_range(Machine& machine, const Instruction& instruction) {
  Value& result = machine.slot(instruction.results[0]);
  const std::int64_t start = instruction.integers[0], end = instruction.integers[1];
  result.bits.resize(static_cast<std::size_t>(end - start));
  for (std::int64_t i = start; i < end; ++i) result.bits[i - start] = static_cast<std::uint64_t>(i) & low_mask(32);
}

namespace {

template <class T>
void gather(const std::vector<T>& source, const std::vector<std::uint32_t>& map, std::vector<T>& result) {
  if (source.empty()) return result.clear();
  result.resize(map.size());
  for (std::size_t i = 0; i < map.size(); ++i) result[i] = source[map[i]];
}

}  // namespace

void run_gather(Machine& machine, const Instruction& instruction) {
  const Value& source = machine.slot(instruction.operands[0]);
  Value& result = machine.slot(instruction.results[0]);
  gather(source.bits, instruction.gather, result.bits);
  gather(source.undefined, instruction.gather, result.undefined);
  gather(source.overflow, instruction.gather, result.overflow);
  gather(source.radius, instruction.gather, result.radius);
}

namespace {

// Walks the elements along dimension `d`: `visit(position, index along d)`.
template <class F>
void walk_dimension(const std::vector<std::int64_t>& shape, std::size_t d, F visit) {
  std::int64_t stride = 1, count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    count *= shape[i];
    if (i > d) stride *= shape[i];
  }
  const std::int64_t length = shape.empty() ? 1 : shape[d];
  for (std::int64_t i = 0; i < count; ++i)
    if (!visit(i, i / stride % length, stride)) return;
}

void check_hint_dimension(Machine& machine, const Instruction& instruction, std::size_t d, std::int64_t divisor,
                          std::int64_t length) {
  const Value& value = machine.slot(instruction.operands[0]);
  const SlotType& type = machine.type(instruction.operands[0]);
  const std::uint64_t mask = low_mask(width_of(type.kind));
  const std::uint64_t unit = type.kind == Kind::pointer ? bytes_of(type.pointee) : 1;
  walk_dimension(type.shape, d, [&](std::int64_t i, std::int64_t along, std::int64_t stride) {
    const std::uint64_t x = value.bits[i];
    const bool continues = along > 0 && x == ((value.bits[i - stride] + unit) & mask);
    if (length > 1 && along % length != 0 && !continues) {
      machine.report("false_hint", instruction.index,
                     "elements are promised to be contiguous in groups of " + std::to_string(length) +
                         " along dimension " + std::to_string(d) + "; got " + element_text(type.kind, x) + " after " +
                         element_text(type.kind, value.bits[i - stride]),
                     "remove max_contiguous, or promise what holds", i, &type.shape);
      return false;
    }
    // A run of consecutive values keeps the promise by its first element.
    const std::int64_t number =
        type.kind == Kind::pointer ? static_cast<std::int64_t>(x) : sign_extend(x, width_of(type.kind));
    if (divisor > 1 && !continues && number % divisor != 0) {
      machine.report(
          "false_hint", instruction.index,
          "value is promised to be a multiple of " + std::to_string(divisor) + "; got " + element_text(type.kind, x),
          "remove multiple_of, or promise what holds", i, &type.shape);
      return false;
    }
    return true;
  });
}

}  // namespace

// integers: [count of divisors, divisors…, lengths…]
void run_hint(Machine& machine, const Instruction& instruction) {
  if (machine.checking()) {
    const auto divisors = static_cast<std::size_t>(instruction.integers[0]);
    const std::size_t lengths = instruction.integers.size() - 1 - divisors;
    for (std::size_t d = 0; d < std::max(divisors, lengths); ++d)
      check_hint_dimension(machine, instruction, d, d < divisors ? instruction.integers[1 + d] : 1,
                           d < lengths ? instruction.integers[1 + divisors + d] : 1);
  }
  if (!instruction.results.empty()) run_move(machine, instruction);
}

void run_assume(Machine& machine, const Instruction& instruction) {
  const Value& condition = machine.slot(instruction.operands[0]);
  if (!machine.checking() || (condition.bits[0] & 1)) return;
  machine.report("false_assume", instruction.index, "condition is promised to hold; got false, expected true",
                 "remove the assumption, or launch only where it holds");
}

void run_assert(Machine& machine, const Instruction& instruction) {
  const Value& condition = machine.slot(instruction.operands[0]);
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition.bits[i] & 1) continue;
    machine.report(
        "assert", instruction.index, "assertion failed; got false, expected: " + instruction.text,
        condition.undefined_at(i) ? "the condition comes from a lane that was not loaded" : "the program stops here",
        static_cast<std::int64_t>(i), &machine.shape_of(instruction.operands[0]));
    return machine.stop_program();
  }
}

// integers: [hexadecimal, signed? of each operand…]
void run_print(Machine& machine, const Instruction& instruction) {
  const std::uint32_t* id = machine.program_id();
  const std::string where =
      "program [" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " + std::to_string(id[2]) + "]";
  std::string text;
  for (std::size_t operand = 0; operand < instruction.operands.size(); ++operand) {
    const Value& value = machine.slot(instruction.operands[operand]);
    const SlotType& type = machine.type(instruction.operands[operand]);
    const bool as_signed = operand + 1 >= instruction.integers.size() || instruction.integers[operand + 1] != 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string lane = lane_text(static_cast<std::int64_t>(i), type.shape);
      text += where + (lane.empty() ? "" : " element " + lane) + " " + instruction.text +
              element_text(type.kind, value.bits[i], as_signed, instruction.integers[0] != 0) + "\n";
    }
  }
  if (instruction.operands.empty()) text = where + " " + instruction.text + "\n";
  machine.print(text);
}

}  // namespace teeny::compiler::interpreter
