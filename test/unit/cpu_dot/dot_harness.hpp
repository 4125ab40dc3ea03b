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
  using Pack = void (*)(void* packed, const void* block, std::int64_t pitch, std::int64_t other_bound,
                        std::int64_t k_bound);
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

// Nothing but a plan's product instruction on registers: the rate that no kernel of it can exceed.
class PeakLoop {
 public:
  explicit PeakLoop(const compiler::cpu::DotPlan& plan);
  ~PeakLoop();
  void run(std::int64_t steps) const { run_(steps, scratch_); }
  // Multiplications and additions that `steps` steps do.
  double operations(std::int64_t steps) const { return static_cast<double>(steps) * operations_per_step_; }

 private:
  std::unique_ptr<llvm::orc::LLJIT> engine_;
  void (*run_)(std::int64_t, void*) = nullptr;
  alignas(64) mutable unsigned char scratch_[64] = {};
  double operations_per_step_ = 0;
};

// Conversions of vectors between f16 or bf16 and f32, as packing and storing emit them.
class HalfCasts {
 public:
  static constexpr unsigned lanes = 16;
  HalfCasts(const compiler::cpu::CpuTarget& target, DType half);
  ~HalfCasts();
  void (*widen)(const std::uint16_t* from, float* to) = nullptr;
  void (*narrow)(const float* from, std::uint16_t* to) = nullptr;

 private:
  std::unique_ptr<llvm::orc::LLJIT> engine_;
};

// The optimised module's assembly for any target that LLVM was built with; checks the IR on the way.
std::string dot_assembly(const compiler::cpu::DotShape& shape, const compiler::cpu::CpuTarget& target);

}  // namespace teeny::test
