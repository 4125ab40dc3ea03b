// Memory operations of tt: builders, effects, verifiers, custom assembly.
#include "compiler/dialect/tt/tt.hpp"

#include <mlir/IR/Builders.h>
#include <mlir/IR/OpImplementation.h>

namespace teeny::tt {

using namespace mlir;

namespace {

// cacheModifier = ca evictionPolicy = evict_last, each optional, in any order.
ParseResult parse_hints(OpAsmParser &parser, OperationState &result, StringRef cache_name, StringRef evict_name) {
  while (true) {
    StringRef keyword;
    if (succeeded(parser.parseOptionalKeyword("cacheModifier"))) {
      auto location = parser.getCurrentLocation();
      if (parser.parseEqual() || parser.parseKeyword(&keyword)) return failure();
      auto value = symbolizeCacheModifier(keyword);
      if (!value) return parser.emitError(location, "unknown cache modifier '") << keyword << "'";
      result.addAttribute(cache_name, CacheModifierAttr::get(parser.getContext(), *value));
    } else if (succeeded(parser.parseOptionalKeyword("evictionPolicy"))) {
      auto location = parser.getCurrentLocation();
      if (parser.parseEqual() || parser.parseKeyword(&keyword)) return failure();
      auto value = symbolizeEvictionPolicy(keyword);
      if (!value) return parser.emitError(location, "unknown eviction policy '") << keyword << "'";
      result.addAttribute(evict_name, EvictionPolicyAttr::get(parser.getContext(), *value));
    } else {
      return success();
    }
  }
}

void print_hints(OpAsmPrinter &printer, CacheModifier cache, EvictionPolicy evict) {
  if (cache != CacheModifier::NONE) printer << " cacheModifier = " << stringifyCacheModifier(cache);
  if (evict != EvictionPolicy::NORMAL) printer << " evictionPolicy = " << stringifyEvictionPolicy(evict);
}

// The value is of the pointee type and the mask of the shape of the pointers.
LogicalResult check_access(Operation *op, Type pointer, Type value, Value mask) {
  if (value != same_shape(pointer, pointee_type(pointer)))
    return op->emitOpError("moves values of ") << same_shape(pointer, pointee_type(pointer)) << "; got " << value;
  if (mask && shape_of(mask.getType()) != shape_of(pointer))
    return op->emitOpError("needs a mask of the pointer's shape");
  return success();
}

}  // namespace

void LoadOp::build(OpBuilder &builder, OperationState &state, Value pointer, Value mask, Value other,
                   CacheModifier cache, EvictionPolicy evict, bool is_volatile) {
  build(builder, state, same_shape(pointer.getType(), pointee_type(pointer.getType())), pointer, mask, other, cache,
        evict, is_volatile);
}

void LoadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getPtrMutable(), GlobalMemory::get());
  if (getIsVolatile()) effects.emplace_back(MemoryEffects::Write::get(), GlobalMemory::get());
}

LogicalResult LoadOp::verify() {
  if (getOther() && !getMask()) return emitOpError("`other` needs a mask");
  if (getOther() && getOther().getType() != getType()) return emitOpError("`other` must have the result's type");
  return check_access(*this, getPtr().getType(), getType(), getMask());
}

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand, 3> operands;
  Type pointer;
  auto location = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) ||
      parse_hints(parser, result, getCacheAttrName(result.name), getEvictAttrName(result.name)) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(pointer))
    return failure();
  if (operands.empty() || operands.size() > 3)
    return parser.emitError(location, "load takes a pointer, a mask and `other`");
  if (!isa<PointerType>(element_type(pointer)))
    return parser.emitError(location, "load needs a pointer; got ") << pointer;
  Type value = same_shape(pointer, pointee_type(pointer));
  Type types[] = {pointer, same_shape(pointer, parser.getBuilder().getI1Type()), value};
  for (auto [operand, type] : llvm::zip(operands, types))
    if (parser.resolveOperand(operand, type, result.operands)) return failure();
  auto &segments = result.getOrAddProperties<LoadOp::Properties>().operandSegmentSizes;
  for (int i = 0; i < 3; ++i) segments[i] = i < static_cast<int>(operands.size());
  result.addTypes(value);
  return success();
}

void LoadOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getOperands();
  print_hints(printer, getCache(), getEvict());
  SmallVector<StringRef> hidden = {getCacheAttrName(), getEvictAttrName(), "operandSegmentSizes"};
  if (!getIsVolatile()) hidden.push_back(getIsVolatileAttrName());
  printer.printOptionalAttrDict((*this)->getAttrs(), hidden);
  printer << " : " << getPtr().getType();
}

LogicalResult StoreOp::verify() { return check_access(*this, getPtr().getType(), getValue().getType(), getMask()); }

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand, 3> operands;
  Type pointer;
  auto location = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) ||
      parse_hints(parser, result, getCacheAttrName(result.name), getEvictAttrName(result.name)) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(pointer))
    return failure();
  if (operands.size() < 2 || operands.size() > 3)
    return parser.emitError(location, "store takes a pointer, a value and a mask");
  if (!isa<PointerType>(element_type(pointer)))
    return parser.emitError(location, "store needs a pointer; got ") << pointer;
  Type types[] = {pointer, same_shape(pointer, pointee_type(pointer)),
                  same_shape(pointer, parser.getBuilder().getI1Type())};
  for (auto [operand, type] : llvm::zip(operands, types))
    if (parser.resolveOperand(operand, type, result.operands)) return failure();
  return success();
}

void StoreOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getOperands();
  print_hints(printer, getCache(), getEvict());
  printer.printOptionalAttrDict((*this)->getAttrs(), {getCacheAttrName(), getEvictAttrName()});
  printer << " : " << getPtr().getType();
}

LogicalResult AtomicRMWOp::verify() {
  if (getType() != getVal().getType()) return emitOpError("gives the old value, of the value's type");
  const RMWOp kind = getAtomicRmwOp();
  Type element = element_type(getType());
  const bool of_floats = kind == RMWOp::FADD || kind == RMWOp::FMAX || kind == RMWOp::FMIN;
  if (kind != RMWOp::XCHG && isa<FloatType>(element) != of_floats)
    return emitOpError("'") << stringifyRMWOp(kind) << "' works on " << (of_floats ? "floats" : "integers") << "; got "
                            << element;
  return check_access(*this, getPtr().getType(), getVal().getType(), getMask());
}

LogicalResult AtomicCASOp::verify() {
  if (getType() != getVal().getType() || getCmp().getType() != getVal().getType())
    return emitOpError("needs expected, desired and old value of one type");
  return check_access(*this, getPtr().getType(), getVal().getType(), nullptr);
}

// ---- descriptors: make_tensor_descriptor %p, [%m, %n], [%s, %c1] {padding = 2 : i32} : <f16>, <tensor<128x64xf16>>

ParseResult MakeTensorDescOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand base;
  SmallVector<OpAsmParser::UnresolvedOperand, 4> shape, strides;
  Builder &builder = parser.getBuilder();
  Type extent = builder.getI32Type();
  if (parser.parseOperand(base) || parser.parseComma() ||
      parser.parseOperandList(shape, OpAsmParser::Delimiter::Square) || parser.parseComma() ||
      parser.parseOperandList(strides, OpAsmParser::Delimiter::Square))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon()) return failure();
  PointerType base_type;
  TensorDescType block;
  if (parser.parseCustomTypeWithFallback(base_type) || parser.parseComma() || parser.parseCustomTypeWithFallback(block))
    return failure();
  if (succeeded(parser.parseOptionalComma()) && parser.parseType(extent)) return failure();
  result.addTypes(block);
  return failure(parser.resolveOperand(base, base_type, result.operands) ||
                 parser.resolveOperands(shape, extent, result.operands) ||
                 parser.resolveOperands(strides, builder.getI64Type(), result.operands));
}

// The extents' type is printed only where it is not Triton's i32.
void MakeTensorDescOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getBase() << ", [" << getShape() << "], [" << getStrides() << ']';
  SmallVector<StringRef> hidden;
  if (getPadding() == PaddingOption::PAD_ZERO) hidden.push_back(getPaddingAttrName());
  printer.printOptionalAttrDict((*this)->getAttrs(), hidden);
  printer << " : ";
  printer.printStrippedAttrOrType(cast<PointerType>(getBase().getType()));
  printer << ", ";
  printer.printStrippedAttrOrType(getType());
  Type extent = getShape().front().getType();
  if (!extent.isInteger(32)) printer << ", " << extent;
}

LogicalResult MakeTensorDescOp::verify() {
  auto block = getType().getBlockType();
  if (getShape().empty() || static_cast<int64_t>(getShape().size()) != block.getRank())
    return emitOpError("needs one extent and one stride a dimension of the block");
  if (!llvm::all_equal(getShape().getTypes())) return emitOpError("needs extents of one type");
  if (cast<PointerType>(getBase().getType()).getPointeeType() != block.getElementType())
    return emitOpError("needs a base pointer to the block's element type");
  return success();
}

// descriptor_load %d[%i, %j] : !tt.tensordesc<tensor<128x64xf16>> -> tensor<128x64xf16>
ParseResult DescriptorLoadOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand descriptor;
  SmallVector<OpAsmParser::UnresolvedOperand, 4> indices;
  Type type, value;
  if (parser.parseOperand(descriptor) || parser.parseOperandList(indices, OpAsmParser::Delimiter::Square) ||
      parse_hints(parser, result, getCacheAttrName(result.name), getEvictAttrName(result.name)) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) || parser.parseArrow() ||
      parser.parseType(value) || parser.resolveOperand(descriptor, type, result.operands) ||
      parser.resolveOperands(indices, parser.getBuilder().getI32Type(), result.operands))
    return failure();
  result.addTypes(value);
  return success();
}

void DescriptorLoadOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getDesc() << '[' << getIndices() << ']';
  print_hints(printer, getCache(), getEvict());
  printer.printOptionalAttrDict((*this)->getAttrs(), {getCacheAttrName(), getEvictAttrName()});
  printer << " : " << getDesc().getType() << " -> " << getType();
}

namespace {

LogicalResult check_block(Operation *op, TensorDescType descriptor, Type value, size_t indices) {
  auto block = descriptor.getBlockType();
  if (static_cast<int64_t>(indices) != block.getRank()) return op->emitOpError("needs one index a dimension");
  // Triton may drop leading dimensions of size 1 from the value.
  auto shape = block.getShape();
  auto wanted = shape_of(value);
  while (shape.size() > wanted.size() && shape.front() == 1) shape = shape.drop_front();
  if (shape != wanted || element_type(value) != block.getElementType())
    return op->emitOpError("moves blocks of ") << block << "; got " << value;
  return success();
}

}  // namespace

LogicalResult DescriptorLoadOp::verify() {
  return check_block(*this, getDesc().getType(), getType(), getIndices().size());
}
LogicalResult DescriptorStoreOp::verify() {
  return check_block(*this, getDesc().getType(), getSrc().getType(), getIndices().size());
}

}  // namespace teeny::tt
