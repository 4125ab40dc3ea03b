// Builders, verifiers and custom assembly of the tt operations.
#include "compiler/dialect/tt/tt.hpp"

#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Interfaces/FunctionImplementation.h>

#define GET_OP_CLASSES
#include "compiler/dialect/tt/tt_ops.cpp.inc"

namespace teeny::tt {

using namespace mlir;

// ---- func, return, call

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addAttribute(getSymVisibilityAttrName(state.name), builder.getStringAttr("public"));
  state.addRegion();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto function_type = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                          function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), function_type,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult ReturnOp::verify() {
  auto function = cast<FuncOp>((*this)->getParentOp());
  if (function.getResultTypes() == getOperandTypes()) return success();
  return emitOpError("returns other types than its function declares");
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!callee) return emitOpError("calls '") << getCallee() << "', which is no function of this module";
  if (callee.getFunctionType() == FunctionType::get(getContext(), getOperandTypes(), getResultTypes()))
    return success();
  return emitOpError("has other types than its callee");
}

// ---- leaves and shape

LogicalResult MakeRangeOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  int64_t length = static_cast<int64_t>(static_cast<int32_t>(getEnd())) - static_cast<int32_t>(getStart());
  if (type.getRank() != 1 || !type.getElementType().isInteger(32)) return emitOpError("gives a rank-1 tensor of i32");
  if (length <= 0) return emitOpError("needs end > start");
  if (type.getDimSize(0) != length)
    return emitOpError("has length ") << length << ", but its type has " << type.getDimSize(0);
  return success();
}

LogicalResult UnsplatOp::verify() {
  auto type = cast<RankedTensorType>(getSrc().getType());
  if (type.getNumElements() != 1) return emitOpError("needs a tensor of one element; got ") << type;
  return success();
}

LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> shape(shape_of(getSrc().getType()));
  if (getAxis() > shape.size()) return emitOpError("axis ") << getAxis() << " is beyond rank " << shape.size();
  shape.insert(shape.begin() + getAxis(), 1);
  if (ArrayRef<int64_t>(shape) != shape_of(getType()))
    return emitOpError("result must be the operand's shape with a 1 at the axis");
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto from = shape_of(getSrc().getType()), to = shape_of(getType());
  if (from.size() != to.size()) return emitOpError("keeps the rank");
  for (auto [source, target] : llvm::zip(from, to))
    if (source != target && source != 1)
      return emitOpError("only repeats dimensions of size 1; got ") << source << " to " << target;
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (cast<ShapedType>(getSrc().getType()).getNumElements() != cast<ShapedType>(getType()).getNumElements())
    return emitOpError("keeps the number of elements");
  return success();
}

LogicalResult TransOp::verify() {
  auto from = shape_of(getSrc().getType()), to = shape_of(getType());
  SmallVector<bool> seen(from.size(), false);
  if (getOrder().size() != from.size() || to.size() != from.size())
    return emitOpError("order must name each dimension once");
  for (auto [index, source] : llvm::enumerate(getOrder())) {
    if (source < 0 || source >= static_cast<int32_t>(from.size()) || seen[source])
      return emitOpError("order must name each dimension once");
    seen[source] = true;
    if (to[index] != from[source]) return emitOpError("result dimension ") << index << " must be " << from[source];
  }
  return success();
}

LogicalResult AddPtrOp::verify() {
  if (shape_of(getPtr().getType()) != shape_of(getOffset().getType()))
    return emitOpError("needs pointer and offset of one shape");
  return success();
}

LogicalResult BitcastOp::verify() {
  Type from = element_type(getSrc().getType()), to = element_type(getType());
  if (shape_of(getSrc().getType()) != shape_of(getType())) return emitOpError("keeps the shape");
  if (isa<PointerType>(from) != isa<PointerType>(to)) return emitOpError("does not turn pointers into elements");
  if (!isa<PointerType>(from) && from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError("keeps the width; got ") << from << " to " << to;
  return success();
}

LogicalResult FpToFpOp::verify() {
  const unsigned from = element_type(getSrc().getType()).getIntOrFloatBitWidth(),
                 to = element_type(getType()).getIntOrFloatBitWidth();
  if (to < from && !getRounding()) return emitOpError("narrowing needs a rounding");
  return success();
}

void ExternElementwiseOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (!getPure()) effects.emplace_back(MemoryEffects::Write::get(), GlobalMemory::get());
}

LogicalResult HintOp::verify() {
  auto rank = std::max<size_t>(1, shape_of(getType()).size());
  for (auto numbers : {getDivisibility(), getContiguity()})
    if (numbers && numbers->size() != rank) return emitOpError("needs one number a dimension");
  return success();
}

// ---- dot, reduce, scan

LogicalResult DotOp::verify() {
  auto a = shape_of(getA().getType()), b = shape_of(getB().getType()), c = shape_of(getC().getType());
  size_t rank = a.size();
  if ((rank != 2 && rank != 3) || b.size() != rank || c.size() != rank)
    return emitOpError("needs operands of rank 2, or 3 with a batch");
  if (rank == 3 && (a[0] != b[0] || a[0] != c[0])) return emitOpError("needs equal batch sizes");
  if (a[rank - 1] != b[rank - 2]) return emitOpError("K of a is ") << a[rank - 1] << ", K of b is " << b[rank - 2];
  if (c[rank - 2] != a[rank - 2] || c[rank - 1] != b[rank - 1]) return emitOpError("accumulator must be M by N");
  if (element_type(getA().getType()) != element_type(getB().getType()))
    return emitOpError("needs operands of one element type");
  Type from = element_type(getA().getType()), to = element_type(getC().getType());
  const bool floats =
      isa<FloatType>(from) && isa<FloatType>(to) && from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  if (!floats && !(from.isInteger(8) && to.isInteger(32)))
    return emitOpError("accumulates i8 in i32 and floats in floats of their width or more; got ")
           << from << " and " << to;
  return success();
}

namespace {

// A combine region takes the elements of both sides and yields one side's; its terminator is `Return`.
template <class Return, class Op>
LogicalResult verify_combine(Op op) {
  if (op.getSrcs().empty()) return op.emitOpError("needs an operand");
  auto rank = shape_of(op.getSrcs()[0].getType()).size();
  if (op.getAxis() >= rank) return op.emitOpError("axis ") << op.getAxis() << " is beyond rank " << rank;
  SmallVector<Type> elements;
  for (Value source : op.getSrcs()) elements.push_back(element_type(source.getType()));
  SmallVector<Type> both(elements);
  both.append(elements.begin(), elements.end());
  Block &block = op.getCombineOp().front();
  if (block.getArgumentTypes() != TypeRange(both))
    return op.emitOpError("combine region takes the elements of both sides");
  auto end = dyn_cast<Return>(block.getTerminator());
  if (!end || end->getOperandTypes() != TypeRange(elements))
    return op.emitOpError("combine region must return one element an operand");
  return success();
}

}  // namespace

LogicalResult ReduceOp::verify() {
  if (failed(verify_combine<ReduceReturnOp>(*this))) return failure();
  SmallVector<int64_t> shape(shape_of(getSrcs()[0].getType()));
  shape.erase(shape.begin() + getAxis());
  if (getNumResults() != getSrcs().size()) return emitOpError("gives one result an operand");
  for (auto [source, result] : llvm::zip(getSrcs(), getResults()))
    if (element_type(source.getType()) != element_type(result.getType()) ||
        shape_of(result.getType()) != ArrayRef<int64_t>(shape))
      return emitOpError("results have the operands' element types, and their shape without the axis");
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verify_combine<ScanReturnOp>(*this))) return failure();
  if (getOperandTypes() != getResultTypes()) return emitOpError("results have the operands' types");
  return success();
}

}  // namespace teeny::tt
