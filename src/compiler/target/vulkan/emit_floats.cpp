// Floats: what SPIR-V leaves open is made of integers. 16-bit floats are computed in f32 and rounded after every operation,
// which gives what their own arithmetic would (24 bits are more than twice 11 and 2).
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>

#include "compiler/target/vulkan/vulkan_emitter.hpp"

namespace teeny::compiler::vulkan {

using namespace mlir;

namespace {

std::uint64_t sign_mask(Type number) { return number.isF64() ? std::uint64_t{1} << 63 : std::uint64_t{1} << 31; }
std::uint64_t quiet_nan(Type number) { return number.isF64() ? 0x7ff8000000000000u : 0x7fc00000u; }
std::uint64_t infinity(Type number) { return number.isF64() ? 0x7ff0000000000000u : 0x7f800000u; }

}  // namespace

// ---- bits

Value VulkanEmitter::is_nan(Value number) {
  Value magnitude = float_bits(absolute(number));
  return below(bits_constant(magnitude.getType(), infinity(number.getType())), magnitude);
}

Value VulkanEmitter::absolute(Value number) {
  Value bits = float_bits(number);
  return bitcast(number.getType(), bit_and(bits, bits_constant(bits.getType(), sign_mask(number.getType()) - 1)));
}

Value VulkanEmitter::with_sign_of(Value magnitude, Value number) {
  Value bits = float_bits(number);
  Value sign = bit_and(bits, bits_constant(bits.getType(), sign_mask(number.getType())));
  return bitcast(number.getType(), bit_or(float_bits(absolute(magnitude)), sign));
}

// ---- 16-bit floats

Value VulkanEmitter::number_of(Type type, Value held) {
  if (type.isBF16()) return bitcast(builder_.getF32Type(), shift_left(held, word(16)));
  return type.isF16() ? widen_f16(held) : held;
}

Value VulkanEmitter::held_float(Type type, Value number) {
  if (type.isBF16()) return narrow_bf16(number);
  return type.isF16() ? narrow_f16(number) : number;
}

Value VulkanEmitter::widen_f16(Value bits) {
  const Type f32 = builder_.getF32Type();
  if (features_.f16 && features_.f16_rounds) {
    needs(spirv::Capability::Float16);
    Value pair = bitcast(VectorType::get(2, builder_.getF16Type()), bits);
    return make<spirv::FConvertOp>(f32, extract(pair, 0));
  }
  Value magnitude = bit_and(bits, word(0x7fff)), moved = shift_left(magnitude, word(13));
  Value normal = add(moved, word((127 - 15) << 23));
  // A subnormal is an integer times 2^-24.
  Value small = float_bits(exact<spirv::FMulOp>(f32, make<spirv::ConvertUToFOp>(f32, magnitude), real(f32, 0x1p-24)));
  Value result = select(below(magnitude, word(0x400)), small, normal);
  result = select(below(magnitude, word(0x7c00)), result, bit_or(moved, word(0x7f800000)));
  return bitcast(f32, bit_or(result, shift_left(bit_and(bits, word(0x8000)), word(16))));
}

Value VulkanEmitter::narrow_f16(Value number) {
  const Type f32 = builder_.getF32Type();
  if (features_.f16 && features_.f16_rounds) {
    needs(spirv::Capability::Float16);
    const Type f16 = builder_.getF16Type();
    Value half = make<spirv::FConvertOp>(f16, number);
    return bitcast(word_type(), compose(VectorType::get(2, f16), {half, constant(builder_.getFloatAttr(f16, 0.0))}));
  }
  Value n = float_bits(number), magnitude = bit_and(n, word(0x7fffffff));
  // From 2^-14 on: the exponent's bias changed from 127 to 15 and 13 bits rounded off; beyond 65520 that is infinity.
  Value odd = bit_and(shift_right(magnitude, word(13)), word(1));
  Value rebased = sub(add(magnitude, word(0xfff)), word((127 - 15) << 23));
  Value normal = shift_right(add(rebased, odd), word(13));
  normal = select(below(magnitude, word(0x477ff000)), normal, word(0x7c00));
  // Below: beside 1/2, f32 has the spacing of f16's subnormals, 2^-24. What is below 2^-26 becomes 0 anyway.
  Value sum = exact<spirv::FAddOp>(f32, bitcast(f32, magnitude), real(f32, 0.5));
  Value subnormal = sub(float_bits(sum), word(0x3f000000));
  Value result = select(below(magnitude, word(0x38800000)), subnormal, normal);
  Value quiet = bit_or(word(0x7e00), bit_and(shift_right(magnitude, word(13)), word(0x3ff)));
  result = select(below(word(0x7f800000), magnitude), quiet, result);
  return bit_or(result, bit_and(shift_right(n, word(16)), word(0x8000)));
}

Value VulkanEmitter::narrow_bf16(Value number) {
  Value n = float_bits(number);
  Value odd = bit_and(shift_right(n, word(16)), word(1));
  Value rounded = add(n, add(odd, word(0x7fff)));
  // The addition could carry a NaN's payload into an infinity or the sign: a NaN is cut off and made quiet.
  Value quiet = bit_or(n, word(0x400000));
  return shift_right(select(is_nan(number), quiet, rounded), word(16));
}

// Half of the last kept place is added to the magnitude, which rounds ties away from zero; infinities and NaN stay.
Value VulkanEmitter::round_tf32(Value number) {
  Value bits = float_bits(number);
  Value rounded = bit_and(add(bits, word(1u << 12)), word(~((1u << 13) - 1)));
  Value special = equal(bit_and(bits, word(0x7f800000)), word(0x7f800000));
  return bitcast(number.getType(), select(special, bits, rounded));
}

// ---- arithmetic

// Ties go away from zero. What Round does with ties is the implementation's choice.
Value VulkanEmitter::round_away(Value number) {
  const Type type = number.getType();
  Value magnitude = absolute(number), whole = make<spirv::GLFloorOp>(type, magnitude);
  Value rest = exact<spirv::FSubOp>(type, magnitude, whole);
  Value up = make<spirv::FOrdGreaterThanEqualOp>(bool_type(), rest, real(type, 0.5));
  return with_sign_of(select(up, exact<spirv::FAddOp>(type, whole, real(type, 1.0)), whole), number);
}

// Where the device's Fma rounds twice, only products of matrices still hold one (expand_exact writes all others out), and
// the bound of their sums has room for both roundings.
Value VulkanEmitter::fused_multiply_add(Value x, Value y, Value z) {
  const Type type = x.getType();
  if (features_.fma_fused) return exact<spirv::GLFmaOp>(type, x, y, z);
  return exact<spirv::FAddOp>(type, exact<spirv::FMulOp>(type, x, y), z);
}

Value VulkanEmitter::compare_floats(arith::CmpFPredicate predicate, Value a, Value b) {
  using P = arith::CmpFPredicate;
  const auto either_nan = [&] {
    return a == b ? is_nan(a) : make<spirv::LogicalOrOp>(bool_type(), is_nan(a), is_nan(b));
  };
  switch (predicate) {
    case P::AlwaysFalse: return constant(builder_.getBoolAttr(false));
    case P::OEQ: return exact<spirv::FOrdEqualOp>(bool_type(), a, b);
    case P::OGT: return exact<spirv::FOrdGreaterThanOp>(bool_type(), a, b);
    case P::OGE: return exact<spirv::FOrdGreaterThanEqualOp>(bool_type(), a, b);
    case P::OLT: return exact<spirv::FOrdLessThanOp>(bool_type(), a, b);
    case P::OLE: return exact<spirv::FOrdLessThanEqualOp>(bool_type(), a, b);
    case P::ONE: return exact<spirv::FOrdNotEqualOp>(bool_type(), a, b);
    case P::ORD: return make<spirv::LogicalNotOp>(bool_type(), either_nan());
    case P::UEQ: return exact<spirv::FUnordEqualOp>(bool_type(), a, b);
    case P::UGT: return exact<spirv::FUnordGreaterThanOp>(bool_type(), a, b);
    case P::UGE: return exact<spirv::FUnordGreaterThanEqualOp>(bool_type(), a, b);
    case P::ULT: return exact<spirv::FUnordLessThanOp>(bool_type(), a, b);
    case P::ULE: return exact<spirv::FUnordLessThanEqualOp>(bool_type(), a, b);
    case P::UNE: return exact<spirv::FUnordNotEqualOp>(bool_type(), a, b);
    case P::UNO: return either_nan();
    case P::AlwaysTrue: return constant(builder_.getBoolAttr(true));
  }
  return {};
}

namespace {

bool is_zero(Value number, bool negative_too = true) {
  FloatAttr constant;
  auto made = number.getDefiningOp<spirv::ConstantOp>();
  if (!made || !(constant = dyn_cast<FloatAttr>(made.getValue()))) return false;
  return constant.getValue().isZero() && (negative_too || !constant.getValue().isNegative());
}

}  // namespace

// Sums, products and quotients with a constant 0 that Mesa's software device takes for x, 0 and 0, whatever x is. Null: it is
// none of them.
Value VulkanEmitter::operation_with_zero(Operation& operation, Type type, llvm::ArrayRef<Value> x) {
  const auto where_bits = [&](Value condition, std::uint64_t yes, Value no) {
    return bitcast(type, select(condition, bits_constant(no.getType(), yes), no));
  };
  const auto special = [&](Value number) {  // an infinity or NaN
    Value magnitude = float_bits(absolute(number));
    return negated(below(magnitude, bits_constant(magnitude.getType(), infinity(type))));
  };
  if (isa<arith::AddFOp>(operation) && (is_zero(x[0], false) || is_zero(x[1], false))) {
    Value bits = float_bits(is_zero(x[1], false) ? x[0] : x[1]);
    return where_bits(equal(bits, bits_constant(bits.getType(), sign_mask(type))), 0, bits);
  }
  if (isa<arith::SubFOp>(operation) && x[0] == x[1])
    return where_bits(special(x[0]), quiet_nan(type), bits_constant(float_bits(x[0]).getType(), 0));
  if (isa<arith::MulFOp>(operation) && (is_zero(x[0]) || is_zero(x[1]))) {
    Value other = is_zero(x[1]) ? x[0] : x[1];
    Value sign = bit_and(bit_xor(float_bits(x[0]), float_bits(x[1])), bits_constant(float_bits(other).getType(), sign_mask(type)));
    return where_bits(special(other), quiet_nan(type), sign);
  }
  if (isa<arith::DivFOp>(operation) && is_zero(x[0])) {
    Value bits = float_bits(x[1]), magnitude = float_bits(absolute(x[1]));
    Value sign = bit_and(bit_xor(float_bits(x[0]), bits), bits_constant(bits.getType(), sign_mask(type)));
    Value open = make<spirv::LogicalOrOp>(bool_type(), is_nan(x[1]), equal(magnitude, bits_constant(bits.getType(), 0)));
    return where_bits(open, quiet_nan(type), sign);
  }
  return {};
}

// Operands and result are of `type`, f32 or f64.
Value VulkanEmitter::float_operation(Operation& operation, Type type, llvm::ArrayRef<Value> x) {
  return llvm::TypeSwitch<Operation*, Value>(&operation)
      .Case([&](arith::AddFOp) { return exact<spirv::FAddOp>(type, x[0], x[1]); })
      .Case([&](arith::SubFOp) { return exact<spirv::FSubOp>(type, x[0], x[1]); })
      .Case([&](arith::MulFOp) { return exact<spirv::FMulOp>(type, x[0], x[1]); })
      .Case([&](arith::DivFOp) { return exact<spirv::FDivOp>(type, x[0], x[1]); })
      .Case([&](arith::NegFOp) {
        Value bits = float_bits(x[0]);
        return bitcast(type, bit_xor(bits, bits_constant(bits.getType(), sign_mask(type))));
      })
      .Case([&](math::AbsFOp) { return absolute(x[0]); })
      .Case([&](math::CopySignOp) { return with_sign_of(x[0], x[1]); })
      .Case([&](math::FmaOp) { return fused_multiply_add(x[0], x[1], x[2]); })
      .Case([&](math::SqrtOp) { return exact<spirv::GLSqrtOp>(type, x[0]); })
      .Case([&](math::FloorOp) { return exact<spirv::GLFloorOp>(type, x[0]); })
      .Case([&](math::CeilOp) { return with_sign_of(exact<spirv::GLCeilOp>(type, x[0]), x[0]); })
      .Case([&](math::TruncOp) { return with_sign_of(exact<spirv::GLFloorOp>(type, absolute(x[0])), x[0]); })
      .Case([&](math::RoundOp) { return round_away(x[0]); })
      .Case([&](math::RoundEvenOp) { return with_sign_of(exact<spirv::GLRoundEvenOp>(type, absolute(x[0])), x[0]); })
      .Default([](Operation*) { return Value(); });
}

bool VulkanEmitter::emit_float(Operation& operation) {
  if (operation.getNumResults() != 1 || operation.getNumOperands() == 0) return false;
  const Type from = operation.getOperand(0).getType(), to = operation.getResult(0).getType();
  if (!isa<FloatType>(from)) return false;
  llvm::SmallVector<Value, 3> x;
  for (Value operand : operation.getOperands()) x.push_back(number_of(from, value(operand)));
  Value result;
  if (auto compare = dyn_cast<arith::CmpFOp>(operation)) {
    result = compare_floats(compare.getPredicate(), x[0], x[1]);
  } else if (isa<arith::ExtFOp, arith::TruncFOp>(operation)) {
    const Type wide = is_small_float(to) ? builder_.getF32Type() : held_type(to);
    result = x[0].getType() == wide ? x[0] : make<spirv::FConvertOp>(wide, x[0]);
    result = held_float(to, result);
  } else if (isa<thread::RoundTf32Op>(operation)) {
    result = round_tf32(x[0]);
  } else {
    result = operation_with_zero(operation, x[0].getType(), x);
    if (!result) result = float_operation(operation, x[0].getType(), x);
    if (!result) return false;
    result = held_float(to, result);
  }
  bind(operation.getResult(0), result);
  return true;
}

}  // namespace teeny::compiler::vulkan
