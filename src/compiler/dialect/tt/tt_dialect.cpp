#include "compiler/dialect/tt/tt.hpp"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>

#include "compiler/dialect/tt/tt_dialect.cpp.inc"
#include "compiler/dialect/tt/tt_enums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tt/tt_types.cpp.inc"

namespace teeny::tt {

using namespace mlir;

void TTDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/tt/tt_ops.cpp.inc"
      >();
}

void TTDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialect/tt/tt_types.cpp.inc"
      >();
}

Operation *TTDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

// ptr<f32> or ptr<i8, 3>; address space 1 is not printed.
Type PointerType::parse(AsmParser &parser) {
  Type pointee;
  int space = 1;
  if (parser.parseLess() || parser.parseType(pointee)) return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseInteger(space)) return {};
  if (parser.parseGreater()) return {};
  return PointerType::get(parser.getContext(), pointee, space);
}

void PointerType::print(AsmPrinter &printer) const {
  printer << '<' << getPointeeType();
  if (getAddressSpace() != 1) printer << ", " << getAddressSpace();
  printer << '>';
}

// tensordesc<tensor<128x64xf16>>, and the newer tensordesc<128x64xf16>.
Type TensorDescType::parse(AsmParser &parser) {
  if (parser.parseLess()) return {};
  RankedTensorType block;
  Type type;
  auto location = parser.getCurrentLocation();
  OptionalParseResult spelled = parser.parseOptionalType(type);
  if (spelled.has_value()) {
    if (failed(*spelled)) return {};
    block = dyn_cast<RankedTensorType>(type);
    if (!block) return parser.emitError(location, "tensordesc: needs a block type tensor<…>; got ") << type, Type();
  } else {
    SmallVector<int64_t> shape;
    Type element;
    if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element)) return {};
    block = RankedTensorType::get(shape, element);
  }
  if (parser.parseGreater()) return {};
  return TensorDescType::get(parser.getContext(), block);
}

void TensorDescType::print(AsmPrinter &printer) const { printer << '<' << getBlockType() << '>'; }

}  // namespace teeny::tt
