// Compiles a product's packing and micro-kernel for blocks of matrices in memory and makes them callable.
#pragma once

#include <memory>
#include <string>

#include "compiler/cpu/dot.hpp"

namespace llvm::orc {
class LLJIT;
}

namespace teeny::test {

class DotProgram {
 public:
  // Packs a block that starts at `block`, whose neighbours along the inner dimension are adjacent and whose lines along
  // the other are `pitch` elements apart; elements at or beyond the bounds are not touched and count as 0.
  using Pack = void (*)(void* packed, const void* block, std::int64_t pitch, std::int64_t other_bound, std::int64_t k_bound);
  using Multiply = void (*)(const void* a, std::int64_t a_row_bytes, const void* b, void* accumulator,
                            std::int64_t accumulator_row, std::int64_t m, std::int64_t n, std::int64_t k);

  DotProgram(const compiler::cpu::DotShape& shape, const compiler::cpu::CpuTarget& target,
             compiler::cpu::DotInner a_inner, compiler::cpu::DotInner b_inner);
  ~DotProgram();

  compiler::cpu::DotPlan plan;
  Pack pack_a = nullptr, pack_b = nullptr;
  Multiply multiply = nullptr;
  double optimise_seconds = 0, code_seconds = 0;

 private:
  std::unique_ptr<llvm::orc::LLJIT> engine_;
};

// The optimised module's assembly for any target that LLVM was built with; checks the IR on the way.
std::string dot_assembly(const compiler::cpu::DotShape& shape, const compiler::cpu::CpuTarget& target);

}  // namespace teeny::test
