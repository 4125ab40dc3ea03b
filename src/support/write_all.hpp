// Writing a whole array to a file.
#pragma once

#include <cstdint>
#include <vector>

namespace teeny::support {

// 0, or the errno of what went wrong. A file beyond RLIMIT_FSIZE is an error (EFBIG), not a signal that ends the
// process.
int write_all(int file, const std::vector<std::uint8_t>& bytes);

}  // namespace teeny::support
