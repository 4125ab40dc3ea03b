// Grids, aliases, alignments, strides: what a launch may vary without recording a new kernel.
#include "layout.hpp"

namespace teeny::conformance {

namespace {

struct Places {
  void operator()(tl::Ptr<std::int64_t> out, tl::Ptr<std::int32_t> counts) const {
    auto x = tl::program_id(0), y = tl::program_id(1), z = tl::program_id(2);
    auto nx = tl::num_programs(0), ny = tl::num_programs(1);
    tl::store(out + (x + nx * (y + ny * z)), tl::cast<std::int64_t>(x) + tl::cast<std::int64_t>(y) * 1000000 +
                                                 tl::cast<std::int64_t>(z) * 1000000000000);
    tl::if_((x == 0) & (y == 0) & (z == 0), [&] {
      tl::store(counts, nx);
      tl::store(counts + 1, ny);
      tl::store(counts + 2, tl::num_programs(2));
    });
  }
};

void run_grids(const Device& device, Verdict& verdict) {
  for (const auto& [x, y, z] : {std::array{3, 5, 7}, std::array{1, 1, 1}, std::array{500, 1, 1}, std::array{1, 300, 2},
                                std::array{2, 1, 200}}) {
    const int count = x * y * z;
    Buffer<std::int64_t> out = blank<std::int64_t>(device, count + 4);
    Buffer<std::int32_t> counts = blank<std::int32_t>(device, 4);
    expect_same(verdict, device, {x, y, z}, Places{}, out, counts);
    Host<std::int64_t> expected;
    for (std::int64_t k = 0; k < z; ++k)
      for (std::int64_t j = 0; j < y; ++j)
        for (std::int64_t i = 0; i < x; ++i) expected.push_back(i + j * 1000000 + k * 1000000000000);
    expect_bits<std::int64_t>(verdict, download(out), expected, "programs");
    expect_bits<std::int32_t>(verdict, download(counts), {x, y, z}, "counts");
  }
}

void run_large_grids(const Device& device, Verdict& verdict) {
  for (const auto& [x, y, z] :
       {std::array{204800, 1, 1}, std::array{1, 70000, 1}, std::array{1, 1, 65536}, std::array{70000, 2, 2}}) {
    const std::size_t count = static_cast<std::size_t>(x) * y * z;
    Buffer<std::int64_t> out = blank<std::int64_t>(device, count);
    Buffer<std::int32_t> counts = blank<std::int32_t>(device, 4);
    try {
      launch(device, {x, y, z}, Places{}, out, counts);
    } catch (const Error& error) {  // a device may have a limit, and then says so
      if (error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::unsupported) continue;
      throw;
    }
    const Host<std::int64_t> got = download(out);
    std::size_t at = 0;
    for (std::int64_t k = 0; k < z; ++k)
      for (std::int64_t j = 0; j < y; ++j)
        for (std::int64_t i = 0; i < x; ++i, ++at)
          if (got[at] != i + j * 1000000 + k * 1000000000000)
            return verdict.fail("program " + std::to_string(at) + " did not run once");
  }
}

void run_empty_grids(const Device& device, Verdict& verdict) {
  Buffer<std::int64_t> out = blank<std::int64_t>(device, 8);
  Buffer<std::int32_t> counts = blank<std::int32_t>(device, 4);
  const Host<std::int64_t> before = download(out);
  for (int turn = 0; turn < 2; ++turn) {
    launch(device, {0}, Places{}, out, counts);
    launch(device, {4, 0, 2}, Places{}, out, counts);
    launch(device, {1, 1, 0}, Places{}, out, counts);
    expect_bits<std::int64_t>(verdict, download(out), before, "an empty grid");
    launch(device, {1}, Places{}, out, counts);
    out = blank<std::int64_t>(device, 8);
  }
  bool refused = false;
  try {
    launch(device, {-1}, Places{}, out, counts);
  } catch (const Error& error) {
    refused = error.code() == ErrorCode::invalid_argument;
  }
  if (!refused) verdict.fail("a negative grid was not refused as an invalid argument");
}

struct Sum {
  int BLOCK = 128;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<const D> y, tl::Ptr<D> z, tl::i32 n) const {
    auto at = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = at < n;
    tl::store(z + at, tl::load(x + at, {.mask = mask}) + tl::load(y + at, {.mask = mask}), {.mask = mask});
  }
};

template <class D>
void run_aliases(const Device& device, Verdict& verdict) {
  const Host<D> x = whole_numbers<D>(1000, 111, 20);
  Buffer<D> a = upload<D>(device, x);
  expect_same(verdict, device, {8}, Sum{}, a, a, a, 1000);
  Host<D> twice;
  for (const auto& v : x) twice.push_back(D(v + v));
  expect_bits<D>(verdict, download(a), twice, "in place");
  Buffer<D> b = upload<D>(device, whole_numbers<D>(1000, 112, 20));
  expect_same(verdict, device, {8}, Sum{}, a, b, b, 1000);
}

// A copy of n elements of rows `pitch` apart; the same recording for every pitch.
struct Pitched {
  int ROWS = 8, COLUMNS = 64;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 rows, tl::i32 columns, tl::i32 x_pitch, tl::i32 x_step,
                  tl::i32 y_pitch) const {
    auto row = (tl::program_id(0) * ROWS + tl::arange(0, ROWS))(tl::all, tl::none);
    for (auto c0 : tl::range(0, columns, COLUMNS)) {
      auto column = (c0 + tl::arange(0, COLUMNS))(tl::none, tl::all);
      auto mask = (row < rows) & (column < columns);
      tl::store(y + row * y_pitch + column, tl::load(x + row * x_pitch + column * x_step, {.mask = mask}),
                {.mask = mask});
    }
  }
};

template <class D>
void run_variants(const Device& device, Verdict& verdict) {
  const Buffer<D> x = upload<D>(device, values<D>(40000, 113));
  struct Row {
    int shift_x, shift_y, rows, columns, x_pitch, x_step, y_pitch;
  };
  for (const Row& r : {Row{0, 0, 7, 1184, 1184, 1, 1184}, Row{1, 3, 7, 1185, 1185, 1, 1185},
                       Row{0, 0, 7, 1184, 1184, 1, 1184}, Row{0, 0, 64, 63, 64, 1, 64}, Row{1, 0, 64, 63, 64, 1, 80},
                       Row{0, 0, 16, 100, 1, 16, 112}, Row{0, 0, 16, 100, 3, 48, 101}, Row{5, 0, 33, 1, 1, 33, 1}}) {
    Buffer<D> y = blank<D>(device, 12000);
    const Buffer<D> from = x.slice(r.shift_x, 40000 - r.shift_x);
    Buffer<D> to = y.slice(r.shift_y, 12000 - r.shift_y);
    expect_same(verdict, device, {(r.rows + 7) / 8}, Pitched{}, from, to, r.rows, r.columns, r.x_pitch, r.x_step,
                r.y_pitch);
    if (!verdict.ok())
      return verdict.fail("pitch " + std::to_string(r.x_pitch) + ", step " + std::to_string(r.x_step) + ", shifts " +
                          std::to_string(r.shift_x) + " and " + std::to_string(r.shift_y));
  }
}

// Numbers of every type, mixed with pointers.
struct Arguments {
  void operator()(tl::f16 a, tl::Ptr<half> pa, tl::f32 b, tl::b1 c, tl::f64 d, tl::i8 e, tl::u32 f, tl::i64 g,
                  tl::u64 h, tl::i16 i, tl::u8 j, tl::bf16 k, tl::u16 l, tl::Ptr<float> pb, tl::Ptr<bool> pc,
                  tl::Ptr<double> pd, tl::Ptr<std::int64_t> pi) const {
    tl::store(pa, a);
    tl::store(pb, b);
    tl::store(pb + 1, k);
    tl::store(pc, c);
    tl::store(pd, d);
    tl::store(pi, e);
    tl::store(pi + 1, f);
    tl::store(pi + 2, g);
    tl::store(pi + 3, tl::bitcast<std::int64_t>(h));
    tl::store(pi + 4, i);
    tl::store(pi + 5, j);
    tl::store(pi + 6, l);
  }
};

void run_arguments(const Device& device, Verdict& verdict) {
  Buffer<half> pa = blank<half>(device, 2);
  Buffer<float> pb = blank<float>(device, 3);
  Buffer<bool> pc = blank<bool>(device, 2);
  Buffer<double> pd = blank<double>(device, 2);
  Buffer<std::int64_t> pi = blank<std::int64_t>(device, 8);
  for (int turn = 0; turn < 2; ++turn) {
    const std::int64_t g = turn ? -1 : 2147483648;
    expect_same(verdict, device, {1}, Arguments{}, turn ? -65500.0 : 42.0, pa, 0.125f, turn == 0, 0.1, turn ? 127 : -5,
                4294967295u, g, ~std::uint64_t{0}, -300, 200, bfloat16(1.5), 65535, pb, pc, pd, pi);
    expect_bits<half>(verdict, download(pa), {half(turn ? -65504 : 42)}, "f16");
    expect_bits<std::int64_t>(verdict, download(pi), {turn ? 127 : -5, 4294967295, g, -1, -300, 200, 65535},
                              "integers");
    expect_bits<double>(verdict, download(pd), {0.1}, "f64");
    expect_bits<float>(verdict, download(pb), {0.125f, 1.5f}, "f32");
  }
}

}  // namespace

void add_launch_cases(Cases& cases) {
  cases.push_back({"launch.grids", run_grids});
  cases.push_back({"launch.large_grids", run_large_grids});
  cases.push_back({"launch.empty_grids", run_empty_grids});
  cases.push_back({"launch.arguments", run_arguments});
  for_each_type(Types<float, half, std::uint8_t, std::int64_t>{}, [&]<class D> {
    cases.push_back({"launch.aliases." + dtype_name<D>(),
                     [](const Device& device, Verdict& verdict) { run_aliases<D>(device, verdict); }});
    cases.push_back({"launch.variants." + dtype_name<D>(),
                     [](const Device& device, Verdict& verdict) { run_variants<D>(device, verdict); }});
  });
}

}  // namespace teeny::conformance
