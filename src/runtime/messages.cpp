#include "runtime/messages.hpp"

#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>

#include "runtime/gpu_messages.hpp"
#include "support/log.hpp"

namespace teeny {

namespace {
std::mutex sink_mutex;
std::function<void(std::string_view)>& sink() {
  static auto& function = *new std::function<void(std::string_view)>;
  return function;
}
}  // namespace

void set_print_sink(std::function<void(std::string_view)> function) {
  const std::lock_guard lock(sink_mutex);
  sink() = std::move(function);
}

}  // namespace teeny

namespace teeny::runtime {

namespace {

using nlohmann::json;

float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value;
  if (exponent == 31)
    value = fraction != 0 ? __builtin_nanf("") : __builtin_inff();
  else if (exponent == 0)
    value = __builtin_ldexpf(static_cast<float>(fraction), -24);
  else
    value = __builtin_ldexpf(static_cast<float>(fraction | 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

template <class T>
T read(const void* value) {
  T result;
  std::memcpy(&result, value, sizeof result);
  return result;
}

std::string float_text(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_of(const json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : otherwise;
}

std::string kernel_name(const trace::Trace& trace) { return trace.kernel.empty() ? "kernel" : trace.kernel; }

json parse_array(const std::string& text) {
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_array() ? parsed : json::array();
}

std::string help_line(const json& object) {
  const std::string help = text_of(object, "help");
  return help.empty() ? std::string() : "\nhelp: " + help;
}

// Kernels given as text have their place in that text instead of an operation's number.
std::string at_text_location(const json& entry, const std::string& text) {
  const std::string place = text_of(entry, "location");
  return place.empty() ? text : place + ": " + text;
}

// An error that stands at the first entry's line.
Error error_at(ErrorCode code, const trace::Trace& trace, const std::string& message, std::int64_t operation) {
  const trace::Site* site = site_of(trace, operation);
  return site != nullptr ? Error(code, message, site->file, site->line) : Error(code, message);
}

std::string finding_text(const trace::Trace& trace, const json& finding) {
  std::string text = text_of(finding, "message");
  if (text.empty()) text = text_of(finding, "kind");
  std::string line = located(trace, number_of(finding, "operation", -1), at_text_location(finding, text));
  std::string where;
  if (const auto program = finding.find("program");
      program != finding.end() && program->is_array() && program->size() == 3)
    where = "program (" + (*program)[0].dump() + ", " + (*program)[1].dump() + ", " + (*program)[2].dump() + ")";
  if (const std::string lane = text_of(finding, "lane"); !lane.empty())
    where += (where.empty() ? "lane " : ", lane ") + lane;
  if (const auto address = finding.find("address"); address != finding.end() && address->is_number()) {
    const std::uint64_t value = address->get<std::uint64_t>();
    char hexadecimal[32];
    std::snprintf(hexadecimal, sizeof hexadecimal, "address 0x%llx", static_cast<unsigned long long>(value));
    if (value != 0) where += (where.empty() ? "" : ", ") + std::string(hexadecimal);
  }
  return line + (where.empty() ? "" : " [" + where + "]") + help_line(finding);
}

}  // namespace

const trace::Site* site_of(const trace::Trace& trace, std::int64_t operation) {
  if (operation < 0 || static_cast<std::size_t>(operation) >= trace.sites.size()) return nullptr;
  return &trace.sites[static_cast<std::size_t>(operation)];
}

std::string located(const trace::Trace& trace, std::int64_t operation, const std::string& text) {
  std::string result = kernel_name(trace) + ": ";
  const trace::Site* site = site_of(trace, operation);
  if (site != nullptr && !site->file.empty()) result += site->file + ":" + std::to_string(site->line) + ": ";
  return result + text;
}

std::string program_text(std::uint64_t program, const std::array<std::uint32_t, 3>& grid) {
  const std::uint64_t x = program % grid[0], y = program / grid[0] % grid[1], z = program / grid[0] / grid[1];
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

std::string element_text(DType dtype, const void* value) {
  switch (dtype) {
    case DType::boolean:
      return read<std::uint8_t>(value) != 0 ? "true" : "false";
    case DType::i8:
      return std::to_string(read<std::int8_t>(value));
    case DType::i16:
      return std::to_string(read<std::int16_t>(value));
    case DType::i32:
      return std::to_string(read<std::int32_t>(value));
    case DType::i64:
      return std::to_string(read<std::int64_t>(value));
    case DType::u8:
      return std::to_string(read<std::uint8_t>(value));
    case DType::u16:
      return std::to_string(read<std::uint16_t>(value));
    case DType::u32:
      return std::to_string(read<std::uint32_t>(value));
    case DType::u64:
      return std::to_string(read<std::uint64_t>(value));
    case DType::f16:
      return float_text(half_value(read<std::uint16_t>(value)), 5);
    case DType::bf16: {
      const std::uint32_t bits = std::uint32_t{read<std::uint16_t>(value)} << 16;
      return float_text(read<float>(&bits), 4);
    }
    case DType::f32:
      return float_text(read<float>(value), 9);
    case DType::f64:
      return float_text(read<double>(value), 17);
  }
  return "?";
}

std::string printed_line(const trace::Trace& trace, std::int64_t operation, const std::string& program,
                         std::optional<std::uint64_t> lane, std::string_view prefix, DType dtype, const void* value) {
  if (prefix.starts_with(' ')) prefix.remove_prefix(1);  // the form of Triton's prefixes: " x: "
  return located(trace, operation, "program " + program) + (lane ? ", lane " + std::to_string(*lane) : "") + ": " +
         std::string(prefix) + element_text(dtype, value) + "\n";
}

Error assertion_error(const trace::Trace& trace, std::int64_t operation, const std::string& program, std::uint64_t lane,
                      const std::string& message) {
  const std::string text =
      located(trace, operation,
              "device_assert: the condition must hold; got false, expected true: " + message + " [program " + program +
                  ", lane " + std::to_string(lane) + "]" +
                  "\nhelp: what the launch had stored by then stays stored; look at the values with tl::device_print");
  return error_at(ErrorCode::assertion_failed, trace, text, operation);
}

void print_line(const std::string& line) {
  const std::lock_guard lock(sink_mutex);
  if (sink()) {
    try {
      sink()(line);
    } catch (...) {  // an exception cannot pass through a program
      support::warn("device_print: the sink threw; the line is lost: " + line);
    }
    return;
  }
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

Error diagnostics_error(const trace::Trace& trace, const std::string& text, const std::string& target,
                        const std::string& note) {
  std::string message;
  std::int64_t first = -1;
  ErrorCode code = ErrorCode::compile_failed;
  for (const json& entry : parse_array(text)) {
    if (!entry.is_object() || text_of(entry, "severity") == "remark") continue;
    const std::int64_t operation = number_of(entry, "operation", -1);
    if (first < 0) first = operation;
    if (text_of(entry, "code") == "unsupported") code = ErrorCode::unsupported;
    if (!message.empty()) message += "\n";
    message += located(trace, operation, at_text_location(entry, text_of(entry, "message"))) + help_line(entry);
  }
  if (message.empty()) message = located(trace, -1, "the compiler failed without saying why");
  message += "\nnote: while compiling for " + target;
  if (!note.empty()) message += "\nnote: " + note;
  return error_at(code, trace, message, first);
}

Error findings_error(const trace::Trace& trace, const std::string& text) {
  std::string message;
  std::int64_t first = -1;
  std::size_t count = 0;
  ErrorCode code = ErrorCode::assertion_failed;  // where nothing but assertions failed, as on any device
  for (const json& entry : parse_array(text)) {
    if (!entry.is_object()) continue;
    if (text_of(entry, "kind") != "assert") code = ErrorCode::check_failed;
    if (count++ == 0)
      first = number_of(entry, "operation", -1);
    else
      message += "\n";
    message += finding_text(trace, entry);
  }
  if (count == 0) {
    message = located(trace, -1, "the interpreter failed without saying why");
    code = ErrorCode::check_failed;
  }
  return error_at(code, trace, message, first);
}

static std::shared_ptr<const MessageMeanings> read_meanings(const json& metadata) {
  if (!metadata.value("messages", false)) return nullptr;
  auto meanings = std::make_shared<MessageMeanings>();
  for (const json& print : metadata.value("prints", json::array()))
    meanings->prints.push_back({.operation = number_of(print, "operation", -1),
                                .operand = static_cast<unsigned>(number_of(print, "operand", 0)),
                                .prefix = text_of(print, "prefix"),
                                .dtype = static_cast<DType>(number_of(print, "dtype", 0))});
  for (const json& check : metadata.value("asserts", json::array()))
    meanings->asserts.push_back({.operation = number_of(check, "operation", -1), .message = text_of(check, "message")});
  return meanings;
}

ProgramMetadata read_metadata(const std::string& text) {
  const json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object())
    throw Error(ErrorCode::compile_failed, "compile: a program's metadata must be a JSON object; got '" +
                                               text.substr(0, 80) + "', expected {…}" +
                                               "\nhelp: the compiler and the library may be of different builds");
  return {.entry = text_of(parsed, "entry"),
          .arena_bytes = static_cast<std::uint64_t>(number_of(parsed, "arena_bytes", 0)),
          .threads = static_cast<unsigned>(number_of(parsed, "threads", 0)),
          .lanes = static_cast<unsigned>(number_of(parsed, "lanes", 1)),
          .argument_block = parsed.value("argument_block", false),
          .shared_bytes = static_cast<std::uint64_t>(number_of(parsed, "shared_bytes", 0)),
          .meanings = read_meanings(parsed)};
}

std::string phases_text(const std::string& text) {
  const json parsed = json::parse(text, nullptr, false);
  std::string result;
  if (!parsed.is_object() || !parsed.contains("phases") || !parsed["phases"].is_object()) return result;
  for (const auto& [name, milliseconds] : parsed["phases"].items()) {
    if (!milliseconds.is_number()) continue;
    char number[32];
    std::snprintf(number, sizeof number, " %.1f ms", milliseconds.get<double>());
    result += (result.empty() ? "" : ", ") + name + number;
  }
  return result;
}

}  // namespace teeny::runtime
