// Arrays in NumPy's .npy files, format 1.0 to 3.0, C order, little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <teeny/dtype.hpp>

namespace teeny::command {

struct NpyArray {
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes;

  std::size_t count() const { return bytes.size() / size_of(dtype); }
  double get(std::size_t index) const;
  void set(std::size_t index, double value);  // rounded or truncated to the dtype
};

// Throws teeny::Error (io, unsupported) naming the file.
NpyArray read_npy(const std::string& path);
// bf16 has no .npy type: it is written as u16 bits.
void write_npy(const std::string& path, const NpyArray& array);

}  // namespace teeny::command
