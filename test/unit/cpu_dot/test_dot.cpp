// Products of blocks against a float64 (or wrapping integer) reference, for every kind of product and packing.
#include <gtest/gtest.h>
#include <llvm/Support/TargetSelect.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "dot_harness.hpp"

namespace teeny::test {

using namespace teeny::compiler::cpu;

namespace {

const CpuTarget& host() {
  static const CpuTarget target = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return describe_host_cpu();
  }();
  return target;
}

double decode_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double decode(DType type, const void* at) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case DType::i8:
      return as(std::int8_t{});
    case DType::u8:
      return as(std::uint8_t{});
    case DType::i16:
      return as(std::int16_t{});
    case DType::i32:
      return as(std::int32_t{});
    case DType::i64:
      return static_cast<double>(as(std::int64_t{}));
    case DType::f16:
      return decode_f16(as(std::uint16_t{}));
    case DType::bf16: {
      const std::uint32_t bits = static_cast<std::uint32_t>(as(std::uint16_t{})) << 16;
      float value;
      std::memcpy(&value, &bits, 4);
      return value;
    }
    case DType::f32:
      return as(float{});
    case DType::f64:
      return as(double{});
    default:
      throw std::logic_error("no decoder");
  }
}

// Random bits of a type; floats in (-4, 4), with both halves of every word in use.
std::vector<std::uint8_t> random_elements(DType type, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-4, 4);
  std::vector<std::uint8_t> bytes(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = random();
    const float single = static_cast<float>(real(random));
    if (type == DType::f32) std::memcpy(&bits, &single, 4);
    if (type == DType::bf16) {
      std::uint32_t word;
      std::memcpy(&word, &single, 4);
      bits = word >> 16;
    }
    if (type == DType::f16) bits = (bits & 0x83FF) | ((9 + random() % 8) << 10);
    if (type == DType::f64) {
      const double value = real(random);
      std::memcpy(&bits, &value, 8);
    }
    if (type == DType::i64) bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(random() % 2001) - 1000);
    std::memcpy(&bytes[i * size_of(type)], &bits, size_of(type));
  }
  return bytes;
}

struct AlignedBytes {
  explicit AlignedBytes(std::int64_t size) : bytes(static_cast<std::size_t>(size) + 64, 0xFF) {}  // NaN everywhere
  void* data() {
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(bytes.data()) + 63) & ~std::uintptr_t{63});
  }
  std::vector<std::uint8_t> bytes;
};

struct Case {
  DotShape shape;
  DotInner a_inner = DotInner::k, b_inner = DotInner::other;
  std::int64_t m = 0, n = 0, k = 0;  // bounds inside the block
};

double round_tf32(double value) {
  const float single = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &single, 4);
  bits = (bits + 0x1000) & 0xFFFFE000u;
  float rounded;
  std::memcpy(&rounded, &bits, 4);
  return rounded;
}

// Operand elements as numbers, [other, k].
std::vector<double> numbers(DType type, const std::vector<std::uint8_t>& bytes, DotInner inner, std::int64_t other,
                            std::int64_t k, std::int64_t pitch, bool tf32) {
  std::vector<double> result(static_cast<std::size_t>(other * k));
  for (std::int64_t i = 0; i < other; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      const auto at = static_cast<std::size_t>(inner == DotInner::k ? i * pitch + j : j * pitch + i);
      const double value = decode(type, &bytes[at * size_of(type)]);
      result[static_cast<std::size_t>(i * k + j)] = tf32 ? round_tf32(value) : value;
    }
  }
  return result;
}

std::int64_t wrap(DType type, std::int64_t value) {
  const unsigned unused = 64u - static_cast<unsigned>(bits_of(type));
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
}

// Unit round-off of what a sum is kept in, once in the chain and once when it is stored.
double round_off(DType type) { return type == DType::f64 ? 0x1p-53 : type == DType::f16 ? 0x1p-11 : 0x1p-24; }

struct Reference {
  std::vector<double> a, b;
  std::vector<std::uint8_t> before;
};

void check_results(const Case& c, const Reference& reference, const std::vector<std::uint8_t>& after,
                   std::int64_t pitch) {
  const DType type = c.shape.accumulator;
  int wrong = 0;
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      const std::size_t at = static_cast<std::size_t>(i * pitch + j) * size_of(type);
      const double start = decode(type, &reference.before[at]), got = decode(type, &after[at]);
      double sum = start, magnitude = std::abs(start);
      std::int64_t integer = static_cast<std::int64_t>(start);
      for (std::int64_t k = 0; k < c.k; ++k) {
        const double x = reference.a[static_cast<std::size_t>(i * c.k + k)],
                     y = reference.b[static_cast<std::size_t>(j * c.k + k)];
        sum += x * y;
        magnitude += std::abs(x * y);
        if (!is_float(type))
          integer = static_cast<std::int64_t>(static_cast<std::uint64_t>(integer) +
                                              static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) *
                                                  static_cast<std::uint64_t>(static_cast<std::int64_t>(y)));
      }
      const double chain = 2.0 * static_cast<double>(c.k) * round_off(type == DType::f64 ? type : DType::f32);
      const bool good = is_float(type)
                            ? std::abs(got - sum) <= chain * magnitude + round_off(type) * std::abs(sum) * 1.01 + 1e-300
                            : static_cast<std::int64_t>(got) == wrap(type, integer);
      if (!good && wrong++ < 3) ADD_FAILURE() << "at " << i << ", " << j << ": got " << got << ", expected " << sum;
    }
  }
  EXPECT_EQ(wrong, 0);
  // Nothing outside the block's columns is written.
  for (std::int64_t i = 0; i < c.shape.m; ++i) {
    for (std::int64_t j = c.shape.n; j < pitch; ++j) {
      const std::size_t at = static_cast<std::size_t>(i * pitch + j) * size_of(type);
      ASSERT_EQ(std::memcmp(&reference.before[at], &after[at], size_of(type)), 0) << i << ", " << j;
    }
  }
}

void run_case(const DotProgram& program, const Case& c) {
  SCOPED_TRACE(testing::Message() << c.shape.m << "x" << c.shape.n << "x" << c.shape.k << " bounds " << c.m << "x"
                                  << c.n << "x" << c.k << " " << name_of(c.shape.a) << " " << name_of(c.shape.b) << " "
                                  << name_of(c.shape.accumulator) << " inner " << int(c.a_inner) << int(c.b_inner)
                                  << " vector bytes " << program.plan.target.vector_bytes);
  const bool a_rows = c.a_inner == DotInner::k, b_columns = c.b_inner == DotInner::k;
  // Exactly the elements inside the bounds exist, so a sanitizer sees every access beyond.
  const std::int64_t a_pitch = a_rows ? c.k : c.m, b_pitch = b_columns ? c.k : c.n, pitch = c.shape.n + 3;
  const auto a = random_elements(c.shape.a, static_cast<std::size_t>(c.m * c.k), 1);
  const auto b = random_elements(c.shape.b, static_cast<std::size_t>(c.n * c.k), 2);
  Reference reference;
  reference.before = random_elements(c.shape.accumulator, static_cast<std::size_t>(c.shape.m * pitch), 3);
  const bool tf32 = c.shape.precision == DotPrecision::fast;
  reference.a = numbers(c.shape.a, a, c.a_inner, c.m, c.k, a_pitch, tf32);
  reference.b = numbers(c.shape.b, b, c.b_inner, c.n, c.k, b_pitch, tf32);
  auto after = reference.before;
  AlignedBytes packed_a(program.plan.a_bytes), packed_b(program.plan.b_bytes);
  program.pack_a(packed_a.data(), a.data(), a_pitch, c.m, c.k);
  program.pack_b(packed_b.data(), b.data(), b_pitch, c.n, c.k);
  program.multiply(packed_a.data(), program.plan.a_row_bytes, packed_b.data(), after.data(), pitch, c.m, c.n, c.k);
  check_results(c, reference, after, pitch);
  const bool whole_words = c.k % program.plan.group == 0;
  if (!program.plan.a_direct || !a_rows || c.m != c.shape.m || !whole_words) return;
  auto direct = reference.before;
  program.multiply(a.data(), a_pitch * static_cast<std::int64_t>(size_of(c.shape.a)), packed_b.data(), direct.data(),
                   pitch, c.m, c.n, c.k);
  EXPECT_EQ(direct, after) << "a used where it lies";
}

void run_case(const Case& c, const CpuTarget& target) {
  run_case(DotProgram(c.shape, target, c.a_inner, c.b_inner), c);
}

Case whole(std::int64_t m, std::int64_t n, std::int64_t k, DType a, DType b, DType accumulator) {
  return {{m, n, k, a, b, accumulator}, DotInner::k, DotInner::other, m, n, k};
}

struct Types {
  DType a, b, accumulator;
};
constexpr Types all_types[] = {
    {DType::f32, DType::f32, DType::f32}, {DType::bf16, DType::bf16, DType::f32}, {DType::f16, DType::f16, DType::f32},
    {DType::f16, DType::f16, DType::f16}, {DType::f64, DType::f64, DType::f64},   {DType::i8, DType::i8, DType::i32},
    {DType::u8, DType::i8, DType::i32},   {DType::i8, DType::u8, DType::i32},     {DType::u8, DType::u8, DType::i32},
    {DType::i16, DType::i16, DType::i32}, {DType::i32, DType::i32, DType::i32},   {DType::i64, DType::i64, DType::i64},
    {DType::i8, DType::i8, DType::i64},   {DType::bf16, DType::f32, DType::f32},
};
// Every extent of the list meets every role once in a set of triples, which the types share out.
constexpr std::int64_t extents[] = {1, 2, 3, 5, 7, 13, 16, 17, 48, 50, 64, 100};

class DotTypes : public testing::TestWithParam<Types> {};

TEST_P(DotTypes, extents_in_every_role) {
  const Types types = GetParam();
  constexpr std::size_t count = std::size(extents);
  const auto first = static_cast<std::size_t>(types.a) % 2;
  for (std::size_t i = first; i < count; i += 2) {
    run_case(whole(extents[i], extents[(i * 5 + 3) % count], extents[(i * 7 + 1) % count], types.a, types.b,
                   types.accumulator),
             host());
  }
}

TEST_P(DotTypes, transposed_operands) {
  const Types types = GetParam();
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{17, 50, 100}, {64, 16, 13}, {5, 100, 64}}) {
    Case c = whole(m, n, k, types.a, types.b, types.accumulator);
    c.a_inner = DotInner::other;
    c.b_inner = DotInner::k;
    run_case(c, host());
  }
}

TEST_P(DotTypes, bounds_inside_the_block) {
  const Types types = GetParam();
  for (const bool transposed : {false, true}) {
    Case c = whole(64, 100, 80, types.a, types.b, types.accumulator);
    if (transposed) c.a_inner = DotInner::other, c.b_inner = DotInner::k;
    const DotProgram program(c.shape, host(), c.a_inner, c.b_inner);
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {63, 99, 77}, {33, 50, 64}, {8, 48, 3}}) {
      c.m = m, c.n = n, c.k = k;
      run_case(program, c);
    }
  }
}

std::string types_name(const testing::TestParamInfo<Types>& info) {
  return std::string(name_of(info.param.a)) + "_" + name_of(info.param.b) + "_" + name_of(info.param.accumulator);
}
INSTANTIATE_TEST_SUITE_P(All, DotTypes, testing::ValuesIn(all_types), types_name);

TEST(Dot, narrower_machines_compute_the_same) {
  for (const char* cpu : {"x86-64-v3", "x86-64-v2"}) {
    if (!host().x86 || host().vector_bytes < 32) GTEST_SKIP() << "this processor cannot run " << cpu;
    const CpuTarget narrow = describe_cpu(host().triple, cpu, "");
    for (const Types& types : all_types) run_case(whole(13, 50, 17, types.a, types.b, types.accumulator), narrow);
  }
}

TEST(Dot, bf16_pairs_where_they_pay) {
  CpuTarget target = host();
  if (!target.convert_bf16) GTEST_SKIP() << "this processor has no vdpbf16ps";
  target.dot_bf16 = true;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{17, 50, 100}, {64, 96, 13}, {5, 100, 64}}) {
    Case c = whole(m, n, k, DType::bf16, DType::bf16, DType::f32);
    run_case(c, target);
    c.a_inner = DotInner::other;
    c.b_inner = DotInner::k;
    run_case(c, target);
  }
}

TEST(Dot, fast_rounds_operands_to_tf32) {
  Case c = whole(16, 48, 50, DType::f32, DType::f32, DType::f32);
  c.shape.precision = DotPrecision::fast;
  run_case(c, host());
}

TEST(Dot, reproducible_bf16_keeps_denormals) {
  DotShape shape{1, 1, 2, DType::bf16, DType::bf16, DType::f32};
  shape.reproducible = true;
  CpuTarget target = host();
  target.dot_bf16 = target.convert_bf16;
  const DotProgram program(shape, target, DotInner::k, DotInner::other);
  const std::uint16_t a[2] = {0x0001, 0x3F80}, b[2] = {0x7000, 0x0000};  // 2^-133 and 1 by 2^97 and 0
  AlignedBytes packed_a(program.plan.a_bytes), packed_b(program.plan.b_bytes);
  float sum = 0;
  program.pack_a(packed_a.data(), a, 2, 1, 2);
  program.pack_b(packed_b.data(), b, 1, 1, 2);
  program.multiply(packed_a.data(), program.plan.a_row_bytes, packed_b.data(), &sum, 1, 1, 1, 2);
  EXPECT_EQ(sum, 0x1p-36f);
}

TEST(Dot, reproducible_is_an_ascending_chain_of_fused_steps) {
  if (!host().fma) GTEST_SKIP() << "this processor has no fused multiply-add";
  DotShape shape{9, 17, 50, DType::f32, DType::f32, DType::f32};
  shape.reproducible = true;
  const DotProgram program(shape, host(), DotInner::k, DotInner::other);
  const auto a = random_elements(DType::f32, 9 * 50, 1), b = random_elements(DType::f32, 50 * 17, 2);
  AlignedBytes packed_a(program.plan.a_bytes), packed_b(program.plan.b_bytes);
  std::vector<float> sums(9 * 17, 0.5f);
  program.pack_a(packed_a.data(), a.data(), 50, 9, 50);
  program.pack_b(packed_b.data(), b.data(), 17, 17, 50);
  program.multiply(packed_a.data(), program.plan.a_row_bytes, packed_b.data(), sums.data(), 17, 9, 17, 50);
  const auto* x = reinterpret_cast<const float*>(a.data());
  const auto* y = reinterpret_cast<const float*>(b.data());
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 17; ++j) {
      float expected = 0.5f;
      for (int k = 0; k < 50; ++k) expected = std::fma(x[i * 50 + k], y[k * 17 + j], expected);
      ASSERT_EQ(sums[static_cast<std::size_t>(i * 17 + j)], expected) << i << ", " << j;
    }
  }
}

// Every f16 and bf16 to f32 and back, every tie between neighbours, without the conversions that the processor has.
TEST(Dot, soft_conversions_round_to_nearest_even) {
  CpuTarget soft = host();
  soft.convert_f16 = soft.convert_bf16 = false;
  for (const DType type : {DType::f16, DType::bf16}) {
    const HalfCasts casts(soft, type);
    for (std::uint32_t half = 0; half < 0x10000; half += HalfCasts::lanes) {
      std::uint16_t in[HalfCasts::lanes], out[HalfCasts::lanes];
      float wide[HalfCasts::lanes];
      for (std::uint32_t i = 0; i < HalfCasts::lanes; ++i) in[i] = static_cast<std::uint16_t>(half + i);
      casts.widen(in, wide);
      casts.narrow(wide, out);
      for (std::uint32_t i = 0; i < HalfCasts::lanes; ++i) {
        const std::uint32_t infinity = type == DType::f16 ? 0x7C00 : 0x7F80, magnitude = in[i] & 0x7FFF;
        if (magnitude > infinity) {
          ASSERT_TRUE(std::isnan(wide[i]) && (out[i] & 0x7FFF) > infinity) << std::hex << in[i];
          continue;
        }
        ASSERT_EQ(out[i], in[i]);
        if (magnitude == infinity) {
          ASSERT_TRUE(std::isinf(wide[i])) << std::hex << in[i];
        } else {
          ASSERT_EQ(wide[i], decode(type, &in[i])) << std::hex << in[i];
        }
      }
      // Half way to the next value upwards goes to the even one; the last finite one's neighbour is infinity.
      float ties[HalfCasts::lanes];
      for (std::uint32_t i = 0; i < HalfCasts::lanes; ++i) {
        const double here = wide[i],
                     step =
                         std::ldexp(1.0, type == DType::f16 ? std::max(-24, std::ilogb(here == 0 ? 1e-30 : here) - 10)
                                                            : std::max(-133, std::ilogb(here == 0 ? 1e-45 : here) - 7));
        ties[i] = static_cast<float>(here + std::copysign(step / 2, std::signbit(wide[i]) ? -1.0 : 1.0));
      }
      casts.narrow(ties, out);
      for (std::uint32_t i = 0; i < HalfCasts::lanes; ++i) {
        if ((in[i] & 0x7FFFu) >= (type == DType::f16 ? 0x7C00u : 0x7F80u)) continue;
        ASSERT_EQ(out[i], in[i] + (in[i] & 1u)) << name_of(type) << " " << std::hex << in[i];
      }
    }
  }
}

TEST(Dot, nothing_used_does_nothing) {
  const DotProgram program({16, 16, 16, DType::f32, DType::f32, DType::f32}, host(), DotInner::k, DotInner::other);
  std::vector<float> sums(256, 3.0f);
  program.multiply(nullptr, 64, nullptr, sums.data(), 16, 16, 16, 0);
  program.multiply(nullptr, 64, nullptr, sums.data(), 16, 0, 16, 16);
  program.multiply(nullptr, 64, nullptr, sums.data(), 16, 16, 0, 16);
  EXPECT_EQ(sums, std::vector<float>(256, 3.0f));
}

TEST(Dot, refuses_what_does_not_fit) {
  for (const DotShape& shape : {DotShape{0, 1, 1}, DotShape{1, 1, 1, DType::f32, DType::i8, DType::f32}}) {
    auto plan = plan_dot(shape, host());
    ASSERT_FALSE(static_cast<bool>(plan));
    EXPECT_NE(llvm::toString(plan.takeError()).find("help: "), std::string::npos);
  }
}

TEST(Dot, plans_follow_registers_and_lanes) {
  const auto tile = [](const char* triple, const char* cpu, const char* features) {
    host();
    const auto plan = llvm::cantFail(plan_dot({240, 480, 64}, describe_cpu(triple, cpu, features)));
    return std::pair(plan.rows.first, plan.panels.first * plan.lanes);
  };
  EXPECT_EQ(tile("x86_64-linux-gnu", "x86-64-v4", ""), (std::pair<std::int64_t, std::int64_t>(8, 48)));
  EXPECT_EQ(tile("x86_64-linux-gnu", "x86-64-v3", ""), (std::pair<std::int64_t, std::int64_t>(6, 16)));
  EXPECT_EQ(tile("aarch64-linux-gnu", "generic", ""), (std::pair<std::int64_t, std::int64_t>(8, 12)));
}

TEST(Dot, inner_loops_use_the_instruction_and_spill_nothing) {
  struct Expected {
    const char *triple, *cpu, *features;
    Types types;
    const char *instruction, *spill;
  };
  const Types f32{DType::f32, DType::f32, DType::f32}, i8{DType::i8, DType::i8, DType::i32};
  const Expected list[] = {
      {"x86_64-linux-gnu", "x86-64-v4", "", f32, "vfmadd231ps", "64-byte Spill"},
      {"x86_64-linux-gnu", "x86-64-v3", "", f32, "vfmadd231ps", "32-byte Spill"},
      {"x86_64-linux-gnu", "znver4", "", {DType::bf16, DType::bf16, DType::f32}, "vdpbf16ps", "64-byte Spill"},
      {"x86_64-linux-gnu", "x86-64-v4", "+avx512vnni", i8, "vpdpbusd", "64-byte Spill"},
      {"aarch64-linux-gnu", "generic", "", f32, "fmla", "16-byte Spill"},
      {"aarch64-linux-gnu", "generic", "+dotprod", i8, "sdot", "16-byte Spill"},
  };
  host();
  for (const Expected& e : list) {
    const std::string text = dot_assembly({64, 96, 64, e.types.a, e.types.b, e.types.accumulator},
                                          describe_cpu(e.triple, e.cpu, e.features));
    const std::size_t start = text.find("teeny.dot."), end = text.find("pack_a:");
    ASSERT_TRUE(start < end && end != std::string::npos);
    const std::string kernel = text.substr(start, end - start);
    EXPECT_NE(kernel.find(e.instruction), std::string::npos) << e.triple << " " << e.features;
    EXPECT_EQ(kernel.find(e.spill), std::string::npos) << e.triple << " " << e.features;
  }
}

}  // namespace
}  // namespace teeny::test
