// SHA-256 (FIPS 180-4): names cache entries and proves that what was read is what was written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace teeny::support {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256& update(const void* data, std::size_t size);
  // A field: its length in eight bytes first, so that neighbouring fields cannot run into one another.
  Sha256& field(const void* data, std::size_t size);
  Sha256& field(std::string_view text) { return field(text.data(), text.size()); }
  Sha256& number(std::uint64_t value);
  // Ends the message; the object must not be used afterwards.
  Digest finish();

 private:
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};

Digest sha256(const void* data, std::size_t size);
// Lower-case hexadecimal, 64 characters.
std::string to_hex(const Digest& digest);

}  // namespace teeny::support
