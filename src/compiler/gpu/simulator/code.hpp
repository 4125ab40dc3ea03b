// What the simulator runs: a function of the thread dialect as a flat list of instructions on numbered slots, made once
// per run. A slot is a value of every lane.
#pragma once

#include <cstdint>
#include <vector>

#include <llvm/ADT/DenseMap.h>

#include "compiler/gpu/simulator/simulator.hpp"
#include "compiler/interpreter/build.hpp"

namespace teeny::compiler::simulator {

using interpreter::Kind;
using Word = std::uint64_t;  // bits of a scalar, zero-extended
using Slot = std::uint32_t;
inline constexpr Slot no_slot = ~Slot(0);

class Machine;
struct Warp;
struct Instruction;
using Run = void (*)(Machine&, Warp&, const Instruction&);

// An array in shared memory.
struct Array {
  std::int64_t offset = 0, elements = 0;  // bytes, elements
};

struct Instruction {
  Run run = nullptr;
  std::uint32_t source = 0;      // into Code::sources
  std::uint32_t target = 0;      // of a jump
  std::uint32_t operands = 0, results = 0;              // where they begin in Code::slots
  std::uint32_t operand_count = 0, result_count = 0;
  Slot mask = no_slot;           // of a memory operation
  interpreter::ElementFunction apply = nullptr;         // of an element-wise operation
  interpreter::Elementwise element;                     // likewise; of others the kind of an element stands in `from`
  Array array;                   // of an access to shared memory
  std::int64_t offset = 0;       // bytes of global memory, elements of shared memory
  std::int64_t address_offset = 0;  // copy_async: of the source, in bytes
  std::int32_t bytes = 0;        // of one element; copy_async: of the copy
  std::int32_t number = 0;       // load, store: alignment; others say in their handlers
  std::uint32_t unit = 0;        // into Code::units
};

// A matrix unit's row as tables: where an element of a (m x k), b (k x n) and the sums (m x n) is, row-major. Of a unit of
// several warps: what one of them computes, warps standing below each other.
struct Unit {
  struct Place {
    std::uint16_t reg, lane;
  };
  int m = 0, n = 0, k = 0, warps = 1;
  bool tf32 = false;
  std::vector<Place> a, b, sums;
};

Unit unit_of(const gpu::MatrixUnit& row);

// Where an operand of a product beside the warps stands in shared memory (thread.mma_async).
struct Placed {
  Array array;
  std::int64_t offset = 0;  // elements, added to the index
  std::int32_t swizzle = 0, panel = 0;
  bool transposed = false;
};

// What a slot holds before the first instruction.
struct Initial {
  enum class What : std::uint8_t { constant, lane, warp, program, programs, argument } what;
  Slot slot;
  Word value;  // of a constant; otherwise the axis or the argument's number
};

struct Code {
  std::vector<Instruction> instructions;
  std::vector<Slot> slots;
  std::vector<Kind> kinds;  // by slot
  std::vector<Initial> initial;
  std::vector<interpreter::Source> sources;
  std::vector<mlir::Operation*> operations;  // by source; alive while the function is
  std::vector<Unit> units;
  std::vector<Placed> placed;  // by Instruction::target of an mma_async: a, then b
  int warps = 1, lanes = 1;
  std::int64_t shared_bytes = 0;
  std::size_t arguments = 0;
};

// False, with a finding, for a function that holds what the simulator has no meaning for.
bool translate(mlir::func::FuncOp kernel, const gpu::Capability& capability, Code& code, Finding& finding);

}  // namespace teeny::compiler::simulator
