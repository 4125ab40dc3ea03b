// The rows of wgmma and mma.sync. Fragments: PTX ISA, "Matrix Fragments for mma.m16n8k*".
#include "compiler/target/cuda/cuda.hpp"

namespace teeny::compiler::cuda {

namespace {

using Basis = LinearLayout::Basis;
using gpu::MatrixUnit;

LinearLayout fragment(std::vector<Basis> registers, std::vector<Basis> lanes, int rows, int columns,
                      std::vector<Basis> warps = {}) {
  std::vector<LinearLayout::Input> inputs{{Axis::reg, std::move(registers)}, {Axis::lane, std::move(lanes)}};
  if (!warps.empty()) inputs.push_back({Axis::warp, std::move(warps)});
  return LinearLayout(std::move(inputs), {{index_axis(0), rows}, {index_axis(1), columns}});
}

// m16n8: a word of 32 bits holds `packed` neighbours along k; four lanes share a row of a and a column of b, and pieces
// of 8 rows and of 4 words along k follow each other in the registers.
MatrixUnit m16n8(int k, int packed, std::string operand, std::string accumulator) {
  MatrixUnit unit;
  unit.name = "mma.sync.m16n8k" + std::to_string(k) + "." + operand;
  unit.form = MatrixUnit::Form::fragments;
  unit.m = 16, unit.n = 8, unit.k = k;
  unit.operand = std::move(operand), unit.accumulator = std::move(accumulator);
  std::vector<Basis> a, b;
  for (int image = 1; image < packed; image *= 2) a.push_back({0, image}), b.push_back({image, 0});
  a.push_back({8, 0});
  for (int image = 4 * packed; image < k; image *= 2) a.push_back({0, image}), b.push_back({image, 0});
  unit.a = fragment(a, {{0, packed}, {0, 2 * packed}, {1, 0}, {2, 0}, {4, 0}}, 16, k);
  unit.b = fragment(b, {{packed, 0}, {2 * packed, 0}, {0, 1}, {0, 2}, {0, 4}}, k, 8);
  unit.accumulators = fragment({{0, 1}, {8, 0}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, 16, 8);
  unit.operations_per_cycle = 512 * packed;  // of sm_80's multiprocessor: whitepaper, table 3
  return unit;
}

// wgmma, m64: four warps below each other, each with 16 rows in the arrangement of m16n8's fragments, whose columns follow
// each other in the registers (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma).
MatrixUnit m64(int n, int k, int packed, std::string operand, std::string accumulator) {
  MatrixUnit unit = m16n8(k, packed, std::move(operand), std::move(accumulator));
  unit.name = "wgmma.m64n" + std::to_string(n) + "k" + std::to_string(k) + "." + unit.operand;
  unit.form = MatrixUnit::Form::memory;
  unit.m = 64, unit.n = n, unit.warps = 4;
  unit.a_from_memory = true;
  unit.transposed_a = unit.transposed_b = packed == 2;  // of 16-bit elements alone
  const std::vector<Basis> warps{{16, 0}, {32, 0}};
  unit.a = fragment(unit.a.inputs()[0].bases, unit.a.inputs()[1].bases, 64, k, warps);
  unit.b = {};
  std::vector<Basis> sums{{0, 1}, {8, 0}};
  for (int image = 8; image < n; image *= 2) sums.push_back({0, image});
  unit.accumulators = fragment(std::move(sums), unit.accumulators.inputs()[1].bases, 64, n, warps);
  unit.operations_per_cycle = 4 * 512 * packed;
  return unit;
}

}  // namespace

std::vector<MatrixUnit> matrix_units(const Architecture& architecture) {
  std::vector<MatrixUnit> units;
  if (architecture.wgmma)
    for (int n = 256; n >= 8; n /= 2) {
      units.push_back(m64(n, 32, 4, "i8", "i32"));
      units.push_back(m64(n, 16, 2, "f16", "f32"));
      units.push_back(m64(n, 16, 2, "bf16", "f32"));
    }
  if (architecture.number >= 80) {
    units.push_back(m16n8(32, 4, "i8", "i32"));
    units.push_back(m16n8(16, 2, "f16", "f32"));
    units.push_back(m16n8(16, 2, "bf16", "f32"));
    units.push_back(m16n8(8, 1, "tf32", "f32"));
  } else {
    units.push_back(m16n8(8, 2, "f16", "f32"));
  }
  return units;
}

}  // namespace teeny::compiler::cuda
