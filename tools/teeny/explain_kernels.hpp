// The library's kernels by name, for `teeny explain`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <teeny/explain.hpp>

namespace teeny::command {

// Explains a kernel of src/kernels: `constants` are values of its fields by name, as text. Throws invalid_argument for a
// name, an element type or a constant that it has not.
std::string explain_kernel(const std::string& name, const std::string& dtype, const std::map<std::string, std::string>& constants,
                           std::string_view target, const ExplainOptions& options);

std::string kernel_names();  // for people

}  // namespace teeny::command
