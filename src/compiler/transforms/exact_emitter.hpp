// The alphabet of expand_exact: arithmetic on values of any element type, and the conversions made from it.
#pragma once

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

#include "expand_exact.hpp"
#include "math_emitter.hpp"

namespace teeny::compiler {

class ExactEmitter {
 public:
  using Value = mlir::Value;
  using IntegerPredicate = mlir::arith::CmpIPredicate;
  using FloatPredicate = mlir::arith::CmpFPredicate;

  ExactEmitter(mlir::ImplicitLocOpBuilder& builder, ExactFacts facts) : builder_(builder), facts_(facts) {}

  mlir::ImplicitLocOpBuilder& builder() { return builder_; }
  const ExactFacts& facts() const { return facts_; }

  Value integer(mlir::Type like, std::uint64_t bits) { return make_constant(builder_, like, bits); }
  Value integer(mlir::Type like, const llvm::APInt& value) { return integer(like, value.getZExtValue()); }
  Value real(mlir::Type like, double value);
  Value real(mlir::Type like, llvm::APFloat value);
  template <typename Op>
  Value make(Value left, Value right) {
    return Op::create(builder_, left, right);
  }
  template <typename Op>
  Value convert(mlir::Type element, Value x) {
    return Op::create(builder_, with_element_type(x.getType(), element), x);
  }
  /// As `make`, marked as right.
  template <typename Op>
  Value make_marked(Value left, Value right) {
    return mark(make<Op>(left, right));
  }
  template <typename Op>
  Value convert_marked(mlir::Type element, Value x) {
    return mark(convert<Op>(element, x));
  }
  Value compare(IntegerPredicate predicate, Value n, Value m) {
    return mlir::arith::CmpIOp::create(builder_, predicate, n, m);
  }
  Value compare(FloatPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(builder_, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(builder_, condition, x, y); }
  Value bits(Value x) { return convert<mlir::arith::BitcastOp>(builder_.getIntegerType(width_of(x)), x); }
  Value from_bits(mlir::Type element, Value n) { return convert<mlir::arith::BitcastOp>(element, n); }
  Value shift_left(Value n, int distance) {
    return make_marked<mlir::arith::ShLIOp>(n, integer(n.getType(), distance));
  }
  Value shift_right(Value n, int distance) {
    return make_marked<mlir::arith::ShRUIOp>(n, integer(n.getType(), distance));
  }

  static mlir::Type element_of(Value x) { return mlir::getElementTypeOrSelf(x.getType()); }
  static int width_of(Value x) { return static_cast<int>(element_of(x).getIntOrFloatBitWidth()); }

  // ---- conversions; `element` is the result's element type
  Value truncate_float(mlir::Type element, Value x);
  Value float_to_integer(mlir::Type element, Value x, bool is_signed);
  Value integer_to_float(mlir::Type element, Value n, bool is_signed);
  // ---- floats
  Value divide_float(Value x, Value y);
  Value square_root(Value x);
  Value float_remainder(Value x, Value y);
  Value fused_multiply_add(Value x, Value y, Value z);
  // ---- expand_exact_integers.cpp; the last two of floats of up to 32 bits
  Value fused_from_integers(Value x, Value y, Value z);
  Value divide_from_integers(Value x, Value y);
  Value square_root_from_integers(Value x);
  Value extremum(Value x, Value y, bool is_maximum, bool propagates_nan);
  Value clamp(Value x, Value low, Value high, bool propagates_nan);

 private:
  Value mark(Value result) {
    result.getDefiningOp()->setAttr(exact_mark, builder_.getUnitAttr());
    return result;
  }
  Value round_to_odd_f32(Value x);
  Value f32_to_bf16(mlir::Type element, Value x);
  Value f32_to_f16(mlir::Type element, Value x);

  mlir::ImplicitLocOpBuilder& builder_;
  ExactFacts facts_;
};

}  // namespace teeny::compiler
