// The matrix product: an ascending chain from the accumulator.
#include <algorithm>

#include "compiler/dialect/tt/tt.hpp"
#include "compiler/interpreter/bounds.hpp"
#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

struct Extents {
  std::int64_t batches, m, n, k;
};

// f32 rounded to 10 mantissa bits, ties away from zero.
float round_to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
}

template <class Real>
std::vector<Real> unpack(const Value& value, Kind kind) {
  std::vector<Real> numbers(value.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<Real>(to_double(kind, value.bits[i]));
  return numbers;
}

// acc += a * b for one batch; each element is its own chain over ascending k.
template <class Real>
void accumulate(const Real* a, const Real* b, Real* acc, const Extents& e) {
  for (std::int64_t i = 0; i < e.m; ++i)
    for (std::int64_t k = 0; k < e.k; ++k) {
      const Real x = a[i * e.k + k];
      const Real* row = b + k * e.n;
      Real* out = acc + i * e.n;
      for (std::int64_t j = 0; j < e.n; ++j) out[j] = std::fma(x, row[j], out[j]);
    }
}

struct Operands {
  const Value &a, &b, &c;
  Kind element, accumulator;
  Extents extents;
  bool fast, three;
};

void multiply_integers(const Operands& o, Value& result) {
  const auto& e = o.extents;
  const int width = width_of(o.element), out_width = width_of(o.accumulator);
  result.bits = o.c.bits;
  for (std::int64_t batch = 0; batch < e.batches; ++batch)
    for (std::int64_t i = 0; i < e.m; ++i)
      for (std::int64_t k = 0; k < e.k; ++k) {
        const std::int64_t x = sign_extend(o.a.bits[(batch * e.m + i) * e.k + k], width);
        for (std::int64_t j = 0; j < e.n; ++j) {
          std::uint64_t& out = result.bits[(batch * e.m + i) * e.n + j];
          out += static_cast<std::uint64_t>(x) *
                 static_cast<std::uint64_t>(sign_extend(o.b.bits[(batch * e.k + k) * e.n + j], width));
        }
      }
  for (std::uint64_t& bits : result.bits) bits &= low_mask(out_width);
}

template <class Real>
void multiply_floats(const Operands& o, Value& result) {
  const auto& e = o.extents;
  std::vector<Real> a = unpack<Real>(o.a, o.element), b = unpack<Real>(o.b, o.element),
                    acc = unpack<Real>(o.c, o.accumulator);
  std::vector<Real> small_a, small_b;
  if constexpr (std::is_same_v<Real, float>) {
    auto split = [&](std::vector<float>& big, std::vector<float>& small) {
      for (float& value : big) {
        const float rounded = round_to_tf32(value);
        if (o.three) small.push_back(std::isfinite(value) ? round_to_tf32(value - rounded) : 0.0f);
        value = rounded;
      }
    };
    if (o.fast || o.three) split(a, small_a), split(b, small_b);
  }
  for (std::int64_t batch = 0; batch < e.batches; ++batch) {
    const std::int64_t at_a = batch * e.m * e.k, at_b = batch * e.k * e.n, at_c = batch * e.m * e.n;
    if (o.three) {
      accumulate(small_a.data() + at_a, b.data() + at_b, acc.data() + at_c, e);
      accumulate(a.data() + at_a, small_b.data() + at_b, acc.data() + at_c, e);
    }
    accumulate(a.data() + at_a, b.data() + at_b, acc.data() + at_c, e);
  }
  result.bits.resize(acc.size());
  for (std::size_t i = 0; i < acc.size(); ++i) result.bits[i] = from_double(o.accumulator, acc[i]);
}

// An undefined element of a row of a or a column of b makes the result's row or column undefined.
void spread_undefined(const Operands& o, Value& result) {
  if (o.a.undefined.empty() && o.b.undefined.empty() && o.c.undefined.empty()) return;
  const auto& e = o.extents;
  result.undefined.assign(result.bits.size(), 0);
  for (std::int64_t batch = 0; batch < e.batches; ++batch) {
    std::vector<std::uint32_t> rows(e.m, 0), columns(e.n, 0);
    for (std::int64_t k = 0; k < e.k; ++k) {
      for (std::int64_t i = 0; i < e.m; ++i)
        if (auto origin = o.a.undefined_at((batch * e.m + i) * e.k + k)) rows[i] = origin;
      for (std::int64_t j = 0; j < e.n; ++j)
        if (auto origin = o.b.undefined_at((batch * e.k + k) * e.n + j)) columns[j] = origin;
    }
    for (std::int64_t i = 0; i < e.m; ++i)
      for (std::int64_t j = 0; j < e.n; ++j) {
        const std::int64_t at = (batch * e.m + i) * e.n + j;
        const std::uint32_t own = o.c.undefined_at(at);
        result.undefined[at] = own ? own : rows[i] ? rows[i] : columns[j];
      }
  }
}

double smaller_quantum(double a, double b) { return a < b ? a : b; }

// 2 gamma(K + 1) (|c| + sum |a b|) plus what the operands' own radii allow; 0 where no order rounds, and where
// infinities
// or NaN decide the sum in every order. Matrix units of bf16 may take and give subnormal numbers as zeros.
void bound(const Operands& o, Value& result) {
  const auto& e = o.extents;
  constexpr double smallest_normal = 0x1p-126;
  const double u = unit_roundoff(o.accumulator == Kind::f64 ? Kind::f64 : Kind::f32);
  std::vector<double> radius(result.bits.size(), 0);
  std::vector<double> a = unpack<double>(o.a, o.element), b = unpack<double>(o.b, o.element);
  bool any = false;
  for (std::int64_t batch = 0; batch < e.batches; ++batch) {
    std::vector<double> rows(e.m, std::numeric_limits<double>::infinity()),
        columns(e.n, std::numeric_limits<double>::infinity());
    for (std::int64_t k = 0; k < e.k; ++k) {
      for (std::int64_t i = 0; i < e.m; ++i)
        rows[i] = smaller_quantum(quantum_of(a[(batch * e.m + i) * e.k + k]), rows[i]);
      for (std::int64_t j = 0; j < e.n; ++j)
        columns[j] = smaller_quantum(quantum_of(b[(batch * e.k + k) * e.n + j]), columns[j]);
    }
    for (std::int64_t i = 0; i < e.m; ++i)
      for (std::int64_t j = 0; j < e.n; ++j) {
        const std::int64_t at = (batch * e.m + i) * e.n + j;
        const double c = to_double(o.accumulator, o.c.bits[at]);
        double products = 0, own = o.c.radius_at(at), flushed = 0;
        bool special = !std::isfinite(c);
        for (std::int64_t k = 0; k < e.k; ++k) {
          const std::int64_t ia = (batch * e.m + i) * e.k + k, ib = (batch * e.k + k) * e.n + j;
          const double x = std::fabs(a[ia]), y = std::fabs(b[ib]), rx = o.a.radius_at(ia), ry = o.b.radius_at(ib);
          if (!std::isfinite(x * y))
            special = true;
          else
            products += x * y;
          if ((x > 0 && x < smallest_normal) || (y > 0 && y < smallest_normal)) flushed += x * y;
          if (rx > 0 || ry > 0) own += x * ry + y * rx + rx * ry;
        }
        const double step = smaller_quantum(quantum_of(c), rows[i] * columns[j]);
        const double quantum = own > 0 || o.three ? 0 : step;
        const double terms = static_cast<double>(o.three ? 3 * e.k : e.k) + 1;
        double allowed = sum_radius(terms, (special ? 0 : std::fabs(c)) + products + own, quantum, u) + own;
        if (o.three) allowed += 0x1p-20 * products;  // the product of both small parts, and the rounding of each
        if (width_of(o.accumulator) < 32 && allowed > 0)
          allowed += 2 * unit_roundoff(o.accumulator) * std::fabs(to_double(o.accumulator, result.bits[at]));
        if (o.element == Kind::bf16 && !(step >= smallest_normal)) allowed += flushed + terms * smallest_normal;
        if (special && products < safe_magnitude(o.accumulator)) allowed = 0;
        radius[at] = allowed;
        any = any || allowed > 0;
      }
  }
  if (any) result.radius = std::move(radius);
}

}  // namespace

// operands: a [batch?, M, K], b [batch?, K, N], c [batch?, M, N]; integers: [InputPrecision]
void run_dot(Machine& machine, const Instruction& instruction) {
  const auto precision = static_cast<tt::InputPrecision>(instruction.integers[0]);
  const auto& shape_a = machine.shape_of(instruction.operands[0]);
  const auto& shape_b = machine.shape_of(instruction.operands[1]);
  const std::size_t rank = shape_a.size();
  const Kind element = instruction.from;
  const Operands o = {machine.slot(instruction.operands[0]),
                      machine.slot(instruction.operands[1]),
                      machine.slot(instruction.operands[2]),
                      element,
                      instruction.to,
                      {rank == 3 ? shape_a[0] : 1, shape_a[rank - 2], shape_b[rank - 1], shape_a[rank - 1]},
                      element == Kind::f32 && precision == tt::InputPrecision::TF32,
                      element == Kind::f32 && precision == tt::InputPrecision::TF32x3};
  Value result;
  if (!is_float(element))
    multiply_integers(o, result);
  else if (element == Kind::f64 || o.accumulator == Kind::f64)
    multiply_floats<double>(o, result);
  else
    multiply_floats<float>(o, result);
  if (machine.checking()) spread_undefined(o, result);
  if (machine.with_radius() && is_float(element)) bound(o, result);
  machine.slot(instruction.results[0]) = std::move(result);
}

}  // namespace teeny::compiler::interpreter
