// Laws of linear layouts, over every coordinate.
#include <random>

#include <gtest/gtest.h>

#include "compiler/layout/layouts.hpp"

namespace teeny::compiler {
namespace {

// Calls `visit` with every point of the layout's inputs.
template <class Visit>
void for_each_point(const LinearLayout& layout, Visit visit) {
  for (std::int64_t number = 0; number < std::int64_t(1) << layout.total_input_bits(); ++number) {
    Point point;
    std::int64_t rest = number;
    for (const auto& input : layout.inputs()) {
      point.emplace_back(input.axis, static_cast<std::int32_t>(rest & (layout.input_size(input.axis) - 1)));
      rest >>= layout.input_bits(input.axis);
    }
    visit(point);
  }
}

// A random bijection of 6 bits between (register, lane, warp) and (dim0, dim1).
LinearLayout random_bijection(std::mt19937& random) {
  while (true) {
    std::vector<LinearLayout::Input> inputs = {{Axis::reg, {}}, {Axis::lane, {}}, {Axis::warp, {}}};
    for (int bit = 0; bit < 6; ++bit)
      inputs[bit / 2].bases.push_back({std::int32_t(random() % 16), std::int32_t(random() % 4)});
    LinearLayout layout(inputs, {{index_axis(0), 16}, {index_axis(1), 4}});
    if (layout.is_bijective()) return layout;
  }
}

TEST(LinearLayout, ComposeAppliesOneAfterTheOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    LinearLayout first = random_bijection(random), second = random_bijection(random);
    LinearLayout back = first.compose(second.invert());
    for_each_point(first, [&](const Point& p) { EXPECT_EQ(second.apply(back.apply(p)), first.apply(p)); });
  }
}

TEST(LinearLayout, InverseUndoes) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    LinearLayout layout = random_bijection(random), inverse = layout.invert();
    for_each_point(layout, [&](const Point& p) { EXPECT_EQ(inverse.apply(layout.apply(p)), p); });
  }
}

TEST(LinearLayout, InvertAndComposeFindsTheSameElement) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    LinearLayout from = random_bijection(random);
    // A target with copies: an extra lane bit that moves nothing.
    LinearLayout to = random_bijection(random) * LinearLayout::zeros(2, Axis::lane, index_axis(0));
    LinearLayout move = from.invert_and_compose(to);
    for_each_point(from, [&](const Point& p) { EXPECT_EQ(to.apply(move.apply(p)), from.apply(p)); });
    EXPECT_EQ(to.free_bits(Axis::lane), 4);
  }
}

TEST(LinearLayout, ProductCountsTheSecondAboveTheFirst) {
  LinearLayout inner = LinearLayout::identity(4, Axis::reg, index_axis(0));
  LinearLayout outer = LinearLayout::identity(8, Axis::lane, index_axis(0));
  LinearLayout product = inner * outer;
  for_each_point(product, [&](const Point& p) { EXPECT_EQ(product.apply(p, index_axis(0)), p[0].second + 4 * p[1].second); });
  EXPECT_EQ(product.divide_left(inner)->remove_zero_bases(Axis::reg).apply({{Axis::lane, 5}}, index_axis(0)), 5);
  EXPECT_FALSE((outer * inner).divide_left(inner * inner).has_value());
}

// blocked_layout against the index formula written out.
TEST(Layouts, BlockedFollowsItsFormula) {
  const std::int64_t shape[] = {16, 128};
  const unsigned size[] = {2, 4}, lanes[] = {4, 8}, warps[] = {2, 2}, order[] = {1, 0};
  LinearLayout layout = blocked_layout(shape, size, lanes, warps, order);
  EXPECT_TRUE(layout.is_bijective());
  for_each_point(layout, [&](const Point& p) {
    const int reg = p[0].second, lane = p[1].second, warp = p[2].second;
    const int row = reg / 4 % 2 + 2 * (lane / 8) + 8 * (warp / 2);
    const int column = reg % 4 + 4 * (lane % 8) + 32 * (warp % 2) + 64 * (reg / 8 % 2);
    EXPECT_EQ(layout.apply(p, index_axis(0)), row);
    EXPECT_EQ(layout.apply(p, index_axis(1)), column);
  });
  EXPECT_EQ(layout.consecutive_registers(index_axis(1)), 4);
  EXPECT_EQ(layout.consecutive_registers(index_axis(0)), 1);
}

TEST(Layouts, SmallTensorsAreBroadcast) {
  const std::int64_t shape[] = {16};
  const unsigned size[] = {4}, lanes[] = {32}, warps[] = {4}, order[] = {0};
  LinearLayout layout = blocked_layout(shape, size, lanes, warps, order);
  EXPECT_EQ(layout.free_bits(Axis::lane), 28);  // 4 lanes of 4 elements
  EXPECT_EQ(layout.free_bits(Axis::warp), 3);
  EXPECT_EQ(layout.input_size(Axis::reg), 4);
}

TEST(Layouts, SliceExpandTransposeAndReshapeKeepElements) {
  const std::int64_t shape[] = {16, 128};
  const unsigned size[] = {1, 4}, lanes[] = {2, 16}, warps[] = {4, 1}, order[] = {1, 0};
  LinearLayout layout = blocked_layout(shape, size, lanes, warps, order);
  LinearLayout rows = slice_layout(layout, 1);
  for_each_point(rows, [&](const Point& p) {
    Point lane_and_warp = {p[1], p[2]};
    EXPECT_EQ(rows.apply(lane_and_warp, index_axis(0)), layout.apply(lane_and_warp, index_axis(0)));
  });
  EXPECT_EQ(rows.free_bits(Axis::reg), 0);
  EXPECT_EQ(expand_layout(rows, 1).apply({{Axis::warp, 3}}, index_axis(0)), rows.apply({{Axis::warp, 3}}, index_axis(0)));
  const std::int32_t swap[] = {1, 0};
  LinearLayout transposed = transpose_layout(layout, swap);
  const std::int64_t flat[] = {2048};
  LinearLayout flattened = reshape_layout(layout, flat);
  for_each_point(layout, [&](const Point& p) {
    const int row = layout.apply(p, index_axis(0)), column = layout.apply(p, index_axis(1));
    EXPECT_EQ(transposed.apply(p, index_axis(0)), column);
    EXPECT_EQ(transposed.apply(p, index_axis(1)), row);
    EXPECT_EQ(flattened.apply(p, index_axis(0)), row * 128 + column);
  });
}

}  // namespace
}  // namespace teeny::compiler
