// teeny::Error: the one exception that teeny throws.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <teeny/export.hpp>

namespace teeny {

enum class ErrorCode : std::uint8_t {
  invalid_argument,    // a launch, a size, an option that cannot be right
  invalid_kernel,      // mistakes in a kernel's body; the message lists them all
  unsupported,         // the target or device lacks what was asked, by name
  compile_failed,      // the compiler refused or failed; a reproducer is named where there is one
  compiler_missing,    // libteeny_compiler was needed and could not be loaded, or is of another build
  out_of_memory,       // says how much was asked, free and held
  device_failed,       // the driver reported a failure of earlier or present work
  assertion_failed,    // device_assert
  check_failed,        // the checker's findings
  io,                  // a file could not be read or written
};

// The name of a code: "invalid_argument", ….
TEENY_EXPORT const char* name_of(ErrorCode code);

// what() is the whole message: `op: rule; got …, expected …`, then a `help:` line.
class TEENY_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string file = {}, std::uint32_t line = 0);
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  // The user's source line that caused it, where one is known; otherwise empty and 0.
  const std::string& file() const noexcept { return file_; }
  std::uint32_t line() const noexcept { return line_; }

 private:
  ErrorCode code_;
  std::string file_;
  std::uint32_t line_;
};

}  // namespace teeny
