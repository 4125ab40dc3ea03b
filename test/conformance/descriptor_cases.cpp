// Tensor descriptors: every dimension is bounded, whatever the offset.
#include <algorithm>

#include "layout.hpp"

namespace teeny::conformance {

namespace {

// Copies the block at (row, column) of x, [rows, columns] with `pitch` elements a row, to y and through y's own
// descriptor.
struct Blocks {
  int R = 16, C = 16;
  bool NAN_PADDING = false;
  TEENY_PARAMETERS(x, y, z, rows, columns, pitch, row, column);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::Ptr<D> z, tl::i32 rows, tl::i32 columns, tl::i32 pitch,
                  tl::i32 row, tl::i32 column) const {
    auto from = tl::make_descriptor(x, {rows, columns}, {pitch, 1}, {R, C},
                                    {.padding = NAN_PADDING ? tl::Padding::nan : tl::Padding::zero});
    auto to = tl::make_descriptor(z, {rows, columns}, {pitch, 1}, {R, C});
    auto v = from.load({row, column});
    store_rows(y, v);
    to.store({row, column}, v);
  }
};

struct Line {
  int N = 64;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 size, tl::i32 offset) const {
    auto d = tl::make_tensor_descriptor(x, {size}, {1}, {N});
    store_rows(y, d.load({offset}));
  }
};

struct Cube {
  int A = 4, B = 8, C = 16;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::Ptr<D> z, tl::i32 a, tl::i32 b, tl::i32 c) const {
    auto from = tl::make_descriptor(x, {a, b, c}, {b * c, c, 1}, {A, B, C});
    auto to = tl::make_descriptor(z, {a, b, c}, {b * c, c, 1}, {A, B, C});
    for (auto i : tl::range(0, a, A)) {
      auto v = from.load({i, 1, 2});
      store_rows(y, v);
      to.store({i, -1, -2}, v);
      tl::barrier();
    }
  }
};

template <class D>
void run_blocks(const Device& device, Verdict& verdict, bool nan_padding) {
  const int rows = 24, columns = 20, pitch = 25;
  const Host<D> x = values<D>(rows * pitch, 41);
  for (const auto& [r, c] : {std::array{16, 16}, std::array{5, 7}, std::array{32, 32}, std::array{1, 64}})
    for (const auto& [row, column] : {std::array{0, 0}, std::array{-3, -5}, std::array{10, 8}, std::array{24, 0},
                                      std::array{100, 100}, std::array{-100, 3}}) {
      const Buffer<D> input = upload<D>(device, x);
      Buffer<D> y = blank<D>(device, r * c), z = blank<D>(device, rows * pitch);
      expect_same(verdict, device, {1}, Blocks{r, c, nan_padding}, input, y, z, rows, columns, pitch, row, column);
      if (!verdict.ok()) return;
      const int top = row, left = column, height = r, width = c;
      compare_with_reference<D>(verdict, download(y), r * c, "block", [&](std::size_t i) -> std::optional<Expected> {
        const int at = top + static_cast<int>(i) / width, across = left + static_cast<int>(i) % width;
        if (at < 0 || at >= rows || across < 0 || across >= columns)
          return Expected{nan_padding ? std::numeric_limits<Real>::quiet_NaN() : 0};
        return Expected{real_of<D>(x[at * pitch + across])};
      });
      Host<D> copied = download(blank<D>(device, rows * pitch));
      for (int at = std::max(top, 0); at < std::min(top + height, rows); ++at)
        for (int across = std::max(left, 0); across < std::min(left + width, columns); ++across)
          copied[at * pitch + across] = x[at * pitch + across];
      const Host<D> stored = download(z);
      for (std::size_t i = 0; i < copied.size(); ++i)
        if (!is_right(dtype_of<D>, real_of<D>(stored[i]), {real_of<D>(copied[i])}))
          return verdict.fail("stored block: element " + std::to_string(i) + " is wrong");
    }
}

template <class D>
void run_lines_and_cubes(const Device& device, Verdict& verdict) {
  const Buffer<D> x = upload<D>(device, values<D>(8 * 12 * 20, 42));
  for (int offset : {0, -8, 40, 20}) {
    Buffer<D> y = blank<D>(device, 64);
    expect_same(verdict, device, {1}, Line{}, x, y, 32, offset);
  }
  Buffer<D> y = blank<D>(device, 4 * 8 * 16), z = blank<D>(device, 8 * 12 * 20);
  expect_same(verdict, device, {1}, Cube{}, x, y, z, 7, 9, 17);
}

}  // namespace

void add_descriptor_cases(Cases& cases) {
  for_each_type(Types<float, half, bfloat16, std::int32_t, std::uint8_t, double>{}, [&]<class D> {
    cases.push_back({"descriptor.blocks." + dtype_name<D>(),
                     [](const Device& device, Verdict& verdict) { run_blocks<D>(device, verdict, false); }});
    if (tl::Float<D>)
      cases.push_back({"descriptor.nan_padding." + dtype_name<D>(),
                       [](const Device& device, Verdict& verdict) { run_blocks<D>(device, verdict, tl::Float<D>); }});
    cases.push_back({"descriptor.lines_and_cubes." + dtype_name<D>(),
                     [](const Device& device, Verdict& verdict) { run_lines_and_cubes<D>(device, verdict); }});
  });
}

}  // namespace teeny::conformance
