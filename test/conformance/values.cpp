#include "values.hpp"

#include <cstring>
#include <limits>
#include <random>

namespace teeny::conformance {

namespace {

template <class D>
D from_bits(std::uint64_t bits) {
  D value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class D>
Host<D> float_edges() {
  using L = std::numeric_limits<D>;
  Host<D> list;
  auto add = [&](double x) {
    list.push_back(D(x));
    list.push_back(D(-x));
  };
  for (double x : {0.0, 1.0, 0.5, 1.5, 2.5, 2.0, 3.0, 0.1, 100.0, 127.9, 255.5, 3.14159265358979, 88.5, 32768.0,
                   65504.0, 2147483648.0, 9223372036854775808.0})
    add(x);
  const std::uint64_t one_ulp_below_one = sizeof(D) == 8    ? 0x3FEFFFFFFFFFFFFF
                                          : sizeof(D) == 4  ? 0x3F7FFFFF
                                          : L::digits == 11 ? 0x3BFF
                                                            : 0x3F7F;
  const std::uint64_t sign = std::uint64_t{1} << (8 * sizeof(D) - 1);
  list.push_back(from_bits<D>(1));  // the smallest subnormal
  list.push_back(from_bits<D>(sign | 1));
  list.push_back(L::min());
  list.push_back(from_bits<D>([] {
    D x = L::min();
    std::uint64_t b = 0;
    std::memcpy(&b, &x, sizeof x);
    return b - 1;
  }()));  // largest subnormal
  list.push_back(L::max());
  list.push_back(L::lowest());
  list.push_back(from_bits<D>(one_ulp_below_one));
  list.push_back(from_bits<D>(one_ulp_below_one + 2));  // one ulp above one
  list.push_back(L::infinity());
  list.push_back(-L::infinity());
  list.push_back(L::quiet_NaN());
  return list;
}

template <class D>
Host<D> integer_edges() {
  using L = std::numeric_limits<D>;
  Host<D> list = {0,
                  1,
                  2,
                  3,
                  5,
                  7,
                  10,
                  100,
                  L::max(),
                  L::min(),
                  D(L::max() - 1),
                  D(L::min() + 1),
                  D(L::max() / 2),
                  D(L::max() / 3)};
  for (D x : {D(-1), D(-2), D(-3), D(-7), D(-100)}) list.push_back(x);
  constexpr int bits = 8 * sizeof(D);
  for (int k : {4, 7, 8, bits - 2, bits / 2, bits - 1}) {
    if (k >= bits) continue;
    const D power = D(std::uint64_t{1} << k);
    for (D x : {power, D(power - 1), D(power + 1)}) list.push_back(x);
  }
  return list;
}

template <class D>
Stored<D> random_value(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  if constexpr (std::is_same_v<D, bool>)
    return bits >> 40 & 1;
  else if (bits >> 63)
    return from_bits<D>(random());
  else if constexpr (tl::Int<D>)
    return D(static_cast<std::int64_t>(bits >> 20) % 101 - (std::is_signed_v<D> ? 50 : 0));
  else
    return D((static_cast<double>(bits >> 20 & 0xFFFFFF) - 0x800000) * 0x1p-20);  // -8 … 8
}

}  // namespace

template <class D>
const Host<D>& edge_values() {
  static const Host<D> edges = [] {
    if constexpr (std::is_same_v<D, bool>)
      return Host<D>{0, 1};
    else if constexpr (tl::Float<D>)
      return float_edges<D>();
    else
      return integer_edges<D>();
  }();
  return edges;
}

template <class D>
Host<D> values(std::size_t count, unsigned seed, bool edges) {
  std::mt19937_64 random(seed);
  Host<D> list;
  if (edges) list = edge_values<D>();
  list.resize(std::min(list.size(), count));
  while (list.size() < count) list.push_back(random_value<D>(random));
  return list;
}

template <class D>
Host<D> whole_numbers(std::size_t count, unsigned seed, int limit) {
  std::mt19937_64 random(seed);
  Host<D> list;
  constexpr bool has_sign = !std::is_same_v<D, bool> && std::numeric_limits<D>::is_signed;
  for (std::size_t i = 0; i < count; ++i) {
    const int value = static_cast<int>(random() % static_cast<unsigned>(has_sign ? 2 * limit + 1 : limit + 1)) -
                      (has_sign ? limit : 0);
    list.push_back(Stored<D>(value));
  }
  return list;
}

template <class D>
void pairs(std::size_t count, unsigned seed, Host<D>& a, Host<D>& b) {
  const Host<D>& edges = edge_values<D>();
  std::mt19937_64 random(seed);
  a.clear();
  b.clear();
  const std::size_t all = edges.size() * edges.size();
  // All pairs of edges where there is room for them, else a walk that meets each edge on both sides.
  const std::size_t step = all <= count * 3 / 4 ? 1 : all / (count * 3 / 4) + 1;
  for (std::size_t i = seed % step; i < all && a.size() < count; i += step) {
    a.push_back(edges[i / edges.size()]);
    b.push_back(edges[(i + i / edges.size()) % edges.size()]);
  }
  while (a.size() < count) {
    a.push_back(random_value<D>(random));
    b.push_back(random_value<D>(random));
  }
}

#define TEENY_VALUES(D)                                          \
  template const Host<D>& edge_values<D>();                      \
  template Host<D> values<D>(std::size_t, unsigned, bool);       \
  template Host<D> whole_numbers<D>(std::size_t, unsigned, int); \
  template void pairs<D>(std::size_t, unsigned, Host<D>&, Host<D>&);
TEENY_VALUES(bool)
TEENY_VALUES(std::int8_t)
TEENY_VALUES(std::int16_t)
TEENY_VALUES(std::int32_t)
TEENY_VALUES(std::int64_t)
TEENY_VALUES(std::uint8_t)
TEENY_VALUES(std::uint16_t)
TEENY_VALUES(std::uint32_t)
TEENY_VALUES(std::uint64_t)
TEENY_VALUES(half)
TEENY_VALUES(bfloat16)
TEENY_VALUES(float)
TEENY_VALUES(double)
#undef TEENY_VALUES

}  // namespace teeny::conformance
