// The interpreter's program: a kernel resolved to dense slots and typed instructions, made once per run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/interpreter/values.hpp"

namespace teeny::compiler::interpreter {

class Machine;
struct Instruction;
using Handler = void (*)(Machine&, const Instruction&);
using Slot = std::uint32_t;

// What an instruction does. Up to `last_elementwise` result element i depends on element i of each operand alone.
enum class Op : std::uint8_t {
  // floats
  addf,
  subf,
  mulf,
  divf,
  remf,
  negf,
  absf,
  sqrt,
  floor,
  ceil,
  trunc,
  round,
  roundeven,
  fma,
  clampf,
  clampf_nan,
  maxnumf,
  minnumf,
  maximumf,
  minimumf,
  copysign,
  cmpf,
  isnan,
  isinf,
  isfinite,
  // integers
  addi,
  subi,
  muli,
  divsi,
  divui,
  remsi,
  remui,
  ceildivsi,
  ceildivui,
  floordivsi,
  andi,
  ori,
  xori,
  shli,
  shrsi,
  shrui,
  maxsi,
  minsi,
  maxui,
  minui,
  mulhiui,
  mulhisi,
  absi,
  cmpi,
  ctlz,
  cttz,
  ctpop,
  // conversions
  extsi,
  extui,
  trunci,
  sitofp,
  uitofp,
  fptosi,
  fptoui,
  convertf,
  convertf_to_zero,
  bitcast,
  select,
  addptr,
  math,
  last_elementwise = math,
  // everything else
  move,
  constant,
  poison,
  program_id,
  num_programs,
  make_range,
  gather,
  load,
  store,
  atomic_rmw,
  atomic_cas,
  barrier,
  make_descriptor,
  descriptor_load,
  descriptor_store,
  dot,
  reduce,
  scan,
  for_loop,
  while_loop,
  if_else,
  call,
  hint,
  constancy,
  assume,
  device_assert,
  device_print
};
constexpr bool is_elementwise(Op op) { return op <= Op::last_elementwise; }

// An element-wise operation, and what it works on.
struct Elementwise {
  Op op = Op::move;
  Kind from = Kind::i32;  // of the first operand
  Kind to = Kind::i32;    // of the first result
  std::int64_t attributes[2] = {0, 0};  // cmpi, cmpf: predicate; addptr: bytes of an element, width of the offset
};
struct Elements {
  const std::uint64_t* operands[3] = {};
  std::size_t steps[3] = {};  // 0: the operand's one element stands for all
  std::uint64_t* result = nullptr;
  std::size_t count = 0;
};
using ElementFunction = void (*)(const Elementwise&, const Elements&);
// Null: the operation is not defined for these kinds (and for Op::math, which is expanded).
ElementFunction element_function(Op op, Kind from, Kind to);

struct SlotType {
  Kind kind = Kind::i32;
  Kind pointee = Kind::i32;         // of pointers and descriptors
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::int64_t elements = 1;
};

// How a block ends.
enum class Exit : std::uint8_t { yield, condition, returns, branch, conditional_branch };

struct Block {
  std::vector<Slot> arguments;
  std::vector<Instruction> instructions;
  Exit exit = Exit::yield;
  std::vector<Slot> operands;  // yielded or returned values; condition first where there is one
  std::uint32_t targets[2] = {0, 0};
  std::vector<Slot> target_operands[2];
  std::int32_t exit_index = 0;  // of the terminator, in Program::sources
};

struct Region {
  std::vector<Block> blocks;
  bool elementwise = false;  // one block of element-wise instructions and constants: may run on many lanes at once
  std::uint32_t float_additions = 0;   // how many addf it holds
  std::uint32_t float_operations = 0;  // other instructions with a rounded result
};

struct Program;

struct Instruction : Elementwise {
  Handler run = nullptr;
  ElementFunction apply = nullptr;  // of an element-wise operation
  std::uint32_t index = 0;  // into Program::sources
  std::vector<Slot> operands;
  std::vector<Slot> results;
  std::vector<std::int64_t> integers;   // attributes; each handler says which
  std::vector<std::uint64_t> constant;  // bits of a constant
  std::vector<std::uint32_t> gather;    // source element of each result element
  std::string text;
  std::vector<Region> regions;
  std::shared_ptr<Program> expansion;  // of a mathematical function
};

// Where an instruction comes from.
struct Source {
  std::int32_t operation = -1;      // pre-order number in the trace, or -1
  std::string location;             // "file:line:column" of text, or empty
  std::string name;                 // "load", "store", …: the word of messages
  std::vector<std::int64_t> shape;  // of the accessed or computed tensor without its dimensions of size 1
  std::string math;
};

struct Program {
  std::string name;
  std::vector<SlotType> types;  // by slot
  std::vector<Slot> arguments;
  std::vector<std::int64_t> divisibility;  // promised of each argument; 1: nothing
  Region body;
  std::vector<Source> sources;  // by Instruction::index
};

}  // namespace teeny::compiler::interpreter
