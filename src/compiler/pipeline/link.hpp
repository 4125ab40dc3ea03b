// An object file in memory → a shared object in memory, by lld in this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace teeny::compiler {

// Links `object` (ELF, relocatable) into a shared object that needs nothing but libc and libm. Throws teeny::Error
// (compile_failed, io) with lld's own words. lld's state is global: calls run one after another.
std::vector<std::uint8_t> link_shared_object(const std::vector<std::uint8_t>& object);

}  // namespace teeny::compiler
