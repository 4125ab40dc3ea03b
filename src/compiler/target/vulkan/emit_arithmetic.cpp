// Integers and conversions. Integers of less than 32 bits are computed in 32 and cut; signed operations first extend them.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/IR/Matchers.h>

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
  const bool narrow = bits_of(type) < 32, is_bool = bits_of(type) == 1;
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
  const auto least = [&](bool is_signed) {
    return computed([&](Value a, Value b) { return select(less(a, b, is_signed), a, b); }, is_signed);
  };
  const auto most = [&](bool is_signed) {
    return computed([&](Value a, Value b) { return select(less(b, a, is_signed), a, b); }, is_signed);
  };
  return llvm::TypeSwitch<Operation*, Value>(&operation)
      .Case([&](arith::AddIOp) { return plain.operator()<spirv::IAddOp>(false); })
      .Case([&](arith::SubIOp) { return plain.operator()<spirv::ISubOp>(false); })
      .Case([&](arith::MulIOp) { return plain.operator()<spirv::IMulOp>(false); })
      .Case([&](arith::AndIOp) { return is_bool ? make<spirv::LogicalAndOp>(held, left, right) : plain.operator()<spirv::BitwiseAndOp>(false); })
      .Case([&](arith::OrIOp) { return is_bool ? make<spirv::LogicalOrOp>(held, left, right) : plain.operator()<spirv::BitwiseOrOp>(false); })
      .Case([&](arith::XOrIOp) { return is_bool ? make<spirv::LogicalNotEqualOp>(held, left, right) : plain.operator()<spirv::BitwiseXorOp>(false); })
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
      .Case([&](arith::MinSIOp) { return least(true); })
      .Case([&](arith::MaxSIOp) { return most(true); })
      .Case([&](arith::MinUIOp) { return least(false); })
      .Case([&](arith::MaxUIOp) { return most(false); })
      .Default([](Operation*) { return Value(); });
}

namespace {

bool is_signed_predicate(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  return predicate == P::slt || predicate == P::sle || predicate == P::sgt || predicate == P::sge;
}

arith::CmpIPredicate unsigned_predicate(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
    case P::slt: return P::ult;
    case P::sle: return P::ule;
    case P::sgt: return P::ugt;
    case P::sge: return P::uge;
    default: return predicate;
  }
}

// An extension to 64 bits of what fits 32.
template <class Extension>
Extension extension_of(Value number) {
  auto extension = number.getDefiningOp<Extension>();
  return extension && number.getType().isInteger(64) ? extension : Extension();
}

}  // namespace

// Numbers that were extended are compared as what they were.
Value VulkanEmitter::compare_extended(arith::CmpIOp compare) {
  const bool is_signed = extension_of<arith::ExtSIOp>(compare.getLhs()) || extension_of<arith::ExtSIOp>(compare.getRhs());
  const auto narrow = [&](Value number) -> Value {
    APInt given;
    if (matchPattern(number, m_ConstantInt(&given))) {
      const bool fits = is_signed ? given.isSignedIntN(32) : given.isIntN(32);
      return fits ? word(std::uint32_t(given.getZExtValue())) : Value();
    }
    if (auto extension = extension_of<arith::ExtSIOp>(number); extension && is_signed)
      return signed_value(extension.getIn().getType(), value(extension.getIn()));
    if (auto extension = extension_of<arith::ExtUIOp>(number); extension && !is_signed)
      return extension.getIn().getType().isInteger(1) ? from_bool(value(extension.getIn())) : value(extension.getIn());
    return {};
  };
  const bool any = is_signed || extension_of<arith::ExtUIOp>(compare.getLhs()) || extension_of<arith::ExtUIOp>(compare.getRhs());
  if (!any) return {};
  Value a = narrow(compare.getLhs()), b = narrow(compare.getRhs());
  if (a && b) return compare_numbers(is_signed ? compare.getPredicate() : unsigned_predicate(compare.getPredicate()), a, b);
  // All numbers of 32 bits are on one side of a constant that is none of them, but for unsigned orders of signed ones.
  const bool ordered_otherwise = is_signed && !is_signed_predicate(compare.getPredicate()) &&
                                 compare.getPredicate() != arith::CmpIPredicate::eq &&
                                 compare.getPredicate() != arith::CmpIPredicate::ne;
  APInt left(64, 0), right(64, 0);
  const bool beside_constant = matchPattern(compare.getLhs(), m_ConstantInt(&left)) != matchPattern(compare.getRhs(), m_ConstantInt(&right));
  if (!beside_constant || ordered_otherwise || (!a && !b)) return {};
  return constant(builder_.getBoolAttr(arith::applyCmpPredicate(compare.getPredicate(), left, right)));
}

Value VulkanEmitter::compare_integers(arith::CmpIOp compare) {
  if (Value narrow = compare_extended(compare)) return narrow;
  const Type type = compare.getLhs().getType();
  const arith::CmpIPredicate predicate = compare.getPredicate();
  const bool is_signed = is_signed_predicate(predicate);
  const auto number = [&](Value operand) {
    Value held = value(operand);
    if (is_signed) return signed_value(type, held);
    return bits_of(type) == 1 ? from_bool(held) : held;
  };
  return compare_numbers(predicate, number(compare.getLhs()), number(compare.getRhs()));
}

// 64 bits are compared by halves, which is what GPUs do: Mesa 22.3 gets the comparison of a number that it knows to be extended
// and a constant wrong.
Value VulkanEmitter::equal(Value a, Value b) {
  if (a.getType() == word_type()) return make<spirv::IEqualOp>(bool_type(), a, b);
  const Type pair = VectorType::get(2, word_type());
  Value both[2] = {bitcast(pair, a), bitcast(pair, b)};
  return make<spirv::LogicalAndOp>(bool_type(), equal(extract(both[0], 0), extract(both[1], 0)),
                                   equal(extract(both[0], 1), extract(both[1], 1)));
}

Value VulkanEmitter::less(Value a, Value b, bool is_signed) {
  if (a.getType() == word_type())
    return is_signed ? make<spirv::SLessThanOp>(bool_type(), a, b) : make<spirv::ULessThanOp>(bool_type(), a, b);
  const Type pair = VectorType::get(2, word_type());
  Value both[2] = {bitcast(pair, a), bitcast(pair, b)};
  Value high[2] = {extract(both[0], 1), extract(both[1], 1)};
  Value lower = make<spirv::LogicalAndOp>(bool_type(), equal(high[0], high[1]), less(extract(both[0], 0), extract(both[1], 0), false));
  return make<spirv::LogicalOrOp>(bool_type(), less(high[0], high[1], is_signed), lower);
}

Value VulkanEmitter::compare_numbers(arith::CmpIPredicate predicate, Value a, Value b) {
  using P = arith::CmpIPredicate;
  const bool is_signed = is_signed_predicate(predicate);
  switch (predicate) {
    case P::eq: return equal(a, b);
    case P::ne: return negated(equal(a, b));
    case P::slt: case P::ult: return less(a, b, is_signed);
    case P::sgt: case P::ugt: return less(b, a, is_signed);
    case P::sle: case P::ule: return negated(less(b, a, is_signed));
    case P::sge: case P::uge: return negated(less(a, b, is_signed));
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
    return select(less(x, long_word(0), true), y, long_word(0));
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
            Value negative = less(number, zero(number.getType()), true);
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
