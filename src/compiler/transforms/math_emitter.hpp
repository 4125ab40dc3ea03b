// Makes arithmetic on values of one float format and of one shape: the alphabet of the math expansion.
#pragma once

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

#include "expand_math.hpp"

namespace teeny::compiler {

/// The attribute on operations that expand_exact need not look at again.
inline constexpr llvm::StringLiteral exact_mark = "teeny.exact";

/// `type` with another element type; a scalar becomes the element type itself.
mlir::Type with_element_type(mlir::Type type, mlir::Type element);

/// A splat of `value` for shaped types.
mlir::Value make_constant(mlir::ImplicitLocOpBuilder& builder, mlir::Type type, const llvm::APFloat& value);
mlir::Value make_constant(mlir::ImplicitLocOpBuilder& builder, mlir::Type type, std::uint64_t bits);

/// f32 or f64, scalar or shaped. Values named x are floats of `float_type()`, values named n integers of the same
/// width.
class MathEmitter {
 public:
  using Value = mlir::Value;

  MathEmitter(mlir::ImplicitLocOpBuilder& builder, mlir::Type float_type, MathFacts facts);

  mlir::ImplicitLocOpBuilder& builder() { return builder_; }
  mlir::Type float_type() const { return float_type_; }
  mlir::Type integer_type() const { return integer_type_; }
  mlir::Type wide_integer_type() const { return with_element_type(float_type_, builder_.getI64Type()); }
  bool is_double() const { return is_double_; }
  bool is_scalar() const { return !llvm::isa<mlir::ShapedType>(float_type_); }
  bool fma_fused() const { return facts_.fma_fused; }
  MathFacts facts() const { return facts_; }
  int width() const { return is_double_ ? 64 : 32; }
  int mantissa_bits() const { return is_double_ ? 52 : 23; }
  std::uint64_t exponent_bias() const { return is_double_ ? 1023 : 127; }
  std::uint64_t one_bits() const { return exponent_bias() << mantissa_bits(); }
  std::uint64_t infinity_bits() const { return (2 * exponent_bias() + 1) << mantissa_bits(); }
  std::uint64_t mantissa_mask() const { return (std::uint64_t{1} << mantissa_bits()) - 1; }
  std::uint64_t sign_mask() const { return std::uint64_t{1} << (width() - 1); }
  /// 1.5 * 2^mantissa_bits: adding it rounds to an integer, which then stands in the low bits.
  double rounding_constant() const { return is_double_ ? 0x1.8p52 : 0x1.8p23; }
  /// Whichever of two values belongs to the format.
  double choose(double f32, double f64) const { return is_double_ ? f64 : f32; }

  Value real(double value);           // rounded to the format
  Value integer(std::uint64_t bits);  // of integer_type()
  Value add(Value x, Value y) { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<mlir::arith::DivFOp>(x, y); }
  /// x / y for |x| <= 2 and 1 <= y <= 2, within 0.5001 ulp of exact even where the target's division is off by a few.
  Value div_moderate(Value x, Value y);
  Value negate(Value x) { return mlir::arith::NegFOp::create(builder_, x); }
  /// x * y + z: rounded once where the target does that, else twice.
  Value fma(Value x, Value y, Value z);
  /// coefficients[0] + t * (coefficients[1] + …), by Horner's rule.
  Value polynomial(Value t, llvm::ArrayRef<double> coefficients);
  Value polynomial(Value t, llvm::ArrayRef<Value> coefficients);

  Value iadd(Value n, Value m) { return make<mlir::arith::AddIOp>(n, m); }
  Value isub(Value n, Value m) { return make<mlir::arith::SubIOp>(n, m); }
  Value imul(Value n, Value m) { return make<mlir::arith::MulIOp>(n, m); }
  Value bit_and(Value n, Value m) { return make<mlir::arith::AndIOp>(n, m); }
  Value bit_or(Value n, Value m) { return make<mlir::arith::OrIOp>(n, m); }
  Value bit_xor(Value n, Value m) { return make<mlir::arith::XOrIOp>(n, m); }
  Value shift_left(Value n, Value m) { return make<mlir::arith::ShLIOp>(n, m); }
  Value shift_right_signed(Value n, Value m) { return make<mlir::arith::ShRSIOp>(n, m); }
  Value shift_right_unsigned(Value n, Value m) { return make<mlir::arith::ShRUIOp>(n, m); }
  Value bits(Value x) { return mlir::arith::BitcastOp::create(builder_, integer_type_, x); }
  Value from_bits(Value n) { return mlir::arith::BitcastOp::create(builder_, float_type_, n); }

  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(builder_, predicate, x, y);
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value n, Value m) {
    return mlir::arith::CmpIOp::create(builder_, predicate, n, m);
  }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(builder_, condition, x, y); }
  /// NaN stays NaN.
  Value at_most(Value x, double limit);
  Value at_least(Value x, double limit);
  Value absolute(Value x) { return from_bits(bit_and(bits(x), integer(sign_mask() - 1))); }
  /// |magnitude| with the sign of x.
  Value with_sign_of(Value magnitude, Value x);

 private:
  template <typename Op>
  Value make(Value left, Value right) {
    return Op::create(builder_, left, right);
  }

  mlir::ImplicitLocOpBuilder& builder_;
  mlir::Type float_type_, integer_type_;
  MathFacts facts_;
  bool is_double_;
};

// One function each: x and the result are of emitter.float_type().
mlir::Value emit_exp(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_exp2(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_log(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_log2(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_tanh(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_erf(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_sigmoid(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_rsqrt(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_sin(MathEmitter& emitter, mlir::Value x);
mlir::Value emit_cos(MathEmitter& emitter, mlir::Value x);

}  // namespace teeny::compiler
