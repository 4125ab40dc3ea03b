// Element-wise operations: dispatch by operation name and the arithmetic of each kind.
#include "compiler/cpu/elementwise.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler::cpu {

namespace {

using Intrinsic = llvm::Intrinsic::ID;
using Operands = llvm::ArrayRef<llvm::Value*>;
namespace arith = mlir::arith;

struct Context {
  Builder& b;
  mlir::Operation* op;
  Operands x;
  const CpuOptions& options;

  mlir::Type from() const { return tt::element_type(op->getOperand(0).getType()); }
  mlir::Type to() const { return tt::element_type(op->getResult(0).getType()); }
  llvm::Type* result_type() const { return lanes_type(value_type(to(), b.getContext()), lanes_of(x[0])); }
  llvm::Value* narrowed(llvm::Value* value) const { return narrow_float(b, value, to(), options.converts_to_bf16); }
  llvm::Constant* integer(std::int64_t value) const { return llvm::ConstantInt::get(x[0]->getType(), value, true); }
};

bool is_small_float(mlir::Type type) { return type.isF16() || type.isBF16(); }

using Emit = llvm::Value* (*)(const Context&);
struct Entry {
  Emit emit;
  bool floating = false;  // f16 and bf16 operands are widened, and a float result narrowed
};

// ---- integers

// Division never traps: lanes that a mask discards may hold any divisor. x / 0 and x % 0 give 0, min / -1 wraps.
llvm::Value* divide(const Context& c, bool is_signed, bool remainder) {
  Builder& b = c.b;
  if (c.op->hasAttr("teeny.exact")) {  // guarded already
    if (is_signed) return remainder ? b.CreateSRem(c.x[0], c.x[1]) : b.CreateSDiv(c.x[0], c.x[1]);
    return remainder ? b.CreateURem(c.x[0], c.x[1]) : b.CreateUDiv(c.x[0], c.x[1]);
  }
  llvm::Value *zero = c.integer(0), *one = c.integer(1), *minus_one = c.integer(-1);
  llvm::Value* is_zero = b.CreateICmpEQ(c.x[1], zero);
  llvm::Value* divisor = b.CreateSelect(is_zero, one, c.x[1]);
  if (!is_signed) {
    llvm::Value* result = remainder ? b.CreateURem(c.x[0], divisor) : b.CreateUDiv(c.x[0], divisor);
    return b.CreateSelect(is_zero, zero, result);
  }
  llvm::Value* negates = b.CreateICmpEQ(c.x[1], minus_one);
  divisor = b.CreateSelect(negates, one, divisor);
  llvm::Value* result = remainder ? b.CreateSRem(c.x[0], divisor) : b.CreateSDiv(c.x[0], divisor);
  if (!remainder) result = b.CreateSelect(negates, b.CreateNeg(c.x[0]), result);
  return b.CreateSelect(is_zero, zero, result);
}

enum class Shift { left, logical, arithmetic };

// A shift by the width or more gives what shifting one by one would.
llvm::Value* shift(const Context& c, Shift kind) {
  Builder& b = c.b;
  if (c.op->hasAttr("teeny.exact")) {
    if (kind == Shift::arithmetic) return b.CreateAShr(c.x[0], c.x[1]);
    return kind == Shift::left ? b.CreateShl(c.x[0], c.x[1]) : b.CreateLShr(c.x[0], c.x[1]);
  }
  unsigned width = c.x[0]->getType()->getScalarSizeInBits();
  llvm::Value* inside = b.CreateICmpULT(c.x[1], c.integer(width));
  if (kind == Shift::arithmetic) return b.CreateAShr(c.x[0], b.CreateSelect(inside, c.x[1], c.integer(width - 1)));
  llvm::Value* amount = b.CreateSelect(inside, c.x[1], c.integer(0));
  llvm::Value* moved = kind == Shift::left ? b.CreateShl(c.x[0], amount) : b.CreateLShr(c.x[0], amount);
  return b.CreateSelect(inside, moved, c.integer(0));
}

llvm::CmpInst::Predicate predicate_of(arith::CmpIPredicate predicate) {
  using P = llvm::CmpInst;
  static constexpr P::Predicate table[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT,
                                           P::ICMP_SGE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return table[static_cast<int>(predicate)];
}

llvm::CmpInst::Predicate predicate_of(arith::CmpFPredicate predicate) {
  using P = llvm::CmpInst;
  static constexpr P::Predicate table[] = {
      P::FCMP_FALSE, P::FCMP_OEQ, P::FCMP_OGT, P::FCMP_OGE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_ONE, P::FCMP_ORD,
      P::FCMP_UEQ,   P::FCMP_UGT, P::FCMP_UGE, P::FCMP_ULT, P::FCMP_ULE, P::FCMP_UNE, P::FCMP_UNO, P::FCMP_TRUE};
  return table[static_cast<int>(predicate)];
}

llvm::Value* high_half(const Context& c) {
  unsigned width = c.x[0]->getType()->getScalarSizeInBits();
  llvm::Type* wide = lanes_type(c.b.getIntNTy(width * 2), lanes_of(c.x[0]));
  llvm::Value* product = c.b.CreateMul(c.b.CreateZExt(c.x[0], wide), c.b.CreateZExt(c.x[1], wide));
  return c.b.CreateTrunc(c.b.CreateLShr(product, width), c.x[0]->getType());
}

// ---- conversions

llvm::Value* float_to_float(const Context& c) {
  Builder& b = c.b;
  llvm::Value* value = c.x[0];
  if (c.from() == c.to()) return value;
  if (is_small_float(c.from())) value = widen_float(b, value, c.from());
  if (is_small_float(c.to())) return c.narrowed(value);
  if (value->getType() == c.result_type()) return value;
  return b.CreateFPCast(value, c.result_type());
}

llvm::Value* integer_to_float(const Context& c, bool is_signed) {
  Builder& b = c.b;
  auto convert = [&](llvm::Value* value, llvm::Type* element) {
    llvm::Type* type = lanes_type(element, lanes_of(value));
    return is_signed ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
  };
  if (!is_small_float(c.to())) return convert(c.x[0], c.result_type()->getScalarType());
  llvm::Value* value = c.x[0];
  unsigned width = value->getType()->getScalarSizeInBits();
  if (width <= 16) return c.narrowed(convert(value, b.getFloatTy()));
  if (width == 64) {
    // Beyond 2^53 the ten lowest bits only say whether the value lies between two others: fold them into the eleventh.
    llvm::Value* high = b.CreateAnd(value, c.integer(~0x7ffll));
    llvm::Value* sticky = b.CreateSelect(b.CreateICmpNE(b.CreateAnd(value, c.integer(0x7ff)), c.integer(0)),
                                         c.integer(0x400), c.integer(0));
    llvm::Value* magnitude = is_signed ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, b.getFalse()) : value;
    llvm::Value* large = b.CreateICmpUGE(magnitude, c.integer(1ll << 53));
    value = b.CreateSelect(large, b.CreateOr(high, sticky), value);
  }
  return c.narrowed(convert(value, b.getDoubleTy()));
}

// Truncates, saturates, NaN gives 0.
llvm::Value* float_to_integer(const Context& c, bool is_signed) {
  llvm::Value* value = is_small_float(c.from()) ? widen_float(c.b, c.x[0], c.from()) : c.x[0];
  Intrinsic id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return c.b.CreateIntrinsic(id, {c.result_type(), value->getType()}, {value});
}

llvm::Value* change_bits(const Context& c) {
  return c.x[0]->getType() == c.result_type() ? c.x[0] : c.b.CreateBitCast(c.x[0], c.result_type());
}

llvm::Value* extend(const Context& c, bool is_signed) {
  unsigned from = c.x[0]->getType()->getScalarSizeInBits(), to = c.result_type()->getScalarSizeInBits();
  if (to <= from) return to == from ? c.x[0] : c.b.CreateTrunc(c.x[0], c.result_type());
  return is_signed ? c.b.CreateSExt(c.x[0], c.result_type()) : c.b.CreateZExt(c.x[0], c.result_type());
}

// ---- floats (operands and result are float or double here)

template <Intrinsic id>
llvm::Value* unary(const Context& c) {
  return c.b.CreateUnaryIntrinsic(id, c.x[0]);
}
template <Intrinsic id>
llvm::Value* binary(const Context& c) {
  return c.b.CreateBinaryIntrinsic(id, c.x[0], c.x[1]);
}

llvm::Value* clamp(const Context& c) {
  Builder& b = c.b;
  llvm::Value* low = b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, c.x[0], c.x[1]);
  llvm::Value* result = b.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, low, c.x[2]);
  if (mlir::cast<tt::ClampFOp>(c.op).getPropagateNan() == tt::PropagateNan::NONE) return result;
  return b.CreateSelect(b.CreateFCmpUNO(c.x[0], c.x[0]), c.x[0], result);
}

// fma of 16-bit floats: the product is exact in f64, the sum is rounded to odd, the caller rounds to nearest.
llvm::Value* small_fma(const Context& c) {
  Builder& b = c.b;
  llvm::Type* wide = lanes_type(b.getDoubleTy(), lanes_of(c.x[0]));
  llvm::Value* v[3];
  for (int i = 0; i < 3; ++i) v[i] = b.CreateFPExt(widen_float(b, c.x[i], c.from()), wide);
  llvm::Value* product = b.CreateFMul(v[0], v[1]);
  llvm::Value* sum = b.CreateFAdd(product, v[2]);
  llvm::Value* other = b.CreateFSub(sum, product);
  llvm::Value* error = b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, other)), b.CreateFSub(v[2], other));
  llvm::Type* integer = lanes_type(b.getInt64Ty(), lanes_of(sum));
  llvm::Value* bits = b.CreateBitCast(sum, integer);
  llvm::Value* zero = llvm::ConstantFP::get(wide, 0);
  llvm::Value* overshoots =
      b.CreateICmpSLT(b.CreateXor(b.CreateBitCast(error, integer), bits), llvm::ConstantInt::get(integer, 0));
  llvm::Value* one = llvm::ConstantInt::get(integer, 1);
  llvm::Value* inexact = b.CreateFCmpONE(error, zero);
  llvm::Value* odd = b.CreateOr(b.CreateSelect(overshoots, b.CreateSub(bits, one), bits), one);
  return c.narrowed(b.CreateBitCast(b.CreateSelect(inexact, odd, bits), wide));
}

llvm::Value* sign_bits(const Context& c, bool negate) {
  Builder& b = c.b;
  if (!is_small_float(c.from()))
    return negate ? b.CreateFNeg(c.x[0]) : b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, c.x[0]);
  return negate ? b.CreateXor(c.x[0], c.integer(0x8000)) : b.CreateAnd(c.x[0], c.integer(0x7fff));
}

#define BINARY(call) [](const Context& c) -> llvm::Value* { return c.b.call(c.x[0], c.x[1]); }
#define EMIT(expression) [](const Context& c) -> llvm::Value* { return expression; }

llvm::StringMap<Entry> make_table() {
  llvm::StringMap<Entry> t;
  t["arith.addi"] = {BINARY(CreateAdd)}, t["arith.subi"] = {BINARY(CreateSub)}, t["arith.muli"] = {BINARY(CreateMul)};
  t["arith.andi"] = {BINARY(CreateAnd)}, t["arith.ori"] = {BINARY(CreateOr)}, t["arith.xori"] = {BINARY(CreateXor)};
  t["arith.divsi"] = {EMIT(divide(c, true, false))}, t["arith.divui"] = {EMIT(divide(c, false, false))};
  t["arith.remsi"] = {EMIT(divide(c, true, true))}, t["arith.remui"] = {EMIT(divide(c, false, true))};
  t["arith.shli"] = {EMIT(shift(c, Shift::left))}, t["arith.shrui"] = {EMIT(shift(c, Shift::logical))};
  t["arith.shrsi"] = {EMIT(shift(c, Shift::arithmetic))};
  t["arith.minsi"] = {binary<llvm::Intrinsic::smin>}, t["arith.maxsi"] = {binary<llvm::Intrinsic::smax>};
  t["arith.minui"] = {binary<llvm::Intrinsic::umin>}, t["arith.maxui"] = {binary<llvm::Intrinsic::umax>};
  t["arith.cmpi"] = {
      EMIT(c.b.CreateICmp(predicate_of(mlir::cast<arith::CmpIOp>(c.op).getPredicate()), c.x[0], c.x[1]))};
  t["arith.select"] = {EMIT(c.b.CreateSelect(c.x[0], c.x[1], c.x[2]))};
  t["arith.extsi"] = {EMIT(extend(c, true))}, t["arith.extui"] = {EMIT(extend(c, false))};
  t["arith.trunci"] = {EMIT(c.b.CreateTrunc(c.x[0], c.result_type()))};
  t["arith.index_cast"] = {EMIT(extend(c, true))}, t["arith.index_castui"] = {EMIT(extend(c, false))};
  t["arith.extf"] = {float_to_float}, t["arith.truncf"] = {float_to_float};
  t["arith.sitofp"] = {EMIT(integer_to_float(c, true))}, t["arith.uitofp"] = {EMIT(integer_to_float(c, false))};
  t["arith.fptosi"] = {EMIT(float_to_integer(c, true))}, t["arith.fptoui"] = {EMIT(float_to_integer(c, false))};
  t["arith.bitcast"] = {change_bits}, t["tt.bitcast"] = {change_bits};
  t["arith.addf"] = {BINARY(CreateFAdd), true}, t["arith.subf"] = {BINARY(CreateFSub), true};
  t["arith.mulf"] = {BINARY(CreateFMul), true}, t["arith.divf"] = {BINARY(CreateFDiv), true};
  t["arith.remf"] = {BINARY(CreateFRem), true};  // of f64: fmod, which is exact
  t["arith.negf"] = {EMIT(sign_bits(c, true))}, t["math.absf"] = {EMIT(sign_bits(c, false))};
  t["arith.minnumf"] = {binary<llvm::Intrinsic::minimumnum>, true},
  t["arith.maxnumf"] = {binary<llvm::Intrinsic::maximumnum>, true};
  t["arith.minimumf"] = {binary<llvm::Intrinsic::minimum>, true},
  t["arith.maximumf"] = {binary<llvm::Intrinsic::maximum>, true};
  t["arith.cmpf"] = {EMIT(c.b.CreateFCmp(predicate_of(mlir::cast<arith::CmpFOp>(c.op).getPredicate()), c.x[0], c.x[1])),
                     true};
  t["math.fma"] = {EMIT(c.b.CreateIntrinsic(llvm::Intrinsic::fma, {c.x[0]->getType()}, {c.x[0], c.x[1], c.x[2]}))};
  t["math.sqrt"] = {unary<llvm::Intrinsic::sqrt>, true}, t["tt.precise_sqrt"] = {unary<llvm::Intrinsic::sqrt>, true};
  t["math.floor"] = {unary<llvm::Intrinsic::floor>, true}, t["math.ceil"] = {unary<llvm::Intrinsic::ceil>, true};
  t["math.trunc"] = {unary<llvm::Intrinsic::trunc>, true}, t["math.round"] = {unary<llvm::Intrinsic::round>, true};
  t["math.roundeven"] = {unary<llvm::Intrinsic::roundeven>, true};
  t["math.copysign"] = {binary<llvm::Intrinsic::copysign>, true};
  t["math.absi"] = {EMIT(c.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, c.x[0], c.b.getFalse()))};
  t["math.ctpop"] = {unary<llvm::Intrinsic::ctpop>};
  t["math.ctlz"] = {EMIT(c.b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, c.x[0], c.b.getFalse()))};
  t["math.cttz"] = {EMIT(c.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, c.x[0], c.b.getFalse()))};
  t["tt.precise_divf"] = {BINARY(CreateFDiv), true}, t["tt.clampf"] = {clamp, true};
  t["tt.fp_to_fp"] = {float_to_float}, t["tt.mulhiui"] = {high_half};
  t["tt.ptr_to_int"] = {EMIT(c.b.CreatePtrToInt(c.x[0], c.result_type()))};
  t["tt.int_to_ptr"] = {EMIT(c.b.CreateIntToPtr(c.x[0], c.result_type()))};
  t["tt.hint"] = {EMIT(c.x[0])};
  t["tt.addptr"] = {EMIT(
      c.b.CreateGEP(memory_type(tt::pointee_type(c.op->getResult(0).getType()), c.b.getContext()), c.x[0], c.x[1]))};
  return t;
}

const Entry* find(mlir::Operation* operation) {
  static const llvm::StringMap<Entry> table = make_table();
  auto found = table.find(operation->getName().getStringRef());
  return found == table.end() ? nullptr : &found->second;
}

llvm::SmallVector<llvm::Value*, 2> multiply_extended(const Context& c, bool is_signed) {
  Builder& b = c.b;
  unsigned width = c.x[0]->getType()->getScalarSizeInBits();
  llvm::Type* wide = lanes_type(b.getIntNTy(width * 2), lanes_of(c.x[0]));
  auto extended = [&](llvm::Value* value) { return is_signed ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide); };
  llvm::Value* product = b.CreateMul(extended(c.x[0]), extended(c.x[1]));
  return {b.CreateTrunc(product, c.x[0]->getType()), b.CreateTrunc(b.CreateLShr(product, width), c.x[0]->getType())};
}

}  // namespace

bool is_elementwise(mlir::Operation* operation) {
  return find(operation) || mlir::isa<arith::MulUIExtendedOp, arith::MulSIExtendedOp>(operation);
}

llvm::SmallVector<llvm::Value*, 2> apply(Builder& builder, mlir::Operation* operation, Operands operands,
                                         const CpuOptions& options) {
  Context context{builder, operation, operands, options};
  if (mlir::isa<arith::MulUIExtendedOp>(operation)) return multiply_extended(context, false);
  if (mlir::isa<arith::MulSIExtendedOp>(operation)) return multiply_extended(context, true);
  const Entry* entry = find(operation);
  if (!entry)
    refuse(operation, "must be an operation that the CPU knows",
           "expand it before code generation, or write it with other operations");
  if (auto rounded = mlir::dyn_cast<tt::FpToFpOp>(operation); rounded && rounded.getRounding() == tt::RoundingMode::RTZ)
    refuse(operation, "rounds to nearest even on a CPU; got rounding = rtz", "use rtne");
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  if (options.contract) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    builder.setFastMathFlags(flags);
  }
  bool small = operation->getNumOperands() && is_small_float(context.from());
  if (small && mlir::isa<mlir::math::FmaOp>(operation)) return {small_fma(context)};
  if (!small || !entry->floating) return {entry->emit(context)};
  llvm::SmallVector<llvm::Value*, 3> wide;
  for (llvm::Value* value : operands) wide.push_back(widen_float(builder, value, context.from()));
  context.x = wide;
  llvm::Value* result = entry->emit(context);
  return {is_small_float(context.to()) ? context.narrowed(result) : result};
}

}  // namespace teeny::compiler::cpu
