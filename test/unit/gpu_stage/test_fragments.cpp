// Fragments of matrix units: every element stands in one place, and what a product multiplies belongs together.
#include <map>

#include <gtest/gtest.h>

#include "compiler/gpu/fragments.hpp"
#include "compiler/layout/layouts.hpp"
#include "compiler/target/cuda/cuda.hpp"

namespace teeny::compiler::gpu {
namespace {

std::vector<MatrixUnit> units() {
  std::vector<MatrixUnit> all;
  for (const char* name : {"sm_75", "sm_90a"})
    for (MatrixUnit& unit : cuda::matrix_units(cuda::architecture_of(name))) all.push_back(std::move(unit));
  return all;
}

TEST(Fragments, HoldEveryElementOnce) {
  for (const MatrixUnit& unit : units())
    for (const LinearLayout* layout : {&unit.a, &unit.b, &unit.accumulators}) {
      if (layout == &unit.b && unit.form == MatrixUnit::Form::memory) continue;  // it stands in shared memory
      EXPECT_TRUE(layout->is_bijective()) << unit.name << " " << layout->to_string();
      EXPECT_EQ(layout->input_size(Axis::lane), 32) << unit.name;
    }
}

// PTX ISA, figures of m16n8k16 with .f16: a2 of lane 0 is row 0, column 8; b2 of lane 5 is row 10, column 1; c3 of lane
// 31 is row 15, column 7.
TEST(Fragments, OfM16n8k16AreAsTheIsaDrawsThem) {
  const auto rows = cuda::matrix_units(cuda::architecture_of("sm_80"));
  const auto unit = std::find_if(rows.begin(), rows.end(), [](const MatrixUnit& row) { return row.operand == "f16"; });
  ASSERT_NE(unit, rows.end());
  using Place = std::pair<int, int>;
  const auto at = [](const LinearLayout& layout, int reg, int lane) {
    const Point point = layout.apply({{Axis::reg, reg}, {Axis::lane, lane}});
    return Place{point[0].second, point[1].second};
  };
  EXPECT_EQ(at(unit->a, 2, 0), (Place{8, 0}));
  EXPECT_EQ(at(unit->a, 4, 0), (Place{0, 8}));
  EXPECT_EQ(at(unit->b, 2, 5), (Place{10, 1}));
  EXPECT_EQ(at(unit->accumulators, 3, 31), (Place{15, 7}));
}

// A register of the accumulators and the fragments with the same row, or column, for every warp.
TEST(Fragments, OperandsFollowTheAccumulators) {
  for (const MatrixUnit& unit : units()) {
    if (unit.n > 32) continue;  // wider ones of a kind differ by registers alone
    for (WarpSplit split : {WarpSplit{1, 1}, WarpSplit{2, 2}, WarpSplit{4, 1}, WarpSplit{1, 8}}) {
      const std::int64_t shape[] = {64, 32}, depth = 4 * unit.k;
      const LinearLayout sums = tiled_accumulators(unit, shape, split);
      EXPECT_TRUE(sums.is_surjective()) << unit.name;
      EXPECT_EQ(sums.input_size(Axis::warp), split.rows * split.columns * unit.warps);
      for (int operand : {0, 1}) {
        if (operand == 1 && unit.form == MatrixUnit::Form::memory) continue;
        const LinearLayout layout = tiled_operand(unit, operand, sums, depth);
        EXPECT_TRUE(layout.is_surjective()) << unit.name << " " << layout.to_string();
        for (int warp = 0; warp < sums.input_size(Axis::warp); ++warp) {
          std::map<int, int> wanted, held;  // indices along the operand's own dimension
          for (int reg = 0; reg < sums.input_size(Axis::reg); ++reg)
            for (int lane = 0; lane < 32; ++lane)
              ++wanted[sums.apply({{Axis::reg, reg}, {Axis::lane, lane}, {Axis::warp, warp}}, index_axis(operand))];
          for (int reg = 0; reg < layout.input_size(Axis::reg); ++reg)
            for (int lane = 0; lane < 32; ++lane)
              ++held[layout.apply({{Axis::reg, reg}, {Axis::lane, lane}, {Axis::warp, warp}}, index_axis(operand))];
          for (auto [index, count] : wanted) EXPECT_EQ(held[index], depth) << unit.name << " operand " << operand;
          EXPECT_EQ(wanted.size(), held.size());
        }
      }
    }
  }
}

// Where the hardware looks for an element of a swizzled block: rows of `swizzle` bytes in panels, bits 4 … of the place xored
// with bits 7 …, as many as the swizzle's name says.
TEST(Fragments, SwizzledPanelsAreWhereHardwareLooks) {
  for (std::int32_t bytes : {1, 2, 4})
    for (std::int32_t swizzle : {32, 64, 128})
      for (unsigned fast : {0u, 1u}) {
        std::int64_t shape[2];
        shape[fast] = 2 * swizzle / bytes, shape[1 - fast] = 32;
        const LinearLayout places = swizzled_panels(shape, fast, bytes, swizzle).invert();
        for (std::int32_t slow = 0; slow < shape[1 - fast]; ++slow)
          for (std::int32_t along = 0; along < shape[fast]; ++along) {
            const std::int32_t row = swizzle / bytes;
            std::int32_t at = along / row * 32 * swizzle + slow * swizzle + along % row * bytes;
            at ^= (at >> 7 & (swizzle / 16 - 1)) << 4;
            const std::int32_t found = places.apply({{index_axis(fast), along}, {index_axis(1 - fast), slow}}, Axis::offset);
            ASSERT_EQ(found * bytes, at) << bytes << " " << swizzle << " " << fast << " " << slow << " " << along;
          }
      }
}

// What exceeds a block holds copies instead of elements outside of it.
TEST(Fragments, SmallBlocksAreHeldInCopies) {
  const MatrixUnit unit = units().back();
  const std::int64_t shape[] = {16, 8};
  const LinearLayout sums = tiled_accumulators(unit, shape, {2, 2});
  EXPECT_EQ(sums.free_bits(Axis::warp), 3);
  EXPECT_TRUE(sums.is_surjective());
}

}  // namespace
}  // namespace teeny::compiler::gpu
