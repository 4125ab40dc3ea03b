// Comparing results with the independent reference, element by element.
#pragma once

#include <cstring>
#include <functional>

#include "reference.hpp"
#include "values.hpp"

namespace teeny::conformance {

// The reference's result for an element; nothing where it has none.
using ExpectedAt = std::function<std::optional<Expected>(std::size_t)>;

// Compares the first `count` elements of type `dtype` at `got`; notes the first that is wrong.
void compare_with_reference(Verdict& verdict, DType dtype, const void* got, std::size_t count, const std::string& where,
                            const ExpectedAt& expected);

template <class D>
void compare_with_reference(Verdict& verdict, const Host<D>& got, std::size_t count, const std::string& where,
                            const ExpectedAt& expected) {
  compare_with_reference(verdict, dtype_of<D>, got.data(), count, where, expected);
}

}  // namespace teeny::conformance
