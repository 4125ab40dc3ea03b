#include "runtime/compiler/frame.hpp"

#include <errno.h>
#include <sys/socket.h>

#include <cstddef>

namespace teeny::runtime {

namespace {

bool send_all(int socket, const std::uint8_t* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::send(socket, data, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count, size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool receive_all(int socket, std::uint8_t* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::recv(socket, data, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count, size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

bool send_frame(int socket, const std::vector<std::uint8_t>& bytes) {
  std::uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(bytes.size() >> (8 * i));
  return send_all(socket, length, 8) && send_all(socket, bytes.data(), bytes.size());
}

bool receive_frame(int socket, std::vector<std::uint8_t>& bytes) {
  std::uint8_t length[8];
  if (!receive_all(socket, length, 8)) return false;
  std::uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size |= std::uint64_t{length[i]} << (8 * i);
  if (size > (std::uint64_t{1} << 30)) return false;
  bytes.resize(size);
  return receive_all(socket, bytes.data(), bytes.size());
}

}  // namespace teeny::runtime
