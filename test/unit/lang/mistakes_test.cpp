// Mistakes that only a recording shows: each is an error at its line that says what and what instead, and its right
// twin records.
#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <vector>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

namespace {

namespace tl = teeny::tl;

// The message of a kernel that must be wrong.
template <class K>
std::string mistake(const K& kernel) {
  try {
    teeny::record(kernel);
  } catch (const teeny::Error& error) {
    EXPECT_EQ(error.code(), teeny::ErrorCode::invalid_kernel);
    return error.what();
  }
  return "no mistake";
}

// Fails unless the message names this file, the line, the line's text, and all words.
void expect(const std::string& message, int line, std::initializer_list<const char*> words) {
  EXPECT_NE(message.find("mistakes_test.cpp:" + std::to_string(line) + ": "), std::string::npos)
      << "expected line " << line << "\n"
      << message;
  EXPECT_NE(message.find("\n    MISTAKE("), std::string::npos) << "the line itself is missing\n" << message;
  for (const char* word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "expected '" << word << "'\n" << message;
}

#define HEAD                                                             \
  [[maybe_unused]] auto c = tl::arange(0, 64);                           \
  [[maybe_unused]] auto c32 = tl::arange(0, 32);                         \
  [[maybe_unused]] auto mask = c < n;                                    \
  [[maybe_unused]] auto v = tl::load(x + c, {.mask = mask, .other = 0}); \
  [[maybe_unused]] auto t2 = tl::zeros<float>({32, 64});
#define KERNEL(name, ...)                                                        \
  struct name {                                                                  \
    void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 n) const { \
      HEAD;                                                                      \
      __VA_ARGS__;                                                               \
      tl::store(y + c, v, {.mask = mask});                                       \
    }                                                                            \
  };
// One test: the wrong body on its own line, the words of its message, the right body.
#define MISTAKE(name, wrong, words, right)           \
  KERNEL(Wrong##name, wrong)                         \
  KERNEL(Right##name, right)                         \
  TEST(Mistakes, name) {                             \
    expect(mistake(Wrong##name{}), __LINE__, words); \
    EXPECT_EQ(mistake(Right##name{}), "no mistake"); \
  }
#define W(...) \
  { __VA_ARGS__ }
#define B(...) __VA_ARGS__

// clang-format off
MISTAKE(Shapes, B(v = v + tl::cast<float>(c32)), W("add: shapes must broadcast; got [64] and [32]", "help: "), B(v = v + tl::cast<float>(c)))
MISTAKE(MaskShape, B(v = tl::load(x + c, {.mask = c32 < n})), W("load: the mask must broadcast", "got [32], expected [64]"), B(v = tl::load(x + c, {.mask = n > 3})))
MISTAKE(OtherShape, B(v = tl::load(x + c, {.mask = mask, .other = c32})), W("load: .other must broadcast"), B(v = tl::load(x + c, {.mask = mask, .other = c})))
MISTAKE(OtherWithoutMask, B(v = tl::load(x + c, {.other = 1})), W("load: .other needs .mask"), B(v = tl::load(x + c, {.mask = true, .other = 1})))
MISTAKE(StoredShape, B(tl::store(y + c, c32)), W("store: the value must broadcast", "got [32], expected [64]"), B(tl::store(y + c32, c32)))
MISTAKE(Break, B(for (auto i : tl::range(0, n)) { v += tl::cast<float>(i); break; }), W("range: 'break' or 'return' leaves a run-time loop", "tl::while_"), B(for (auto i : tl::range(0, n)) { v += tl::cast<float>(i); }))
MISTAKE(Return, B(for (auto i : tl::range(0, n)) { v += tl::cast<float>(i); if (sizeof(int) == 4) return; }), W("range: 'break' or 'return' leaves a run-time loop"), B(tl::return_if(n < 0)))
MISTAKE(NoEffect, B(for (auto i : tl::range(0, n)) { auto v2 = v + tl::cast<float>(i); (void)v2; }), W("range: the region stores nothing and changes no variable"), B(for (auto i : tl::range(0, n)) { v = v + tl::cast<float>(i); }))
MISTAKE(NoEffectOfIf, B(tl::if_(n > 3, [&] { auto w = v + 1; (void)w; })), W("if_: the region stores nothing"), B(tl::if_(n > 3, [&] { v = v + 1; })))
MISTAKE(InnerSizes, B(v = v + tl::sum(tl::dot(t2, t2, {.precision = tl::Precision::ieee}))), W("dot: the inner sizes must agree; got [32, 64] and [32, 64]", "help: tl::trans(b)"), B(v = v + tl::sum(tl::dot(t2, tl::trans(t2), {.precision = tl::Precision::ieee}))))
MISTAKE(AccumulatorShape, B(v = v + tl::sum(tl::dot(t2, tl::trans(t2), t2, {.precision = tl::Precision::ieee}))), W("dot: the accumulator has the product's shape; got [32, 64], expected [32, 32]"), B(v = v + tl::sum(tl::dot(t2, tl::trans(t2), tl::zeros<float>({32, 32}), {.precision = tl::Precision::ieee}))))
MISTAKE(Shadowed, B(for (auto i : tl::range(0, n)) { auto v = tl::zeros<float>({64}); for (auto j : tl::range(0, i)) v += tl::cast<float>(j); }), W("range: the region stores nothing"), B(for (auto i : tl::range(0, n)) { for (auto j : tl::range(0, i)) v += tl::cast<float>(j); }))
MISTAKE(LoopLocalAfterwards, B(std::vector<tl::Tensor<float, 1>> list; for (auto i : tl::range(0, n)) { list.push_back(v * tl::cast<float>(i)); v += 1; } v = list[0]), W("a value made inside the region of line"), B(std::vector<tl::Tensor<float, 1>> list{v}; for (auto i : tl::range(0, n)) { list[0] = v * tl::cast<float>(i); v += 1; } v = list[0]))
MISTAKE(OptionalAfterwards, B(std::optional<tl::Tensor<float, 1>> last; for (auto i : tl::range(0, n)) { last.emplace(v * tl::cast<float>(i)); v += 1; } v = *last), W("a value made inside the region of line"), B(std::optional<tl::Tensor<float, 1>> last(v); for (auto i : tl::range(0, n)) { *last = v * tl::cast<float>(i); } v = *last))
MISTAKE(CopiesOfElements, B(tl::Tensor<float, 1> acc[2] = {v, v}; for (auto i : tl::range(0, n)) { for (auto a : acc) { a += tl::cast<float>(i); } v += 1; }), W("assign: a copy is assigned and never read", "auto&"), B(tl::Tensor<float, 1> acc[2] = {v, v}; for (auto i : tl::range(0, n)) { for (auto& a : acc) { a += tl::cast<float>(i); } v += acc[1]; }))
MISTAKE(CopiesByBinding, B(auto state = std::tuple{v, v}; for (auto i : tl::range(0, n)) { auto [a, b] = state; a += tl::cast<float>(i); b += a; tl::store(y, i); } v = std::get<0>(state)), W("assign: a copy is assigned and never read"), B(auto state = std::tuple{v, v}; for (auto i : tl::range(0, n)) { auto& [a, b] = state; a += tl::cast<float>(i); b += a; tl::store(y, i); } v = std::get<0>(state)))
MISTAKE(CopyByValueHelper, B(auto step = [](auto acc, auto i) { acc = acc + tl::cast<float>(i); }; for (auto i : tl::range(0, n)) { step(v, i); tl::store(y, i); }), W("assign: a copy is assigned and never read"), B(auto step = [](auto& acc, auto i) { acc = acc + tl::cast<float>(i); }; for (auto i : tl::range(0, n)) { step(v, i); tl::store(y, i); }))
MISTAKE(TwoEffects, B(auto q = tl::atomic_add(y + c, v) + tl::atomic_add(y + c, v); v = q), W("add: two effects in one expression"), B(auto q = tl::atomic_add(y + c, v); tl::barrier(); v = q))
MISTAKE(CarriedShape, B(auto a = tl::zeros<float>({1, 64}); for (auto i : tl::range(0, n)) { a = a + t2 + tl::cast<float>(i); } v += tl::sum(a)), W("assign: a variable declared outside of a region keeps its shape in it; got [32, 64] at line", "expected [1, 64] of line"), B(auto a = tl::zeros<float>({32, 64}); for (auto i : tl::range(0, n)) { a = a + t2 + tl::cast<float>(i); } v += tl::sum(a)))
MISTAKE(CompoundShape, B(auto z = tl::zeros<float>({1}); for (auto i : tl::range(0, n)) { z += v; z += tl::cast<float>(i); } v = v + z), W("keeps its shape in it; got [64]"), B(auto z = tl::zeros<float>({64}); for (auto i : tl::range(0, n)) { z += v; z += tl::cast<float>(i); } v = v + z))
MISTAKE(OneBranchSets, B(tl::Tensor<float, 1> q; tl::if_(n > 3, [&] { q = v; }); v = q), W("it may have no value here", "help: give it a value where it is declared"), B(tl::Tensor<float, 1> q; tl::if_(n > 3, [&] { q = v; }, [&] { q = v + 1; }); v = q))
MISTAKE(LoopSets, B(tl::Tensor<float, 1> q; for (auto i : tl::range(0, n)) { q = v * tl::cast<float>(i); } v = q), W("it may have no value here"), B(tl::Tensor<float, 1> q = v; for (auto i : tl::range(0, n)) { q = v * tl::cast<float>(i); } v = q))
MISTAKE(NeverSet, B(tl::f32 q; v += q), W("it may have no value here"), B(tl::f32 q; q = 3; v += q))
MISTAKE(EmptyRange, B(auto z = tl::arange(8, 8); v += tl::cast<float>(tl::sum(z))), W("arange: the end must be above the start; got 8 to 8"), B(auto z = tl::arange(8, 108); v += tl::cast<float>(tl::sum(z))))
MISTAKE(Literal, B(auto z = tl::cast<std::int8_t>(c) + 300; v += tl::cast<float>(tl::sum(z))), W("literal: a literal must fit its element type; got 300, expected a value of i8"), B(auto z = tl::cast<std::int16_t>(c) + 300; v += tl::cast<float>(tl::sum(z))))
MISTAKE(LiteralUnsigned, B(v += tl::cast<float>(tl::cast<std::uint32_t>(n) + -1)), W("got -1, expected a value of u32"), B(v += tl::cast<float>(tl::cast<std::uint32_t>(n) + 1)))
MISTAKE(LiteralHalf, B(v += tl::cast<float>(tl::cast<teeny::half>(v) * 1e6)), W("expected a value of f16"), B(v += tl::cast<float>(tl::cast<teeny::half>(v) * 1e3)))
MISTAKE(ReturnIfInALoop, B(for (auto i : tl::range(0, n)) { tl::return_if(i > 3); v += tl::cast<float>(i); }), W("return_if: only the top level of a body can be left"), B(tl::return_if(n > 3)))
MISTAKE(LoopVariable, B(for (auto i : tl::range(0, n)) { v += tl::cast<float>(i); i += 1; }), W("assign: the loop variable is assigned"), B(for (auto i : tl::range(0, n)) { auto j = i + 0; j += 1; v += tl::cast<float>(j); }))
MISTAKE(UnusedRange, B(tl::range(0, n)), W("range: a range that no loop runs over"), B((void)n))
MISTAKE(Step, B(for (auto i : tl::range(0, n, 0)) { v += tl::cast<float>(i); }), W("range: the step must be positive; got 0"), B(for (auto i : tl::range(0, n, 2)) { v += tl::cast<float>(i); }))
MISTAKE(Axis, B(v -= tl::max(v, {.axis = 1}, tl::keep_dims)), W("max: the axis must be one of the tensor's; got 1, expected 0 to 0"), B(v -= tl::max(v, {.axis = -1}, tl::keep_dims)))
MISTAKE(GridAxis, B(v += tl::cast<float>(tl::program_id(3))), W("program_id: a grid has three axes; got 3"), B(v += tl::cast<float>(tl::program_id(2))))
MISTAKE(Reshape, B(v = tl::reshape(t2, {64})), W("reshape: the number of elements must stay; got [32, 64] as [64]"), B(v = tl::reshape(tl::reshape(v, {8, 8}), {64})))
MISTAKE(Broadcast, B(v = tl::sum(tl::broadcast_to(c32, {32, 64}), {0}) * v), W("broadcast_to: sizes must be equal or 1; got [32], expected [32, 64]"), B(v = tl::sum(tl::broadcast_to(c, {32, 64}), {0}) * v))
MISTAKE(Order, B(v += tl::sum(tl::trans(t2, {0, 0}))), W("trans: the order must name every dimension once; got [0, 0]"), B(v += tl::sum(tl::trans(t2, {1, 0}))))
MISTAKE(CombineTouchesMemory, B(v += tl::reduce(v, {0}, [](auto a, auto b) { tl::barrier(); return a + b; })), W("reduce: a combine function touches memory"), B(v += tl::reduce(v, {0}, [](auto a, auto b) { return a + b; })))
MISTAKE(Strides, B(auto d = tl::make_descriptor(x, {n, n}, {1, n}, {32, 64}); auto e = tl::make_descriptor(x, {n, n}, {n, 2}, {32, 64}); v += tl::sum(d.load({0, 0}) + e.load({0, 0}))), W("make_descriptor: the last stride must be 1; got 2"), B(auto d = tl::make_descriptor(x, {n, n}, {n, 1}, {32, 64}); v += tl::sum(d.load({0, n}))))
MISTAKE(StaticCheck, B(tl::static_check(sizeof(int) == 3, "BLOCK must be a multiple of 16")), W("static_check: BLOCK must be a multiple of 16"), B(tl::static_check(sizeof(int) == 4, "BLOCK must be a multiple of 16")))
// clang-format on

// Each operand is a call of its own; which one runs first is the compiler's choice.
struct EffectsAsArguments {
  static constexpr int line = __LINE__ + 4;
  void operator()(tl::Ptr<float> y) const {
    auto difference = [](auto a, auto b) { return a - b; };
    auto c = tl::arange(0, 64);
    auto v = difference(tl::atomic_add(y + c, 1), tl::load(y + c));
    tl::store(y + c, v);
  }
};
struct EffectsInAHostLoop {
  void operator()(tl::Ptr<float> y) const {
    tl::f32 acc = 0;
    for (int i = 0; i < 3; ++i) acc += tl::atomic_add(y + i, tl::load(y + (i + 3)));
    tl::store(y, acc);
  }
};
TEST(Mistakes, EffectsAsArguments) {
  const std::string message = mistake(EffectsAsArguments{});
  EXPECT_NE(message.find("mistakes_test.cpp:" + std::to_string(EffectsAsArguments::line)), std::string::npos)
      << message;
  EXPECT_NE(message.find("two effects whose values are used stand on one line"), std::string::npos) << message;
  EXPECT_EQ(mistake(EffectsInAHostLoop{}), "no mistake");
}

struct Several {
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 n) const {
    HEAD;
    auto wrong = v + tl::cast<float>(c32);
    auto follows = wrong * 2 + v;  // silent: it follows from the first
    tl::store(y + c, follows);
    tl::f32 never;
    tl::store(y, never);
    for (auto i : tl::range(0, n)) {
      auto nothing = i + 1;
      (void)nothing;
    }
  }
};
TEST(Mistakes, AreReportedTogether) {
  const std::string message = mistake(Several{});
  EXPECT_NE(message.find("3 mistakes"), std::string::npos) << message;
  const auto shapes = message.find("add: shapes must broadcast"), value = message.find("it may have no value"),
             effect = message.find("it has no effect");
  EXPECT_LT(shapes, value) << message;
  EXPECT_LT(value, effect) << message;
  EXPECT_NE(effect, std::string::npos) << message;
}

struct Static {
  void operator()(tl::Ptr<float> y) const {
    static auto kept = tl::load(y);
    tl::store(y, kept + 1);
  }
};
TEST(Mistakes, AStaticTensorIsForeignToTheSecondRecording) {
  EXPECT_EQ(mistake(Static{}), "no mistake");
  EXPECT_EQ(mistake(Static{}), "no mistake");  // found in the table, not recorded again
  struct Another : Static {};
  const auto again = [](const void* kernel) {
    (*static_cast<const Static*>(kernel))(tl::Ptr<float>(tl::Raw{}, teeny::detail::parameter(0)));
  };
  const teeny::detail::ElementType pointer{teeny::DType::f32, true, false};
  const Static kernel;
  try {
    teeny::detail::record({"Static"}, &pointer, 1, again, &kernel);
    FAIL() << "a value of an earlier recording was accepted";
  } catch (const teeny::Error& error) {
    EXPECT_NE(std::string(error.what()).find("a run-time value of another recording is used here"), std::string::npos)
        << error.what();
  }
}

TEST(Mistakes, OutsideOfAKernelThrows) {
  EXPECT_THROW(tl::arange(0, 4), teeny::Error);
  tl::f32 nothing;  // an object alone is no mistake
  tl::i32 number = 3;
  EXPECT_THROW(number + nothing, teeny::Error);
  const auto loop = [] {
    for (auto i : tl::range(0, 3)) (void)i;
  };
  EXPECT_THROW(loop(), teeny::Error);
  tl::range(0, 3);       // nothing is recorded, so nothing is wrong
}

}  // namespace
