// Compiles tt text with the CPU code generator and runs it in this process.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/cpu/cpu.hpp"
#include "support/cpu_program_abi.h"

namespace teeny::compiler::cpu::testing {

class Kernel {
 public:
  // Fails the running test where the text does not parse, the module does not verify or LLVM refuses it.
  explicit Kernel(const std::string& text, const CpuOptions& options = {}, const std::string& target = "");
  ~Kernel();

  struct Report {
    std::string message;
    std::uint32_t operation = 0;
    std::uint64_t program = 0, lane = 0;
    std::string printed;  // "prefix dtype: v v v;"
  };

  // Runs the whole grid on this thread. Arguments: pointers, and numbers of their parameter's width.
  template <class... Arguments>
  Report run(std::vector<std::uint32_t> grid, Arguments... arguments) {
    std::vector<std::uint64_t> slots;
    auto add = [&](auto argument) {
      std::uint64_t slot = 0;
      std::memcpy(&slot, &argument, sizeof argument);
      slots.push_back(slot);
    };
    (add(arguments), ...);
    return launch(std::move(grid), slots);
  }

  const std::string& llvm_text() const { return llvm_text_; }
  const CpuMetadata& metadata() const { return metadata_; }
  bool ok() const { return entry_ != nullptr; }

 private:
  Report launch(std::vector<std::uint32_t> grid, const std::vector<std::uint64_t>& slots);

  struct Session;
  std::unique_ptr<Session> session_;
  CpuMetadata metadata_;
  std::string llvm_text_;
  teeny_cpu_entry entry_ = nullptr;
};

// The error text that compiling gives, or "".
std::string compile_error(const std::string& text, const CpuOptions& options = {});

}  // namespace teeny::compiler::cpu::testing
