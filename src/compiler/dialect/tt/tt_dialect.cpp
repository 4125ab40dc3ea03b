#include "compiler/dialect/tt/tt.hpp"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>
#include <mlir/Transforms/InliningUtils.h>

#include "compiler/dialect/tt/tt_dialect.cpp.inc"
#include "compiler/dialect/tt/tt_enums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tt/tt_types.cpp.inc"

namespace teeny::tt {

using namespace mlir;

namespace {

// Device functions are always inlined, noinline or not: no backend has calls.
struct InlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
  void handleTerminator(Operation *op, Block *next) const final {
    auto end = dyn_cast<ReturnOp>(op);
    if (!end) return;
    OpBuilder builder(op);
    cf::BranchOp::create(builder, op->getLoc(), next, end.getOperands());
    op->erase();
  }
  void handleTerminator(Operation *op, ValueRange values) const final {
    if (auto end = dyn_cast<ReturnOp>(op))
      for (auto [value, result] : llvm::zip(values, end.getOperands())) value.replaceAllUsesWith(result);
  }
};

ParseResult refuse_block_pointer(OpAsmParser &parser, OperationState &) {
  return parser.emitError(parser.getNameLoc(),
                          "block pointers of Triton 3.7 and older are not read; help: use tensor "
                          "descriptors in the kernel, or the .ttir that Triton writes instead of .source");
}

ParseResult refuse_operation(OpAsmParser &parser, OperationState &state) {
  return parser.emitError(parser.getNameLoc(), "'") << state.name.getStringRef()
                                                    << "' is not built in teeny; help: rewrite the "
                                                       "kernel without it, docs/language.md lists what there is";
}

// Triton 3.3's name for what is descriptor_load or descriptor_store since 3.4; the text is the same.
template <class Op>
ParseResult parse_as(OpAsmParser &parser, OperationState &state) {
  state.name = OperationName(Op::getOperationName(), parser.getContext());
  return Op::parse(parser, state);
}

}  // namespace

std::optional<Dialect::ParseOpHook> TTDialect::getParseOperationHook(StringRef name) const {
  if (name == "tt.make_tensor_ptr" || name == "tt.advance") return ParseOpHook(refuse_block_pointer);
  if (name == "tt.experimental_descriptor_load") return ParseOpHook(parse_as<DescriptorLoadOp>);
  if (name == "tt.experimental_descriptor_store") return ParseOpHook(parse_as<DescriptorStoreOp>);
  return ParseOpHook(refuse_operation);
}

void TTDialect::initialize() {
  addInterfaces<InlinerInterface>();
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

LogicalResult PointerType::verify(function_ref<InFlightDiagnostic()> emit_error, Type pointee, int) {
  if (isa<RankedTensorType>(pointee))
    return emit_error() << "block pointers (here a pointer to " << pointee
                        << ") of Triton 3.7 and older are not read; help: use "
                        << "tensor descriptors in the kernel, or the .ttir that Triton writes instead of .source";
  if (!pointee.isIntOrFloat()) return emit_error() << "a pointer points to integers or floats; got " << pointee;
  return success();
}

// ptr<f32> or ptr<i8, 3>; address space 1 is not printed.
Type PointerType::parse(AsmParser &parser) {
  Type pointee;
  int space = 1;
  auto location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseType(pointee)) return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseInteger(space)) return {};
  if (parser.parseGreater()) return {};
  return parser.getChecked<PointerType>(location, parser.getContext(), pointee, space);
}

void PointerType::print(AsmPrinter &printer) const {
  printer << '<' << getPointeeType();
  if (getAddressSpace() != 1) printer << ", " << getAddressSpace();
  printer << '>';
}

LogicalResult TensorDescType::verify(function_ref<InFlightDiagnostic()> emit_error, RankedTensorType block) {
  if (block.getRank() >= 1 && block.getRank() <= 5 && block.hasStaticShape() && block.getElementType().isIntOrFloat() &&
      !block.getEncoding())
    return success();
  return emit_error() << "tensordesc: needs a block of rank 1 to 5, fixed shape and integer or float elements; got "
                      << block;
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
    block = parser.getChecked<RankedTensorType>(location, shape, element, Attribute());
    if (!block) return {};
  }
  if (parser.parseGreater()) return {};
  return parser.getChecked<TensorDescType>(location, parser.getContext(), block);
}

void TensorDescType::print(AsmPrinter &printer) const { printer << '<' << getBlockType() << '>'; }

}  // namespace teeny::tt
