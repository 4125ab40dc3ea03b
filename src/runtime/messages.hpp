// From operation numbers to the user's lines, and from a launch's numbers to text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <teeny/error.hpp>

#include "lang/trace.hpp"
#include "runtime/driver/driver.hpp"

namespace teeny::runtime {

// The site of an operation by its pre-order number; null where the trace does not know it.
const trace::Site* site_of(const trace::Trace& trace, std::int64_t operation);

// "softmax: kernels.cpp:12: text", with as much of it as is known.
std::string located(const trace::Trace& trace, std::int64_t operation, const std::string& text);

// "(x, y, z)" of a linear program id.
std::string program_text(std::uint64_t program, const std::array<std::uint32_t, 3>& grid);

// One element as text; `value` points to size_of(dtype) bytes.
std::string element_text(DType dtype, const void* value);

// The line of one element that device_print told, with its end; `lane` is empty for a scalar.
std::string printed_line(const trace::Trace& trace, std::int64_t operation, const std::string& program,
                         std::optional<std::uint64_t> lane, std::string_view prefix, DType dtype, const void* value);

// device_assert failed for an element of a program.
Error assertion_error(const trace::Trace& trace, std::int64_t operation, const std::string& program, std::uint64_t lane,
                      const std::string& message);

// Hands a whole line of device_print to the sink.
void print_line(const std::string& line);

// The compiler's diagnostics (JSON, compiler_abi.h) as an error about this kernel; `note` is appended as a line of its
// own.
Error diagnostics_error(const trace::Trace& trace, const std::string& json, const std::string& target,
                        const std::string& note);

// The checker's findings (JSON, compiler_abi.h) as an error about this kernel.
Error findings_error(const trace::Trace& trace, const std::string& json);

// Reads a program's metadata (JSON, compiler_abi.h); throws compile_failed where it is damaged.
ProgramMetadata read_metadata(const std::string& json);

// The compile phases of the metadata as "lowering 3.1 ms, codegen 8.0 ms"; empty where there are none.
std::string phases_text(const std::string& json);

}  // namespace teeny::runtime
