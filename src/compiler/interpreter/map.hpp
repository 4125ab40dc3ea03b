// Loops over the elements of operands; an operand of one element stands for all.
#pragma once

#include <algorithm>

#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {

inline std::size_t step_of(const Value& value) { return value.size() == 1 ? 0 : 1; }

template <class F>
void map1(const Elements& elements, F f) {
  const std::uint64_t* x = elements.operands[0];
  const std::size_t sx = elements.steps[0];
  for (std::size_t i = 0; i < elements.count; ++i) elements.result[i] = f(x[i * sx]);
}

template <class F>
void map2(const Elements& elements, F f) {
  const std::uint64_t *x = elements.operands[0], *y = elements.operands[1];
  const std::size_t sx = elements.steps[0], sy = elements.steps[1];
  for (std::size_t i = 0; i < elements.count; ++i) elements.result[i] = f(x[i * sx], y[i * sy]);
}

template <class F>
void map3(const Elements& elements, F f) {
  const std::uint64_t *x = elements.operands[0], *y = elements.operands[1], *z = elements.operands[2];
  const std::size_t sx = elements.steps[0], sy = elements.steps[1], sz = elements.steps[2];
  for (std::size_t i = 0; i < elements.count; ++i) elements.result[i] = f(x[i * sx], y[i * sy], z[i * sz]);
}

}  // namespace teeny::compiler::interpreter
