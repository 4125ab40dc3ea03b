// The binary form of a body. Little-endian; counts and numbers are u32, attributes i64:
//   version · types {dtype u8, form u8, read_only u8, shape} · parameters · region
//   region = arguments · operations {opcode u16, operands, results, integers, text, regions}
#include <cstring>

#include <teeny/error.hpp>

#include "lang/trace.hpp"

namespace teeny::trace {

namespace {

class Writer {
 public:
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  template <class T>
  void list(const std::vector<T>& values) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) number(value);
  }
  void region(const Region& region) {
    list(region.arguments);
    number(static_cast<std::uint32_t>(region.operations.size()));
    for (const Operation& operation : region.operations) {
      number(static_cast<std::uint16_t>(operation.opcode));
      list(operation.operands);
      list(operation.results);
      list(operation.integers);
      number(static_cast<std::uint32_t>(operation.text.size()));
      bytes_.insert(bytes_.end(), operation.text.begin(), operation.text.end());
      number(static_cast<std::uint32_t>(operation.regions.size()));
      for (const Region& inner : operation.regions) this->region(inner);
    }
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::invalid_argument,
              "trace: " + what + "\nhelp: the bytes were cut, altered or written by another version of teeny");
}

// Every count is checked against the bytes that are left before anything is allocated.
class Reader {
 public:
  Reader(const std::uint8_t* bytes, std::size_t size) : at_(bytes), left_(size) {}

  template <class T>
  T number() {
    if (left_ < sizeof(T)) refuse("ends too early");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(at_[i]) << (8 * i);
    at_ += sizeof(T);
    left_ -= sizeof(T);
    return static_cast<T>(value);
  }
  std::size_t count(std::size_t smallest_item) {
    const std::size_t items = number<std::uint32_t>();
    if (items > left_ / smallest_item) refuse("a count of " + std::to_string(items) + " goes beyond the end");
    return items;
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> values(count(sizeof(T)));
    for (T& value : values) value = number<T>();
    return values;
  }
  Type type() {
    Type type;
    const auto dtype = number<std::uint8_t>(), form = number<std::uint8_t>(), read_only = number<std::uint8_t>();
    if (dtype >= dtype_count || form > 2 || read_only > 1) refuse("has an unknown type");
    type.dtype = static_cast<DType>(dtype);
    type.form = static_cast<Type::Form>(form);
    type.read_only = read_only != 0;
    type.shape = list<std::int64_t>();
    return type;
  }
  Region region(int depth) {
    if (depth > max_depth) refuse("nests more than " + std::to_string(max_depth) + " regions");
    Region region;
    region.arguments = list<ValueId>();
    constexpr std::size_t smallest_operation = 2 + 5 * 4, smallest_region = 2 * 4;
    const std::size_t operations = count(smallest_operation);
    for (std::size_t i = 0; i < operations; ++i) {
      Operation& operation = region.operations.emplace_back();
      const auto opcode = number<std::uint16_t>();
      if (opcode >= opcode_count()) refuse("has an unknown operation " + std::to_string(opcode));
      operation.opcode = static_cast<Opcode>(opcode);
      operation.site = next_site_++;
      operation.operands = list<ValueId>();
      operation.results = list<ValueId>();
      operation.integers = list<std::int64_t>();
      const std::size_t length = count(1);
      operation.text.assign(reinterpret_cast<const char*>(at_), length);
      at_ += length;
      left_ -= length;
      const std::size_t regions = count(smallest_region);
      for (std::size_t j = 0; j < regions; ++j) operation.regions.push_back(this->region(depth + 1));
    }
    return region;
  }
  std::size_t left() const { return left_; }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
  std::uint32_t next_site_ = 0;
};

}  // namespace

std::vector<std::uint8_t> serialise(const Body& body) {
  Writer writer;
  writer.number(format_version);
  writer.number(static_cast<std::uint32_t>(body.types.size()));
  for (const Type& type : body.types) {
    writer.number(static_cast<std::uint8_t>(type.dtype));
    writer.number(static_cast<std::uint8_t>(type.form));
    writer.number(static_cast<std::uint8_t>(type.read_only));
    writer.list(type.shape);
  }
  writer.list(body.parameters);
  writer.region(body.region);
  return writer.take();
}

Body deserialise(const std::uint8_t* bytes, std::size_t size) {
  Reader reader(bytes, size);
  const auto version = reader.number<std::uint32_t>();
  if (version != format_version)
    refuse("has format " + std::to_string(version) + ", expected " + std::to_string(format_version));
  Body body;
  constexpr std::size_t smallest_type = 3 + 4;
  const std::size_t types = reader.count(smallest_type);
  for (std::size_t i = 0; i < types; ++i) body.types.push_back(reader.type());
  body.parameters = reader.list<ValueId>();
  body.region = reader.region(0);
  if (reader.left() != 0) refuse("has " + std::to_string(reader.left()) + " bytes after its end");
  if (const std::string wrong = verify(body); !wrong.empty()) refuse(wrong);
  return body;
}

}  // namespace teeny::trace
