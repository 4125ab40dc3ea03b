// Loads and stores: masks, values for masked lanes, strides, gathers and scatters, offsets of every integer type,
// hints.
#include <algorithm>
#include <numeric>
#include <random>

#include "layout.hpp"

namespace teeny::conformance {

namespace {

enum class Access {
  copy,
  other,
  other_tensor,
  strided_load,
  strided_store,
  reversed,
  every_third,
  mask_buffer,
  all_masked,
  gather,
  scatter,
  columns,
  corner,
  pointer_where,
  hints,
  volatile_load,
  scalar,
  in_place
};
constexpr const char* access_names[] = {
    "copy",        "other",         "other_tensor", "strided_load",  "strided_store", "reversed",
    "every_third", "mask_buffer",   "all_masked",   "gather",        "scatter",       "columns",
    "corner",      "pointer_where", "hints",        "volatile_load", "scalar",        "in_place"};

// y gets n elements of x, each program BLOCK of them; `index` is a permutation of 0 … n - 1, `mask` any booleans.
struct Accesses {
  Access access = Access::copy;
  int BLOCK = 64;
  TEENY_PARAMETERS(x, y, index, mask, n, stride);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::Ptr<const std::int32_t> index, tl::Ptr<const bool> flags,
                  tl::i32 n, tl::i32 stride) const {
    auto at = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = at < n;
    switch (access) {
      case Access::copy:
        return tl::store(y + at, tl::load(x + at, {.mask = mask}), {.mask = mask});
      case Access::other:
        return tl::store(y + at, tl::load(x + at, {.mask = mask, .other = 1}));
      case Access::other_tensor:
        return tl::store(y + at, tl::load(x + at, {.mask = mask, .other = tl::cast<D>(at & 1)}));
      case Access::strided_load:
        return tl::store(y + at, tl::load(x + at * stride, {.mask = mask}), {.mask = mask});
      case Access::strided_store:
        return tl::store(y + at * stride, tl::load(x + at, {.mask = mask}), {.mask = mask});
      case Access::reversed:
        return tl::store(y + at, tl::load(x + (n - 1 - at), {.mask = mask}), {.mask = mask});
      case Access::every_third: {
        auto third = mask & (at % 3 == 0);
        return tl::store(y + at, tl::load(x + at, {.mask = third}), {.mask = third});
      }
      case Access::mask_buffer: {
        auto flag = tl::load(flags + at, {.mask = mask, .other = false});
        return tl::store(y + at, tl::load(x + at, {.mask = flag}), {.mask = flag});
      }
      case Access::all_masked: {
        auto none = at < 0;
        auto v = tl::load(x + at, {.mask = none, .other = 1});
        tl::store(y + at, v, {.mask = none});
        return tl::store(y + at, v, {.mask = mask});
      }
      case Access::gather:
        return tl::store(y + at, tl::load(x + tl::load(index + at, {.mask = mask}), {.mask = mask}), {.mask = mask});
      case Access::scatter:
        return tl::store(y + tl::load(index + at, {.mask = mask}), tl::load(x + at, {.mask = mask}), {.mask = mask});
      case Access::columns:
        return tl::store(y + at, tl::load(x + (at % 7) * stride + tl::div(at, 7), {.mask = mask}), {.mask = mask});
      case Access::corner:
        return corner(x, y, n, stride);
      case Access::pointer_where: {
        auto p = tl::where(at % 2 == 0, x + at, x + (n - 1 - at));
        return tl::store(y + at, tl::load(p, {.mask = mask}), {.mask = mask});
      }
      case Access::hints: {
        auto v = tl::load(x + at, {.mask = mask, .cache = tl::Cache::cg, .evict = tl::Evict::first});
        return tl::store(y + at, v, {.mask = mask, .cache = tl::Cache::wt, .evict = tl::Evict::last});
      }
      case Access::volatile_load:
        return tl::store(y + at, tl::load(x + at, {.mask = mask, .is_volatile = true}), {.mask = mask});
      case Access::scalar: {
        auto program = tl::program_id(0);
        auto v = tl::load(x + program, {.mask = program < n, .other = 1});
        return tl::store(y + program, v, {.mask = program < n - 1});
      }
      case Access::in_place: {
        auto v = tl::load(y + at, {.mask = mask});
        return tl::store(y + at, tl::where(at % 2 == 0, v, tl::load(x + at, {.mask = mask})), {.mask = mask});
      }
    }
  }

 private:
  // A rectangle whose two sides are bounded, with rows `stride` apart.
  template <class D>
  void corner(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 n, tl::i32 stride) const {
    auto row = (tl::program_id(0) * 8 + tl::arange(0, 8))(tl::all, tl::none),
         column = tl::arange(0, 16)(tl::none, tl::all);
    auto mask = (row * 11 < n) & (column < 11);
    tl::store(y + row * 11 + column, tl::load(x + row * stride + column, {.mask = mask, .other = 0}),
              {.mask = mask & (row * 11 + column < n)});
  }
};

template <class D>
void run(const Device& device, Verdict& verdict, Access access) {
  for (const auto& [block, n, stride, shift] : {std::array{64, 1000, 3, 0}, std::array{256, 259, 17, 1},
                                                std::array{33, 100, 150, 3}, std::array{1024, 1024, 160, 0}}) {
    if (!takes_blocks(device, block)) continue;
    const int programs = access == Access::scalar ? 20 : (n + block - 1) / block;
    std::vector<std::int32_t> index(n);
    std::iota(index.begin(), index.end(), 0);
    std::shuffle(index.begin(), index.end(), std::mt19937(7));
    // Buffers that start `shift` elements into their memory: alignment is not to be taken for granted.
    const std::size_t size = static_cast<std::size_t>(n) * std::max(stride, 2) + 2048;
    const Buffer<D> x = upload<D>(device, values<D>(size, 31)).slice(shift, size - shift);
    Buffer<D> y = blank<D>(device, size).slice(shift, size - shift);
    const Buffer<std::int32_t> positions = upload<std::int32_t>(device, index);
    const Buffer<bool> flags = upload<bool>(device, values<bool>(n, 32));
    expect_same(verdict, device, {programs}, Accesses{access, block}, x, y, positions, flags, n, stride);
    if (!verdict.ok()) return verdict.fail("with BLOCK = " + std::to_string(block) + ", n = " + std::to_string(n));
  }
}

// Offsets of type O, negative ones included where it has them.
struct Offsets {
  template <class O>
  void operator()(tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> y, tl::Ptr<const O> offsets) const {
    auto i = tl::arange(0, 40);
    tl::store(y + i, tl::load(x + 128 + tl::load(offsets + i)));
    auto p = x + 300;
    p += tl::load(offsets);
    p -= tl::load(offsets + 1);
    tl::store(y + 40, tl::load(p));
  }
};

template <class O>
void run_offsets(const Device& device, Verdict& verdict) {
  Host<std::int32_t> x(512);
  std::iota(x.begin(), x.end(), 1000);
  Host<O> offsets(40);
  for (int i = 0; i < 40; ++i) offsets[i] = O(std::is_signed_v<O> ? 3 * i - 60 : 3 * i);
  const Buffer<std::int32_t> input = upload<std::int32_t>(device, x);
  const Buffer<O> o = upload<O>(device, offsets);
  Buffer<std::int32_t> y = blank<std::int32_t>(device, 48);
  expect_same(verdict, device, {1}, Offsets{}, input, y, o);
  Host<std::int32_t> expected;
  for (O offset : offsets) expected.push_back(1128 + static_cast<int>(offset));
  expected.push_back(1300 + static_cast<int>(offsets[0]) - static_cast<int>(offsets[1]));
  expect_bits<std::int32_t>(verdict, download(y), expected, "offsets");
}

}  // namespace

void add_memory_cases(Cases& cases) {
  for_each_type(all_types, [&]<class D> {
    constexpr bool every = std::is_same_v<D, float> || std::is_same_v<D, std::uint8_t> || std::is_same_v<D, half>;
    for (int i = 0; i <= static_cast<int>(Access::in_place); ++i) {
      const Access access = static_cast<Access>(i);
      if (!every && i > static_cast<int>(Access::other_tensor) && i != static_cast<int>(Access::corner)) continue;
      cases.push_back({std::string("memory.") + access_names[i] + "." + dtype_name<D>(),
                       [access](const Device& device, Verdict& verdict) { run<D>(device, verdict, access); }});
    }
  });
  for_each_type(integer_types, [&]<class O> {
    cases.push_back({"memory.offsets." + dtype_name<O>(),
                     [](const Device& device, Verdict& verdict) { run_offsets<O>(device, verdict); }});
  });
}

}  // namespace teeny::conformance
