// Matrix products: whole numbers, whose products are exact in every precision, and random ones within the derived
// bound.
#include "layout.hpp"

namespace teeny::conformance {

namespace {

// How an operand lies in memory: as it is read, transposed by strides, or transposed in registers.
enum class Operand { plain, strides, registers };

// One block: c[m, n] = a[m, k] · b[k, n] (+ c before).
struct Product {
  int M = 16, N = 16, K = 16;
  Operand a_form = Operand::plain, b_form = Operand::plain;
  bool accumulate = false;
  tl::Precision precision = tl::Precision::ieee;
  TEENY_PARAMETERS(a, b, c);

  template <class D>
  static tl::Tensor<D, 2> operand(tl::Ptr<const D> p, int rows, int columns, Operand form) {
    auto r = tl::arange(0, rows)(tl::all, tl::none), c = tl::arange(0, columns)(tl::none, tl::all);
    if (form == Operand::plain) return tl::load(p + r * columns + c);
    if (form == Operand::strides) return tl::load(p + r + c * rows);
    return tl::trans(
        tl::load(p + tl::arange(0, columns)(tl::all, tl::none) * rows + tl::arange(0, rows)(tl::none, tl::all)));
  }
  template <class D, class C>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<C> c) const {
    auto av = operand(a, M, K, a_form), bv = operand(b, K, N, b_form);
    auto at = tl::arange(0, M)(tl::all, tl::none) * N + tl::arange(0, N)(tl::none, tl::all);
    auto acc = tl::zeros<C>({M, N});
    if (accumulate) acc = tl::load(c + at);
    tl::store(c + at, tl::dot(av, bv, acc, {.precision = precision}));
  }
};

// Any size by a loop over K with masks on every side; rows of a are `pitch` apart.
struct Loop {
  int BM = 32, BN = 32, BK = 16;
  tl::Precision precision = tl::Precision::ieee;
  TEENY_PARAMETERS(a, b, c, m, n, k, pitch);

  template <class D, class C>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<C> c, tl::i32 m, tl::i32 n, tl::i32 k,
                  tl::i32 pitch) const {
    auto rm = tl::program_id(0) * BM + tl::arange(0, BM), rn = tl::program_id(1) * BN + tl::arange(0, BN),
         rk = tl::arange(0, BK);
    auto acc = tl::zeros<C>({BM, BN});
    for (auto k0 : tl::range(0, k, BK)) {
      auto kk = k0 + rk;
      auto av = tl::load(a + rm(tl::all, tl::none) * pitch + kk(tl::none, tl::all),
                         {.mask = (rm < m)(tl::all, tl::none) & (kk < k)(tl::none, tl::all), .other = 0});
      auto bv = tl::load(b + kk(tl::all, tl::none) * n + rn(tl::none, tl::all),
                         {.mask = (kk < k)(tl::all, tl::none) & (rn < n)(tl::none, tl::all), .other = 0});
      acc = tl::dot(av, bv, acc, {.precision = precision});
    }
    tl::store(c + rm(tl::all, tl::none) * n + rn(tl::none, tl::all), acc,
              {.mask = (rm < m)(tl::all, tl::none) & (rn < n)(tl::none, tl::all)});
  }
};

struct Batch {
  int B = 3, M = 5, N = 7, K = 9;
  template <class D, class C>
  void operator()(tl::Ptr<const D> a, tl::Ptr<const D> b, tl::Ptr<C> c) const {
    auto av = tl::load(a + row_major<3>({B, M, K})), bv = tl::load(b + row_major<3>({B, K, N}));
    store_rows(c, tl::dot(av, bv, tl::zeros<C>({B, M, N}), {.precision = tl::Precision::ieee}));
  }
};

// The exact product of whole numbers, a given as a[r, c] functions of memory.
template <class C, class D>
Host<C> exact(const Host<D>& a, const Host<D>& b, int m, int n, int k, Operand a_form, Operand b_form, int start,
              int pitch) {
  Host<C> c;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      long sum = start;
      for (int l = 0; l < k; ++l)
        sum += static_cast<long>(a[a_form == Operand::plain ? i * pitch + l : i + l * m]) *
               static_cast<long>(b[b_form == Operand::plain ? l * n + j : l + j * k]);
      c.push_back(C(sum));
    }
  return c;
}

template <class D, class C>
void run_blocks(const Device& device, Verdict& verdict, tl::Precision precision) {
  int turn = 0;
  for (const auto& [m, n, k] :
       {std::array{16, 16, 16}, std::array{1, 1, 1}, std::array{3, 5, 7}, std::array{32, 64, 16},
        std::array{17, 33, 65}, std::array{64, 48, 80}, std::array{1, 64, 128}}) {
    const Operand a_form = static_cast<Operand>(turn % 3), b_form = static_cast<Operand>(turn / 2 % 3);
    const Product kernel{m, n, k, a_form, b_form, turn % 2 == 1, precision};
    ++turn;
    for (bool whole : {true, false}) {
      const Host<D> x = whole ? whole_numbers<D>(m * k, turn, 3) : values<D>(m * k, turn, false);
      const Host<D> y = whole ? whole_numbers<D>(k * n, turn + 50, 3) : values<D>(k * n, turn + 50, false);
      Host<D> finite_x = x, finite_y = y;
      if constexpr (tl::Float<D>)
        for (Host<D>* list : {&finite_x, &finite_y})
          for (auto& v : *list)
            if (!(std::abs(real_of<D>(v)) < 1e3L)) v = D(0.7);
      const Buffer<D> a = upload<D>(device, finite_x), b = upload<D>(device, finite_y);
      Buffer<C> c = upload<C>(device, Host<C>(static_cast<std::size_t>(m) * n, C(10)));
      expect_same(verdict, device, {1}, kernel, a, b, c);
      if (!verdict.ok()) return verdict.fail(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
      if (whole)
        expect_bits<C>(verdict, download(c), exact<C, D>(x, y, m, n, k, a_form, b_form, kernel.accumulate ? 10 : 0, k),
                       "product");
    }
  }
}

template <class D, class C>
void run_loops(const Device& device, Verdict& verdict, tl::Precision precision) {
  for (const auto& [m, n, k] :
       {std::array{37, 29, 101}, std::array{64, 64, 64}, std::array{1, 100, 33}, std::array{70, 1, 1}}) {
    const int pitch = k + 11;
    Host<D> x = whole_numbers<D>(m * pitch, 61, 3), y = whole_numbers<D>((k + 16) * n, 62, 3);
    if constexpr (tl::Float<D>) {  // what the masks leave out must not matter
      for (int i = 0; i < m; ++i)
        for (int l = k; l < pitch; ++l) x[i * pitch + l] = std::numeric_limits<D>::quiet_NaN();
      for (int l = k * n; l < (k + 16) * n; ++l) y[l] = std::numeric_limits<D>::quiet_NaN();
    }
    const Buffer<D> a = upload<D>(device, x), b = upload<D>(device, y);
    for (const auto& [bm, bn, bk] : {std::array{32, 32, 16}, std::array{16, 64, 32}}) {
      Buffer<C> c = blank<C>(device, static_cast<std::size_t>(m) * n + 8);
      expect_same(verdict, device, {(m + bm - 1) / bm, (n + bn - 1) / bn}, Loop{bm, bn, bk, precision}, a, b, c, m, n,
                  k, pitch);
      if (!verdict.ok()) return verdict.fail(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
      expect_bits<C>(verdict, download(c), exact<C, D>(x, y, m, n, k, Operand::plain, Operand::plain, 0, pitch),
                     "loop");
    }
  }
}

template <class D, class C>
void run_batch(const Device& device, Verdict& verdict) {
  const Host<D> x = whole_numbers<D>(3 * 5 * 9, 63, 3), y = whole_numbers<D>(3 * 9 * 7, 64, 3);
  const Buffer<D> a = upload<D>(device, x), b = upload<D>(device, y);
  Buffer<C> c = blank<C>(device, 3 * 5 * 7);
  expect_same(verdict, device, {1}, Batch{}, a, b, c);
  Host<C> expected;
  for (int i = 0; i < 3; ++i) {
    const Host<D> xi(x.begin() + i * 45, x.begin() + (i + 1) * 45), yi(y.begin() + i * 63, y.begin() + (i + 1) * 63);
    const Host<C> part = exact<C, D>(xi, yi, 5, 7, 9, Operand::plain, Operand::plain, 0, 9);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  expect_bits<C>(verdict, download(c), expected, "batch");
}

template <class D, class C>
void add(Cases& cases, const std::string& name, tl::Precision precision) {
  cases.push_back({"dot.blocks." + name, [precision](const Device& device, Verdict& verdict) {
                     run_blocks<D, C>(device, verdict, precision);
                   }});
  cases.push_back({"dot.loops." + name, [precision](const Device& device, Verdict& verdict) {
                     run_loops<D, C>(device, verdict, precision);
                   }});
  if (precision == tl::Precision::ieee)
    cases.push_back(
        {"dot.batch." + name, [](const Device& device, Verdict& verdict) { run_batch<D, C>(device, verdict); }});
}

}  // namespace

void add_dot_cases(Cases& cases) {
  add<float, float>(cases, "f32.ieee", tl::Precision::ieee);
  add<float, float>(cases, "f32.fast", tl::Precision::fast);
  add<float, float>(cases, "f32.fast_x3", tl::Precision::fast_x3);
  add<half, float>(cases, "f16", tl::Precision::ieee);
  add<half, half>(cases, "f16_to_f16", tl::Precision::ieee);
  add<bfloat16, float>(cases, "bf16", tl::Precision::ieee);
  add<double, double>(cases, "f64", tl::Precision::ieee);
  add<std::int8_t, std::int32_t>(cases, "i8", tl::Precision::ieee);
}

}  // namespace teeny::conformance
