// Between the compiler's explanations, which know arguments and operations by number, and a kernel's own names.
#pragma once

#include <string>

#include "lang/trace.hpp"

namespace teeny::runtime {

// A dump list whose word "explain" has the kernel's names of its arguments.
std::string with_names(const std::string& dump, const trace::Trace& trace);

// The text with the user's lines in the place of the operations' numbers.
std::string with_lines(const std::string& text, const trace::Trace& trace);

}  // namespace teeny::runtime
