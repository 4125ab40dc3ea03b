#include "compiler/dialect/thread/thread.hpp"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Transforms/InliningUtils.h>

#include "compiler/dialect/thread/thread_dialect.cpp.inc"
#include "compiler/dialect/thread/thread_enums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/thread/thread_types.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/thread/thread_ops.cpp.inc"

namespace teeny::thread {

using namespace mlir;

void ThreadDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialect/thread/thread_types.cpp.inc"
      >();
}

void ThreadDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/thread/thread_ops.cpp.inc"
      >();
}

static unsigned bytes_of(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

// The accessed scalars: of one type that has a form in memory, and as many as one access can be.
static LogicalResult verify_scalars(Operation* op, TypeRange types) {
  if (types.empty()) return op->emitOpError("moves at least one element");
  Type type = types.front();
  if (type.isInteger(1)) return op->emitOpError("rule: an i1 has no form in memory; got i1, expected i8");
  for (Type other : types)
    if (other != type) return op->emitOpError("rule: all elements are of one type; got ") << other << " beside " << type;
  if (!llvm::isPowerOf2_64(types.size())) return op->emitOpError("rule: the number of elements is a power of two");
  return success();
}

static LogicalResult verify_element(Operation* op, SharedType array, TypeRange types) {
  if (failed(verify_scalars(op, types))) return failure();
  if (types.front() != array.getElement())
    return op->emitOpError("rule: elements are of the array's type; got ") << types.front() << ", expected " << array.getElement();
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verify_scalars(*this, getResultTypes()))) return failure();
  if (!getOther().empty() && getOther().getTypes() != getResultTypes())
    return emitOpError("rule: there is an `other` for each result");
  if (!getOther().empty() && !getMask()) return emitOpError("rule: `other` goes with a mask");
  return success();
}

LogicalResult StoreOp::verify() { return verify_scalars(*this, getValues().getTypes()); }
LogicalResult SharedLoadOp::verify() { return verify_element(*this, getArray().getType(), getResultTypes()); }
LogicalResult SharedStoreOp::verify() { return verify_element(*this, getArray().getType(), getValues().getTypes()); }

LogicalResult CopyAsyncOp::verify() {
  if (getBytes() != 4 && getBytes() != 8 && getBytes() != 16)
    return emitOpError("rule: copies 4, 8 or 16 bytes; got ") << getBytes();
  return success();
}

static LogicalResult verify_matrices(Operation* op, SharedType array, unsigned count, bool transpose, TypeRange types) {
  if (count != 1 && count != 2 && count != 4) return op->emitOpError("rule: moves 1, 2 or 4 matrices; got ") << count;
  unsigned bytes = bytes_of(array.getElement());
  if (bytes > 4 || (transpose && bytes != 2)) return op->emitOpError("rule: elements have up to 32 bits, 16 where transposed");
  if (types.size() != count * 4 / bytes)
    return op->emitOpError("rule: each matrix is ") << 4 / bytes << " elements of a lane; got " << types.size();
  for (Type type : types)
    if (type != array.getElement()) return op->emitOpError("rule: elements are of the array's type; got ") << type;
  return success();
}

LogicalResult MatrixLoadOp::verify() {
  return verify_matrices(*this, getArray().getType(), getCount(), getTranspose(), getResultTypes());
}
LogicalResult MatrixStoreOp::verify() {
  return verify_matrices(*this, getArray().getType(), getCount(), getTranspose(), getValues().getTypes());
}

LogicalResult MmaOp::verify() {
  if (getAccumulators().getTypes() != getResultTypes()) return emitOpError("rule: the results are of the accumulators' types");
  if (getA().empty() || getB().empty() || getAccumulators().empty()) return emitOpError("rule: no fragment is empty");
  return success();
}

// Rows of 32, 64 or 128 bytes; 0 where the operand is in no memory.
static bool is_swizzle(unsigned bytes) { return bytes == 32 || bytes == 64 || bytes == 128; }

LogicalResult MmaAsyncOp::verify() {
  if (getAccumulators().getTypes() != getResultTypes()) return emitOpError("rule: the results are of the accumulators' types");
  if (getAccumulators().empty()) return emitOpError("rule: no fragment is empty");
  if (getA().empty() != bool(getAArray())) return emitOpError("rule: a is in registers or in memory, not in both");
  if (bool(getAArray()) != bool(getAIndex())) return emitOpError("rule: an array has an index");
  if (!is_swizzle(getBSwizzle()) || (getAArray() && !is_swizzle(getASwizzle())))
    return emitOpError("rule: a swizzle is of 32, 64 or 128 bytes; got ") << getASwizzle() << " and " << getBSwizzle();
  return success();
}

LogicalResult MmaWaitOp::verify() {
  if (getAccumulators().getTypes() != getResultTypes()) return emitOpError("rule: the results are of the accumulators' types");
  return success();
}

}  // namespace teeny::thread
