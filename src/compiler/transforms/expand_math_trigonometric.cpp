// sin and cos. The argument is reduced by quarter turns: for moderate arguments by subtracting n * pi/2 in parts whose
// products are exact, for large ones by multiplying with the bits of 2/pi that matter (Payne and Hanek, "Radian
// reduction for trigonometric functions", 1983): bits of weight 4 and more are whole turns and drop out of integer
// arithmetic.
#include <limits>
#include <numbers>

#include <mlir/Dialect/SCF/IR/SCF.h>

#include "expand_math_coefficients.hpp"
#include "math_emitter.hpp"

namespace teeny::compiler {

using mlir::Value;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;
namespace table = coefficients;

namespace {

// |x| = n * pi/2 + remainder; the low two bits of `quadrant` are those of n.
struct Turn {
  Value quadrant;
  Value remainder;
};

// The largest argument for which the products of `reduce_short` are exact (n of 16 and 29 bits, or 11 and 20).
double short_limit(MathEmitter& e) { return e.fma_fused() ? e.choose(1e5, 5e8) : e.choose(3200, 1.6e6); }

Turn reduce_short(MathEmitter& e, Value a) {
  Value magic = e.real(e.rounding_constant());
  Value rounded = e.fma(a, e.real(2 / std::numbers::pi), magic);
  Value n = e.sub(rounded, magic);
  llvm::ArrayRef<double> parts;
  if (e.fma_fused())
    parts = e.is_double() ? llvm::ArrayRef(table::half_pi_fused_f64) : llvm::ArrayRef(table::half_pi_fused_f32);
  else
    parts = e.is_double() ? llvm::ArrayRef(table::half_pi_short_f64) : llvm::ArrayRef(table::half_pi_short_f32);
  Value remainder = a;
  for (double part : parts) remainder = e.fma(n, e.real(-part), remainder);
  return {e.bits(rounded), remainder};
}

// Arithmetic on 64-bit words of the shape at hand.
struct Words {
  MathEmitter& e;
  mlir::Type type = e.wide_integer_type();

  Value constant(std::uint64_t bits) { return make_constant(e.builder(), type, bits); }
  Value left(Value n, Value distance) { return in_range(e.shift_left(n, distance)); }
  Value right(Value n, Value distance) { return in_range(e.shift_right_unsigned(n, distance)); }
  // Distances here are below 64.
  Value in_range(Value shifted) {
    shifted.getDefiningOp()->setAttr(exact_mark, e.builder().getUnitAttr());
    return shifted;
  }
  // The upper and the lower half of a product.
  std::pair<Value, Value> product(Value n, Value m) {
    auto op = mlir::arith::MulUIExtendedOp::create(e.builder(), n, m);
    return {op.getHigh(), op.getLow()};
  }
  // `count` 64-bit words of 2/pi, from bit `position` - 64 after the binary point on; bits before it are 0.
  llvm::SmallVector<Value> two_over_pi_from(Value position, int count, int index_bits) {
    llvm::SmallVector<Value> words;
    for (int i = 0; i < count + (1 << index_bits); ++i)
      words.push_back(constant(i == 0 || i > 20 ? 0 : table::two_over_pi[i - 1]));
    Value index = right(position, constant(6)), zero = constant(0);
    for (int bit = index_bits - 1; bit >= 0; --bit) {
      Value is_set = e.compare(CmpIPredicate::ne, e.bit_and(index, constant(std::uint64_t{1} << bit)), zero);
      llvm::SmallVector<Value> chosen;
      for (int j = 0; j < count + (1 << bit); ++j) chosen.push_back(e.select(is_set, words[j + (1 << bit)], words[j]));
      words = chosen;
    }
    Value distance = e.bit_and(position, constant(63)), opposite = e.isub(constant(63), distance);
    llvm::SmallVector<Value> result;
    for (int j = 0; j < count; ++j)
      result.push_back(e.bit_or(left(words[j], distance), right(right(words[j + 1], constant(1)), opposite)));
    return result;
  }
};

// For finite a above 32. The product a * 2/pi modulo 4 is a 64-bit fraction of a whole turn (and 64 further bits for
// f64).
Turn reduce_exactly(MathEmitter& e, Value a) {
  Words w{e};
  Value bits = e.bits(a);
  if (!e.is_double()) bits = mlir::arith::ExtUIOp::create(e.builder(), w.type, bits);
  Value exponent = w.right(bits, w.constant(e.mantissa_bits()));
  Value mantissa = e.bit_or(e.bit_and(bits, w.constant(e.mantissa_mask())), w.constant(e.mantissa_mask() + 1));
  // a = mantissa * 2^(exponent - bias - mantissa_bits); the window's first bit is to have weight 2 in the product.
  Value position = e.isub(exponent, w.constant(e.exponent_bias() + e.mantissa_bits() + 2 - 64));
  Value high, low;
  if (e.is_double()) {
    auto window = w.two_over_pi_from(position, 3, 5);
    auto [middle_high, middle_low] = w.product(mantissa, window[1]);
    low = e.iadd(middle_low, w.product(mantissa, window[2]).first);
    Value carry = mlir::arith::ExtUIOp::create(e.builder(), w.type, e.compare(CmpIPredicate::ult, low, middle_low));
    high = e.iadd(e.iadd(e.imul(mantissa, window[0]), middle_high), carry);
  } else {
    auto window = w.two_over_pi_from(position, 2, 2);
    Value below = w.right(e.imul(mantissa, w.right(window[1], w.constant(32))), w.constant(32));
    high = e.iadd(e.imul(mantissa, window[0]), below);
  }
  Value quadrant = w.right(e.iadd(high, w.constant(std::uint64_t{1} << 61)), w.constant(62));
  Value fraction = e.shift_right_signed(w.left(high, w.constant(2)), w.constant(2));
  Value turned = mlir::arith::SIToFPOp::create(e.builder(), e.float_type(), fraction);
  if (e.is_double()) {
    Value below = mlir::arith::UIToFPOp::create(e.builder(), e.float_type(), low);
    turned = e.fma(below, e.real(0x1p-64), turned);
  } else {
    quadrant = mlir::arith::TruncIOp::create(e.builder(), e.integer_type(), quadrant);
  }
  const double* half_pi = e.is_double() ? table::half_pi_fused_f64 : table::half_pi_fused_f32;
  Value below = e.mul(turned, e.real(half_pi[1] * 0x1p-62));
  return {quadrant, e.fma(turned, e.real(half_pi[0] * 0x1p-62), below)};
}

Turn reduce(MathEmitter& e, Value a) {
  Value is_large = e.compare(CmpFPredicate::OGT, a, e.real(short_limit(e)));
  // Infinity takes the short way, whose inf - inf is the NaN wanted.
  Value is_finite = e.compare(CmpFPredicate::OLT, a, e.real(std::numeric_limits<double>::infinity()));
  Value exact = e.bit_and(is_large, is_finite);
  if (!e.is_scalar()) {
    Turn near = reduce_short(e, a), far = reduce_exactly(e, a);
    return {e.select(exact, far.quadrant, near.quadrant), e.select(exact, far.remainder, near.remainder)};
  }
  auto& builder = e.builder();
  auto branch = mlir::scf::IfOp::create(builder, mlir::TypeRange{e.integer_type(), e.float_type()}, exact, true);
  mlir::OpBuilder::InsertionGuard guard(builder);
  for (bool far : {true, false}) {
    builder.setInsertionPointToStart(far ? branch.thenBlock() : branch.elseBlock());
    Turn turn = far ? reduce_exactly(e, a) : reduce_short(e, a);
    mlir::scf::YieldOp::create(builder, mlir::ValueRange{turn.quadrant, turn.remainder});
  }
  return {branch.getResult(0), branch.getResult(1)};
}

// sin(remainder + quadrant * pi/2), its sign bit flipped by those of `sign`.
Value sine_of(MathEmitter& e, Turn turn, Value sign) {
  Value r = turn.remainder, square = e.mul(r, r);
  Value s = e.is_double() ? e.polynomial(square, table::sin_f64) : e.polynomial(square, table::sin_f32);
  Value c = e.is_double() ? e.polynomial(square, table::cos_f64) : e.polynomial(square, table::cos_f32);
  Value sine = e.fma(e.mul(r, square), s, r);
  Value cosine = e.fma(e.mul(square, square), c, e.fma(square, e.real(-0.5), e.real(1)));
  Value is_odd = e.compare(CmpIPredicate::ne, e.bit_and(turn.quadrant, e.integer(1)), e.integer(0));
  Value flip = e.shift_left(e.bit_and(turn.quadrant, e.integer(2)), e.integer(e.width() - 2));
  if (sign) flip = e.bit_xor(flip, sign);
  return e.from_bits(e.bit_xor(e.bits(e.select(is_odd, cosine, sine)), flip));
}

}  // namespace

Value emit_sin(MathEmitter& e, Value x) {
  // By the magnitude, so that -0 and the symmetry are kept exactly.
  return sine_of(e, reduce(e, e.absolute(x)), e.bit_and(e.bits(x), e.integer(e.sign_mask())));
}

Value emit_cos(MathEmitter& e, Value x) {
  Turn turn = reduce(e, e.absolute(x));
  turn.quadrant = e.iadd(turn.quadrant, e.integer(1));
  return sine_of(e, turn, Value());
}

}  // namespace teeny::compiler
