#include "compiler/transforms/legalise_ttir.hpp"

#include <mlir/Dialect/GPU/IR/GPUDialect.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/IR/BuiltinDialect.h>

namespace teeny::compiler {

using namespace mlir;

namespace {

// dense<16> : tensor<1xi32> as numbers; none for other attributes or a count that is not the value's rank.
SmallVector<int64_t> promise(Operation* op, StringRef name) {
  SmallVector<int64_t> numbers;
  auto dense = op->getAttrOfType<DenseIntElementsAttr>(name);
  auto single = op->getAttrOfType<IntegerAttr>(name);
  if (dense)
    for (const APInt& number : dense.getValues<APInt>()) numbers.push_back(number.getSExtValue());
  else if (single)
    numbers.push_back(single.getInt());
  const size_t rank = std::max<size_t>(1, tt::shape_of(op->getResult(0).getType()).size());
  if (numbers.size() != rank) numbers.clear();
  return numbers;
}

void legalise_promises(Operation* op) {
  constexpr StringLiteral names[] = {"tt.divisibility", "tt.contiguity", "tt.constancy"};
  if (llvm::none_of(names, [&](StringRef name) { return op->hasAttr(name); })) return;
  if (op->getNumResults() == 1) {
    SmallVector<int64_t> divisibility = promise(op, names[0]), contiguity = promise(op, names[1]);
    if (!divisibility.empty() || !contiguity.empty()) {
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      Value value = op->getResult(0);
      auto array = [&](ArrayRef<int64_t> numbers) {
        return numbers.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(numbers);
      };
      auto hint =
          tt::HintOp::create(builder, op->getLoc(), value.getType(), value, array(divisibility), array(contiguity));
      value.replaceAllUsesExcept(hint, hint);
    }
  }
  for (StringRef name : names) op->removeAttr(name);
}

LogicalResult legalise(Operation* op) {
  OpBuilder builder(op);
  if (isa<gpu::BarrierOp>(op)) {
    tt::BarrierOp::create(builder, op->getLoc());
    op->erase();
    return success();
  }
  if (auto assume = dyn_cast<LLVM::AssumeOp>(op)) {
    tt::AssumeOp::create(builder, op->getLoc(), assume.getCond());
    op->erase();
    return success();
  }
  if (auto call = dyn_cast<tt::ExternElementwiseOp>(op)) {
    Value value = legalise_extern(builder, call);
    if (!value) {
      InFlightDiagnostic error = op->emitOpError("names '") << call.getSymbol() << "' on " << op->getOperandTypes()
                                                            << ", which has no counterpart in teeny";
      error.attachNote()
          << "help: exp, exp2, log, log2, sin, cos, tanh, erf, sqrt, rsqrt, floor, ceil, trunc, abs, fma, min, max, "
             "mulhi, isnan, isinf and rounded arithmetic (_rn) are read";
      return error;
    }
    call.replaceAllUsesWith(value);
    op->erase();
    return success();
  }
  if (auto dot = dyn_cast<tt::DotOp>(op))
    if (!tt::element_type(dot.getA().getType()).isF32()) dot.setInputPrecision(tt::InputPrecision::IEEE);
  if (auto reshape = dyn_cast<tt::ReshapeOp>(op)) {
    reshape.setAllowReorder(false);
    reshape.setEfficientLayout(false);
  }
  legalise_promises(op);
  Dialect* dialect = op->getDialect();
  if (isa_and_nonnull<BuiltinDialect, tt::TTDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                      ub::UBDialect, cf::ControlFlowDialect>(dialect))
    return success();
  InFlightDiagnostic error = op->emitOpError("is no operation of a kernel; got dialect '")
                             << op->getName().getDialectNamespace() << "', expected tt, arith, math, scf, cf or ub";
  error.attachNote() << "help: pass the .ttir file, not a later stage such as .ttgir";
  return error;
}

// Scalars, pointers, descriptors, and tensors of a known size that a program can hold.
LogicalResult check_type(Operation* op, Type type) {
  constexpr int64_t max_elements = int64_t{1} << 20;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (auto descriptor = dyn_cast<tt::TensorDescType>(type)) tensor = descriptor.getBlockType();
  if (tensor) {
    bool fits = tensor.hasStaticShape() && !tensor.getEncoding();
    int64_t elements = 1;
    for (int64_t extent : fits ? tensor.getShape() : ArrayRef<int64_t>()) {
      fits = fits && extent > 0 && extent <= max_elements / elements;
      if (fits) elements *= extent;
    }
    if (!fits)
      return op->emitOpError("has a value of type ")
             << type << "; expected a fixed shape of at most 1048576 elements, no layout";
  }
  Type element = tensor ? tensor.getElementType() : type;
  if (auto pointer = dyn_cast<tt::PointerType>(element)) element = pointer.getPointeeType();
  const bool integer = element.isSignlessInteger(1) || element.isSignlessInteger(8) || element.isSignlessInteger(16) ||
                       element.isSignlessInteger(32) || element.isSignlessInteger(64);
  if (integer || isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element)) return success();
  return op->emitOpError("has a value of type ") << type << "; expected elements i1, i8 to i64, f16, bf16, f32 or f64";
}

LogicalResult check_types(Operation* op) {
  for (Type type : op->getResultTypes())
    if (failed(check_type(op, type))) return failure();
  for (Region& region : op->getRegions())
    for (Block& block : region)
      for (Type type : block.getArgumentTypes())
        if (failed(check_type(op, type))) return failure();
  return success();
}

struct LegaliseTtir : PassWrapper<LegaliseTtir, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LegaliseTtir)
  StringRef getArgument() const override { return "teeny-legalise-ttir"; }
  StringRef getDescription() const override { return "Turn what Python Triton writes beside tt into tt"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<tt::TTDialect, arith::ArithDialect, math::MathDialect>();
  }
  void runOnOperation() override {
    SmallVector<Operation*> operations;
    getOperation()->walk([&](Operation* op) { operations.push_back(op); });
    bool legal = true;
    for (Operation* op : operations) legal &= succeeded(check_types(op)) && succeeded(legalise(op));
    if (!legal) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<Pass> create_legalise_ttir_pass() { return std::make_unique<LegaliseTtir>(); }
void register_legalise_ttir_pass() { PassRegistration<LegaliseTtir>(); }

}  // namespace teeny::compiler
