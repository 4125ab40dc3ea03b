// Loops over the elements of operands; an operand of one element stands for all.
#pragma once

#include <algorithm>

#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {

inline std::size_t step_of(const Value& value) { return value.size() == 1 ? 0 : 1; }

template <class F>
void map1(Machine& machine, const Instruction& instruction, F f) {
  const Value& a = machine.slot(instruction.operands[0]);
  Value& result = machine.slot(instruction.results[0]);
  const std::size_t count = a.size();
  result.bits.resize(count);
  for (std::size_t i = 0; i < count; ++i) result.bits[i] = f(a.bits[i]);
}

template <class F>
void map2(Machine& machine, const Instruction& instruction, F f) {
  const Value& a = machine.slot(instruction.operands[0]);
  const Value& b = machine.slot(instruction.operands[1]);
  Value& result = machine.slot(instruction.results[0]);
  const std::size_t count = std::max(a.size(), b.size()), sa = step_of(a), sb = step_of(b);
  result.bits.resize(count);
  const std::uint64_t *x = a.bits.data(), *y = b.bits.data();
  std::uint64_t* out = result.bits.data();
  for (std::size_t i = 0; i < count; ++i) out[i] = f(x[i * sa], y[i * sb]);
}

template <class F>
void map3(Machine& machine, const Instruction& instruction, F f) {
  const Value& a = machine.slot(instruction.operands[0]);
  const Value& b = machine.slot(instruction.operands[1]);
  const Value& c = machine.slot(instruction.operands[2]);
  Value& result = machine.slot(instruction.results[0]);
  const std::size_t count = std::max({a.size(), b.size(), c.size()});
  const std::size_t sa = step_of(a), sb = step_of(b), sc = step_of(c);
  result.bits.resize(count);
  const std::uint64_t *x = a.bits.data(), *y = b.bits.data(), *z = c.bits.data();
  std::uint64_t* out = result.bits.data();
  for (std::size_t i = 0; i < count; ++i) out[i] = f(x[i * sa], y[i * sb], z[i * sc]);
}

}  // namespace teeny::compiler::interpreter
