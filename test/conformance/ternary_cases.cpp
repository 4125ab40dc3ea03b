// where, fma and clamp.
#include <algorithm>

#include "elementwise.hpp"

namespace teeny::conformance {

namespace {

struct Where {
  int columns = 256;
  TEENY_PARAMETERS(mask, x, y, z, n);

  template <class D>
  void operator()(tl::Ptr<const bool> c, tl::Ptr<const D> x, tl::Ptr<const D> y, tl::Ptr<D> z, tl::i32 n) const {
    if (columns == 0) {
      auto at = tl::program_id(0);
      tl::store(z + at, tl::where(tl::load(c + at), tl::load(x + at), tl::load(y + at)));
    } else {
      auto at = tl::program_id(0) * columns + tl::arange(0, columns);
      auto mask = at < n;
      tl::store(z + at,
                tl::where(tl::load(c + at, {.mask = mask}), tl::load(x + at, {.mask = mask}),
                          tl::load(y + at, {.mask = mask})),
                {.mask = mask});
    }
  }
};

struct Ternary {
  Operation operation = Operation::fma;
  int columns = 256;
  bool propagate_nan = false;
  TEENY_PARAMETERS(a, b, c, z, n);

  template <tl::Float D, int R>
  auto apply(tl::Tensor<D, R> a, tl::Tensor<D, R> b, tl::Tensor<D, R> c) const {
    if (operation == Operation::fma) return tl::fma(a, b, c);
    return tl::clamp(a, b, c, {.propagate_nan = propagate_nan});
  }
  template <tl::Float D>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<const D> c, tl::Ptr<D> z, tl::i32 n) const {
    if (columns == 0) {
      auto at = tl::program_id(0);
      tl::store(z + at, apply(tl::load(a + at), tl::load(b + at), tl::load(c + at)));
    } else {
      auto at = tl::program_id(0) * columns + tl::arange(0, columns);
      auto mask = at < n;
      tl::store(
          z + at,
          apply(tl::load(a + at, {.mask = mask}), tl::load(b + at, {.mask = mask}), tl::load(c + at, {.mask = mask})),
          {.mask = mask});
    }
  }
};

template <class D>
void run_where(const Device& device, Verdict& verdict) {
  Host<D> x, y;
  pairs<D>(1000, 3, x, y);
  const Host<bool> mask = values<bool>(1000, 4);
  for (int columns : {256, 0, 7}) {
    if (!takes_blocks(device, columns)) continue;
    const Buffer<bool> c = upload<bool>(device, mask);
    const Buffer<D> a = upload<D>(device, x), b = upload<D>(device, y);
    Buffer<D> z = blank<D>(device, 1008);
    const int count = columns == 0 ? 40 : 1000, programs = columns == 0 ? 40 : (1000 + columns - 1) / columns;
    expect_same(verdict, device, {programs}, Where{columns}, c, a, b, z, count);
    if (!verdict.ok()) return;
    compare_with_reference<D>(verdict, download(z), count, "where", [&](std::size_t i) {
      return ternary_reference(Operation::where, dtype_of<D>, mask[i], real_of<D>(x[i]), real_of<D>(y[i]));
    });
  }
}

template <class D>
void run_ternary(const Device& device, Verdict& verdict, Operation operation, bool propagate_nan) {
  Host<D> x, y, w = values<D>(1000, 9);
  pairs<D>(1000, 5, x, y);
  std::rotate(w.begin(), w.begin() + 17, w.end());
  if (operation == Operation::clamp) {  // bounds in order, no NaN among them; each edge is clamped
    std::rotate(w.begin(), w.begin() + 983, w.end());
    std::swap(x, w);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto number = [](D v, double otherwise) {
        return float(v) == float(v) || sizeof(D) == 8 ? (v == v ? v : D(otherwise)) : D(otherwise);
      };
      y[i] = number(y[i], -1);
      w[i] = number(w[i], 1);
      if (real_of<D>(y[i]) > real_of<D>(w[i])) std::swap(y[i], w[i]);
    }
  }
  for (int columns : {256, 0, 31}) {
    if (!takes_blocks(device, columns)) continue;
    const Buffer<D> a = upload<D>(device, x), b = upload<D>(device, y), c = upload<D>(device, w);
    Buffer<D> z = blank<D>(device, 1008);
    const int count = columns == 0 ? 60 : 1000, programs = columns == 0 ? 60 : (1000 + columns - 1) / columns;
    expect_same(verdict, device, {programs}, Ternary{operation, columns, propagate_nan}, a, b, c, z, count);
    if (!verdict.ok()) return;
    compare_with_reference<D>(verdict, download(z), count, "ternary", [&](std::size_t i) {
      return ternary_reference(operation, dtype_of<D>, real_of<D>(x[i]), real_of<D>(y[i]), real_of<D>(w[i]),
                               propagate_nan);
    });
  }
}

}  // namespace

void add_ternary_cases(Cases& cases) {
  for_each_type(all_types, [&]<class D> {
    cases.push_back({"ternary.where." + dtype_name<D>(),
                     [](const Device& device, Verdict& verdict) { run_where<D>(device, verdict); }});
  });
  for (const OperationInfo& info : operation_list) {
    if (info.kind != Kind::ternary || info.operation == Operation::where) continue;
    for_each_type(floating_types, [&]<class D> {
      for (int propagate = 0; propagate <= (info.operation == Operation::clamp ? 1 : 0); ++propagate)
        cases.push_back({std::string("ternary.") + info.name + (propagate ? ".propagate_nan." : ".") + dtype_name<D>(),
                         [info, propagate](const Device& device, Verdict& verdict) {
                           run_ternary<D>(device, verdict, info.operation, propagate);
                         }});
    });
  }
}

}  // namespace teeny::conformance
