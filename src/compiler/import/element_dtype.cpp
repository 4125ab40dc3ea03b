#include "compiler/import/element_dtype.hpp"

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler {

DType dtype_of(mlir::Type element, bool is_signed) {
  if (mlir::isa<tt::PointerType>(element)) return DType::u64;
  if (element.isF16()) return DType::f16;
  if (element.isBF16()) return DType::bf16;
  if (element.isF32()) return DType::f32;
  if (element.isF64()) return DType::f64;
  switch (element.getIntOrFloatBitWidth()) {
    case 1:
      return DType::boolean;
    case 8:
      return is_signed ? DType::i8 : DType::u8;
    case 16:
      return is_signed ? DType::i16 : DType::u16;
    case 32:
      return is_signed ? DType::i32 : DType::u32;
    default:
      return is_signed ? DType::i64 : DType::u64;
  }
}

}  // namespace teeny::compiler
