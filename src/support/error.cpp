#include <teeny/error.hpp>

#include <utility>

namespace teeny {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::invalid_kernel:
      return "invalid_kernel";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::compile_failed:
      return "compile_failed";
    case ErrorCode::compiler_missing:
      return "compiler_missing";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::device_failed:
      return "device_failed";
    case ErrorCode::assertion_failed:
      return "assertion_failed";
    case ErrorCode::check_failed:
      return "check_failed";
    case ErrorCode::io:
      return "io";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message, std::string file, std::uint32_t line)
    : std::runtime_error(message), code_(code), file_(std::move(file)), line_(line) {}

Error::~Error() = default;

}  // namespace teeny
