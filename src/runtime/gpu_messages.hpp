// What GPU programs tell the host (support/gpu_program_abi.h), as lines and errors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <teeny/dtype.hpp>

#include "lang/trace.hpp"
#include "support/gpu_program_abi.h"

namespace teeny::runtime {

// What a program's messages mean, from its metadata.
struct MessageMeanings {
  struct Print {
    std::int64_t operation = -1;
    unsigned operand = 0;
    std::string prefix;
    DType dtype = DType::i32;
  };
  struct Assert {
    std::int64_t operation = -1;
    std::string message;
  };
  std::vector<Print> prints;
  std::vector<Assert> asserts;
};

// Prints what one launch told, program by program, each in the order in which its operations ran; `told` counts the messages,
// also those that the buffer had no place for. Throws assertion_failed for the first assertion that failed, after all
// lines are printed.
void tell(const trace::Trace& trace, const std::array<std::uint32_t, 3>& grid, const MessageMeanings& meanings,
          std::vector<teeny_gpu_message> messages, std::uint64_t told);

}  // namespace teeny::runtime
