// Reductions and scans along each axis: named ones, any combine function, two outputs; sizes 1, odd and powers of two.
#include <algorithm>

#include "layout.hpp"

namespace teeny::conformance {

namespace {

enum class Fold { sum, max, min, argmax, argmin };
constexpr const char* fold_names[] = {"sum", "max", "min", "argmax", "argmin"};

struct Size {
  int a, b, c;
};
constexpr Size sizes[] = {{4, 8, 16}, {3, 5, 7},  {1, 16, 1},   {16, 1, 1},
                          {1, 1, 1},  {2, 33, 4}, {1, 1, 1000}, {1, 2, 512}};

// Folds a block [a, b, c] along an axis (3: over all), keeping it where `keep`.
struct Reduce {
  Fold fold = Fold::sum;
  int axis = 0, a = 4, b = 8, c = 16;
  bool keep = false;
  TEENY_PARAMETERS(x, y);

  template <class D, class E>
  void operator()(tl::Ptr<const D> x, tl::Ptr<E> y) const {
    auto v = tl::load(x + row_major<3>({a, b, c}));
    switch (fold) {
#define TEENY_FOLD(name)                                                                         \
  case Fold::name:                                                                               \
    if (axis == 3) return tl::store(y, tl::cast<E>(tl::name(v)));                                \
    if (keep) return store_rows(y, tl::cast<E>(tl::name(v, {.axis = axis - 3}, tl::keep_dims))); \
    return store_rows(y, tl::cast<E>(tl::name(v, {.axis = axis})));
      TEENY_FOLD(sum)
      TEENY_FOLD(max)
      TEENY_FOLD(min)
      TEENY_FOLD(argmax)
      TEENY_FOLD(argmin)
#undef TEENY_FOLD
    }
  }
};

// The elements that are folded into element i of the result, in order.
std::vector<int> folded(const Size& size, int axis, int i) {
  std::vector<int> at;
  const int stride = axis == 0   ? size.b * size.c
                     : axis == 1 ? size.c
                                 : 1,
            length = axis == 0   ? size.a
                     : axis == 1 ? size.b
                                 : size.c;
  if (axis == 3) {
    for (int k = 0; k < size.a * size.b * size.c; ++k) at.push_back(k);
    return at;
  }
  const int first = i / stride * stride * length + i % stride;
  for (int k = 0; k < length; ++k) at.push_back(first + k * stride);
  return at;
}

// Of whole numbers: exact in every type and order.
template <class D>
Real fold_reference(Fold fold, const Host<D>& x, const std::vector<int>& at) {
  Real sum = 0, best = real_of<D>(x[at[0]]);
  int position = 0;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Real value = real_of<D>(x[at[k]]);
    sum += value;
    if (fold == Fold::max || fold == Fold::argmax ? value > best : value < best)
      best = value, position = static_cast<int>(k);
  }
  return fold == Fold::sum ? sum : fold == Fold::max || fold == Fold::min ? best : position;
}

template <class D, class E>
void run_one(const Device& device, Verdict& verdict, Fold fold, const Size& size, int axis, bool whole) {
  const int count = size.a * size.b * size.c;
  const int results = axis == 3 ? 1 : count / (axis == 0 ? size.a : axis == 1 ? size.b : size.c);
  const Host<D> x = whole ? whole_numbers<D>(count, 71 + axis,
                                             std::is_same_v<D, bool>          ? 1
                                             : tl::Float<D> && sizeof(D) == 2 ? 2
                                             : sizeof(D) == 1                 ? 5
                                                                              : 100)
                          : values<D>(count, 72, count > 100);
  const Buffer<D> input = upload<D>(device, x);
  Buffer<E> output = blank<E>(device, results + 4);
  expect_same(verdict, device, {1}, Reduce{fold, axis, size.a, size.b, size.c, results % 2 == 1 && axis < 3}, input,
              output);
  if (!verdict.ok() || !whole) return;
  compare_with_reference<E>(
      verdict, download(output), results, "axis " + std::to_string(axis),
      [&](std::size_t i) -> std::optional<Expected> {
        return Expected{fold_reference<D>(fold, x, folded(size, axis, static_cast<int>(i))), 0, true};
      });
}

template <class D>
void run(const Device& device, Verdict& verdict, Fold fold) {
  using Sum = tl::detail_::sum_t<D>;
  using Extreme = tl::detail_::extreme_t<D>;
  int turn = 0;
  for (const Size& size : sizes) {
    if (!takes_blocks(device, size.a, size.b, size.c)) continue;
    for (int axis = 0; axis <= 3; ++axis)
      for (bool whole : {true, false}) {
        if (!whole && (turn++ % 3 != 0 || std::is_same_v<D, bool>)) continue;
        if (fold == Fold::sum) {
          // Sums of f16 and bf16 are rounded in their own type, where whole numbers this large need not be exact.
          const bool narrow = tl::Float<D> && sizeof(D) == 2;
          if (whole && narrow && size.a * size.b * size.c > 40) continue;
          run_one<D, Sum>(device, verdict, fold, size, axis, whole);
        } else if (fold == Fold::max || fold == Fold::min) {
          run_one<D, Extreme>(device, verdict, fold, size, axis, whole);
        } else {
          run_one<D, std::int32_t>(device, verdict, fold, size, axis, whole);
        }
        if (!verdict.ok())
          return verdict.fail("size " + std::to_string(size.a) + "x" + std::to_string(size.b) + "x" +
                              std::to_string(size.c) + ", axis " + std::to_string(axis));
      }
  }
}

enum class Combine { bit_xor, product, two_outputs, scan_sum, scan_reverse, scan_max, scan_affine, scan_left };
constexpr const char* combine_names[] = {"xor",          "product",  "two_outputs", "scan_sum",
                                         "scan_reverse", "scan_max", "scan_affine", "scan_left"};

struct Custom {
  Combine combine = Combine::product;
  int axis = 0, a = 4, b = 8, c = 16;
  TEENY_PARAMETERS(x, y, z);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::Ptr<std::int32_t> z) const {
    auto at = row_major<3>({a, b, c});
    auto v = tl::load(x + at);
    switch (combine) {
      case Combine::bit_xor:
        if constexpr (tl::Int<D>) store_rows(y, tl::reduce(v, {.axis = axis}, [](auto p, auto q) { return p ^ q; }));
        return;
      case Combine::product:
        return store_rows(y, tl::reduce(v, {.axis = axis}, [](auto p, auto q) { return p * q; }));
      case Combine::two_outputs: {
        auto [best, where] = tl::reduce(std::tuple{v, at}, {.axis = axis}, [](auto v1, auto i1, auto v2, auto i2) {
          auto left = (v1 > v2) | ((v1 == v2) & (i1 < i2));
          return std::tuple{tl::where(left, v1, v2), tl::where(left, i1, i2)};
        });
        store_rows(y, best);
        return store_rows(z, where);
      }
      case Combine::scan_sum:
        return store_rows(y, tl::cast<D>(tl::cumsum(v, {.axis = axis})));
      case Combine::scan_reverse:
        return store_rows(y, tl::cast<D>(tl::cumsum(v, {.axis = axis, .reverse = true})));
      case Combine::scan_max:
        return store_rows(
            y, tl::associative_scan(v, {.axis = axis - 3}, [](auto p, auto q) { return tl::maximum(p, q); }));
      case Combine::scan_affine: {
        auto [scale, shift] = tl::associative_scan(std::tuple{v, tl::cast<D>(at)}, {.axis = axis},
                                                   [](auto a1, auto b1, auto a2, auto b2) {
                                                     return std::tuple{a1 * a2, a2 * b1 + b2};
                                                   });
        store_rows(y, scale);
        return store_rows(z, tl::cast<std::int32_t>(shift));
      }
      case Combine::scan_left:
        return store_rows(y, tl::associative_scan(v, {.axis = axis}, [](auto p, auto) { return p; }));
    }
  }
};

template <class D>
void expect_scan(Verdict& verdict, const Custom& kernel, const Host<D>& x, const Host<D>& got) {
  const Size size{kernel.a, kernel.b, kernel.c};
  const int results = static_cast<int>(x.size()) / (kernel.axis == 0 ? size.a : kernel.axis == 1 ? size.b : size.c);
  for (int i = 0; i < results; ++i) {
    std::vector<int> at = folded(size, kernel.axis, i);
    if (kernel.combine == Combine::scan_reverse) std::reverse(at.begin(), at.end());
    Real running = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const Real value = real_of<D>(x[at[k]]);
      if (kernel.combine == Combine::scan_max)
        running = k == 0 ? value : std::max(running, value);
      else if (kernel.combine == Combine::scan_left)
        running = k == 0 ? value : running;
      else
        running += value;
      if (!is_right(dtype_of<D>, real_of<D>(got[at[k]]), {running, 0, true}))
        return verdict.fail("scan: element " + std::to_string(at[k]) + ": got " + text_of(real_of<D>(got[at[k]])) +
                            ", expected " + text_of(running));
    }
  }
}

template <class D>
void run_custom(const Device& device, Verdict& verdict, Combine combine) {
  for (const Size& size : sizes) {
    if (!takes_blocks(device, size.a, size.b, size.c)) continue;
    for (int axis = 0; axis < 3; ++axis) {
      const int count = size.a * size.b * size.c;
      const bool scan = combine >= Combine::scan_sum, affine = combine == Combine::scan_affine;
      const Host<D> x =
          affine ? Host<D>(count, D(1)) : whole_numbers<D>(count, 81, combine == Combine::product ? 1 : 2);
      const Buffer<D> input = upload<D>(device, x);
      Buffer<D> y = blank<D>(device, count + 4);
      Buffer<std::int32_t> z = blank<std::int32_t>(device, count + 4);
      const Custom kernel{combine, axis, size.a, size.b, size.c};
      expect_same(verdict, device, {1}, kernel, input, y, z);
      if (scan && !affine) expect_scan<D>(verdict, kernel, x, download(y));
      if (!verdict.ok())
        return verdict.fail("size " + std::to_string(size.a) + "x" + std::to_string(size.b) + "x" +
                            std::to_string(size.c) + ", axis " + std::to_string(axis));
    }
  }
}

}  // namespace

void add_reduce_cases(Cases& cases) {
  for_each_type(all_types, [&]<class D> {
    for (int i = 0; i <= static_cast<int>(Fold::argmin); ++i)
      cases.push_back({std::string("reduce.") + fold_names[i] + "." + dtype_name<D>(),
                       [i](const Device& device, Verdict& verdict) { run<D>(device, verdict, static_cast<Fold>(i)); }});
  });
}

void add_scan_cases(Cases& cases) {
  for_each_type(Types<float, std::int32_t, std::int64_t, half, double>{}, [&]<class D> {
    for (int i = tl::Int<D> ? 0 : 1; i <= static_cast<int>(Combine::scan_left); ++i)
      cases.push_back(
          {std::string("combine.") + combine_names[i] + "." + dtype_name<D>(),
           [i](const Device& device, Verdict& verdict) { run_custom<D>(device, verdict, static_cast<Combine>(i)); }});
  });
}

}  // namespace teeny::conformance
