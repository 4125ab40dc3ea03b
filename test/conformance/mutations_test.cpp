// Conformance can fail: kernels that are wrong in one way are compared with the right one by the comparison of
// teeny::check, on each device, and each has to be reported; kernels that differ only in what a device may choose have
// to pass.
#include <gtest/gtest.h>

#include "conformance/layout.hpp"
#include "kernels/matrix.hpp"
#include "kernels/rows.hpp"

namespace teeny::conformance {
namespace {

class Mutations : public ::testing::TestWithParam<const char*> {
 protected:
  Device device = Device::open(GetParam());

  // Whether the kernel passes for the definition, with a fresh copy of each buffer.
  template <class Definition, class K, class... A>
  bool passes(Grid grid, const Definition& definition, const K& kernel, A&&... arguments) {
    const CheckReport report = check_against(device, grid, definition, kernel, std::forward<A>(arguments)...);
    EXPECT_EQ(report.findings, "");
    EXPECT_GT(report.compared, 0u);
    return report.ok();
  }
  template <class D>
  Buffer<D> ordinary(std::size_t count, unsigned seed) {
    Host<D> list;
    std::uint64_t state = seed * 77 + 1;
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      list.push_back(D(static_cast<double>(state >> 33) * 0x1p-30 - 1));
    }
    return upload<D>(device, list);
  }
};
INSTANTIATE_TEST_SUITE_P(devices, Mutations, ::testing::Values("interpreter", "cpu"),
                         [](const auto& info) { return std::string(info.param); });

// c = a b with one thing wrong.
enum class Fault {
  none,
  last_step_missing,
  first_step_twice,
  k_mask_missing,
  row_mask_missing,
  lanes_swapped,
  column_shifted,
  rounded_operands,
  rounded_sum,
  transposed
};

struct Product {
  Fault fault = Fault::none;
  TEENY_PARAMETERS(a, b, c, m, n, k);
  template <class D>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<float> c, tl::i32 m, tl::i32 n, tl::i32 k) const {
    constexpr int B = 16;
    auto r = tl::arange(0, B);
    auto rm = tl::program_id(0) * B + r, rn = tl::program_id(1) * B + r;
    auto acc = tl::zeros<float>({B, B});
    auto step = [&](tl::i32 k0) {
      auto kk = k0 + r;
      auto inside = fault == Fault::k_mask_missing ? kk < k + B : kk < k;
      auto av = tl::load(a + rm(tl::all, tl::none) * k + kk(tl::none, tl::all),
                         {.mask = (rm < m)(tl::all, tl::none) & inside(tl::none, tl::all), .other = 0});
      auto bv = tl::load(b + kk(tl::all, tl::none) * n + rn(tl::none, tl::all),
                         {.mask = inside(tl::all, tl::none) & (rn < n)(tl::none, tl::all), .other = 0});
      if (fault == Fault::transposed) bv = tl::trans(bv);
      if (fault == Fault::rounded_operands)
        acc = tl::dot(av, bv, acc, {.precision = tl::Precision::fast});
      else
        acc = tl::dot(av, bv, acc, {.precision = tl::Precision::ieee});
      if (fault == Fault::rounded_sum) acc = tl::cast<float>(tl::cast<bfloat16>(acc));
    };
    auto end = fault == Fault::last_step_missing ? k - B : k;
    if (fault == Fault::first_step_twice) step(tl::i32(0));
    for (auto k0 : tl::range(0, end, B)) step(k0);
    auto column = rn;
    if (fault == Fault::lanes_swapped) column = tl::where(rn == 3, 4, tl::where(rn == 4, 3, rn));
    if (fault == Fault::column_shifted) column = tl::where(rn < n - 1, rn + 1, 0);
    auto rows = fault == Fault::row_mask_missing ? rm < m + 2 : rm < m;
    tl::store(c + rm(tl::all, tl::none) * n + column(tl::none, tl::all), acc,
              {.mask = rows(tl::all, tl::none) & (rn < n)(tl::none, tl::all)});
  }
};

TEST_P(Mutations, of_a_matrix_product) {
  const int m = 35, n = 40, k = 45;
  const auto a = ordinary<float>((m + 20) * (k + 20), 1), b = ordinary<float>((k + 20) * n, 2);
  for (int fault = 0; fault <= static_cast<int>(Fault::transposed); ++fault) {
    Buffer<float> c = blank<float>(device, (m + 20) * n);
    EXPECT_EQ(passes({3, 3}, Product{}, Product{static_cast<Fault>(fault)}, a, b, c, m, n, k), fault == 0)
        << "fault " << fault;
  }
}

enum class Wrong {
  none,
  other_order,
  last_missing,
  starts_at_one,
  sum_in_f16,
  starts_at_zero,
  exp_off_by_an_ulp,
  without_maximum,
  minimum_for_maximum,
  base_two
};

// Sums, maxima and exponentials of rows.
struct Rows {
  Wrong wrong = Wrong::none;
  TEENY_PARAMETERS(x, sums, most, e, n);
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> sums, tl::Ptr<float> most, tl::Ptr<float> e, tl::i32 n) const {
    auto row = tl::program_id(0);
    auto at = tl::arange(0, 64);
    auto mask = wrong == Wrong::last_missing ? at < n - 1 : at < n;
    auto v = tl::load(x + row * n + at, {.mask = mask, .other = 0});
    auto w = v;
    if (wrong == Wrong::sum_in_f16)
      tl::store(sums + row, tl::cast<float>(tl::sum(tl::cast<half>(v))));
    else if (wrong == Wrong::other_order)
      tl::store(sums + row, tl::sum(tl::sum(tl::reshape(v, {8, 8}), {.axis = 1})));
    else
      tl::store(sums + row, wrong == Wrong::starts_at_one ? tl::sum(v) + 1 : tl::sum(v));
    auto low = tl::where(mask, v, -tl::inf);
    if (wrong == Wrong::starts_at_zero) low = v;
    tl::store(most + row, wrong == Wrong::minimum_for_maximum ? tl::min(v) : tl::max(low));
    auto power = tl::exp(w);
    if (wrong == Wrong::base_two) power = tl::exp2(w);
    if (wrong == Wrong::exp_off_by_an_ulp) power = tl::bitcast<float>(tl::bitcast<std::int32_t>(power) + 1);
    if (wrong == Wrong::without_maximum) power = power / tl::sum(tl::where(mask, power, 0));
    tl::store(e + row * n + at, power, {.mask = at < n});
  }
};

TEST_P(Mutations, of_reductions_and_functions) {
  const int rows = 5, n = 50;
  Host<float> host = download(ordinary<float>(rows * n + 64, 3));
  for (int i = 0; i < n; ++i) host[i] = -1 - std::abs(host[i]);  // a row whose maximum is below zero
  const auto x = upload<float>(device, host);
  for (int wrong = 0; wrong <= static_cast<int>(Wrong::base_two); ++wrong) {
    Buffer<float> sums = blank<float>(device, rows), most = blank<float>(device, rows),
                  e = blank<float>(device, rows * n);
    const bool allowed = wrong <= static_cast<int>(Wrong::other_order);  // the order of a sum is the device's
    EXPECT_EQ(passes({rows}, Rows{}, Rows{static_cast<Wrong>(wrong)}, x, sums, most, e, n), allowed)
        << "wrong " << wrong;
  }
}

enum class Slip {
  none,
  floor_division,
  logical_shift,
  unsigned_comparison,
  truncated_cast,
  nan_wins,
  zero_sign,
  fused,
  widened,
  other_forgotten,
  stride_doubled,
  program_twice
};

// Element-wise meanings.
struct Elements {
  Slip slip = Slip::none;
  TEENY_PARAMETERS(i, x, y, z, n);
  void operator()(tl::Ptr<const std::int32_t> i, tl::Ptr<const float> x, tl::Ptr<std::int32_t> y, tl::Ptr<float> z,
                  tl::i32 n) const {
    auto program = tl::program_id(0);
    if (slip == Slip::program_twice) program = program & ~1;
    auto at = program * 32 + tl::arange(0, 32);
    auto mask = at < n;
    auto a = tl::load(i + at, {.mask = mask, .other = 7}), b = tl::load(i + (n - 1 - at), {.mask = mask});
    if (slip == Slip::stride_doubled) b = tl::load(i + (at * 2 % n), {.mask = mask});
    auto quotient = tl::div(a, b);
    if (slip == Slip::floor_division) quotient = tl::where((a % b != 0) & ((a < 0) ^ (b < 0)), quotient - 1, quotient);
    auto shifted = a >> 3;
    if (slip == Slip::logical_shift) shifted = tl::bitcast<std::int32_t>(tl::bitcast<std::uint32_t>(a) >> 3);
    auto less = a < b;
    if (slip == Slip::unsigned_comparison) less = tl::bitcast<std::uint32_t>(a) < tl::bitcast<std::uint32_t>(b);
    tl::store(y + at, quotient * 100 + shifted * 10 + tl::cast<std::int32_t>(less), {.mask = mask});
    auto v = tl::load(x + at, {.mask = mask, .other = 1}), w = tl::load(x + (n - 1 - at), {.mask = mask});
    auto narrow = tl::cast<float>(tl::cast<bfloat16>(v));
    if (slip == Slip::truncated_cast) narrow = tl::bitcast<float>(tl::bitcast<std::uint32_t>(v) & 0xFFFF0000u);
    auto larger = tl::maximum(v, w);
    if (slip == Slip::nan_wins) larger = tl::maximum(v, w, {.propagate_nan = true});
    auto negated = -v;
    if (slip == Slip::zero_sign) negated = 0 - v;
    auto sum = v * w;
    sum = tl::bitcast<float>(tl::bitcast<std::int32_t>(sum)) + v;
    if (slip == Slip::fused) sum = tl::fma(v, w, v);
    auto half_sum = tl::cast<float>(tl::cast<half>(v) + tl::cast<half>(w) + tl::cast<half>(v));
    if (slip == Slip::widened) half_sum = tl::cast<float>(tl::cast<half>(v + w + v));
    auto place = z + at * 5;
    tl::store(place, narrow, {.mask = mask});
    tl::store(place + 1, larger, {.mask = mask});
    tl::store(place + 2, negated, {.mask = mask});
    tl::store(place + 3, sum, {.mask = mask});
    tl::store(place + 4, half_sum, {.mask = mask});
    auto padded = tl::sum(tl::where(mask, 0, a));
    if (slip == Slip::other_forgotten) padded = tl::i32(0);
    tl::store(y + n + tl::program_id(0), padded);
  }
};

TEST_P(Mutations, of_elements) {
  const int n = 150;
  Host<std::int32_t> i = whole_numbers<std::int32_t>(2 * n, 5, 900);
  for (auto& v : i) v = v == 0 ? -7 : v;
  Host<float> x = download(ordinary<float>(2 * n, 6));
  x[3] = 0;
  x[17] = std::numeric_limits<float>::quiet_NaN();
  const auto integers = upload<std::int32_t>(device, i);
  const auto floats = upload<float>(device, x);
  for (int slip = 0; slip <= static_cast<int>(Slip::program_twice); ++slip) {
    Buffer<std::int32_t> y = blank<std::int32_t>(device, n + 8);
    Buffer<float> z = blank<float>(device, 5 * n);
    EXPECT_EQ(passes({5}, Elements{}, Elements{static_cast<Slip>(slip)}, integers, floats, y, z, n), slip == 0)
        << "slip " << slip;
  }
}

}  // namespace
}  // namespace teeny::conformance
