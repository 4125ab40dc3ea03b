// Messages on a stream socket: eight bytes of length, then the bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace teeny::runtime {

// False where the other side is gone; no signal is raised.
bool send_frame(int socket, const std::vector<std::uint8_t>& bytes);
// False at the end of the stream, or on a length above 1 GiB.
bool receive_frame(int socket, std::vector<std::uint8_t>& bytes);

}  // namespace teeny::runtime
