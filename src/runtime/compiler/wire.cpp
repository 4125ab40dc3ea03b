#include <cstring>

#include <teeny/error.hpp>

#include "lang/trace.hpp"
#include "runtime/compiler/compiler.hpp"

namespace teeny::runtime {

namespace {

constexpr char request_magic[8] = {'T', 'E', 'E', 'N', 'Y', 'R', 'Q', '1'};
constexpr char result_magic[8] = {'T', 'E', 'E', 'N', 'Y', 'R', 'S', '1'};

class Writer {
 public:
  explicit Writer(const char (&magic)[8]) : bytes_(magic, magic + 8) {}
  Writer& number(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return *this;
  }
  template <class Container>
  Writer& bytes(const Container& container) {
    number(container.size());
    const auto* data = reinterpret_cast<const std::uint8_t*>(container.data());
    bytes_.insert(bytes_.end(), data, data + container.size());
    return *this;
  }
  Writer& facts(const std::vector<teeny_fact>& facts) {
    number(facts.size());
    for (const teeny_fact& fact : facts) number(std::uint64_t{fact.kind} << 16 | fact.argument);
    return *this;
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  Reader(const std::uint8_t* data, std::size_t size, const char (&magic)[8]) : data_(data), size_(size) {
    if (size < 8 || std::memcmp(data, magic, 8) != 0) damaged();
    position_ = 8;
  }
  std::uint64_t number() {
    if (size_ - position_ < 8) damaged();
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t{data_[position_ + static_cast<std::size_t>(i)]} << (8 * i);
    position_ += 8;
    return value;
  }
  template <class Container>
  Container bytes() {
    const std::uint64_t count = number();
    if (count > size_ - position_) damaged();
    const auto* first = data_ + position_;
    position_ += count;
    return Container(first, first + count);
  }
  std::vector<teeny_fact> facts() {
    const std::uint64_t count = number();
    if (count > (size_ - position_) / 8) damaged();
    std::vector<teeny_fact> facts(count);
    for (teeny_fact& fact : facts) {
      const std::uint64_t value = number();
      fact = {static_cast<std::uint16_t>(value >> 16), static_cast<std::uint16_t>(value)};
    }
    return facts;
  }

 private:
  [[noreturn]] static void damaged() {
    throw Error(ErrorCode::io,
                "compiler message: a whole message; got damaged bytes, expected one of this version"
                "\nhelp: write the file again with this build of teeny");
  }
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t position_ = 0;
};

std::uint64_t signed_bits(int value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); }

}  // namespace

std::vector<std::uint8_t> encode(const CompileRequest& request) {
  const CompileOptions& options = request.options;
  return Writer(request_magic)
      .number(trace::format_version)
      .bytes(request.body)
      .number(request.is_text)
      .bytes(request.kernel)
      .bytes(request.target)
      .number(signed_bits(options.warps))
      .number(signed_bits(options.stages))
      .number(signed_bits(options.max_registers))
      .number(std::uint64_t{options.reproducible} | std::uint64_t{options.contract} << 1 |
              std::uint64_t{options.debug_info} << 2 | std::uint64_t{options.approximate} << 3)
      .facts(request.facts)
      .bytes(request.dump)
      .number(request.analyse_only)
      .take();
}

CompileRequest decode_request(const std::uint8_t* bytes, std::size_t size) {
  Reader reader(bytes, size, request_magic);
  if (const std::uint64_t version = reader.number(); version != trace::format_version)
    throw Error(ErrorCode::io, "compiler message: the trace format must be this build's; got version " +
                                   std::to_string(version) + ", expected " + std::to_string(trace::format_version) +
                                   "\nhelp: use the teeny that wrote the file");
  CompileRequest request;
  request.body = reader.bytes<std::vector<std::uint8_t>>();
  request.is_text = reader.number() != 0;
  request.kernel = reader.bytes<std::string>();
  request.target = reader.bytes<std::string>();
  request.options.warps = static_cast<int>(reader.number());
  request.options.stages = static_cast<int>(reader.number());
  request.options.max_registers = static_cast<int>(reader.number());
  const std::uint64_t flags = reader.number();
  request.options.reproducible = (flags & 1) != 0;
  request.options.contract = (flags & 2) != 0;
  request.options.debug_info = (flags & 4) != 0;
  request.options.approximate = (flags & 8) != 0;
  request.facts = reader.facts();
  request.dump = reader.bytes<std::string>();
  request.analyse_only = reader.number() != 0;
  return request;
}

std::vector<std::uint8_t> encode(const CompileResult& result) {
  return Writer(result_magic)
      .number(result.ok)
      .bytes(result.program)
      .bytes(result.metadata)
      .facts(result.relevant_facts)
      .bytes(result.diagnostics)
      .bytes(result.dump_text)
      .take();
}

CompileResult decode_result(const std::uint8_t* bytes, std::size_t size) {
  Reader reader(bytes, size, result_magic);
  CompileResult result;
  result.ok = reader.number() != 0;
  result.program = reader.bytes<std::vector<std::uint8_t>>();
  result.metadata = reader.bytes<std::string>();
  result.relevant_facts = reader.facts();
  result.diagnostics = reader.bytes<std::string>();
  result.dump_text = reader.bytes<std::string>();
  return result;
}

}  // namespace teeny::runtime
