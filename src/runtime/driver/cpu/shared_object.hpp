// A shared object that exists only as bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "support/dynamic_library.hpp"

namespace teeny::runtime {

// Loads the bytes from anonymous memory, or, where the system has none, from a private temporary file that is gone
// afterwards. Throws device_failed.
support::DynamicLibrary load_shared_object(const std::vector<std::uint8_t>& bytes);

}  // namespace teeny::runtime
