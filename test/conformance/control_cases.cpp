// Control flow over run-time values, promises, barriers.
#include "layout.hpp"

namespace teeny::conformance {

namespace {

enum class Flow {
  carried,
  zero_trips,
  nested,
  while_loop,
  if_results,
  nested_if,
  swap,
  fibonacci,
  static_loop,
  wide_index,
  pointer_carried,
  after_loop
};
constexpr const char* flow_names[] = {"carried",         "zero_trips", "nested",    "while",        "if_results",
                                      "nested_if",       "swap",       "fibonacci", "static_range", "wide_index",
                                      "pointer_carried", "after_loop"};

// out[0 … 7] from a, b and step, and 16 lanes of x.
struct Flows {
  Flow flow = Flow::carried;
  TEENY_PARAMETERS(x, out, lanes, a, b, step);

  void operator()(tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> out, tl::Ptr<std::int32_t> lanes, tl::i32 a,
                  tl::i32 b, tl::i32 step) const {
    auto lane = tl::arange(0, 16);
    auto v = tl::load(x + lane);
    auto count = tl::i32(0), sum = tl::i32(0), last = tl::i32(-1);
    switch (flow) {
      case Flow::carried:
        for (auto i : tl::range(a, b, step)) {
          count += 1;
          sum += i;
          last = i;
          v += i;
        }
        break;
      case Flow::zero_trips:
        for (auto i : tl::range(b, b)) {
          v = v * 0 + i;
          count += 1;
        }
        break;
      case Flow::nested:
        for (auto i : tl::range(0, a)) {
          for (auto j : tl::range(i, b, step)) {
            count += 1;
            sum += i * j;
          }
          v += count;
        }
        break;
      case Flow::while_loop:
        last = b;
        tl::while_([&] { return last > a; },
                   [&] {
                     last = last - step;
                     count += 1;
                     v = v + last;
                   });
        break;
      case Flow::if_results: {
        auto w = tl::if_(
            a < b, [&] { return v * 2; }, [&] { return v - 1; });
        v = w;
        count = tl::if_(
            b > 5, [&] { return a + 1; }, [&] { return b; });
        break;
      }
      case Flow::nested_if:
        for (auto i : tl::range(0, b)) {
          tl::if_(
              i % 2 == 0,
              [&] {
                tl::if_(
                    i > a, [&] { sum += i; }, [&] { count += 1; });
              },
              [&] { v += i; });
        }
        break;
      case Flow::swap: {
        auto w = v * 10;
        for (auto i : tl::range(0, a)) {
          std::swap(v, w);
          last = i;
        }
        sum = tl::max(w);
        break;
      }
      case Flow::fibonacci: {
        auto p = tl::zeros<std::int32_t>({16}), q = p + 1;
        for (auto i : tl::range(0, b)) {
          auto next = p + q;
          p = q;
          q = next;
          last = i;
        }
        v = p;
        break;
      }
      case Flow::static_loop:
        for (int i : tl::static_range(0, 5, 2)) {
          v += i * a;
          count += 1;
        }
        for (int i : tl::static_range(3, 0, -1)) sum += i * b;
        break;
      case Flow::wide_index:
        for (auto i :
             tl::range(tl::cast<std::int64_t>(a) * 3000000000, tl::cast<std::int64_t>(a) * 3000000000 + b, step)) {
          sum += tl::cast<std::int32_t>(i - tl::cast<std::int64_t>(a) * 3000000000);
          count += 1;
        }
        break;
      case Flow::pointer_carried: {
        auto p = x;
        for (auto i : tl::range(0, a)) {
          sum += tl::load(p) * (i + 1);
          p += 2;
        }
        break;
      }
      case Flow::after_loop:
        for (auto i : tl::range(0, a)) sum += i;
        for (auto i : tl::range(0, b, {.stages = 2, .unroll = 2})) sum += sum * 0 + i;
        count = sum * 2;
        break;
    }
    tl::store(out, count);
    tl::store(out + 1, sum);
    tl::store(out + 2, last);
    tl::store(lanes + lane, v);
  }
};

void run(const Device& device, Verdict& verdict, Flow flow) {
  const Host<std::int32_t> x = whole_numbers<std::int32_t>(32, 101, 50);
  for (const auto& [a, b, step] : {std::array{0, 10, 3}, std::array{3, 3, 1}, std::array{7, 2, 1}, std::array{4, 6, 1},
                                   std::array{-5, 9, 4}, std::array{1, 46, 5}, std::array{0, 1, 100}}) {
    const Buffer<std::int32_t> input = upload<std::int32_t>(device, x);
    Buffer<std::int32_t> out = blank<std::int32_t>(device, 8), lanes = blank<std::int32_t>(device, 24);
    expect_same(verdict, device, {1}, Flows{flow}, input, out, lanes, a, b, step);
    if (!verdict.ok())
      return verdict.fail("a = " + std::to_string(a) + ", b = " + std::to_string(b) +
                          ", step = " + std::to_string(step));
    if (flow != Flow::carried) continue;
    int count = 0, sum = 0, last = -1;
    for (int i = a; i < b; i += step) ++count, sum += i, last = i;
    expect_bits<std::int32_t>(verdict, download(out), {count, sum, last}, "counts");
  }
}

struct Extremes {
  void operator()(tl::Ptr<std::int32_t> out, tl::i32 a, tl::i32 b, tl::i32 step) const {
    auto count = tl::i32(0), last = tl::i32(0);
    for (auto i : tl::range(a, b, step)) {
      count += 1;
      last = i;
    }
    tl::store(out, count);
    tl::store(out + 1, last);
  }
};

void run_extremes(const Device& device, Verdict& verdict) {
  struct Row {
    int a, b, step, count, last;
  };
  for (const Row& r : {Row{2147483640, 2147483647, 4, 2, 2147483644}, Row{INT32_MIN, INT32_MIN, 1, 0, 0},
                       Row{INT32_MIN, INT32_MIN + 2, 1, 2, INT32_MIN + 1}, Row{INT32_MAX, INT32_MIN, 1, 0, 0},
                       Row{INT32_MIN, INT32_MAX, 1 << 30, 4, 1 << 30}}) {
    Buffer<std::int32_t> out = blank<std::int32_t>(device, 4);
    expect_same(verdict, device, {1}, Extremes{}, out, r.a, r.b, r.step);
    expect_bits<std::int32_t>(verdict, download(out), {r.count, r.last},
                              "from " + std::to_string(r.a) + " to " + std::to_string(r.b));
  }
}

struct EarlyReturn {
  int BLOCK = 64;
  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::Ptr<float> sums, tl::i32 n) const {
    auto program = tl::program_id(0);
    tl::return_if(program * BLOCK >= n);
    auto at = program * BLOCK + tl::arange(0, BLOCK);
    auto v = tl::load(x + at, {.mask = at < n, .other = 0});
    tl::store(y + at, v, {.mask = at < n});
    tl::return_if(tl::max(v) > 7.9f);
    tl::store(sums + program, tl::sum(v * 0 + 1));
  }
};

void run_early_return(const Device& device, Verdict& verdict) {
  for (int n : {150, 0, 64, 1000}) {
    const Buffer<float> x = upload<float>(device, values<float>(1024, 103, false));
    Buffer<float> y = blank<float>(device, 1024), sums = blank<float>(device, 20);
    expect_same(verdict, device, {16}, EarlyReturn{}, x, y, sums, n);
  }
}

// Positions that see each other's stores need a barrier between.
struct Rotate {
  int N = 128, TIMES = 3;
  void operator()(tl::Ptr<std::int32_t> x) const {
    auto at = tl::arange(0, N);
    for (auto i : tl::range(0, TIMES)) {
      auto v = tl::load(x + (at + 1) % N);
      tl::barrier();
      tl::store(x + at, v + i * 0);
      tl::barrier();
    }
  }
};

// Writes a tile, then reads it transposed, both through memory.
struct Transposed {
  int N = 32;
  void operator()(tl::Ptr<float> x, tl::Ptr<float> y) const {
    auto r = tl::arange(0, N)(tl::all, tl::none), c = tl::arange(0, N)(tl::none, tl::all);
    for (auto i : tl::range(0, N, 8)) {
      auto row = i + tl::arange(0, 8)(tl::all, tl::none);
      tl::store(x + row * N + c, tl::cast<float>(row * 100 + c));
    }
    tl::barrier();
    tl::store(y + r * N + c, tl::load(x + c * N + r));
  }
};

void run_barriers(const Device& device, Verdict& verdict) {
  Host<std::int32_t> x(128), expected(128);
  for (int i = 0; i < 128; ++i) x[i] = i, expected[i] = (i + 3) % 128;
  Buffer<std::int32_t> buffer = upload<std::int32_t>(device, x);
  expect_same(verdict, device, {1}, Rotate{}, buffer);
  expect_bits<std::int32_t>(verdict, download(buffer), expected, "rotated");
  Buffer<float> tile = blank<float>(device, 1024), transposed = blank<float>(device, 1024);
  expect_same(verdict, device, {1}, Transposed{}, tile, transposed);
  Host<float> turned(1024);
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j) turned[i * 32 + j] = static_cast<float>(j * 100 + i);
  expect_bits<float>(verdict, download(transposed), turned, "transposed");
}

struct Promises {
  int BLOCK = 64;
  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 n, tl::i32 stride) const {
    tl::assume(stride > 0);
    tl::assume(n % 16 == 0);
    auto s = tl::multiple_of(stride, 16);
    auto at = tl::max_contiguous(tl::multiple_of(tl::program_id(0) * BLOCK, BLOCK) + tl::arange(0, BLOCK), BLOCK);
    auto v = tl::load(x + at, {.mask = at < n});
    tl::store(y + at, v + tl::load(x + s * 2 + at, {.mask = at < n}), {.mask = at < n});
    tl::device_assert(at >= 0, "positions are not negative");
  }
};

void run_promises(const Device& device, Verdict& verdict) {
  const Buffer<float> x = upload<float>(device, values<float>(2048, 104, false));
  Buffer<float> y = blank<float>(device, 1100);
  expect_same(verdict, device, {16}, Promises{}, x, y, 1008, 32);
}

}  // namespace

void add_control_cases(Cases& cases) {
  for (int i = 0; i <= static_cast<int>(Flow::after_loop); ++i)
    cases.push_back({std::string("control.") + flow_names[i],
                     [i](const Device& device, Verdict& verdict) { run(device, verdict, static_cast<Flow>(i)); }});
  cases.push_back({"control.extreme_bounds", run_extremes});
  cases.push_back({"control.early_return", run_early_return});
  cases.push_back({"control.barrier", run_barriers});
  cases.push_back({"control.promises", run_promises});
}

}  // namespace teeny::conformance
