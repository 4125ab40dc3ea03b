// Functions of vendors' mathematical libraries by name: __nv_expf, __nv_exp, __ocml_exp_f32, __nv_fast_expf ….
#include <mlir/Dialect/Math/IR/Math.h>

#include "compiler/transforms/legalise_ttir.hpp"

namespace teeny::compiler {

using namespace mlir;

namespace {

using Operands = ArrayRef<Value>;
using Make = Value (*)(OpBuilder&, Location, Type result, Operands);

template <class T>
Value unary(OpBuilder& builder, Location location, Type, Operands x) {
  return T::create(builder, location, x[0]);
}
template <class T>
Value binary(OpBuilder& builder, Location location, Type, Operands x) {
  return T::create(builder, location, x[0], x[1]);
}
Value fused(OpBuilder& builder, Location location, Type, Operands x) {
  return math::FmaOp::create(builder, location, x[0], x[1], x[2]);
}

Value constant(OpBuilder& builder, Location location, Type type, double value) {
  TypedAttr attribute = builder.getFloatAttr(tt::element_type(type), value);
  if (auto tensor = dyn_cast<RankedTensorType>(type)) attribute = DenseElementsAttr::get(tensor, attribute);
  return arith::ConstantOp::create(builder, location, attribute);
}
Value reciprocal(OpBuilder& builder, Location location, Type type, Operands x) {
  return arith::DivFOp::create(builder, location, constant(builder, location, type, 1.0), x[0]);
}
// Toward zero; the sign of a zero result follows x, as in C.
Value truncated(OpBuilder& builder, Location location, Type type, Operands x) {
  Value zero = constant(builder, location, type, 0.0);
  Value negative = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLT, x[0], zero);
  Value up = math::CeilOp::create(builder, location, x[0]), down = math::FloorOp::create(builder, location, x[0]);
  return arith::SelectOp::create(builder, location, negative, up, down);
}
// The predicates give an integer of the declared type.
Value as_integer(OpBuilder& builder, Location location, Type type, Value holds) {
  return tt::element_type(type).isInteger(1) ? holds : Value(arith::ExtUIOp::create(builder, location, type, holds));
}
Value is_nan(OpBuilder& builder, Location location, Type type, Operands x) {
  return as_integer(builder, location, type,
                    arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, x[0], x[0]));
}
Value is_infinite(OpBuilder& builder, Location location, Type type, Operands x) {
  Value magnitude = math::AbsFOp::create(builder, location, x[0]);
  Value infinity = constant(builder, location, x[0].getType(), std::numeric_limits<double>::infinity());
  return as_integer(builder, location, type,
                    arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, magnitude, infinity));
}

struct Entry {
  StringLiteral name;  // without prefix and type suffix
  unsigned operands;
  bool floats;         // what the operands are
  Make make;
};

constexpr Entry entries[] = {
    {"exp", 1, true, unary<math::ExpOp>},        {"exp2", 1, true, unary<math::Exp2Op>},
    {"log", 1, true, unary<math::LogOp>},        {"log2", 1, true, unary<math::Log2Op>},
    {"sin", 1, true, unary<math::SinOp>},        {"cos", 1, true, unary<math::CosOp>},
    {"tanh", 1, true, unary<math::TanhOp>},      {"erf", 1, true, unary<math::ErfOp>},
    {"sqrt", 1, true, unary<math::SqrtOp>},      {"sqrt_rn", 1, true, unary<math::SqrtOp>},
    {"rsqrt", 1, true, unary<math::RsqrtOp>},    {"rsqrt_rn", 1, true, unary<math::RsqrtOp>},
    {"floor", 1, true, unary<math::FloorOp>},    {"ceil", 1, true, unary<math::CeilOp>},
    {"trunc", 1, true, truncated},               {"fabs", 1, true, unary<math::AbsFOp>},
    {"abs", 1, false, unary<math::AbsIOp>},      {"llabs", 1, false, unary<math::AbsIOp>},
    {"fma", 3, true, fused},                     {"fma_rn", 3, true, fused},
    {"fmin", 2, true, binary<arith::MinNumFOp>}, {"fmax", 2, true, binary<arith::MaxNumFOp>},
    {"min", 2, false, binary<arith::MinSIOp>},   {"max", 2, false, binary<arith::MaxSIOp>},
    {"umin", 2, false, binary<arith::MinUIOp>},  {"umax", 2, false, binary<arith::MaxUIOp>},
    {"umulhi", 2, false, binary<tt::MulhiUIOp>}, {"umul64hi", 2, false, binary<tt::MulhiUIOp>},
    {"add_rn", 2, true, binary<arith::AddFOp>},  {"sub_rn", 2, true, binary<arith::SubFOp>},
    {"mul_rn", 2, true, binary<arith::MulFOp>},  {"div_rn", 2, true, binary<arith::DivFOp>},
    {"divide", 2, true, binary<arith::DivFOp>},  {"rcp_rn", 1, true, reciprocal},
    {"isnan", 1, true, is_nan},                  {"isinf", 1, true, is_infinite},
};

// "__nv_fast_expf" and "__ocml_exp_f32" are both "exp". f32 functions of __nv_ end in f (isinff), or start with f
// (fadd_rn), f64 ones with d (dadd_rn).
SmallVector<StringRef> plain_names(StringRef symbol) {
  SmallVector<StringRef> names;
  if (symbol.consume_front("__ocml_")) {
    if (symbol.consume_back("_f32") || symbol.consume_back("_f64")) names.push_back(symbol);
  } else if (symbol.consume_front("__nv_")) {
    symbol.consume_front("fast_");
    names.push_back(symbol);
    if (symbol.ends_with("f")) names.push_back(symbol.drop_back());
    if (symbol.ends_with("d")) names.push_back(symbol.drop_back());  // isnand, isinfd
    if (symbol.starts_with("f") || symbol.starts_with("d")) names.push_back(symbol.drop_front());
  }
  return names;
}

}  // namespace

Value legalise_extern(OpBuilder& builder, tt::ExternElementwiseOp op) {
  for (StringRef name : plain_names(op.getSymbol()))
    for (const Entry& entry : entries) {
      if (entry.name != name || entry.operands != op->getNumOperands()) continue;
      bool fits = llvm::all_of(op->getOperandTypes(), [&](Type type) {
        return isa<FloatType>(tt::element_type(type)) == entry.floats && type == op->getOperand(0).getType();
      });
      if (!fits) continue;
      Value value = entry.make(builder, op->getLoc(), op.getType(), SmallVector<Value>(op->getOperands()));
      if (value.getType() == op.getType()) return value;
      value.getDefiningOp()->erase();
    }
  return {};
}

}  // namespace teeny::compiler
