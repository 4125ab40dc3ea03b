// Masks, broadcasting, shapes, descriptors, order of stores and loads, atomics.
#include <sys/mman.h>
#include <unistd.h>

#include "conformance/layout.hpp"
#include "fixture.hpp"

namespace teeny::cases {
namespace {

using conformance::row_major;
using conformance::store_rows;
using Memory = Cases;
TEENY_ON_EACH_DEVICE(Memory);

// Pages with an inaccessible page on either side.
class GuardedPages {
 public:
  GuardedPages() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<std::byte*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, page_, PROT_READ | PROT_WRITE);
  }
  ~GuardedPages() { munmap(base_, 3 * page_); }
  GuardedPages(const GuardedPages&) = delete;
  std::byte* first() { return base_ + page_; }
  std::byte* last(std::size_t bytes) { return base_ + 2 * page_ - bytes; }

 private:
  std::size_t page_;
  std::byte* base_;
};

struct FirstLanes {
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y) const {
    auto at = tl::arange(0, 64);
    tl::store(y + at, tl::load(x + at, {.mask = at < 37, .other = 1}));
  }
};
struct LastLanes {
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y) const {
    auto at = tl::arange(0, 64);
    tl::store(y + at, tl::load(x + (at - 27), {.mask = at >= 27, .other = 1}));
  }
};

bool reaches_host_memory(const Device& device) try {
  float number = 0;
  Buffer<float>::wrap(device, &number, 1);
  return true;
} catch (const Error& error) {
  if (error.code() != ErrorCode::unsupported) throw;
  return false;
}

TEST_P(Memory, MASK_1_masked_lanes_touch_no_memory) {
  if (!reaches_host_memory(device)) GTEST_SKIP() << "pages without access beside the buffer are of the host's memory";
  conformance::for_each_type(Types<float, half, std::uint8_t, bool, std::int64_t>{}, [&]<class D> {
    GuardedPages pages;
    Host<D> values(37);
    for (int i = 0; i < 37; ++i) values[i] = Stored<D>(i % 2);
    D* end = reinterpret_cast<D*>(pages.last(37 * sizeof(D)));
    std::memcpy(end, values.data(), 37 * sizeof(D));
    auto y = blank<D>(device, 64);
    launch(device, {1}, FirstLanes{}, Buffer<D>::wrap(device, end, 37), y);
    Host<D> got = download(y);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(got[i], i < 37 ? values[i] : Stored<D>(1)) << conformance::dtype_name<D>() << " " << i;
    D* start = reinterpret_cast<D*>(pages.first());
    std::memcpy(start, values.data(), 37 * sizeof(D));
    launch(device, {1}, LastLanes{}, Buffer<D>::wrap(device, start, 37), y);
    got = download(y);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(got[i], i >= 27 ? values[i - 27] : Stored<D>(1)) << conformance::dtype_name<D>() << " " << i;
  });
}

struct Others {
  int KIND = 0;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y) const {
    auto at = tl::arange(0, 256);
    auto mask = at < 16;
    auto put = [&](auto value) { tl::store(y + at, value); };
    if constexpr (tl::Float<D>) {
      if (KIND == 1) return put(tl::load(x + at, {.mask = mask, .other = -0.0f}));
      if (KIND == 2) return put(tl::load(x + at, {.mask = mask, .other = tl::nan}));
      if (KIND == 3) return put(tl::load(x + at, {.mask = mask, .other = tl::inf}));
      if (KIND == 4) return put(tl::load(x + at, {.mask = mask, .other = 1e-7f}));
      if (KIND == 7) return put(tl::sum(tl::load(x + at, {.mask = mask, .other = 0})) + tl::zeros<D>({256}));
    }
    if constexpr (tl::Numeric<D>) {
      if (KIND == 5) return put(tl::load(x + at, {.mask = mask, .other = 5}));
      if (KIND == 6) return put(tl::load(x + at, {.mask = mask, .other = tl::cast<D>(at)}));
    }
    if constexpr (std::is_same_v<D, bool>)
      if (KIND == 8) return put(tl::load(x + at, {.mask = mask, .other = true}));
    put(tl::load(x + at, {.mask = mask, .other = 0}));
  }
};

TEST_P(Memory, MASK_2_masked_lanes_hold_the_other_value) {
  auto last = [&]<class D>(std::type_identity<D>, int kind) {
    auto y = blank<D>(device, 256);
    launch(device, {1}, Others{kind}, in<D>(Host<D>(16, Stored<D>(1))), y);
    const auto got = bits(y);
    for (int i = 17; i < 256; ++i)
      if (kind != 6) EXPECT_EQ(got[i], got[16]);
    return std::pair{got[16], got[255]};
  };
  const std::type_identity<float> f32;
  EXPECT_EQ(last(f32, 0).first, 0u);
  EXPECT_EQ(last(f32, 1).first, 0x80000000u);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(last(f32, 2).first)));
  EXPECT_EQ(last(f32, 3).first, 0x7F800000u);
  EXPECT_EQ(last(f32, 4).first, 0x33D6BF95u);
  EXPECT_EQ(last(std::type_identity<half>{}, 5).first, 0x4500);
  EXPECT_EQ(last(f32, 6).second, std::bit_cast<std::uint32_t>(255.0f));
  EXPECT_EQ(last(f32, 7).first, std::bit_cast<std::uint32_t>(16.0f));
  EXPECT_EQ(last(std::type_identity<bool>{}, 8).first, 1);
}

TEST_P(Memory, MASK_3_masked_lanes_in_reductions) {
  auto y = blank<float>(device, 8);
  launch(
      device, {1},
      [](tl::Ptr<const std::int32_t> x, tl::Ptr<float> y) {
        auto at = tl::arange(0, 1024);
        auto mask = at < 1000;
        tl::store(y, tl::sum(tl::load(x + at, {.mask = mask, .other = -1}) == 0));
        tl::store(y + 1, tl::sum(tl::load(x + at, {.mask = mask, .other = 0}) == 0));
        tl::store(y + 2, tl::sum((tl::load(x + at, {.mask = mask, .other = 0}) == 0) & mask));
      },
      in<std::int32_t>(Host<std::int32_t>(1000, 3)), y);
  EXPECT_EQ(download(y)[0], 0);
  EXPECT_EQ(download(y)[1], 24);
  EXPECT_EQ(download(y)[2], 0);
  auto at = blank<std::int32_t>(device, 1);
  launch(
      device, {1},
      [](tl::Ptr<const float> x, tl::Ptr<float> y, tl::Ptr<std::int32_t> where) {
        auto at = tl::arange(0, 64);
        auto mask = at < 0;
        tl::store(y, tl::sum(tl::load(x + at, {.mask = mask, .other = 0})));
        auto low = tl::load(x + at, {.mask = mask, .other = -tl::inf});
        tl::store(y + 1, tl::max(low));
        tl::store(y + 2, tl::min(tl::load(x + at, {.mask = mask, .other = tl::inf})));
        tl::store(where, tl::argmax(low, {.axis = 0}));
        auto e = tl::exp(low - tl::max(low));
        tl::store(y + 3, tl::max(tl::where(e == e, 0.0f, 1.0f)));
        tl::store(y + 4, tl::sum(tl::where(mask, e, 0)));
      },
      in<float>(Host<float>(64, 1)), y, at);
  EXPECT_EQ(download(y)[0], 0);
  EXPECT_EQ(download(y)[1], -INFINITY);
  EXPECT_EQ(download(y)[2], INFINITY);
  EXPECT_EQ(download(y)[3], 1);  // -inf - -inf is NaN
  EXPECT_EQ(download(y)[4], 0);
  EXPECT_TRUE(download(at)[0] >= 0 && download(at)[0] < 64);
}

TEST_P(Memory, BCAST_1_the_direction_of_broadcasting) {
  auto y = blank<float>(device, 16 * 6);
  auto z = blank<float>(device, 4 * 4 * 8);
  launch(
      device, {1},
      [](tl::Ptr<float> y, tl::Ptr<float> z) {
        auto v = tl::arange(0, 4);
        auto out = [&](int place, auto tile) { store_rows(y + 16 * place, tl::cast<float>(tile)); };
        out(0, tl::broadcast_to(tl::reshape(v, {4, 1}), {4, 4}));
        out(1, tl::broadcast_to(tl::expand_dims(v, 1), {4, 4}));
        out(2, tl::broadcast_to(v(tl::all, tl::none), {4, 4}));
        out(3, tl::broadcast_to(v(tl::none, tl::all), {4, 4}));
        out(4, v(tl::all, tl::none) * 10 + v(tl::none, tl::all));
        out(5, v + tl::broadcast_to((v * 100)(tl::all, tl::none), {4, 4}));
        auto a = (v * 10)(tl::all, tl::none, tl::none) + tl::arange(0, 8)(tl::none, tl::none, tl::all);
        store_rows(z, a + (v * 100)(tl::none, tl::all, tl::none) + 0.5f);
      },
      y, z);
  const Host<float> got = download(y);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const float expected[] = {float(i), float(i), float(i), float(j), float(10 * i + j), float(100 * i + j)};
      for (int place = 0; place < 6; ++place) EXPECT_EQ(got[16 * place + 4 * i + j], expected[place]) << place;
      for (int k = 0; k < 8; ++k) EXPECT_EQ(download(z)[(i * 4 + j) * 8 + k], 100 * j + 10 * i + k + 0.5f);
    }
}

TEST_P(Memory, SHAPE_1_permutations_keep_row_major_order) {
  auto y = blank<std::int32_t>(device, 4 * 64);
  launch(
      device, {1},
      [](tl::Ptr<std::int32_t> y) {
        auto x = (tl::arange(0, 2) * 100)(tl::all, tl::none, tl::none) +
                 (tl::arange(0, 4) * 10)(tl::none, tl::all, tl::none) + tl::arange(0, 8)(tl::none, tl::none, tl::all);
        store_rows(y, tl::trans(x, {2, 0, 1}));
        store_rows(y + 64, tl::trans(x, {1, 2, 0}));
        store_rows(y + 128, tl::reshape(x, {8, 8}));
        store_rows(y + 192, tl::trans(tl::trans(x)));
      },
      y);
  const Host<std::int32_t> got = download(y);
  EXPECT_EQ(Host<std::int32_t>(got.begin(), got.begin() + 16),
            (Host<std::int32_t>{0, 10, 20, 30, 100, 110, 120, 130, 1, 11, 21, 31, 101, 111, 121, 131}));
  EXPECT_EQ(Host<std::int32_t>(got.begin() + 64, got.begin() + 72),
            (Host<std::int32_t>{0, 100, 1, 101, 2, 102, 3, 103}));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(got[128 + i], i / 32 * 100 + i / 8 % 4 * 10 + i % 8);
    EXPECT_EQ(got[192 + i], got[128 + i]);
  }
}

struct Padded {
  bool NAN_PADDING = false;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 offset) const {
    auto d = tl::make_descriptor(x, {32}, {1}, {64}, {.padding = NAN_PADDING ? tl::Padding::nan : tl::Padding::zero});
    tl::store(y + tl::arange(0, 64), d.load({offset}));
  }
};

TEST_P(Memory, BLK_1_descriptors_bound_every_dimension) {
  const auto x = in<float>(Host<float>(64, 1));
  for (bool nan : {false, true})
    for (int offset : {0, -8, 40}) {
      auto y = blank<float>(device, 64);
      launch(device, {1}, Padded{nan}, x, y, offset);
      const Host<float> got = download(y);
      for (int i = 0; i < 64; ++i) {
        const bool inside = i + offset >= 0 && i + offset < 32;
        if (!inside && nan)
          EXPECT_TRUE(std::isnan(got[i])) << offset << " " << i;
        else
          EXPECT_EQ(got[i], inside ? 1 : 0) << offset << " " << i;
      }
    }
  auto sums = blank<float>(device, 2);
  launch(
      device, {2},
      [](tl::Ptr<const float> x, tl::Ptr<float> sums) {
        auto d = tl::make_descriptor(x, {32, 32}, {32, 1}, {16, 16});
        auto total = tl::f32(0);
        for (auto block : tl::range(0, 3)) total += tl::sum(d.load({block * 16, tl::program_id(0) * 16}));
        tl::store(sums + tl::program_id(0), total);
      },
      in<float>(Host<float>(48 * 32, 1)), sums);
  EXPECT_EQ(download(sums), (Host<float>{512, 512}));
  EXPECT_THROW(launch(
                   device, {1},
                   [](tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> y) {
                     auto d = tl::make_descriptor(x, {32}, {1}, {64}, {.padding = tl::Padding::nan});
                     tl::store(y + tl::arange(0, 64), d.load({0}));
                   },
                   in<std::int32_t>(Host<std::int32_t>(64)), blank<std::int32_t>(device, 64)),
               Error);
}

TEST_P(Memory, LOOP_4_stores_and_loads_of_one_program) {
  auto rows = blank<half>(device, 1024 * 64);
  launch(
      device, {1},
      [](tl::Ptr<half> y) {
        auto at = tl::arange(0, 64);
        auto v = tl::cast<half>(at);
        for (auto i : tl::range(0, 1024)) tl::store(y + i * 64 + at, v);
      },
      rows);
  const Host<half> tile = download(rows);
  for (int i = 0; i < 1024 * 64; ++i) ASSERT_EQ(float(tile[i]), i % 64);
  auto cells = blank<float>(device, 16 * 4096), difference = blank<float>(device, 16 * 4096);
  launch(
      device, {16},
      [](tl::Ptr<float> x, tl::Ptr<float> y) {
        auto pid = tl::program_id(0);
        for (auto off : tl::range(0, 4096, 128)) {
          auto at = pid * 4096 + off + tl::arange(0, 128);
          auto v = tl::cast<float>(off + tl::arange(0, 128) + pid);
          tl::store(x + at, v);
          tl::store(y + at, tl::load(x + at) - v);
        }
      },
      cells, difference);
  EXPECT_EQ(download(difference), Host<float>(16 * 4096, 0));
  auto x = in<float>(Host<float>(8, 0)), r = blank<float>(device, 512);
  launch(
      device, {1},
      [](tl::Ptr<float> x, tl::Ptr<float> r) {
        auto at = tl::arange(0, 8)(tl::all, tl::none);
        auto t = tl::load(x + at);
        tl::store(x + at, t + 1);
        tl::store(r + tl::arange(0, 512),
                  tl::sum(t + tl::cast<float>(tl::arange(0, 512))(tl::none, tl::all), {.axis = 0}));
      },
      x, r);
  for (int j = 0; j < 512; ++j) ASSERT_EQ(download(r)[j], 8 * j);
  EXPECT_EQ(download(x), Host<float>(8, 1));
}

TEST_P(Memory, ATOM_1_each_lane_adds_once) {
  auto count = in<std::int32_t>({1});
  auto table = in<std::int64_t>(Host<std::int64_t>(16, 0));
  launch(
      device, {1},
      [](tl::Ptr<std::int32_t> count, tl::Ptr<std::int64_t> rows) {
        auto old = tl::atomic_add(count + tl::arange(0, 1), 1);
        tl::store(rows + old(tl::all, tl::none) * 8 + tl::arange(0, 8)(tl::none, tl::all),
                  tl::full<std::int64_t>({1, 8}, 2));
      },
      count, table);
  EXPECT_EQ(download(count)[0], 2);
  EXPECT_EQ(download(table), (Host<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2}));
  auto y = in<std::int32_t>(Host<std::int32_t>(16, 0)), sums = in<std::int32_t>(Host<std::int32_t>(32, 0)),
       cells = in<std::int32_t>(Host<std::int32_t>(7, 0));
  auto masked = in<std::int32_t>(Host<std::int32_t>(10, 0));
  launch(
      device, {1},
      [](tl::Ptr<std::int32_t> y, tl::Ptr<std::int32_t> sums, tl::Ptr<std::int32_t> cells,
         tl::Ptr<std::int32_t> masked) {
        tl::atomic_add(y + tl::arange(0, 16), 1);
        tl::atomic_add(sums + tl::arange(0, 32), tl::sum(tl::full<std::int32_t>({32, 32}, 1), {.axis = 1}));
        tl::atomic_add(cells + tl::arange(0, 4096) % 7, 1);
        tl::atomic_add(masked + tl::arange(0, 16) * 1, 1, {.mask = tl::arange(0, 16) < 10});
      },
      y, sums, cells, masked);
  EXPECT_EQ(download(y), Host<std::int32_t>(16, 1));
  EXPECT_EQ(download(sums), Host<std::int32_t>(32, 32));
  EXPECT_EQ(download(cells), (Host<std::int32_t>{586, 585, 585, 585, 585, 585, 585}));
  EXPECT_EQ(download(masked), Host<std::int32_t>(10, 1));
}

TEST_P(Memory, ATOM_2_extremes_of_signed_numbers) {
  conformance::for_each_type(Types<float, double>{}, [&]<class D> {
    auto highest = in<D>({D(-3.4e38), D(-1), D(-5), D(2), D(-1)}), lowest = in<D>({D(3.4e38), D(1), D(-1), D(-1)});
    launch(
        device, {1},
        [](tl::Ptr<D> high, tl::Ptr<D> low, tl::Ptr<const D> up, tl::Ptr<const D> down) {
          auto five = tl::arange(0, 5), four = tl::arange(0, 4);
          tl::atomic_max(high + five, tl::load(up + five));
          tl::atomic_min(low + four, tl::load(down + four));
        },
        highest, lowest, in<D>({D(-0.0), D(-0.5), D(3), D(-7), D(-2)}), in<D>({D(-0.0), D(-0.5), D(5), D(-2)}));
    EXPECT_EQ(download(highest), (Host<D>{D(-0.0), D(-0.5), D(3), D(2), D(-1)}));
    EXPECT_EQ(download(lowest), (Host<D>{D(-0.0), D(-0.5), D(-1), D(-2)}));
    auto cells = in<D>(Host<D>(8, D(-INFINITY))), floors = in<D>(Host<D>(8, D(INFINITY)));
    launch(
        device, {8},
        [](tl::Ptr<D> high, tl::Ptr<D> low) {
          auto lane = tl::program_id(0) * 64 + tl::arange(0, 64);
          tl::atomic_max(high + tl::div(lane, 64), tl::cast<D>(lane - 256));
          tl::atomic_min(low + tl::div(lane, 64), tl::cast<D>(lane - 256));
        },
        cells, floors);
    for (int b = 0; b < 8; ++b) {
      EXPECT_EQ(download(cells)[b], D(64 * b - 193));
      EXPECT_EQ(download(floors)[b], D(64 * b - 256));
    }
  });
  auto u = in<std::uint32_t>({1, 0x80000000});
  auto s = in<std::int32_t>({1, -5});
  auto w = in<std::int64_t>({1, INT64_MIN});
  launch(
      device, {1},
      [](tl::Ptr<std::uint32_t> u, tl::Ptr<std::int32_t> s, tl::Ptr<std::int64_t> w) {
        tl::atomic_max(u, 0x80000000u);
        tl::atomic_min(u + 1, 1u);
        tl::atomic_max(s, tl::i32(INT32_MIN));
        tl::atomic_min(s + 1, 3);
        tl::atomic_max(w, tl::i64(INT64_MIN));
        tl::atomic_min(w + 1, 4);
      },
      u, s, w);
  EXPECT_EQ(download(u), (Host<std::uint32_t>{0x80000000, 1}));
  EXPECT_EQ(download(s), (Host<std::int32_t>{1, -5}));
  EXPECT_EQ(download(w), (Host<std::int64_t>{1, INT64_MIN}));
}

}  // namespace
}  // namespace teeny::cases
