// Writes bodies by hand, for tests.
#pragma once

#include <utility>

#include "lang/trace.hpp"

namespace teeny::trace::test {

inline Type element(DType dtype, std::vector<std::int64_t> shape = {}) {
  return {dtype, Type::Form::element, false, std::move(shape)};
}
inline Type pointer(DType dtype, std::vector<std::int64_t> shape = {}, bool read_only = false) {
  return {dtype, Type::Form::pointer, read_only, std::move(shape)};
}
inline Type descriptor(DType dtype, std::vector<std::int64_t> shape) {
  return {dtype, Type::Form::descriptor, false, std::move(shape)};
}

struct Builder {
  Body body;
  std::vector<Region*> open = {&body.region};

  ValueId value(Type type) {
    body.types.push_back(std::move(type));
    return static_cast<ValueId>(body.types.size() - 1);
  }
  ValueId parameter(Type type) {
    body.parameters.push_back(value(std::move(type)));
    return body.parameters.back();
  }
  ValueId argument(Type type) {
    open.back()->arguments.push_back(value(std::move(type)));
    return open.back()->arguments.back();
  }
  Operation& operation(Opcode opcode, std::vector<ValueId> operands, std::vector<Type> results,
                       std::vector<std::int64_t> integers = {}, std::string text = {}) {
    Operation made{opcode, 0, std::move(operands), {}, std::move(integers), std::move(text), {}};
    for (Type& type : results) made.results.push_back(value(std::move(type)));
    open.back()->operations.push_back(std::move(made));
    return open.back()->operations.back();
  }
  ValueId one(Opcode opcode, std::vector<ValueId> operands, Type result, std::vector<std::int64_t> integers = {}) {
    return operation(opcode, std::move(operands), {std::move(result)}, std::move(integers)).results[0];
  }
  ValueId constant(DType dtype, std::int64_t bits) { return one(Opcode::constant, {}, element(dtype), {bits}); }
  // Fills a region of its own with `fill`.
  template <class Fill>
  Region region(Fill&& fill) {
    Region made;
    open.push_back(&made);
    fill();
    open.pop_back();
    return made;
  }
};

}  // namespace teeny::trace::test
