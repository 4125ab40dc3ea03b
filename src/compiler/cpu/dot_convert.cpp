#include "compiler/cpu/dot_emit.hpp"

namespace teeny::compiler::cpu {

namespace {

// Integer arithmetic on the lanes of a vector of floats.
class Bits {
 public:
  Bits(llvm::IRBuilderBase& builder, llvm::Type* like)
      : builder_(builder), lanes_(llvm::cast<llvm::FixedVectorType>(like)->getNumElements()) {}

  llvm::Type* vector(llvm::Type* element) const { return llvm::FixedVectorType::get(element, lanes_); }
  llvm::Type* words() const { return vector(builder_.getInt32Ty()); }
  llvm::Type* halves() const { return vector(builder_.getInt16Ty()); }
  llvm::Type* floats() const { return vector(builder_.getFloatTy()); }
  llvm::Value* word(std::uint32_t value) const { return llvm::ConstantInt::get(words(), value); }
  llvm::Value* real(std::uint32_t bits) const { return builder_.CreateBitCast(word(bits), floats()); }
  llvm::Value* as_words(llvm::Value* value) const { return builder_.CreateBitCast(value, words()); }
  llvm::Value* as_floats(llvm::Value* value) const { return builder_.CreateBitCast(value, floats()); }

  llvm::Value* from_bf16(llvm::Value* value) const {
    llvm::Value* wide = builder_.CreateZExt(builder_.CreateBitCast(value, halves()), words());
    return as_floats(builder_.CreateShl(wide, word(16)));
  }

  // The magnitude's bits, read as an f32, are the value times 2^-112, denormals included.
  llvm::Value* from_f16(llvm::Value* value) const {
    llvm::Value* wide = builder_.CreateZExt(builder_.CreateBitCast(value, halves()), words());
    llvm::Value* magnitude = builder_.CreateAnd(wide, word(0x7FFF));
    llvm::Value* scaled = builder_.CreateFMul(as_floats(builder_.CreateShl(magnitude, word(13))), real(0x77800000));
    llvm::Value* special = builder_.CreateICmpUGE(magnitude, word(0x7C00));
    llvm::Value* bits = builder_.CreateOr(as_words(scaled), builder_.CreateSelect(special, word(0x7F800000), word(0)));
    return as_floats(builder_.CreateOr(bits, builder_.CreateShl(builder_.CreateAnd(wide, word(0x8000)), word(16))));
  }

  // Normal results round by adding half a unit less the parity; small ones let an f32 addition round at 2^-24.
  llvm::Value* to_f16(llvm::Value* value) const {
    llvm::Value* all = as_words(value);
    llvm::Value* magnitude = builder_.CreateAnd(all, word(0x7FFFFFFF));
    llvm::Value* sign = builder_.CreateLShr(builder_.CreateXor(all, magnitude), word(16));
    llvm::Value* small = as_words(builder_.CreateFAdd(as_floats(magnitude), real(0x3F000000)));
    small = builder_.CreateSub(small, word(0x3F000000));
    llvm::Value* parity = builder_.CreateAnd(builder_.CreateLShr(magnitude, word(13)), word(1));
    llvm::Value* normal = builder_.CreateAdd(builder_.CreateAdd(magnitude, word(0xC8000FFF)), parity);
    normal = builder_.CreateLShr(normal, word(13));
    llvm::Value* result = builder_.CreateSelect(builder_.CreateICmpULT(magnitude, word(0x38800000)), small, normal);
    result = builder_.CreateSelect(builder_.CreateICmpUGE(magnitude, word(0x477FF000)), word(0x7C00), result);
    result = builder_.CreateSelect(builder_.CreateICmpUGT(magnitude, word(0x7F800000)), word(0x7E00), result);
    return as_half(builder_.CreateOr(result, sign), builder_.getHalfTy());
  }

  llvm::Value* to_bf16(llvm::Value* value) const {
    llvm::Value* all = as_words(value);
    llvm::Value* parity = builder_.CreateAnd(builder_.CreateLShr(all, word(16)), word(1));
    llvm::Value* rounded = builder_.CreateAdd(builder_.CreateAdd(all, word(0x7FFF)), parity);
    rounded =
        builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), builder_.CreateOr(all, word(0x400000)), rounded);
    return as_half(builder_.CreateLShr(rounded, word(16)), builder_.getBFloatTy());
  }

 private:
  llvm::Value* as_half(llvm::Value* words, llvm::Type* element) const {
    return builder_.CreateBitCast(builder_.CreateTrunc(words, halves()), vector(element));
  }

  llvm::IRBuilderBase& builder_;
  unsigned lanes_;
};

}  // namespace

llvm::Value* emit_float_cast(llvm::IRBuilderBase& builder, const CpuTarget& target, llvm::Value* value,
                             llvm::Type* to) {
  const Bits bits(builder, value->getType());
  llvm::Type* from = value->getType();
  if (from == to) return value;
  const bool soft_f16 = !target.convert_f16;
  if (from->getScalarType()->isBFloatTy()) {
    value = bits.from_bf16(value);
  } else if (soft_f16 && from->getScalarType()->isHalfTy()) {
    value = bits.from_f16(value);
  }
  if (to->getScalarType()->isBFloatTy() && !target.convert_bf16)
    return bits.to_bf16(builder.CreateFPCast(value, bits.floats()));
  if (to->getScalarType()->isHalfTy() && soft_f16) return bits.to_f16(builder.CreateFPCast(value, bits.floats()));
  return builder.CreateFPCast(value, to);
}

}  // namespace teeny::compiler::cpu
