// Reductions and scans: sizes of one, three and four dimensions, ties, functions that do not commute.
#include "conformance/layout.hpp"
#include "fixture.hpp"

namespace teeny::cases {
namespace {

using conformance::row_major;
using conformance::store_rows;
using Reductions = Cases;
TEENY_ON_EACH_DEVICE(Reductions);

struct SizeOne {
  int A = 16, B = 1, AXIS = 1;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::Ptr<std::int32_t> at) const {
    auto v = tl::load(x + row_major<2>({A, B}));
    store_rows(y, tl::max(v, {.axis = AXIS}));
    store_rows(y + 16, tl::min(v, {.axis = AXIS}));
    store_rows(y + 32, tl::sum(v, {.axis = AXIS}));
    store_rows(y + 48, tl::reshape(tl::cumsum(v, {.axis = AXIS}), {A * B}));
    store_rows(at, tl::argmax(v, {.axis = AXIS}));
  }
};

TEST_P(Reductions, RED_1_axes_of_size_one) {
  Host<float> x(16);
  for (int i = 0; i < 16; ++i) x[i] = 0.5f * i - 3;
  const auto input = in<float>(x);
  for (const SizeOne& k : {SizeOne{16, 1, 1}, SizeOne{16, 1, -1}, SizeOne{1, 16, 0}, SizeOne{1, 16, -2},
                           SizeOne{1, 1, 0}, SizeOne{1, 1, 1}}) {
    auto y = blank<float>(device, 64);
    auto at = blank<std::int32_t>(device, 16);
    launch(device, {1}, k, input, y, at);
    const Host<float> got = download(y);
    for (int i = 0; i < k.A * k.B; ++i) {
      for (int part = 0; part < 4; ++part)
        EXPECT_EQ(got[16 * part + i], x[i]) << k.A << "x" << k.B << " axis " << k.AXIS << " part " << part;
      EXPECT_EQ(download(at)[i], 0);
    }
  }
  for (const SizeOne& k : {SizeOne{16, 1, 0}, SizeOne{1, 16, 1}, SizeOne{1, 16, -1}}) {
    auto y = blank<float>(device, 64);
    auto at = blank<std::int32_t>(device, 16);
    launch(device, {1}, k, input, y, at);
    const Host<float> got = download(y);
    EXPECT_EQ(got[0], 4.5f);
    EXPECT_EQ(got[16], -3);
    EXPECT_EQ(got[32], 12);
    EXPECT_EQ(download(at)[0], 15);
  }
}

struct ThreeAxes {
  int AXIS = 0;
  bool MAX = false;
  template <class D>
  void operator()(tl::Ptr<D> y) const {
    auto i = tl::arange(0, 4)(tl::all, tl::none, tl::none), j = tl::arange(0, 8)(tl::none, tl::all, tl::none),
         k = tl::arange(0, 16)(tl::none, tl::none, tl::all);
    auto x = tl::cast<D>(i * 10000 + j * 100 + k);
    if (AXIS == 3)
      tl::store(y, tl::sum(x));
    else if (MAX)
      store_rows(y, tl::max(x, {.axis = AXIS}));
    else
      store_rows(y, tl::sum(x, {.axis = AXIS}));
  }
};

TEST_P(Reductions, RED_2_three_dimensions) {
  conformance::for_each_type(Types<std::int32_t, float>{}, [&]<class D> {
    auto y = blank<D>(device, 512);
    launch(device, {1}, ThreeAxes{0}, y);
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 16; ++k) EXPECT_EQ(download(y)[j * 16 + k], D(60000 + 4 * (100 * j + k)));
    launch(device, {1}, ThreeAxes{1}, y);
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 16; ++k) EXPECT_EQ(download(y)[i * 16 + k], D(80000 * i + 2800 + 8 * k));
    launch(device, {1}, ThreeAxes{2}, y);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j) EXPECT_EQ(download(y)[i * 8 + j], D(16 * (10000 * i + 100 * j) + 120));
    launch(device, {1}, ThreeAxes{3}, y);
    EXPECT_EQ(download(y)[0], D(7863040));
    launch(device, {1}, ThreeAxes{1, true}, y);
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 16; ++k) EXPECT_EQ(download(y)[i * 16 + k], D(10000 * i + 700 + k));
  });
}

TEST_P(Reductions, RED_2_twice_and_by_reshape) {
  auto y = blank<float>(device, 32);
  launch(
      device, {1},
      [](tl::Ptr<float> y) {
        tl::store(y, tl::sum(tl::sum(tl::full<float>({128, 128}, 0.0078125), {.axis = 1}), {.axis = 0}));
      },
      y);
  EXPECT_EQ(download(y)[0], 128);
  Host<float> table(36);
  for (int i = 0; i < 36; ++i) table[i] = static_cast<float>(i);
  launch(
      device, {1},
      [](tl::Ptr<const float> x, tl::Ptr<float> y) {
        auto four = tl::arange(0, 4);
        auto h = four(tl::all, tl::none, tl::none, tl::none) + four(tl::none, tl::none, tl::all, tl::none);
        auto w = four(tl::none, tl::all, tl::none, tl::none) + four(tl::none, tl::none, tl::none, tl::all);
        auto v = tl::load(x + h * 6 + w, {.mask = (h < 6) & (w < 6), .other = 0});
        store_rows(y, tl::sum(tl::sum(v, {.axis = 2}), {.axis = 2}));
      },
      in<float>(table), y);
  const Host<float> sums = download(y);
  EXPECT_EQ(Host<float>(sums.begin(), sums.begin() + 16),
            (Host<float>{168, 184, 200, 156, 264, 280, 296, 228, 360, 376, 392, 300, 306, 318, 330, 252}));
  Host<float> rows;
  for (int i = 1; i <= 16; ++i) rows.push_back(static_cast<float>(i));
  for (int i = 15; i <= 31; ++i)
    if (i != 16) rows.push_back(static_cast<float>(i));
  launch(
      device, {1},
      [](tl::Ptr<const float> x, tl::Ptr<float> y) {
        store_rows(
            y, tl::max(tl::max(tl::reshape(tl::load(x + row_major<2>({2, 16})), {2, 8, 2}), {.axis = 2}), {.axis = 0}));
      },
      in<float>(rows), y);
  const Host<float> best = download(y);
  EXPECT_EQ(Host<float>(best.begin(), best.begin() + 8), (Host<float>{17, 19, 21, 23, 25, 27, 29, 31}));
}

struct Ties {
  bool PADDED = false;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<std::int32_t> y) const {
    const int n = PADDED ? 16 : 8;
    auto r = tl::arange(0, n)(tl::all, tl::none), c = tl::arange(0, n)(tl::none, tl::all);
    auto mask = (r < 8) & (c < 8);
    auto high = tl::load(x + r * 8 + c, {.mask = mask, .other = -1}),
         low = tl::load(x + r * 8 + c, {.mask = mask, .other = 9});
    store_rows(y, tl::argmax(high, {.axis = 0}));
    store_rows(y + 16, tl::argmin(low, {.axis = 0}));
    store_rows(y + 32, tl::argmax(high, {.axis = 1}));
    store_rows(y + 48, tl::argmin(low, {.axis = 1}));
  }
};

TEST_P(Reductions, ARGMAX_1_ties_give_the_first) {
  const Host<std::int32_t> expected[] = {
      {2, 3, 4, 0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 0, 1, 2}, {3, 4, 0, 1, 2, 3, 4, 0}, {0, 1, 2, 3, 4, 0, 1, 2}};
  conformance::for_each_type(Types<std::int32_t, float, half>{}, [&]<class D> {
    Host<D> x;
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) x.push_back(D((7 * i + 3 * j) % 5));
    for (bool padded : {false, true}) {
      auto y = blank<std::int32_t>(device, 64);
      launch(device, {1}, Ties{padded}, in<D>(x), y);
      const Host<std::int32_t> got = download(y);
      for (int part = 0; part < 4; ++part)
        EXPECT_EQ(Host<std::int32_t>(got.begin() + 16 * part, got.begin() + 16 * part + 8), expected[part])
            << part << padded;
    }
  });
}

struct Ones {
  int N = 8;
  void operator()(tl::Ptr<std::int32_t> y) const {
    for (auto chunk : tl::range(0, 2))
      tl::store(y + chunk * N + tl::arange(0, N), tl::cumsum(tl::full<std::int32_t>({N}, 1), {.axis = 0}));
  }
};
struct Running {
  int AXIS = 0;
  template <class D>
  void operator()(tl::Ptr<D> y) const {
    store_rows(y,
               tl::cumsum(tl::cast<D>(tl::arange(0, 16)(tl::all, tl::none) * 32 + tl::arange(0, 32)(tl::none, tl::all)),
                          {.axis = AXIS}));
  }
};

TEST_P(Reductions, SCAN_1_running_sums) {
  for (int n : {1, 2, 8, 32, 64, 128, 1024}) {
    auto y = blank<std::int32_t>(device, 2 * n);
    launch(device, {1}, Ones{n}, y);
    const Host<std::int32_t> got = download(y);
    for (int i = 0; i < 2 * n; ++i) ASSERT_EQ(got[i], i % n + 1) << n;
  }
  conformance::for_each_type(Types<std::int32_t, float>{}, [&]<class D> {
    for (int axis : {0, 1}) {
      auto y = blank<D>(device, 512);
      launch(device, {1}, Running{axis}, y);
      const Host<D> got = download(y);
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 32; ++j)
          ASSERT_EQ(got[i * 32 + j],
                    D(axis == 0 ? 16 * i * (i + 1) + (i + 1) * j : 32 * i * (j + 1) + j * (j + 1) / 2));
    }
  });
  auto rows = blank<std::int32_t>(device, 128);
  launch(
      device, {1},
      [](tl::Ptr<std::int32_t> y) {
        auto ones = tl::broadcast_to(tl::full<std::int32_t>({1, 32}, 1), {4, 32});
        auto running = tl::cumsum(ones, {.axis = 1});
        tl::device_assert(running <= tl::sum(ones, {.axis = 1}, tl::keep_dims), "a running sum is above the sum");
        store_rows(y, running);
      },
      rows);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(download(rows)[i], i % 32 + 1);
}

TEST_P(Reductions, SCAN_2_functions_that_do_not_commute) {
  auto a = blank<std::int32_t>(device, 128), b = blank<std::int32_t>(device, 128),
       right = blank<std::int32_t>(device, 128), left = blank<std::int32_t>(device, 128);
  launch(
      device, {1},
      [](tl::Ptr<std::int32_t> a, tl::Ptr<std::int32_t> b, tl::Ptr<std::int32_t> right, tl::Ptr<std::int32_t> left) {
        auto i = tl::arange(0, 128);
        auto [scale, shift] = tl::associative_scan(std::tuple{tl::full<std::int32_t>({128}, 3), i}, {.axis = 0},
                                                   [](auto al, auto bl, auto ar, auto br) {
                                                     return std::tuple{al * ar, ar * bl + br};
                                                   });
        tl::store(a + i, scale);
        tl::store(b + i, shift);
        tl::store(right + i, tl::associative_scan(i + 5, {.axis = 0}, [](auto, auto q) { return q; }));
        tl::store(left + i, tl::associative_scan(i + 5, {.axis = 0}, [](auto p, auto) { return p; }));
      },
      a, b, right, left);
  const Host<std::int32_t> scale = download(a), shift = download(b);
  const std::int32_t rows[][3] = {{0, 3, 0},
                                  {1, 9, 1},
                                  {2, 27, 5},
                                  {3, 81, 18},
                                  {31, -501334399, -125333616},
                                  {32, -1504003197, -376000816},
                                  {63, 2038349057, 509587232},
                                  {64, 1820079875, 1528761760},
                                  {127, -1970898431, 1654758976}};
  for (const auto& [at, s, t] : rows) {
    EXPECT_EQ(scale[at], s) << at;
    EXPECT_EQ(shift[at], t) << at;
  }
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(download(right)[i], i + 5);
    EXPECT_EQ(download(left)[i], 5);
  }
}

struct Folds {
  int N = 32;
  void operator()(tl::Ptr<std::int32_t> y, tl::Ptr<std::int32_t> running) const {
    auto i = tl::arange(0, N);
    tl::store(y, tl::sum(i));
    tl::store(y + 1, tl::max(i));
    tl::store(y + 2, tl::argmax(i, {.axis = 0}));
    tl::store(running + i, tl::cumsum(i, {.axis = 0}));
  }
};
struct LargeTile {
  int N = 1 << 17;
  void operator()(tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> y, tl::Ptr<std::int64_t> sum) const {
    auto v = tl::load(x + tl::arange(0, N));
    tl::store(y + tl::arange(0, N), v);
    tl::store(sum, tl::sum(tl::cast<std::int64_t>(v)));
  }
};

TEST_P(Reductions, SUBG_1_no_width_is_assumed) {
  for (int n = 32; n <= 4096; n *= 2) {
    auto y = blank<std::int32_t>(device, 3), running = blank<std::int32_t>(device, n);
    launch(device, {1}, Folds{n}, y, running);
    EXPECT_EQ(download(y), (Host<std::int32_t>{n * (n - 1) / 2, n - 1, n - 1}));
    const Host<std::int32_t> got = download(running);
    for (int i = 0; i < n; ++i) ASSERT_EQ(got[i], i * (i + 1) / 2) << n;
  }
  Host<std::int32_t> x(1 << 17);
  for (int i = 0; i < 1 << 17; ++i) x[i] = i;
  const auto input = in<std::int32_t>(x);
  auto y = blank<std::int32_t>(device, 1 << 17);
  auto sum = blank<std::int64_t>(device, 1);
  for (int turn = 0; turn < 3; ++turn) {
    launch(device, {1}, LargeTile{}, input, y, sum);
    EXPECT_EQ(download(y), x);
    EXPECT_EQ(download(sum)[0], 8589869056);
  }
}

}  // namespace
}  // namespace teeny::cases
