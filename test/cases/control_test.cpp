// Loops, returns, grids, alignment.
#include "conformance/layout.hpp"
#include "fixture.hpp"

namespace teeny::cases {
namespace {

using conformance::row_major;
using Control = Cases;
TEENY_ON_EACH_DEVICE(Control);

TEST_P(Control, LOOP_1_bounds) {
  for (const auto& [upper, expected] : {std::pair{3, 0}, std::pair{5, 0}, std::pair{6, 4}}) {
    auto n = blank<std::int32_t>(device, 1);
    launch(
        device, {1},
        [](tl::Ptr<std::int32_t> out, tl::i32 upper) {
          auto n = tl::i32(0);
          for (auto i : tl::range(0, 4))
            for (auto j : tl::range(5, upper)) n += 1 + i * 0 + j * 0;
          tl::store(out, n);
        },
        n, upper);
    EXPECT_EQ(download(n)[0], expected);
  }
  auto y = blank<float>(device, 12);
  launch(
      device, {1},
      [](tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 n) {
        auto at = tl::arange(0, 8);
        auto v = tl::load(x + at);
        auto total = tl::f32(3);
        auto p = x;
        for (auto i : tl::range(0, n)) {
          v = v + 1;
          total += tl::cast<float>(i);
          p += 1;
        }
        tl::store(y + at, v);
        tl::store(y + 8, total);
        tl::store(y + 9, tl::load(p));
      },
      in<float>({7, 6, 5, 4, 3, 2, 1, 0}), y, 0);
  const Host<float> kept = download(y);
  EXPECT_EQ(Host<float>(kept.begin(), kept.begin() + 10), (Host<float>{7, 6, 5, 4, 3, 2, 1, 0, 3, 7}));
  struct Row {
    int from, to, step, count, sum, last;
  };
  for (const Row& r : {Row{2147483640, 2147483647, 4, 2, -12, 2147483644}, Row{0, 10, 3, 4, 18, 9},
                       Row{INT32_MIN, INT32_MIN, 1, 0, 0, 0}}) {
    auto out = blank<std::int32_t>(device, 3);
    launch(
        device, {1},
        [](tl::Ptr<std::int32_t> out, tl::i32 from, tl::i32 to, tl::i32 step) {
          auto count = tl::i32(0), sum = tl::i32(0), last = tl::i32(0);
          for (auto i : tl::range(from, to, step)) {
            count += 1;
            sum += i;
            last = i;
          }
          tl::store(out, count);
          tl::store(out + 1, sum);
          tl::store(out + 2, last);
        },
        out, r.from, r.to, r.step);
    EXPECT_EQ(download(out), (Host<std::int32_t>{r.count, r.sum, r.last}));
  }
}

struct Quotients {
  void operator()(tl::Ptr<float> y, tl::i32 trips) const {
    auto n = tl::full<float>({8, 8}, 1), d = tl::full<float>({8, 8}, 12), o = d;
    for (auto i : tl::range(0, trips)) o = n / d + tl::cast<float>(i) * 0;
    tl::store(y, tl::max(o));
  }
};

TEST_P(Control, LOOP_2_carried_values) {
  for (int trips : {0, 1, 2, 3}) {
    auto y = blank<float>(device, 1);
    launch(device, {1}, Quotients{}, y, trips);
    EXPECT_EQ(bits(y)[0], trips == 0 ? 0x41400000u : 0x3DAAAAABu);
  }
  for (const auto& [trips, expected] : {std::pair{10, 55}, std::pair{46, 1836311903}, std::pair{47, -1323752223}}) {
    auto y = blank<std::int32_t>(device, 4);
    launch(
        device, {1},
        [](tl::Ptr<std::int32_t> y, tl::i32 trips) {
          auto a = tl::zeros<std::int32_t>({4}), b = a + 1;
          for (auto i : tl::range(0, trips)) {
            auto next = a + b + i * 0;
            a = b;
            b = next;
          }
          tl::store(y + tl::arange(0, 4), a);
        },
        y, trips);
    EXPECT_EQ(download(y), Host<std::int32_t>(4, expected));
  }
  for (int trips = 0; trips <= 5; ++trips) {
    auto y = blank<std::int32_t>(device, 16);
    launch(
        device, {1},
        [](tl::Ptr<std::int32_t> y, tl::i32 trips) {
          auto a = tl::arange(0, 8), b = a + 100;
          for (auto i : tl::range(0, trips)) {
            std::swap(a, b);
            a += i * 0;
          }
          tl::store(y + tl::arange(0, 8), a);
          tl::store(y + 8 + tl::arange(0, 8), b);
        },
        y, trips);
    EXPECT_EQ(download(y)[0], trips % 2 ? 100 : 0) << trips;
    EXPECT_EQ(download(y)[8], trips % 2 ? 0 : 100) << trips;
  }
  auto y = blank<float>(device, 1);
  launch(
      device, {1},
      [](tl::Ptr<float> y, tl::i32 three, tl::i32 four) {
        auto v = tl::f32(0);
        for (auto i : tl::range(0, three)) v += 1 + tl::cast<float>(i) * 0;
        for (auto i : tl::range(0, four)) v = v * 2 + tl::cast<float>(i) * 0;
        tl::store(y, v);
      },
      y, 3, 4);
  EXPECT_EQ(download(y)[0], 48);
}

TEST_P(Control, LOOP_3_early_returns) {
  Host<float> x(64);
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  for (int flag : {0, 1}) {
    auto y = blank<float>(device, 64);
    const Host<float> before = download(y);
    launch(
        device, {1},
        [](tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 flag) {
          auto v = tl::load(x + tl::arange(0, 64));
          tl::return_if(flag != 0);
          tl::store(y + tl::arange(0, 64), v);
        },
        in<float>(x), y, flag);
    EXPECT_EQ(download(y), flag ? before : x);
  }
  auto y = in<float>(Host<float>(256, -1));
  launch(
      device, {4},
      [](tl::Ptr<float> y, tl::i32 n) {
        auto p = tl::program_id(0);
        tl::return_if(p * 64 >= n);
        auto at = p * 64 + tl::arange(0, 64);
        tl::store(y + at, tl::cast<float>(at), {.mask = at < n});
      },
      y, 150);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(download(y)[i], i < 150 ? i : -1);
  auto marks = in<std::int32_t>(Host<std::int32_t>(8, 0));
  auto sums = blank<float>(device, 4);
  launch(
      device, {4},
      [](tl::Ptr<const std::int32_t> z, tl::Ptr<std::int32_t> marks, tl::Ptr<float> y) {
        auto p = tl::program_id(0);
        auto z0 = tl::load(z), z1 = tl::load(z + 1);
        tl::if_(z0 < z1, [&] { tl::store(marks + p, 1); });
        tl::if_(z0 > z1, [&] { tl::store(marks + 4 + p, 1); });
        tl::return_if(z0 > z1);
        tl::store(y + p, tl::sum(tl::full<float>({4}, 1) * tl::full<float>({4}, 1)));
      },
      in<std::int32_t>({0, 1}), marks, sums);
  EXPECT_EQ(download(marks), (Host<std::int32_t>{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(download(sums), Host<float>(4, 4));
}

struct Linear {
  void operator()(tl::Ptr<std::int32_t> out) const {
    auto nx = tl::num_programs(0), ny = tl::num_programs(1);
    auto id = tl::program_id(0) + nx * (tl::program_id(1) + ny * tl::program_id(2));
    tl::atomic_add(out + id, id + 1);
  }
};

TEST_P(Control, GRID_1_every_program_runs_once) {
  auto out = blank<std::int32_t>(device, 105), counts = blank<std::int32_t>(device, 3);
  launch(
      device, {3, 5, 7},
      [](tl::Ptr<std::int32_t> out, tl::Ptr<std::int32_t> counts) {
        auto x = tl::program_id(0), y = tl::program_id(1), z = tl::program_id(2);
        tl::store(out + (x + 3 * (y + 5 * z)), x + 1000 * y + 1000000 * z);
        tl::if_((x == 0) & (y == 0) & (z == 0), [&] {
          tl::store(counts, tl::num_programs(0));
          tl::store(counts + 1, tl::num_programs(1));
          tl::store(counts + 2, tl::num_programs(2));
        });
      },
      out, counts);
  for (int z = 0; z < 7; ++z)
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 3; ++x) EXPECT_EQ(download(out)[x + 3 * (y + 5 * z)], x + 1000 * y + 1000000 * z);
  EXPECT_EQ(download(counts), (Host<std::int32_t>{3, 5, 7}));
  for (const auto& [x, y, z] :
       {std::array{204800, 1, 1}, std::array{1, 70000, 1}, std::array{1, 1, 65536}, std::array{70000, 2, 2}}) {
    auto cells = in<std::int32_t>(Host<std::int32_t>(static_cast<std::size_t>(x) * y * z, 0));
    const std::uint64_t* most = device.info().max_grid;
    if (static_cast<std::uint64_t>(y) > most[1] || static_cast<std::uint64_t>(z) > most[2]) {
      EXPECT_THROW(launch(device, {x, y, z}, Linear{}, cells), Error);
      continue;
    }
    launch(device, {x, y, z}, Linear{}, cells);
    const Host<std::int32_t> got = download(cells);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<int>(i) + 1);
  }
  auto untouched = in<std::int32_t>({9});
  launch(device, {0}, Linear{}, untouched);
  launch(device, {4, 0, 2}, Linear{}, untouched);
  launch(device, {1, 1, 0}, Linear{}, untouched);
  EXPECT_EQ(download(untouched)[0], 9);
  EXPECT_THROW(launch(device, {-1}, Linear{}, untouched), Error);
}

struct Copy {
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 n) const {
    auto at = tl::program_id(0) * 128 + tl::arange(0, 128);
    tl::store(y + at, tl::load(x + at, {.mask = at < n}), {.mask = at < n});
  }
};
struct CopyRows {
  int ROWS = 8, COLUMNS = 2048;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 rows, tl::i32 columns, tl::i32 pitch) const {
    auto r = tl::arange(0, ROWS)(tl::all, tl::none), c = tl::arange(0, COLUMNS)(tl::none, tl::all);
    auto mask = (r < rows) & (c < columns);
    tl::store(y + r * columns + c, tl::load(x + r * pitch + c, {.mask = mask}), {.mask = mask});
  }
};

TEST_P(Control, SPEC_1_alignment_and_pitch_may_change_between_launches) {
  conformance::for_each_type(Types<float, half, std::uint8_t>{}, [&]<class D> {
    Host<D> x(1024);
    for (int i = 0; i < 1024; ++i) x[i] = D(i % 251);
    const auto source = in<D>(x);
    for (const auto& [from, to] : {std::pair{0, 0}, std::pair{1, 3}, std::pair{0, 0}, std::pair{0, 5}}) {
      auto y = in<D>(Host<D>(1024, D(77)));
      auto destination = y.slice(to, 1000);
      launch(device, {8}, Copy{}, source.slice(from, 1000), destination, 1000);
      const Host<D> got = download(y);
      for (int i = 0; i < 1024; ++i)
        ASSERT_EQ(got[i], i < to || i >= to + 1000 ? D(77) : x[i - to + from]) << from << " " << to << " " << i;
    }
  });
  Host<float> rows(7 * 1185);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  for (int pitch : {1185, 1184, 1185}) {
    auto y = blank<float>(device, 7 * pitch);
    launch(device, {1}, CopyRows{}, in<float>(rows), y, 7, pitch, pitch);
    const Host<float> got = download(y);
    for (int i = 0; i < 7 * pitch; ++i) ASSERT_EQ(got[i], i) << pitch;
  }
  Host<half> square(64 * 64);
  for (int i = 0; i < 64 * 64; ++i) square[i] = half(i % 2048);
  auto view = in<half>(square).slice(1, 64 * 64 - 1);
  auto y = blank<half>(device, 64 * 63);
  launch(device, {1}, CopyRows{64, 64}, view, y, 64, 63, 64);
  const Host<half> got = download(y);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 63; ++j) ASSERT_EQ(got[i * 63 + j].bits(), square[i * 64 + j + 1].bits());
}

}  // namespace
}  // namespace teeny::cases
