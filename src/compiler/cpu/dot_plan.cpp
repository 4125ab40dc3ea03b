#include <algorithm>
#include <string>

#include "compiler/cpu/dot.hpp"

namespace teeny::compiler::cpu {

namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// What an instruction needs of its operands; the first row that fits is taken.
struct ProductRule {
  DotProduct product;
  DType a, b;  // element types it reads
  int group;
  bool widens;  // narrower integers may be extended to a and b
  bool CpuTarget::*fact;
};

constexpr ProductRule product_rules[] = {
    {DotProduct::pairs_bf16, DType::bf16, DType::bf16, 2, false, &CpuTarget::dot_bf16},
    {DotProduct::quads_s8s8, DType::i8, DType::i8, 4, false, &CpuTarget::dot_s8s8},
    {DotProduct::quads_u8s8, DType::u8, DType::i8, 4, false, &CpuTarget::dot_u8s8},
    {DotProduct::quads_s8u8, DType::i8, DType::u8, 4, false, &CpuTarget::dot_u8s8},
    // Signed by signed: a is biased to unsigned and the bias taken back by column sums of b.
    {DotProduct::quads_u8s8, DType::i8, DType::i8, 4, false, &CpuTarget::dot_u8s8},
    {DotProduct::pairs_i16, DType::i16, DType::i16, 2, true, &CpuTarget::multiply_add_i16},
};

bool reads(const ProductRule& rule, DType wanted, DType given) {
  return given == wanted || (rule.widens && is_integer(given) && size_of(given) < size_of(wanted));
}

const ProductRule* find_rule(const DotShape& shape, const CpuTarget& target) {
  const bool floats = is_float(shape.a);
  if (floats ? shape.accumulator == DType::f64 || shape.reproducible : size_of(shape.accumulator) > 4) return nullptr;
  for (const ProductRule& rule : product_rules) {
    if (target.*rule.fact && reads(rule, rule.a, shape.a) && reads(rule, rule.b, shape.b)) return &rule;
  }
  return nullptr;
}

// The element type that both operands take when they are multiplied lane by lane.
DType common_type(const DotShape& shape) {
  if (is_float(shape.a)) {
    const bool wide = shape.a == DType::f64 || shape.b == DType::f64 || shape.accumulator == DType::f64;
    return wide ? DType::f64 : DType::f32;
  }
  return size_of(shape.accumulator) > 4 ? DType::i64 : DType::i32;
}

DotPartition partition(std::int64_t extent, std::int64_t part) {
  DotPartition result;
  const std::int64_t count = divide_up(extent, part);
  result.first = divide_up(extent, count);
  result.first_count = extent - count * (result.first - 1);
  result.second_count = count - result.first_count;
  return result;
}

// Half cycles that one step of k takes in a tile, on two units for products, two for loads, a latency of four cycles.
double tile_cost(std::int64_t rows, std::int64_t vectors) {
  const double products = static_cast<double>(rows * vectors), loads = static_cast<double>(rows + vectors);
  // Whole registers of b cost more of the first-level cache than words of a; it decides between equals.
  return std::max({products, loads, 8.0}) + 1e-3 * static_cast<double>(rows + 3 * vectors);
}

double plan_cost(const DotPartition& rows, const DotPartition& panels) {
  double cost = 0;
  for (int row_kind = 0; row_kind < 2; ++row_kind) {
    for (int panel_kind = 0; panel_kind < 2; ++panel_kind) {
      const std::int64_t count =
          (row_kind ? rows.second_count : rows.first_count) * (panel_kind ? panels.second_count : panels.first_count);
      if (count) cost += static_cast<double>(count) * tile_cost(rows.first - row_kind, panels.first - panel_kind);
    }
  }
  return cost;
}

// The register tile: every size whose accumulators, one row of b and a broadcast fit the registers; the cheapest wins.
void choose_tile(DotPlan& plan) {
  const std::int64_t vectors = divide_up(plan.shape.n, plan.lanes);
  double best = -1;
  for (std::int64_t wide = 1; wide <= std::min<std::int64_t>(vectors, 8); ++wide) {
    for (std::int64_t high = 1; high <= std::min<std::int64_t>(plan.shape.m, plan.target.row_pointers); ++high) {
      if (high * wide + wide + 1 > plan.target.vector_registers) break;
      const DotPartition rows = partition(plan.shape.m, high), panels = partition(vectors, wide);
      const double cost = plan_cost(rows, panels);
      if (best >= 0 && cost >= best) continue;
      best = cost;
      plan.rows = rows;
      plan.panels = panels;
    }
  }
}

void lay_out(DotPlan& plan) {
  const std::int64_t vectors = divide_up(plan.shape.n, plan.lanes);
  plan.k_words = divide_up(plan.shape.k, plan.group);
  // Packing stores whole registers, so a row ends at a register; a pitch that is a power of two would map rows to one
  // set.
  plan.a_row_bytes = divide_up(plan.k_words * plan.word_bytes, plan.target.vector_bytes) * plan.target.vector_bytes;
  if (plan.a_row_bytes % 512 == 0) plan.a_row_bytes += 64;
  plan.a_bytes = divide_up(plan.shape.m * plan.a_row_bytes, 64) * 64;
  const std::int64_t columns_bytes = vectors * plan.target.vector_bytes;
  plan.b_bytes = divide_up((plan.k_words + (plan.compensate ? 1 : 0)) * columns_bytes, 64) * 64;
}

llvm::Error check(const DotShape& shape) {
  const auto fail = [&](const char* rule, const std::string& help) {
    const auto name = [](DType type) { return std::string(name_of(type)); };
    return llvm::createStringError("dot: " + std::string(rule) + "; got [" + std::to_string(shape.m) + ", " +
                                   std::to_string(shape.k) + "] " + name(shape.a) + " by [" + std::to_string(shape.k) +
                                   ", " + std::to_string(shape.n) + "] " + name(shape.b) + " into " +
                                   name(shape.accumulator) + "\nhelp: " + help);
  };
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) return fail("extents must be at least 1", "give the block a size");
  const bool floats = is_float(shape.a) && is_float(shape.b) && is_float(shape.accumulator);
  const bool integers = is_integer(shape.a) && is_integer(shape.b) && is_integer(shape.accumulator);
  if (!floats && !integers) {
    return fail("operands and accumulator must be all floats or all integers", "cast an operand first");
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<DotPlan> plan_dot(const DotShape& shape, const CpuTarget& target) {
  if (llvm::Error error = check(shape)) return error;
  DotPlan plan;
  plan.shape = shape;
  plan.target = target;
  if (const ProductRule* rule = find_rule(shape, target)) {
    plan.product = rule->product;
    plan.packed_a = rule->a;
    plan.packed_b = rule->b;
    plan.group = rule->group;
    plan.word_bytes = 4;
    plan.compensate = rule->product == DotProduct::quads_u8s8 && shape.a == DType::i8;
  } else {
    plan.packed_a = plan.packed_b = common_type(shape);
    plan.product = is_float(shape.a) ? DotProduct::multiply_add_float : DotProduct::multiply_add_integer;
    plan.word_bytes = static_cast<int>(size_of(plan.packed_a));
  }
  plan.lanes = target.lanes(plan.word_bytes);
  const bool rounds = shape.precision == DotPrecision::fast && shape.a == DType::f32;
  plan.a_direct = shape.a == plan.packed_a && !plan.compensate && !rounds;
  choose_tile(plan);
  lay_out(plan);
  return plan;
}

}  // namespace teeny::compiler::cpu
