#include "npy.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

#include <teeny/error.hpp>
#include <teeny/half.hpp>

namespace teeny::command {

namespace {

constexpr char magic[] = "\x93NUMPY";

[[noreturn]] void wrong(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::io,
              "npy: " + path + " " + what + "\nhelp: save it with numpy.save, C order, a plain number type");
}

const char* descriptor_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "|b1";
    case DType::i8:
      return "|i1";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::u8:
      return "|u1";
    case DType::u16:
    case DType::bf16:
      return "<u2";
    case DType::u32:
      return "<u4";
    case DType::u64:
      return "<u8";
    case DType::f16:
      return "<f2";
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
  }
  return "";
}

// What stands between `open` and `close` after a key of the header's dictionary.
std::string value_of(const std::string& header, const std::string& key, char open, char close) {
  auto at = header.find("'" + key + "'");
  if (at == std::string::npos) return {};
  auto from = header.find(open, at + key.size() + 2);
  auto to = header.find(close, from + 1);
  return from == std::string::npos || to == std::string::npos ? std::string() : header.substr(from + 1, to - from - 1);
}

template <class T, class Use>
auto with(std::uint8_t* at, Use use) {
  T value;
  std::memcpy(&value, at, sizeof value);
  auto result = use(value);
  std::memcpy(at, &value, sizeof value);
  return result;
}

template <class Use>
double visit(DType dtype, std::uint8_t* at, Use use) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return with<std::uint8_t>(at, use);
    case DType::i8:
      return with<std::int8_t>(at, use);
    case DType::i16:
      return with<std::int16_t>(at, use);
    case DType::i32:
      return with<std::int32_t>(at, use);
    case DType::i64:
      return with<std::int64_t>(at, use);
    case DType::u16:
      return with<std::uint16_t>(at, use);
    case DType::u32:
      return with<std::uint32_t>(at, use);
    case DType::u64:
      return with<std::uint64_t>(at, use);
    case DType::f16:
      return with<half>(at, use);
    case DType::bf16:
      return with<bfloat16>(at, use);
    case DType::f32:
      return with<float>(at, use);
    case DType::f64:
      return with<double>(at, use);
  }
  return 0;
}

}  // namespace

double NpyArray::get(std::size_t index) const {
  return visit(dtype, const_cast<std::uint8_t*>(bytes.data()) + index * size_of(dtype), [](auto& v) {
    if constexpr (std::is_arithmetic_v<std::remove_reference_t<decltype(v)>>)
      return static_cast<double>(v);
    else
      return static_cast<double>(static_cast<float>(v));
  });
}

void NpyArray::set(std::size_t index, double value) {
  visit(dtype, bytes.data() + index * size_of(dtype), [value](auto& v) {
    using T = std::remove_reference_t<decltype(v)>;
    if constexpr (std::is_arithmetic_v<T>)
      v = static_cast<T>(value);
    else
      v = T(static_cast<float>(value));
    return 0.0;
  });
}

NpyArray read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) wrong(path, "could not be read");
  std::vector<char> all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (all.size() < 12 || std::memcmp(all.data(), magic, 6) != 0) wrong(path, "is no .npy file");
  std::size_t length_bytes = all[6] == 1 ? 2 : 4, length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= std::size_t(static_cast<unsigned char>(all[8 + i])) << (8 * i);
  std::size_t start = 8 + length_bytes + length;
  if (start > all.size()) wrong(path, "ends within its header");
  std::string header(all.data() + 8 + length_bytes, length);
  if (header.find("'fortran_order': False") == std::string::npos) wrong(path, "is not in C order");
  NpyArray array;
  std::string descriptor = value_of(header, "descr", '\'', '\'');
  bool known = false;
  for (int i = 0; i < dtype_count && !known; ++i) {
    array.dtype = static_cast<DType>(i);
    known = array.dtype != DType::bf16 && descriptor.substr(1) == std::string(descriptor_of(array.dtype)).substr(1) &&
            descriptor[0] != '>';
  }
  if (!known) wrong(path, "holds elements of type '" + descriptor + "', which kernels have not");
  std::string shape = value_of(header, "shape", '(', ')');
  for (std::size_t at = 0; at < shape.size();) {
    char* end = nullptr;
    array.shape.push_back(std::strtoull(shape.c_str() + at, &end, 10));
    at = static_cast<std::size_t>(end - shape.c_str());
    while (at < shape.size() && (shape[at] == ',' || shape[at] == ' ')) ++at;
  }
  std::size_t count = std::accumulate(array.shape.begin(), array.shape.end(), std::size_t(1), std::multiplies<>());
  array.bytes.assign(all.begin() + static_cast<std::ptrdiff_t>(start), all.end());
  if (array.bytes.size() != count * size_of(array.dtype)) wrong(path, "has another size than its header says");
  return array;
}

void write_npy(const std::string& path, const NpyArray& array) {
  std::string shape;
  for (std::size_t extent : array.shape) shape += std::to_string(extent) + ", ";
  std::string header = std::string("{'descr': '") + descriptor_of(array.dtype) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write(magic, 6);
  const char version_and_length[4] = {1, 0, static_cast<char>(header.size() & 0xFF),
                                      static_cast<char>(header.size() >> 8)};
  file.write(version_and_length, 4);
  file << header;
  file.write(reinterpret_cast<const char*>(array.bytes.data()), static_cast<std::streamsize>(array.bytes.size()));
  if (!file.flush()) wrong(path, "could not be written");
}

}  // namespace teeny::command
