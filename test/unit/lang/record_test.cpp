// What recording makes of a kernel: the body's form, constants, parameters, and how it behaves with exceptions and
// threads.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

#include "../../kernels/suite.hpp"
#include "lang/trace.hpp"

namespace {

namespace tl = teeny::tl;
using teeny::DType;
using teeny::Parameter;
using teeny::detail::RecordedKernelPtr;
using teeny::trace::Opcode;

int count(const RecordedKernelPtr& kernel, Opcode opcode) {
  int found = 0;
  teeny::trace::walk(kernel->trace().body.region,
                     [&](const teeny::trace::Operation& operation, int) { found += operation.opcode == opcode; });
  return found;
}
std::string text(const RecordedKernelPtr& kernel) { return teeny::trace::to_text(kernel->trace().body); }

// ---- form of the body

struct Repeats {
  void operator()(tl::Ptr<float> x, tl::i32 n) const {
    auto a = tl::load(x + n) * 2, b = tl::load(x + n) * 2;  // one load: nothing is written between
    auto unused = tl::exp(tl::load(x + 7));
    tl::store(x, a + b);
    tl::store(x + 1, tl::load(x + n) * 2);  // another load: the store may have changed it
  }
};
TEST(Body, LoadsOfOneEpochAreOneAndDeadCodeIsDropped) {
  const auto kernel = teeny::record(Repeats{});
  EXPECT_EQ(count(kernel, Opcode::load), 2) << text(kernel);
  EXPECT_EQ(count(kernel, Opcode::exp), 0) << text(kernel);
  EXPECT_EQ(count(kernel, Opcode::mul), 2) << text(kernel);
}

struct Volatile {
  void operator()(tl::Ptr<float> x) const {
    auto a = tl::load(x, {.is_volatile = true});
    auto b = tl::load(x, {.is_volatile = true});
    tl::store(x + 1, a);
    (void)b;
  }
};
TEST(Body, VolatileLoadsStay) { EXPECT_EQ(count(teeny::record(Volatile{}), Opcode::load), 2); }

struct DeadCarried {
  bool KEEP = false;
  void operator()(tl::Ptr<float> x, tl::i32 n) const {
    tl::f32 sum = 0, extra = 1, same = 2;
    for (auto i : tl::range(0, n)) {
      sum += tl::load(x + i);
      extra = extra * sum;
      std::swap(same, sum);
      std::swap(same, sum);
    }
    tl::store(x, sum + same);
    if (KEEP) tl::store(x + 1, extra);
  }
};
TEST(Body, OnlyLiveAndChangingVariablesAreCarried) {
  const auto carried = [](const RecordedKernelPtr& kernel) {
    std::size_t results = 0;
    teeny::trace::walk(kernel->trace().body.region, [&](const teeny::trace::Operation& o, int) {
      results += o.opcode == Opcode::for_loop ? o.results.size() : 0;
    });
    return results;
  };
  EXPECT_EQ(carried(teeny::record(DeadCarried{})), 1u) << text(teeny::record(DeadCarried{}));
  EXPECT_EQ(carried(teeny::record(DeadCarried{.KEEP = true})), 2u);
}

struct LoadsAsArguments {
  void operator()(tl::Ptr<const float> a, tl::Ptr<float> b) const {
    auto difference = [](auto p, auto q) { return p - q; };
    tl::store(b, difference(tl::load(a + 1), tl::load(a + 2)));
  }
};
struct LoadsInTurn {
  bool SECOND_FIRST = false;
  void operator()(tl::Ptr<const float> a, tl::Ptr<float> b) const {
    tl::f32 p, q;
    if (SECOND_FIRST) q = tl::load(a + 2);
    p = tl::load(a + 1);
    if (!SECOND_FIRST) q = tl::load(a + 2);
    tl::store(b, p - q);
  }
};
TEST(Body, TheOrderOfEvaluationLeavesNoTrace) {
  const auto one = teeny::record(LoadsInTurn{}), other = teeny::record(LoadsInTurn{.SECOND_FIRST = true});
  EXPECT_EQ(one->digest(), other->digest()) << text(one) << text(other);
  EXPECT_EQ(one->digest(), teeny::record(LoadsAsArguments{})->digest());
}

struct Returns {
  void operator()(tl::Ptr<float> x, tl::i32 n) const {
    tl::store(x, 1);
    tl::return_if(n > 3);
    tl::store(x, 2);
  }
};
TEST(Body, WhatFollowsAReturnIsABranch) {
  const auto kernel = teeny::record(Returns{});
  const auto& operations = kernel->trace().body.region.operations;
  const auto& last = operations.back();
  ASSERT_EQ(last.opcode, Opcode::if_else) << text(kernel);
  EXPECT_EQ(last.regions[0].operations.size(), last.regions[1].operations.size() + 2) << text(kernel);
}

TEST(Body, SitesFollowPreOrderAndNameTheLine) {
  const auto kernel = teeny::record(Returns{});
  std::uint32_t number = 0;
  std::set<std::uint32_t> lines;
  teeny::trace::walk(kernel->trace().body.region, [&](const teeny::trace::Operation& operation, int) {
    EXPECT_EQ(operation.site, number++);
    lines.insert(kernel->trace().sites.at(operation.site).line);
  });
  EXPECT_EQ(number, kernel->trace().sites.size());
  EXPECT_GE(lines.size(), 3u);
}

TEST(Body, PrecisionIsKeptForF32Only) {
  struct Product {
    tl::Precision PRECISION = tl::Precision::fast;
    void operator()(tl::Ptr<float> x) const {
      auto i = tl::arange(0, 16)(tl::all, tl::none) * 16 + tl::arange(0, 16)(tl::none, tl::all);
      auto a = tl::load(x + i);
      auto h = tl::cast<teeny::half>(a);
      tl::store(x + i, tl::dot(a, a, {.precision = PRECISION}) + tl::dot(h, h, {.precision = PRECISION}));
    }
  };
  const auto kernel = teeny::record(Product{});
  std::multiset<std::int64_t> precisions;
  teeny::trace::walk(kernel->trace().body.region, [&](const teeny::trace::Operation& o, int) {
    if (o.opcode == Opcode::dot) precisions.insert(o.integers[0]);
  });
  EXPECT_EQ(precisions, (std::multiset<std::int64_t>{0, 1}));
}

TEST(Body, TheKernelSuiteUsesEveryOperation) {
  std::set<Opcode> used;
  kernels::for_each_recording([&](const char* name, const RecordedKernelPtr& kernel) {
    EXPECT_EQ(teeny::trace::verify(kernel->trace().body), "") << name;
    teeny::trace::walk(kernel->trace().body.region,
                       [&](const teeny::trace::Operation& operation, int) { used.insert(operation.opcode); });
  });
  for (int i = 0; i < teeny::trace::opcode_count(); ++i)
    EXPECT_TRUE(used.contains(static_cast<Opcode>(i))) << teeny::trace::info(static_cast<Opcode>(i)).name;
}

// ---- constants and parameters

enum class Mode { first, second };
struct Many {
  int A = 1, B = 2, C = 3, D = 4, E = 5, F = 6, G = 7, H = 8;
  bool I = true;
  Mode J = Mode::second;
  float K = 0.5f;
  double L = 0.25;
  std::uint8_t M = 200;
  long N = -1;
  unsigned long O = ~0ul;
  int P = 16, Q = 17;
  TEENY_PARAMETERS(x, count);
  void operator()(tl::Ptr<float> x, tl::i32 count) const { tl::store(x + count, K * A + (I ? Q : 0)); }
};
TEST(Constants, HaveNamesAndValues) {
  const auto kernel = teeny::record(Many{.B = 22});
  const auto& constants = kernel->trace().constants;
  ASSERT_EQ(constants.size(), 17u);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"A", "1"},   {"B", "22"},   {"C", "3"},   {"D", "4"},    {"E", "5"},
      {"F", "6"},   {"G", "7"},    {"H", "8"},   {"I", "true"}, {"J", "1"},
      {"K", "0.5"}, {"L", "0.25"}, {"M", "200"}, {"N", "-1"},   {"O", "18446744073709551615"},
      {"P", "16"},  {"Q", "17"}};
  EXPECT_EQ(constants, expected);
  EXPECT_EQ(kernel->trace().parameter_names, (std::vector<std::string>{"x", "count"}));
  EXPECT_NE(kernel->name().find("Many"), std::string::npos);
}

TEST(Constants, AreTheKeyOfARecording) {
  const auto one = teeny::record(Many{}), again = teeny::record(Many{}), other = teeny::record(Many{.A = 9});
  EXPECT_EQ(one, again);
  EXPECT_NE(one, other);
  EXPECT_NE(one->digest(), other->digest());
  const auto unused = teeny::record(Many{.B = 77});
  EXPECT_NE(one, unused);
  EXPECT_EQ(one->digest(), unused->digest()) << "a constant that the body does not use is not in the body";
}

struct Mixed {
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::Scalar<D> scale, tl::i32 n, tl::i64 m, tl::f32 eps,
                  tl::b1 flag) const {
    tl::store(y + n, tl::where(flag, tl::load(x + m) * scale, tl::cast<D>(eps)));
  }
};
TEST(Parameters, HaveTheBodysTypes) {
  using teeny::Buffer;
  const std::vector<Parameter> expected = {
      {DType::f32, true, true},   {DType::f32, true, false},  {DType::f32, false, false},    {DType::i32, false, false},
      {DType::i64, false, false}, {DType::f32, false, false}, {DType::boolean, false, false}};
  EXPECT_EQ(teeny::record<float>(Mixed{})->parameters(), expected);
  // The same from the arguments of a launch, whose numbers have the host's widths.
  const auto launched =
      teeny::detail::recorded<Buffer<float>&, Buffer<float>&, float, std::size_t, int, double, bool>(Mixed{});
  EXPECT_EQ(launched->parameters(), expected);
  EXPECT_EQ(launched->digest(), teeny::record<float>(Mixed{})->digest());
  EXPECT_EQ(launched->parameter_name(3), "argument 4");
}

struct Deduced {
  TEENY_PARAMETERS(y, n);
  template <class N>
  void operator()(tl::Ptr<float> y, tl::Scalar<N> n) const {
    tl::store(y, tl::cast<float>(n));
  }
};
TEST(Parameters, DeducedOnesHaveTheHostsWidth) {
  EXPECT_EQ((teeny::detail::recorded<teeny::Buffer<float>&, std::size_t>(Deduced{})->parameters()[1].dtype),
            DType::u64);
  EXPECT_EQ((teeny::detail::recorded<teeny::Buffer<float>&, double>(Deduced{})->parameters()[1].dtype), DType::f64);
  EXPECT_EQ((teeny::detail::recorded<teeny::Buffer<float>&, teeny::half>(Deduced{})->parameters()[1].dtype),
            DType::f16);
  const auto bf16 = teeny::detail::recorded<teeny::Buffer<float>&, const teeny::bfloat16&>(Deduced{});
  EXPECT_EQ(bf16->parameters()[1].dtype, DType::bf16);
  using teeny::Buffer;
  const auto mixed =
      teeny::detail::recorded<Buffer<float>&, Buffer<float>&, float, int, int, teeny::half, bool>(Mixed{});
  EXPECT_EQ(mixed->parameters()[5].dtype, DType::f32) << "a half is taken by an f32";
}

TEST(Parameters, NumbersAreCheckedAtALaunch) {
  const auto kernel = teeny::record(Returns{});
  EXPECT_EQ(kernel->argument(1, -1ll), 0xffffffffu);
  EXPECT_EQ(kernel->argument(1, 2147483647ull), 2147483647u);
  EXPECT_THROW(kernel->argument(1, 2147483648ll), teeny::Error);
  EXPECT_THROW(kernel->argument(1, -2147483649ll), teeny::Error);
  EXPECT_THROW(kernel->argument(1, ~0ull), teeny::Error);
  EXPECT_THROW(kernel->argument(1, 1.0), teeny::Error);
  const auto mixed = teeny::record<float>(Mixed{});
  EXPECT_EQ(mixed->argument(5, 0.1), 0x3dcccccdu);
  EXPECT_EQ(mixed->argument(5, 1ll), 0x3f800000u);
  EXPECT_THROW(mixed->argument(5, 1e300), teeny::Error);
  EXPECT_EQ(mixed->argument(6, 1ll), 1u);
  EXPECT_THROW(mixed->argument(6, 2ll), teeny::Error);
  try {
    kernel->argument(1, 1ll << 40);
  } catch (const teeny::Error& error) {
    EXPECT_EQ(error.code(), teeny::ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("argument 2"), std::string::npos) << error.what();
  }
}

// ---- exceptions, nesting, threads

struct Throws {
  bool NOW = true;
  void operator()(tl::Ptr<float> x, tl::i32 n) const {
    for (auto i : tl::range(0, n))
      tl::if_(i > 1, [&] {
        tl::store(x, 1);
        if (NOW) throw std::runtime_error("of the user");
      });
  }
};
TEST(Recording, AnExceptionOfTheUserPassesAndLeavesTheThreadWell) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(teeny::record(Throws{}), std::runtime_error);
    EXPECT_THROW(tl::arange(0, 4), teeny::Error) << "a recording stayed open";
    EXPECT_EQ(count(teeny::record(Throws{.NOW = false}), Opcode::store), 1);
  }
}

struct Catches {
  void operator()(tl::Ptr<float> x, tl::i32 n) const {
    try {
      tl::if_(n > 1, [&] {
        tl::store(x, 1);
        throw 1;
      });
    } catch (int) {
    }
    tl::store(x, 2);
  }
};
TEST(Recording, ARegionLeftByAnExceptionIsAMistake) {
  try {
    teeny::record(Catches{});
    FAIL();
  } catch (const teeny::Error& error) {
    EXPECT_NE(std::string(error.what()).find("a region was left before its end"), std::string::npos) << error.what();
  }
}

struct Outer {
  void operator()(tl::Ptr<float> x) const {
    auto v = tl::load(x);
    const auto inner = teeny::record(Repeats{});
    tl::store(x + 1, v + static_cast<int>(inner->parameters().size()));
  }
};
TEST(Recording, ABodyMayRecordAnotherKernel) { EXPECT_EQ(count(teeny::record(Outer{}), Opcode::store), 1); }

struct Seeded {
  int SEED = 0;
  void operator()(tl::Ptr<float> x, tl::i32 n) const {
    tl::f32 acc = SEED;
    for (auto i : tl::range(0, n)) acc += tl::load(x + i) * SEED;
    tl::store(x, acc);
  }
};
TEST(Recording, ThreadsRecordAlone) {
  std::vector<std::string> alone;
  for (int seed = 0; seed < 20; ++seed) alone.push_back(teeny::record(Seeded{.SEED = 100 + seed})->digest());
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round)
        for (int seed = 0; seed < 20; ++seed) {
          try {
            wrong[t] += teeny::record(Seeded{.SEED = 100 + (seed + t) % 20})->digest() != alone[(seed + t) % 20];
            if (seed % 7 == 0) teeny::record(Throws{});
          } catch (const std::runtime_error&) {
          }
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

// A chain longer than any stack would bear if operands were visited by recursion.
struct Long {
  void operator()(tl::Ptr<float> x) const {
    auto v = tl::load(x);
    for (int i = 0; i < 30000; ++i) v = v * 1.5f + 1;
    tl::store(x, v);
  }
};
TEST(Recording, LongBodiesNeedNoStack) {
  std::string digest;
  std::thread([&] { digest = teeny::record(Long{})->digest(); }).join();
  EXPECT_EQ(digest.size(), 64u);
}

}  // namespace
