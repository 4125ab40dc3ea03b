// What the lanes of a warp do together, matrix units among it.
#include <cmath>

#include "compiler/dialect/thread/thread.hpp"
#include "compiler/gpu/simulator/machine.hpp"

namespace teeny::compiler::simulator {

void run_shuffle(Machine& machine, Warp& warp, const Instruction& instruction) {
  if (!machine.whole(warp, instruction)) return;
  const Word* values = machine.values(warp, machine.operand(instruction, 0));
  const Word* distances = machine.values(warp, machine.operand(instruction, 1));
  Word* results = machine.values(warp, machine.result(instruction, 0));
  for (std::int64_t lane = 0; lane < machine.lanes(); ++lane) {
    const std::int64_t distance = static_cast<std::int32_t>(distances[lane]);
    std::int64_t other = lane;
    switch (static_cast<thread::ShuffleKind>(instruction.number)) {
      case thread::ShuffleKind::XOR: other = lane ^ distance; break;
      case thread::ShuffleKind::INDEX: other = distance; break;
      case thread::ShuffleKind::UP: other = lane - distance; break;
      case thread::ShuffleKind::DOWN: other = lane + distance; break;
    }
    results[lane] = values[other >= 0 && other < machine.lanes() ? other : lane];
  }
}

void run_ballot(Machine& machine, Warp& warp, const Instruction& instruction) {
  if (!machine.whole(warp, instruction)) return;
  const Word* conditions = machine.values(warp, machine.operand(instruction, 0));
  Word* results = machine.values(warp, machine.result(instruction, 0));
  Word bits = 0;
  for (int lane = 0; lane < machine.lanes(); ++lane) bits |= (conditions[lane] & 1) << lane;
  std::fill_n(results, machine.lanes(), bits);
}

void run_round_tf32(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* values = machine.values(warp, machine.operand(instruction, 0));
  Word* results = machine.values(warp, machine.result(instruction, 0));
  constexpr Word exponent = 0x7f800000u, kept = ~Word(0x1fff) & 0xffffffffu;
  for (int lane = 0; lane < machine.lanes(); ++lane)
    results[lane] = (values[lane] & exponent) == exponent ? values[lane] : (values[lane] + 0x1000) & kept;
}

// What a device computes in its own way, near enough to this: rounded once from double.
void run_approximation(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word* values = machine.values(warp, machine.operand(instruction, 0));
  Word* results = machine.values(warp, machine.result(instruction, 0));
  using Real = interpreter::Element<Kind::f32>;
  for (int lane = 0; lane < machine.lanes(); ++lane) {
    const double x = Real::get(values[lane]);
    results[lane] = Real::put(static_cast<float>(instruction.number ? 1 / std::sqrt(x) : std::exp2(x)));
  }
}

void run_message(Machine& machine, Warp& warp, const Instruction& instruction) {
  const Word lanes = machine.accessing(warp, instruction);
  if (lanes == 0 || static_cast<thread::MessageKind>(instruction.number) != thread::MessageKind::ASSERT) return;
  if (!machine.first(Fault::failed_assertion, instruction)) return;
  const Word* elements = machine.values(warp, machine.operand(instruction, 0));
  machine.report(Fault::failed_assertion, instruction,
                 "assertion failed; got false for element " + std::to_string(elements[std::countr_zero(lanes)]) +
                     ", expected true",
                 "the program goes on");
}

namespace {

// Where lane i's piece of matrix m begins, in bytes from its row's start, and which row; row-wise and transposed.
struct Piece {
  int row, byte;
};
Piece piece_of(int lane, int number, bool transposed, int bytes) {
  if (transposed) return {2 * (lane % 4) + number, lane / 4 * bytes};
  return {lane / 4, 4 * (lane % 4) + number * bytes};
}

// Rows of 16 bytes that lanes 0 … 8 * matrices - 1 name; false after a finding.
bool find_rows(Machine& machine, Warp& warp, const Instruction& instruction, int matrices, std::int64_t (&rows)[32]) {
  if (!machine.whole(warp, instruction)) return false;
  const Word* indices = machine.values(warp, machine.operand(instruction, 0));
  for (int lane = 0; lane < 8 * matrices; ++lane) {
    const Access access{instruction, machine.thread(warp, lane)};
    rows[lane] = machine.place(access, static_cast<std::int32_t>(indices[lane]) + instruction.offset,
                               16 / instruction.bytes, instruction.bytes);
    if (rows[lane] < 0) return false;
  }
  machine.count_banks(instruction, rows, 8 * matrices, 16);
  return true;
}

}  // namespace

void run_matrix_load(Machine& machine, Warp& warp, const Instruction& instruction) {
  const int bytes = instruction.bytes, of_lane = 4 / bytes, matrices = int(instruction.result_count) / of_lane;
  std::int64_t rows[32];
  if (!find_rows(machine, warp, instruction, matrices, rows)) return;
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < matrices; ++matrix)
      for (int number = 0; number < of_lane; ++number) {
        const Piece piece = piece_of(lane, number, instruction.number, bytes);
        Word value = 0;
        machine.read_shared({instruction, machine.thread(warp, lane)}, rows[8 * matrix + piece.row] + piece.byte,
                            reinterpret_cast<std::uint8_t*>(&value), bytes);
        machine.values(warp, machine.result(instruction, std::uint32_t(matrix * of_lane + number)))[lane] = value;
      }
}

void run_matrix_store(Machine& machine, Warp& warp, const Instruction& instruction) {
  const int bytes = instruction.bytes, of_lane = 4 / bytes, matrices = int(instruction.operand_count - 1) / of_lane;
  std::int64_t rows[32];
  if (!find_rows(machine, warp, instruction, matrices, rows)) return;
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < matrices; ++matrix)
      for (int number = 0; number < of_lane; ++number) {
        const Piece piece = piece_of(lane, number, instruction.number, bytes);
        const Word value = machine.values(
            warp, machine.operand(instruction, std::uint32_t(1 + matrix * of_lane + number)))[lane];
        machine.write_shared({instruction, machine.thread(warp, lane)}, rows[8 * matrix + piece.row] + piece.byte,
                             reinterpret_cast<const std::uint8_t*>(&value), bytes);
      }
}

}  // namespace teeny::compiler::simulator
