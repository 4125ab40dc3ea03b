// What the vendor's assembler says of a program, where it is installed.
#pragma once

#include <string>
#include <string_view>

namespace teeny::compiler::explain {

struct Assembled {
  bool known = false;
  int registers = 0;                                // of a thread
  int spilled_stores = 0, spilled_loads = 0;        // bytes of a thread
  std::string how;                                  // which assembler, how it was found and its version; or why nothing is known
};

// ptxas on a PTX program for "sm_90a". It is looked for in TEENY_PTXAS, PATH, CUDA_HOME, CUDA_PATH and /usr/local/cuda.
Assembled assemble(std::string_view ptx, std::string_view architecture);

}  // namespace teeny::compiler::explain
