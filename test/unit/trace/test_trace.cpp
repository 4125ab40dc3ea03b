#include <random>

#include <gtest/gtest.h>
#include <teeny/error.hpp>

#include "rich_body.hpp"

namespace teeny::trace::test {
namespace {

TEST(Trace, RichBodyVerifies) { EXPECT_EQ(verify(rich_body()), ""); }

TEST(Trace, SerialisationIsTheIdentity) {
  const Body body = rich_body();
  const std::vector<std::uint8_t> bytes = serialise(body);
  const Body again = deserialise(bytes.data(), bytes.size());
  EXPECT_EQ(serialise(again), bytes);
  EXPECT_EQ(to_text(again), to_text(body));
  std::uint32_t number = 0;
  walk(again.region, [&](const Operation& operation, int) { EXPECT_EQ(operation.site, number++); });
}

TEST(Trace, TextShowsValuesTypesAndRegions) {
  const std::string text = to_text(rich_body());
  EXPECT_NE(text.find("kernel(%0: ptr<const f32>, %1: ptr<f32>, %2: i32) {\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%8 = load %7, %5 [1, 0, 0, 0, 0] : f32[16]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce %8 [0] : f32 {(%9: f32, %10: f32)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("device_print %2 \"n = \\\"\"\n"), std::string::npos) << text;
}

TEST(Trace, TextShowsConstantsAsValues) {
  Builder b;
  b.constant(DType::f16, 0x3555);
  b.constant(DType::bf16, 0xc000);
  b.constant(DType::i8, 0xff);
  b.constant(DType::u8, 0xff);
  b.constant(DType::f16, 1);
  ASSERT_EQ(verify(b.body), "");
  EXPECT_EQ(to_text(b.body),
            "kernel() {\n  %0 = constant 0.333251953 : f16\n  %1 = constant -2 : bf16\n  %2 = constant -1 : i8\n"
            "  %3 = constant 255 : u8\n  %4 = constant 5.96046448e-08 : f16\n}\n");
}

// Any cut and any altered byte gives an error or a verified body: never a crash, never more memory than the bytes
// justify.
TEST(Trace, DamagedBytesAreRefused) {
  const std::vector<std::uint8_t> bytes = serialise(rich_body());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_THROW(deserialise(bytes.data(), size), Error) << size;
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> damaged = bytes;
    for (int change = 0; change <= round % 3; ++change)
      damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    try {
      EXPECT_EQ(verify(deserialise(damaged.data(), damaged.size())), "");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(Trace, HugeCountsAreRefused) {
  std::vector<std::uint8_t> bytes = serialise(Body{});
  for (const std::size_t at : {4u, 8u, 12u, 16u}) {
    std::vector<std::uint8_t> huge = bytes;
    for (std::size_t i = 0; i < 4; ++i) huge[at + i] = 0xff;
    EXPECT_THROW(deserialise(huge.data(), huge.size()), Error);
  }
}

TEST(Trace, DeepNestingIsRefused) {
  Builder b;
  const ValueId condition = b.constant(DType::boolean, 1);
  Region inner = b.region([&] { b.operation(Opcode::yield, {}, {}); });
  for (int depth = 0; depth < max_depth + 5; ++depth) {
    Region outer = b.region([&] {
      Operation& branch = b.operation(Opcode::if_else, {condition}, {});
      branch.regions.push_back(inner);
      branch.regions.push_back(b.region([&] { b.operation(Opcode::yield, {}, {}); }));
      b.operation(Opcode::yield, {}, {});
    });
    inner = std::move(outer);
  }
  Operation& branch = b.operation(Opcode::if_else, {condition}, {});
  branch.regions.push_back(std::move(inner));
  branch.regions.push_back(b.region([&] { b.operation(Opcode::yield, {}, {}); }));
  EXPECT_NE(verify(b.body).find("nests more than"), std::string::npos);
  const std::vector<std::uint8_t> bytes = serialise(b.body);
  EXPECT_THROW(deserialise(bytes.data(), bytes.size()), Error);
}

// ---- one broken rule each
void expect_wrong(const Builder& b, const std::string& part) {
  const std::string wrong = verify(b.body);
  EXPECT_NE(wrong.find(part), std::string::npos) << "got: " << wrong;
}

TEST(TraceRules, Scopes) {
  Builder undefined;
  undefined.body.types.push_back(element(DType::i32));
  expect_wrong(undefined, "value %0 is never defined");

  Builder twice;
  const ValueId a = twice.constant(DType::i32, 1);
  twice.body.region.operations.push_back({Opcode::constant, 0, {}, {a}, {1}, {}, {}});
  expect_wrong(twice, "value %0 is defined twice");

  Builder before;
  before.body.types.push_back(element(DType::i32));
  before.one(Opcode::neg, {0}, element(DType::i32));
  expect_wrong(before, "operation 0, neg: operand %0 is not defined here");

  Builder escaped;
  const ValueId condition = escaped.constant(DType::boolean, 1);
  ValueId inner = 0;
  Region then_region = escaped.region([&] {
    inner = escaped.constant(DType::i32, 1);
    escaped.operation(Opcode::yield, {}, {});
  });
  Operation& branch = escaped.operation(Opcode::if_else, {condition}, {});
  branch.regions.push_back(std::move(then_region));
  branch.regions.push_back(escaped.region([&] { escaped.operation(Opcode::yield, {}, {}); }));
  escaped.one(Opcode::neg, {inner}, element(DType::i32));
  expect_wrong(escaped, "operation 5, neg: operand %1 is not defined here");

  Builder stray;
  stray.operation(Opcode::yield, {}, {});
  expect_wrong(stray, "may only end a region");
}

TEST(TraceRules, CombineSeesNothingFromOutside) {
  Builder b;
  const ValueId scale = b.constant(DType::f32, 0x3f800000);
  const ValueId tensor = b.one(Opcode::splat, {scale}, element(DType::f32, {8}));
  Region combine = b.region([&] {
    const ValueId left = b.argument(element(DType::f32));
    b.argument(element(DType::f32));
    b.operation(Opcode::yield, {b.one(Opcode::mul, {left, scale}, element(DType::f32))}, {});
  });
  b.operation(Opcode::reduce, {tensor}, {element(DType::f32)}, {0}).regions.push_back(std::move(combine));
  expect_wrong(b, "operation 3, mul: operand %0 is not defined here");
}

TEST(TraceRules, Operations) {
  const auto unary = [](Opcode opcode, Type from, Type to, std::vector<std::int64_t> integers = {}) {
    Builder b;
    const ValueId operand = b.parameter(Type{from.dtype, from.form, from.read_only, {}});
    const ValueId value = from.shape.empty() ? operand : b.one(Opcode::splat, {operand}, from);
    b.one(opcode, {value}, std::move(to), std::move(integers));
    return b;
  };
  const Type f = element(DType::f32), f8 = element(DType::f32, {8}), i = element(DType::i32);
  expect_wrong(unary(Opcode::exp, i, i), "exp: takes floats; got i32 -> i32");
  expect_wrong(unary(Opcode::neg, f, i), "neg: gives f32; got f32 -> i32");
  expect_wrong(unary(Opcode::neg, element(DType::boolean), element(DType::boolean)), "neg: takes numbers");
  expect_wrong(unary(Opcode::bitcast, f, element(DType::i16)), "bitcast: keeps the width");
  expect_wrong(unary(Opcode::bitcast, pointer(DType::f32, {}, true), pointer(DType::f32)),
               "keeps a pointer to const one");
  expect_wrong(unary(Opcode::cast, f8, element(DType::i32, {4})), "cast: keeps the shape");
  expect_wrong(unary(Opcode::expand_dims, f8, element(DType::f32, {8, 1}), {2}), "axis is 0 to 1, but says 2");
  expect_wrong(unary(Opcode::broadcast, f8, element(DType::f32, {16})), "repeats dimensions of size 1");
  expect_wrong(unary(Opcode::reshape, f8, element(DType::f32, {3, 3})), "keeps the number of elements");
  expect_wrong(unary(Opcode::trans, f8, f8, {1}), "permutes dimensions");
  expect_wrong(unary(Opcode::load, f, f, {0, 0, 0, 0, 0}), "load: takes a pointer");
  expect_wrong(unary(Opcode::load, pointer(DType::f32), i, {0, 0, 0, 0, 0}), "load: gives f32");
  expect_wrong(unary(Opcode::load, pointer(DType::f32), f, {0, 0, 5, 0, 0}),
               "takes the cache hints none, ca, cg, cs, cv");
  expect_wrong(unary(Opcode::load, pointer(DType::f32), f, {0, 1, 0, 0, 0}), "has_other is 0 to 0, but says 1");
  expect_wrong(unary(Opcode::multiple_of, i, i, {0}), "promises numbers of at least 1");
  EXPECT_EQ(verify(unary(Opcode::cast, f, element(DType::boolean)).body), "");
  EXPECT_EQ(verify(unary(Opcode::trans, f8, f8, {0}).body), "");

  Builder store;
  const ValueId p = store.parameter(pointer(DType::f32, {}, true)), v = store.parameter(f);
  store.operation(Opcode::store, {p, v}, {}, {0, 0, 0});
  expect_wrong(store, "store: does not write through a pointer to const; got ptr<const f32>, f32");

  Builder atomic;
  const ValueId q = atomic.parameter(pointer(DType::i8)), w = atomic.parameter(element(DType::i8));
  atomic.one(Opcode::atomic_rmw, {q, w}, element(DType::i8), {0, 0, 1, 0});
  expect_wrong(atomic, "works on 32- and 64-bit elements");

  Builder constant;
  constant.constant(DType::i8, 256);
  expect_wrong(constant, "has bits beyond its type's width");

  Builder too_large;
  const ValueId scalar = too_large.parameter(f);
  too_large.one(Opcode::splat, {scalar}, element(DType::f32, {1 << 20, 1 << 20, 1 << 20, 1 << 20}));
  expect_wrong(too_large, "has more than 1048576 elements");
}

TEST(TraceRules, Dot) {
  const auto dot = [](DType operands, DType accumulator, std::vector<std::int64_t> b_shape, std::int64_t precision) {
    Builder b;
    const ValueId scalar = b.parameter(element(operands)), zero = b.parameter(element(accumulator));
    const ValueId left = b.one(Opcode::splat, {scalar}, element(operands, {16, 32}));
    const ValueId right = b.one(Opcode::splat, {scalar}, element(operands, std::move(b_shape)));
    const ValueId sum = b.one(Opcode::splat, {zero}, element(accumulator, {16, 8}));
    b.one(Opcode::dot, {left, right, sum}, element(accumulator, {16, 8}), {precision});
    return b;
  };
  EXPECT_EQ(verify(dot(DType::f32, DType::f32, {32, 8}, 1).body), "");
  EXPECT_EQ(verify(dot(DType::i8, DType::i32, {32, 8}, 0).body), "");
  expect_wrong(dot(DType::f32, DType::f32, {16, 8}, 0), "takes [.., M, K], [.., K, N] and [.., M, N]");
  expect_wrong(dot(DType::bf16, DType::bf16, {32, 8}, 0), "accumulates i8 in i32");
  expect_wrong(dot(DType::f16, DType::f32, {32, 8}, 1), "choice of precision for f32 only");
}

}  // namespace
}  // namespace teeny::trace::test
