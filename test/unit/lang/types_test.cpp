// Promotion as a table, and every element type through every kind of function.
#include <gtest/gtest.h>

#include <teeny/dispatch.hpp>

#include "../../kernels/everything.hpp"
#include "../../kernels/rows.hpp"

namespace {

namespace tl = teeny::tl;
using teeny::bfloat16;
using teeny::half;
using teeny::record;
using teeny::Types;
using tl::literal_t;
using tl::promote_t;

template <class A, class B, class Expected>
constexpr bool promotes = std::is_same_v<promote_t<A, B>, Expected>&& std::is_same_v<promote_t<B, A>, Expected>;

static_assert(promotes<double, half, double> && promotes<float, bfloat16, float> && promotes<half, bfloat16, half>);
static_assert(promotes<bfloat16, bfloat16, bfloat16> && promotes<bfloat16, std::int32_t, float>);
static_assert(promotes<half, std::int64_t, half> && promotes<float, std::int64_t, float> && promotes<bool, half, half>);
static_assert(promotes<std::int32_t, std::uint32_t, std::uint32_t> &&
              promotes<std::int64_t, std::uint32_t, std::int64_t>);
static_assert(promotes<std::int8_t, std::uint8_t, std::uint8_t> && promotes<std::int16_t, std::uint8_t, std::int16_t>);
static_assert(promotes<bool, std::int8_t, std::int8_t> && promotes<bool, bool, bool>);

// A literal beside a tensor.
template <class D, class T, class Expected>
constexpr bool meets = std::is_same_v<literal_t<D, T>, Expected>;
static_assert(meets<half, int, half> && meets<half, double, half> && meets<double, float, double>);
static_assert(meets<std::int32_t, double, float> && meets<std::uint8_t, int, std::uint8_t> &&
              meets<std::int8_t, long, std::int8_t>);
static_assert(meets<bool, int, std::int32_t> && meets<bool, long long, std::int64_t> &&
              meets<bool, unsigned, std::uint32_t>);

// Reductions and masks of any type.
struct Reduced {
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<double> y, tl::Ptr<std::int32_t> at) const {
    auto c = tl::arange(0, 8);
    auto v = tl::load(x + c, {.mask = c < 5, .other = 1});
    tl::store(y, tl::sum(v));
    tl::store(y + 1, tl::max(v));
    tl::store(y + 2, tl::min(v));
    tl::store(at, tl::argmax(v));
    tl::store(y + 8 + c, tl::cumsum(v, {0}));
    tl::store(y + 16 + c, tl::where(v == v, v, v));
  }
};
struct Pair {
  template <class A, class B>
  void operator()(tl::Ptr<const A> a, tl::Ptr<const B> b, tl::Ptr<double> c) const {
    auto x = tl::load(a);
    auto y = tl::load(b);
    if constexpr (!std::is_same_v<A, bool> || !std::is_same_v<B, bool>) tl::store(c, x + y);
    if constexpr (!std::is_same_v<A, bool>) tl::store(c + 1, x * 2 - 0.5);
    tl::store(c + 2, tl::where(x == x, x, y));
  }
};

template <class A, class... B>
int with_each(Types<B...>) {
  return (static_cast<int>(record<A, B>(kernels::EveryCast{})->parameters().size() +
                           record<A, B>(Pair{})->parameters().size()) +
          ...);
}
template <class... A>
int pairs(Types<A...> types) {
  return (with_each<A>(types) + ...);
}
template <class... D>
int reductions(Types<D...>) {
  return (static_cast<int>(record<D>(Reduced{})->parameters().size()) + ...);
}
template <class... D>
int float_functions(Types<D...>) {
  return (static_cast<int>(record<D>(kernels::EveryFloatFunction{})->parameters().size() +
                           record<D>(kernels::Softmax{})->parameters().size()) +
          ...);
}
template <class... D>
int integer_functions(Types<D...>) {
  return (static_cast<int>(record<D>(kernels::EveryIntegerFunction{})->parameters().size()) + ...);
}

// A recording is verified before it is returned.
TEST(Elements, EveryTypeRecords) {
  EXPECT_EQ(pairs(teeny::all_types), 13 * 13 * 5);
  EXPECT_EQ(reductions(teeny::all_types), 13 * 3);
  EXPECT_EQ(float_functions(teeny::floating_types), 4 * 5);
  EXPECT_EQ(integer_functions(teeny::integer_types), 8 * 2);
}

}  // namespace
