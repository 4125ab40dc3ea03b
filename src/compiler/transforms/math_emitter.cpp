#include "math_emitter.hpp"

#include <mlir/IR/BuiltinTypes.h>

namespace teeny::compiler {

using mlir::Value;

mlir::Type with_element_type(mlir::Type type, mlir::Type element) {
  if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type)) return shaped.clone(element);
  return element;
}

static Value make_splat(mlir::ImplicitLocOpBuilder& builder, mlir::Type type, mlir::TypedAttr element) {
  if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type))
    element = mlir::DenseElementsAttr::get(shaped, mlir::Attribute(element));
  return mlir::arith::ConstantOp::create(builder, element);
}

Value make_constant(mlir::ImplicitLocOpBuilder& builder, mlir::Type type, const llvm::APFloat& value) {
  return make_splat(builder, type, builder.getFloatAttr(mlir::getElementTypeOrSelf(type), value));
}

Value make_constant(mlir::ImplicitLocOpBuilder& builder, mlir::Type type, std::uint64_t bits) {
  auto element = llvm::cast<mlir::IntegerType>(mlir::getElementTypeOrSelf(type));
  llvm::APInt value(element.getWidth(), bits, /*isSigned=*/false, /*implicitTrunc=*/true);
  return make_splat(builder, type, builder.getIntegerAttr(element, value));
}

MathEmitter::MathEmitter(mlir::ImplicitLocOpBuilder& builder, mlir::Type float_type, MathFacts facts)
    : builder_(builder),
      float_type_(float_type),
      facts_(facts),
      is_double_(mlir::getElementTypeOrSelf(float_type).isF64()) {
  integer_type_ = with_element_type(float_type, builder.getIntegerType(width()));
}

Value MathEmitter::real(double value) {
  llvm::APFloat number(value);
  bool loses = false;
  if (!is_double_) number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return make_constant(builder_, float_type_, number);
}

Value MathEmitter::integer(std::uint64_t bits) { return make_constant(builder_, integer_type_, bits); }

Value MathEmitter::fma(Value x, Value y, Value z) {
  if (facts_.fma_fused) return mlir::math::FmaOp::create(builder_, x, y, z);
  return add(mul(x, y), z);
}

Value MathEmitter::div_moderate(Value x, Value y) {
  if (facts_.division_rounds || !facts_.fma_fused) return div(x, y);
  // One step of Newton's method on the quotient, its residual exact.
  Value reciprocal = div(real(1), y);
  reciprocal.getDefiningOp()->setAttr(exact_mark, builder_.getUnitAttr());
  Value quotient = mul(x, reciprocal);
  return fma(fma(negate(quotient), y, x), reciprocal, quotient);
}

Value MathEmitter::polynomial(Value t, llvm::ArrayRef<Value> coefficients) {
  Value result = coefficients.back();
  for (Value coefficient : llvm::reverse(coefficients.drop_back())) result = fma(result, t, coefficient);
  return result;
}

Value MathEmitter::polynomial(Value t, llvm::ArrayRef<double> coefficients) {
  llvm::SmallVector<Value> values;
  for (double coefficient : coefficients) values.push_back(real(coefficient));
  return polynomial(t, values);
}

Value MathEmitter::at_most(Value x, double limit) {
  Value bound = real(limit);
  return select(compare(mlir::arith::CmpFPredicate::OGT, x, bound), bound, x);
}

Value MathEmitter::at_least(Value x, double limit) {
  Value bound = real(limit);
  return select(compare(mlir::arith::CmpFPredicate::OLT, x, bound), bound, x);
}

Value MathEmitter::with_sign_of(Value magnitude, Value x) {
  Value sign = bit_and(bits(x), integer(sign_mask()));
  return from_bits(bit_or(bit_and(bits(magnitude), integer(sign_mask() - 1)), sign));
}

}  // namespace teeny::compiler
