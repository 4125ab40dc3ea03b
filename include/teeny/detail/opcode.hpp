// The operations of the kernel language as an enumeration, made from the one list.
#pragma once

#include <cstdint>

namespace teeny::trace {

enum class Opcode : std::uint16_t {
#define TEENY_OPERATION(name, kind, effect, operands, elements, meaning) name,
#include <teeny/detail/operations.def>
};

}  // namespace teeny::trace
