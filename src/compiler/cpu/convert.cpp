// Types, constants and conversions of elements.
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinTypes.h>

#include "compiler/cpu/elementwise.hpp"
#include "compiler/dialect/tt/tt.hpp"
#include "teeny/error.hpp"

namespace teeny::compiler::cpu {

void refuse(mlir::Operation* operation, const std::string& rule, const std::string& help) {
  std::string where;
  llvm::raw_string_ostream(where) << operation->getLoc();
  std::string file;
  std::uint32_t line = 0;
  if (auto place = operation->getLoc()->findInstanceOf<mlir::FileLineColLoc>())
    file = place.getFilename().str(), line = place.getLine();
  throw Error(ErrorCode::unsupported,
              operation->getName().getStringRef().str() + ": " + rule + " (" + where + ")\nhelp: " + help, file, line);
}

llvm::Type* value_type(mlir::Type element, llvm::LLVMContext& context) {
  if (mlir::isa<tt::PointerType>(element)) return llvm::PointerType::get(context, 0);
  if (element.isF32()) return llvm::Type::getFloatTy(context);
  if (element.isF64()) return llvm::Type::getDoubleTy(context);
  if (mlir::isa<mlir::IndexType>(element)) return llvm::Type::getInt64Ty(context);
  return llvm::Type::getIntNTy(context, element.getIntOrFloatBitWidth());
}

llvm::Type* memory_type(mlir::Type element, llvm::LLVMContext& context) {
  return element.isInteger(1) ? llvm::Type::getInt8Ty(context) : value_type(element, context);
}

unsigned memory_bytes(mlir::Type element) {
  if (mlir::isa<tt::PointerType, mlir::IndexType>(element)) return 8;
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

llvm::Type* lanes_type(llvm::Type* element, unsigned lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

unsigned lanes_of(llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}

llvm::Value* splat(Builder& builder, llvm::Value* value, unsigned lanes) {
  return lanes == 1 || value->getType()->isVectorTy() ? value : builder.CreateVectorSplat(lanes, value);
}

llvm::Constant* constant_of(mlir::Attribute attribute, mlir::Type element, llvm::LLVMContext& context) {
  llvm::Type* type = value_type(element, context);
  if (auto integer = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute))
    return llvm::ConstantInt::get(context, integer.getValue().sextOrTrunc(type->getIntegerBitWidth()));
  if (auto number = mlir::dyn_cast_or_null<mlir::FloatAttr>(attribute)) {
    if (type->isIntegerTy()) return llvm::ConstantInt::get(context, number.getValue().bitcastToAPInt());
    return llvm::ConstantFP::get(context, number.getValue());
  }
  return llvm::Constant::getNullValue(type);
}

namespace {

llvm::Value* number(llvm::Value* like, std::uint64_t value) { return llvm::ConstantInt::get(like->getType(), value); }

llvm::Type* with_element(llvm::Value* value, llvm::Type* element) { return lanes_type(element, lanes_of(value)); }

// Nearest even on the bits: vcvtneps2bf16 would flush denormals.
llvm::Value* narrow_bf16(Builder& b, llvm::Value* value) {
  llvm::Value* bits = b.CreateBitCast(value, with_element(value, b.getInt32Ty()));
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), number(bits, 1));
  llvm::Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, number(bits, 0x7fff)));
  llvm::Value* quiet = b.CreateOr(bits, number(bits, 0x400000));
  llvm::Value* result = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  return b.CreateTrunc(b.CreateLShr(result, 16), with_element(value, b.getInt16Ty()));
}

// f64 to f32 rounded to odd: a second rounding to fewer bits is then the right one.
llvm::Value* round_to_odd(Builder& b, llvm::Value* value) {
  llvm::Value* nearest = b.CreateFPTrunc(value, with_element(value, b.getFloatTy()));
  llvm::Value* back = b.CreateFPExt(nearest, value->getType());
  llvm::Value* bits = b.CreateBitCast(nearest, with_element(value, b.getInt32Ty()));
  llvm::Value* beyond = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                        b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* toward_zero = b.CreateSelect(beyond, b.CreateSub(bits, number(bits, 1)), bits);
  llvm::Value* odd = b.CreateSelect(b.CreateFCmpONE(back, value), b.CreateOr(toward_zero, number(bits, 1)), bits);
  return b.CreateBitCast(odd, nearest->getType());
}

}  // namespace

llvm::Value* narrow_float(Builder& b, llvm::Value* value, mlir::Type element, bool converts_to_bf16) {
  if (value->getType()->getScalarType()->isDoubleTy()) value = round_to_odd(b, value);
  if (element.isBF16() && !converts_to_bf16) return narrow_bf16(b, value);
  llvm::Value* narrow = b.CreateFPTrunc(value, with_element(value, element.isBF16() ? b.getBFloatTy() : b.getHalfTy()));
  return b.CreateBitCast(narrow, with_element(value, b.getInt16Ty()));
}

llvm::Value* widen_float(Builder& b, llvm::Value* bits, mlir::Type element) {
  llvm::Type* single = with_element(bits, b.getFloatTy());
  if (element.isF16()) return b.CreateFPExt(b.CreateBitCast(bits, with_element(bits, b.getHalfTy())), single);
  llvm::Value* wide = b.CreateZExt(bits, with_element(bits, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(wide, 16), single);
}

}  // namespace teeny::compiler::cpu
