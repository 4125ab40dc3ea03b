// Integers and conversions. Integers of less than 32 bits are computed in 32 and cut; signed operations first extend them.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>

#include "compiler/target/vulkan/vulkan_emitter.hpp"

namespace teeny::compiler::vulkan {

using namespace mlir;

Value VulkanEmitter::from_bool(Value condition) { return select(condition, word(1), word(0)); }

Value VulkanEmitter::signed_value(Type type, Value held) {
  const unsigned width = bits_of(type);
  if (width == 1) return select(held, word(~0u), word(0));
  if (width >= 32) return held;
  return make<spirv::ShiftRightArithmeticOp>(word_type(), shift_left(held, word(32 - width)), word(32 - width));
}

Value VulkanEmitter::held_value(Type type, Value number) {
  const unsigned width = bits_of(type);
  if (width < 64 && number.getType() == long_type()) number = low_word(number);
  if (width == 1) return make<spirv::INotEqualOp>(bool_type(), bit_and(number, word(1)), word(0));
  return width < 32 ? bit_and(number, word((1u << width) - 1)) : number;
}

Value VulkanEmitter::integer_operation(Operation& operation, Type type, Value left, Value right) {
  const Type held = held_type(type);
  const bool narrow = bits_of(type) < 32;
  const auto unsigned_number = [&](Value x) { return bits_of(type) == 1 ? from_bool(x) : x; };
  const auto computed = [&](auto work, bool is_signed) -> Value {
    Value a = is_signed ? signed_value(type, left) : unsigned_number(left);
    Value b = is_signed ? signed_value(type, right) : unsigned_number(right);
    Value result = work(a, b);
    return narrow ? held_value(type, result) : result;
  };
  const Type wide = bits_of(type) == 1 ? word_type() : held;
  const auto plain = [&]<class Op>(bool is_signed) {
    return computed([&](Value a, Value b) { return make<Op>(wide, a, b); }, is_signed);
  };
  const auto least = [&]<class Compare>(bool is_signed) {
    return computed([&](Value a, Value b) { return select(make<Compare>(bool_type(), a, b), a, b); }, is_signed);
  };
  return llvm::TypeSwitch<Operation*, Value>(&operation)
      .Case([&](arith::AddIOp) { return plain.operator()<spirv::IAddOp>(false); })
      .Case([&](arith::SubIOp) { return plain.operator()<spirv::ISubOp>(false); })
      .Case([&](arith::MulIOp) { return plain.operator()<spirv::IMulOp>(false); })
      .Case([&](arith::AndIOp) { return plain.operator()<spirv::BitwiseAndOp>(false); })
      .Case([&](arith::OrIOp) { return plain.operator()<spirv::BitwiseOrOp>(false); })
      .Case([&](arith::XOrIOp) { return plain.operator()<spirv::BitwiseXorOp>(false); })
      .Case([&](arith::DivUIOp) { return plain.operator()<spirv::UDivOp>(false); })
      .Case([&](arith::RemUIOp) { return plain.operator()<spirv::UModOp>(false); })
      .Case([&](arith::DivSIOp) { return plain.operator()<spirv::SDivOp>(true); })
      // SPIR-V leaves the remainder of negative operands open.
      .Case([&](arith::RemSIOp) {
        return computed([&](Value a, Value b) { return sub(a, multiply(make<spirv::SDivOp>(wide, a, b), b)); }, true);
      })
      .Case([&](arith::ShLIOp) { return plain.operator()<spirv::ShiftLeftLogicalOp>(false); })
      .Case([&](arith::ShRUIOp) { return plain.operator()<spirv::ShiftRightLogicalOp>(false); })
      .Case([&](arith::ShRSIOp) {
        Value result = make<spirv::ShiftRightArithmeticOp>(wide, signed_value(type, left), unsigned_number(right));
        return narrow ? held_value(type, result) : result;
      })
      .Case([&](arith::MinSIOp) { return least.operator()<spirv::SLessThanOp>(true); })
      .Case([&](arith::MaxSIOp) { return least.operator()<spirv::SGreaterThanOp>(true); })
      .Case([&](arith::MinUIOp) { return least.operator()<spirv::ULessThanOp>(false); })
      .Case([&](arith::MaxUIOp) { return least.operator()<spirv::UGreaterThanOp>(false); })
      .Default([](Operation*) { return Value(); });
}

Value VulkanEmitter::compare_integers(arith::CmpIOp compare) {
  using P = arith::CmpIPredicate;
  const Type type = compare.getLhs().getType();
  const P predicate = compare.getPredicate();
  const bool is_signed = predicate == P::slt || predicate == P::sle || predicate == P::sgt || predicate == P::sge;
  const auto number = [&](Value operand) {
    Value held = value(operand);
    if (is_signed) return signed_value(type, held);
    return bits_of(type) == 1 ? from_bool(held) : held;
  };
  Value a = number(compare.getLhs()), b = number(compare.getRhs());
  switch (predicate) {
    case P::eq: return equal(a, b);
    case P::ne: return make<spirv::INotEqualOp>(bool_type(), a, b);
    case P::slt: return make<spirv::SLessThanOp>(bool_type(), a, b);
    case P::sle: return make<spirv::SLessThanEqualOp>(bool_type(), a, b);
    case P::sgt: return make<spirv::SGreaterThanOp>(bool_type(), a, b);
    case P::sge: return make<spirv::SGreaterThanEqualOp>(bool_type(), a, b);
    case P::ult: return below(a, b);
    case P::ule: return make<spirv::ULessThanEqualOp>(bool_type(), a, b);
    case P::ugt: return make<spirv::UGreaterThanOp>(bool_type(), a, b);
    case P::uge: return make<spirv::UGreaterThanEqualOp>(bool_type(), a, b);
  }
  return {};
}

Value VulkanEmitter::convert_integer(Operation& operation, bool is_signed) {
  const Type from = operation.getOperand(0).getType(), to = operation.getResult(0).getType();
  Value held = value(operation.getOperand(0));
  Value number = is_signed ? signed_value(from, held) : from.isInteger(1) ? from_bool(held) : held;
  if (bits_of(to) <= 32 || number.getType() == long_type()) return held_value(to, number);
  return is_signed ? make<spirv::SConvertOp>(long_type(), number) : widened(number);
}

Value VulkanEmitter::convert_to_float(Type from, Type to, Value held, bool is_signed) {
  const Type computed = is_small_float(to) ? builder_.getF32Type() : held_type(to);
  Value number = is_signed ? signed_value(from, held) : from.isInteger(1) ? from_bool(held) : held;
  Value result = is_signed ? make<spirv::ConvertSToFOp>(computed, number) : make<spirv::ConvertUToFOp>(computed, number);
  return held_float(to, result);
}

Value VulkanEmitter::convert_to_integer(Type to, Value number, bool is_signed) {
  const Type computed = bits_of(to) <= 32 ? word_type() : long_type();
  Value result = is_signed ? make<spirv::ConvertFToSOp>(computed, number) : make<spirv::ConvertFToUOp>(computed, number);
  return held_value(to, result);
}

// Bits are counted and found in words of 32 bits.
Value VulkanEmitter::bit_operation(Operation& operation) {
  const Type type = operation.getResult(0).getType();
  const unsigned width = bits_of(type);
  Value held = value(operation.getOperand(0));
  if (width == 1) held = from_bool(held);
  const bool is_long = width == 64;
  Value low = is_long ? low_word(held) : held;
  Value high = is_long ? low_word(shift_right(held, long_word(32))) : Value();
  const auto result = [&](Value number) { return is_long ? widened(number) : held_value(type, number); };
  // FindUMsb and FindILsb give -1 for 0.
  const auto leading = [&](Value x) { return sub(word(31), make<spirv::GLFindUMsbOp>(word_type(), x)); };
  const auto trailing = [&](Value x) { return make<spirv::GLFindILsbOp>(word_type(), x); };
  if (isa<math::CtPopOp>(operation)) {
    Value count = make<spirv::BitCountOp>(word_type(), low);
    return result(is_long ? add(count, make<spirv::BitCountOp>(word_type(), high)) : count);
  }
  if (isa<math::CountLeadingZerosOp>(operation)) {
    if (!is_long) return result(sub(leading(low), word(32 - width)));
    return result(select(equal(high, word(0)), add(leading(low), word(32)), leading(high)));
  }
  if (!is_long) return result(select(equal(low, word(0)), word(width), trailing(low)));
  Value above = select(equal(high, word(0)), word(64), add(trailing(high), word(32)));
  return result(select(equal(low, word(0)), above, trailing(low)));
}

void VulkanEmitter::multiply_extended(Operation& operation, bool is_signed) {
  const Type type = operation.getResult(0).getType();
  const unsigned width = bits_of(type);
  Value a = value(operation.getOperand(0)), b = value(operation.getOperand(1));
  if (width < 64) {
    const auto wide = [&](Value x) {
      return is_signed ? make<spirv::SConvertOp>(long_type(), signed_value(type, x)) : widened(width == 1 ? from_bool(x) : x);
    };
    Value product = multiply(wide(a), wide(b));
    bind(operation.getResult(0), held_value(type, product));
    return bind(operation.getResult(1), held_value(type, shift_right(product, long_word(width))));
  }
  // By halves: none of the sums passes 64 bits.
  Value half = long_word(32), mask = long_word(0xffffffff);
  Value a0 = bit_and(a, mask), a1 = shift_right(a, half), b0 = bit_and(b, mask), b1 = shift_right(b, half);
  Value middle = add(multiply(a1, b0), shift_right(multiply(a0, b0), half));
  Value other = add(multiply(a0, b1), bit_and(middle, mask));
  Value high = add(add(multiply(a1, b1), shift_right(middle, half)), shift_right(other, half));
  const auto correction = [&](Value x, Value y) {
    return select(make<spirv::SLessThanOp>(bool_type(), x, long_word(0)), y, long_word(0));
  };
  if (is_signed) high = sub(sub(high, correction(a, b)), correction(b, a));
  bind(operation.getResult(0), multiply(a, b));
  bind(operation.getResult(1), high);
}

bool VulkanEmitter::emit_arithmetic(Operation& operation) {
  if (auto extended = dyn_cast<arith::MulUIExtendedOp>(operation)) return multiply_extended(operation, false), true;
  if (auto extended = dyn_cast<arith::MulSIExtendedOp>(operation)) return multiply_extended(operation, true), true;
  if (operation.getNumResults() != 1 || operation.getNumOperands() == 0) return false;
  const Type from = operation.getOperand(0).getType(), to = operation.getResult(0).getType();
  Value first = value(operation.getOperand(0));
  Value result =
      llvm::TypeSwitch<Operation*, Value>(&operation)
          .Case([&](arith::CmpIOp op) { return compare_integers(op); })
          .Case([&](arith::SelectOp op) {
            return select(first, value(op.getTrueValue()), value(op.getFalseValue()));
          })
          .Case<arith::ExtUIOp, arith::TruncIOp>([&](auto) { return convert_integer(operation, false); })
          .Case([&](arith::ExtSIOp) { return convert_integer(operation, true); })
          .Case([&](arith::SIToFPOp) { return convert_to_float(from, to, first, true); })
          .Case([&](arith::UIToFPOp) { return convert_to_float(from, to, first, false); })
          .Case([&](arith::FPToSIOp) { return convert_to_integer(to, number_of(from, first), true); })
          .Case([&](arith::FPToUIOp) { return convert_to_integer(to, number_of(from, first), false); })
          .Case([&](arith::BitcastOp) { return bitcast(held_type(to), first); })
          .Case([&](math::AbsIOp) {
            Value number = signed_value(to, first);
            Value negative = make<spirv::SLessThanOp>(bool_type(), number, zero(number.getType()));
            return held_value(to, select(negative, sub(zero(number.getType()), number), number));
          })
          .Case<math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp>([&](auto) { return bit_operation(operation); })
          .Default([&](Operation*) {
            if (operation.getNumOperands() != 2 || !isa<IntegerType>(to)) return Value();
            return integer_operation(operation, to, first, value(operation.getOperand(1)));
          });
  if (!result) return false;
  bind(operation.getResult(0), result);
  return true;
}

}  // namespace teeny::compiler::vulkan
