// Element-wise operations: the sign of the trace's element type chooses the arith operation.
#include <mlir/Dialect/Math/IR/Math.h>

#include "compiler/import/trace_importer.hpp"

namespace teeny::compiler {

using namespace mlir;
using trace::Opcode;

Value TraceImporter::constant(Type type, double value) {
  Attribute attribute = builder_.getFloatAttr(tt::element_type(type), value);
  if (auto tensor = dyn_cast<RankedTensorType>(type)) attribute = DenseElementsAttr::get(tensor, attribute);
  return make<arith::ConstantOp>(type, cast<TypedAttr>(attribute));
}

Value TraceImporter::integer_constant(Type type, std::int64_t value) {
  Attribute attribute = builder_.getIntegerAttr(tt::element_type(type), value);
  if (auto tensor = dyn_cast<RankedTensorType>(type)) attribute = DenseElementsAttr::get(tensor, attribute);
  return make<arith::ConstantOp>(type, cast<TypedAttr>(attribute));
}

Value TraceImporter::element_wise(const Op& op) {
  const bool floats = is_float(type_of(op, 0).dtype);
  switch (op.opcode) {
    case Opcode::cast: return cast(op);
    case Opcode::bitcast: return bitcast(op);
    case Opcode::neg: return negate(op);
    case Opcode::bit_not: return make<arith::XOrIOp>(operand(op, 0), integer_constant(operand(op, 0).getType(), -1));
    case Opcode::abs:
      if (floats) return make<math::AbsFOp>(operand(op, 0));
      return is_signed_integer(type_of(op, 0).dtype) ? Value(make<math::AbsIOp>(operand(op, 0))) : operand(op, 0);
    case Opcode::where: return make<arith::SelectOp>(operand(op, 0), operand(op, 1), operand(op, 2));
    case Opcode::fma: return make<math::FmaOp>(operand(op, 0), operand(op, 1), operand(op, 2));
    case Opcode::clamp:
      return make<tt::ClampFOp>(operand(op, 0), operand(op, 1), operand(op, 2),
                                op.integers[0] ? tt::PropagateNan::ALL : tt::PropagateNan::NONE);
    case Opcode::umulhi: return make<tt::MulhiUIOp>(operand(op, 0), operand(op, 1));
    case Opcode::addptr: {
      Value offset = operand(op, 1);
      const DType dtype = type_of(op, 1).dtype;
      if (is_unsigned_integer(dtype) && bits_of(dtype) < 64)
        offset = make<arith::ExtUIOp>(tt::same_shape(offset.getType(), builder_.getI64Type()), offset);
      return make<tt::AddPtrOp>(operand(op, 0), offset);
    }
    default: break;
  }
  switch (trace::info(op.opcode).kind) {
    case trace::Kind::unary: return unary_float(op);
    case trace::Kind::comparison: return comparison(op);
    default: return floats ? float_binary(op) : integer_binary(op);
  }
}

Value TraceImporter::unary_float(const Op& op) {
  Value x = operand(op, 0);
  switch (op.opcode) {
    case Opcode::exp: return make<math::ExpOp>(x);
    case Opcode::exp2: return make<math::Exp2Op>(x);
    case Opcode::log: return make<math::LogOp>(x);
    case Opcode::log2: return make<math::Log2Op>(x);
    case Opcode::sqrt: return make<math::SqrtOp>(x);
    case Opcode::rsqrt: return make<math::RsqrtOp>(x);
    case Opcode::sin: return make<math::SinOp>(x);
    case Opcode::cos: return make<math::CosOp>(x);
    case Opcode::erf: return make<math::ErfOp>(x);
    case Opcode::tanh: return make<math::TanhOp>(x);
    case Opcode::sigmoid: return sigmoid(x);
    case Opcode::floor: return make<math::FloorOp>(x);
    case Opcode::ceil: return make<math::CeilOp>(x);
    default: llvm_unreachable("the other unary operations are imported by element_wise");
  }
}

Value TraceImporter::integer_binary(const Op& op) {
  const bool is_signed = is_signed_integer(type_of(op, 0).dtype);
  Value a = operand(op, 0), b = operand(op, 1);
  switch (op.opcode) {
    case Opcode::add: return make<arith::AddIOp>(a, b);
    case Opcode::sub: return make<arith::SubIOp>(a, b);
    case Opcode::mul: return make<arith::MulIOp>(a, b);
    case Opcode::div: return is_signed ? Value(make<arith::DivSIOp>(a, b)) : Value(make<arith::DivUIOp>(a, b));
    case Opcode::rem: return is_signed ? Value(make<arith::RemSIOp>(a, b)) : Value(make<arith::RemUIOp>(a, b));
    case Opcode::bit_and: return make<arith::AndIOp>(a, b);
    case Opcode::bit_or: return make<arith::OrIOp>(a, b);
    case Opcode::bit_xor: return make<arith::XOrIOp>(a, b);
    case Opcode::shl: return make<arith::ShLIOp>(a, b);
    case Opcode::shr: return is_signed ? Value(make<arith::ShRSIOp>(a, b)) : Value(make<arith::ShRUIOp>(a, b));
    case Opcode::minimum: return is_signed ? Value(make<arith::MinSIOp>(a, b)) : Value(make<arith::MinUIOp>(a, b));
    case Opcode::maximum: return is_signed ? Value(make<arith::MaxSIOp>(a, b)) : Value(make<arith::MaxUIOp>(a, b));
    default: llvm_unreachable("no other binary operation takes integers");
  }
}

Value TraceImporter::float_binary(const Op& op) {
  Value a = operand(op, 0), b = operand(op, 1);
  switch (op.opcode) {
    case Opcode::add: return make<arith::AddFOp>(a, b);
    case Opcode::sub: return make<arith::SubFOp>(a, b);
    case Opcode::mul: return make<arith::MulFOp>(a, b);
    case Opcode::div: return make<arith::DivFOp>(a, b);
    case Opcode::rem: return make<arith::RemFOp>(a, b);
    case Opcode::minimum:
      return op.integers[0] ? Value(make<arith::MinimumFOp>(a, b)) : Value(make<arith::MinNumFOp>(a, b));
    case Opcode::maximum:
      return op.integers[0] ? Value(make<arith::MaximumFOp>(a, b)) : Value(make<arith::MaxNumFOp>(a, b));
    default: llvm_unreachable("no other binary operation takes floats");
  }
}

Value TraceImporter::comparison(const Op& op) {
  const int which = static_cast<int>(op.opcode) - static_cast<int>(Opcode::lt);
  static_assert(static_cast<int>(Opcode::ne) - static_cast<int>(Opcode::lt) == 5, "lt le gt ge eq ne stand together");
  const DType dtype = type_of(op, 0).dtype;
  if (is_float(dtype)) {
    using P = arith::CmpFPredicate;
    constexpr P predicates[] = {P::OLT, P::OLE, P::OGT, P::OGE, P::OEQ, P::UNE};
    return make<arith::CmpFOp>(predicates[which], operand(op, 0), operand(op, 1));
  }
  using P = arith::CmpIPredicate;
  constexpr P signed_ones[] = {P::slt, P::sle, P::sgt, P::sge, P::eq, P::ne};
  constexpr P unsigned_ones[] = {P::ult, P::ule, P::ugt, P::uge, P::eq, P::ne};
  return make<arith::CmpIOp>((is_signed_integer(dtype) ? signed_ones : unsigned_ones)[which], operand(op, 0),
                             operand(op, 1));
}

Value TraceImporter::cast(const Op& op) {
  const DType from = type_of(op, 0).dtype, to = body_.types[op.results[0]].dtype;
  Value value = operand(op, 0);
  Type source = value.getType(), type = result_type(op);
  if (from == to) return value;
  if (to == DType::boolean) {
    if (is_float(from)) return make<arith::CmpFOp>(arith::CmpFPredicate::UNE, value, constant(source, 0.0));
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne, value, integer_constant(source, 0));
  }
  if (is_float(from) && is_float(to)) return float_to_float(value, tt::element_type(type));
  if (is_float(from))
    return is_signed_integer(to) ? Value(make<arith::FPToSIOp>(type, value))
                                 : Value(make<arith::FPToUIOp>(type, value));
  const bool is_signed = is_signed_integer(from);
  if (is_float(to))
    return is_signed ? Value(make<arith::SIToFPOp>(type, value)) : Value(make<arith::UIToFPOp>(type, value));
  if (bits_of(from) == bits_of(to)) return value;  // the sign is not in the type
  if (bits_of(from) > bits_of(to)) return make<arith::TruncIOp>(type, value);
  return is_signed ? Value(make<arith::ExtSIOp>(type, value)) : Value(make<arith::ExtUIOp>(type, value));
}

Value TraceImporter::float_to_float(Value value, Type element) {
  const unsigned from = tt::element_type(value.getType()).getIntOrFloatBitWidth(), to = element.getIntOrFloatBitWidth();
  Type type = tt::same_shape(value.getType(), element);
  if (tt::element_type(value.getType()) == element) return value;
  if (from == to) value = make<arith::ExtFOp>(tt::same_shape(value.getType(), builder_.getF32Type()), value);
  return from < to ? Value(make<arith::ExtFOp>(type, value)) : Value(make<arith::TruncFOp>(type, value));
}

Value TraceImporter::bitcast(const Op& op) {
  Value value = operand(op, 0);
  Type type = result_type(op);
  if (value.getType() == type) return value;
  if (type_of(op, 0).form == trace::Type::Form::pointer) return make<tt::BitcastOp>(type, value);
  return make<arith::BitcastOp>(type, value);
}

Value TraceImporter::negate(const Op& op) {
  Value value = operand(op, 0);
  if (is_float(type_of(op, 0).dtype)) return make<arith::NegFOp>(value);
  return make<arith::SubIOp>(integer_constant(value.getType(), 0), value);
}

Value TraceImporter::sigmoid(Value x) {
  Type element = tt::element_type(x.getType());
  Type wide = element.getIntOrFloatBitWidth() < 32 ? builder_.getF32Type() : element;
  x = float_to_float(x, wide);
  // By exp(-|x|), which cannot overflow: a large negative x gives the small quotient that 1 / (1 + inf) would lose.
  Value one = constant(x.getType(), 1.0);
  Value power = make<math::ExpOp>(make<arith::NegFOp>(make<math::AbsFOp>(x)));
  Value negative = make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, constant(x.getType(), 0.0));
  Value result = make<arith::DivFOp>(make<arith::SelectOp>(negative, power, one), make<arith::AddFOp>(one, power));
  return float_to_float(result, element);
}

}  // namespace teeny::compiler
