#include "expand_math.hpp"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "math_emitter.hpp"

namespace teeny::compiler {

using mlir::Value;

namespace {

using Emit = Value (*)(MathEmitter&, Value);

Emit emit_of(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, Emit>(op)
      .Case<mlir::math::ExpOp>([](auto) { return emit_exp; })
      .Case<mlir::math::Exp2Op>([](auto) { return emit_exp2; })
      .Case<mlir::math::LogOp>([](auto) { return emit_log; })
      .Case<mlir::math::Log2Op>([](auto) { return emit_log2; })
      .Case<mlir::math::SinOp>([](auto) { return emit_sin; })
      .Case<mlir::math::CosOp>([](auto) { return emit_cos; })
      .Case<mlir::math::ErfOp>([](auto) { return emit_erf; })
      .Case<mlir::math::TanhOp>([](auto) { return emit_tanh; })
      .Case<mlir::math::RsqrtOp>([](auto) { return emit_rsqrt; })
      .Default([](auto) { return Emit(nullptr); });
}

// Formats narrower than f32 are computed there: its 13 or more further bits make the one rounding back all but exact.
Value emit_widened(mlir::ImplicitLocOpBuilder& builder, Value x, Emit emit, MathFacts facts) {
  mlir::Type type = x.getType();
  bool narrow = mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32;
  mlir::Type computed = narrow ? with_element_type(type, builder.getF32Type()) : type;
  MathEmitter emitter(builder, computed, facts);
  if (narrow) x = mlir::arith::ExtFOp::create(builder, computed, x);
  Value result = emit(emitter, x);
  if (narrow) result = mlir::arith::TruncFOp::create(builder, type, result);
  return result;
}

bool is_supported(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isF64() || element.isF32() ||
         (llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() <= 16);
}

class ExpandMathPass : public mlir::PassWrapper<ExpandMathPass, mlir::OperationPass<>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)

  ExpandMathPass() = default;
  explicit ExpandMathPass(MathFacts facts) { set(facts); }
  ExpandMathPass(const ExpandMathPass& other) : PassWrapper(other) { set(other.facts()); }

  llvm::StringRef getArgument() const override { return "teeny-expand-math"; }
  llvm::StringRef getDescription() const override { return "write mathematical functions out in arithmetic"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  }
  void runOnOperation() override {
    if (failed(expand_math(getOperation(), facts()))) signalPassFailure();
  }

 private:
  MathFacts facts() const { return {.fma_fused = fma_fused, .division_rounds = division_rounds}; }
  void set(MathFacts facts) {
    fma_fused = facts.fma_fused;
    division_rounds = facts.division_rounds;
  }

  Option<bool> fma_fused{*this, "fma-fused", llvm::cl::desc("math.fma rounds once on the target"),
                         llvm::cl::init(true)};
  Option<bool> division_rounds{*this, "division-rounds",
                               llvm::cl::desc("f32 division is correctly rounded on the target"), llvm::cl::init(true)};
};

}  // namespace

mlir::LogicalResult expand_math(mlir::Operation* root, MathFacts facts) {
  llvm::SmallVector<mlir::Operation*> found;
  root->walk([&](mlir::Operation* op) {
    if (emit_of(op)) found.push_back(op);
  });
  for (mlir::Operation* op : found) {
    Value operand = op->getOperand(0);
    if (!is_supported(operand.getType()))
      return op->emitOpError("can be expanded for f16, bf16, f32 and f64 only; got ") << operand.getType();
    mlir::ImplicitLocOpBuilder builder(op->getLoc(), op);
    op->getResult(0).replaceAllUsesWith(emit_widened(builder, operand, emit_of(op), facts));
    op->erase();
  }
  return mlir::success();
}

Value expand_sigmoid(mlir::OpBuilder& builder, mlir::Location location, Value x, MathFacts facts) {
  mlir::ImplicitLocOpBuilder located(location, builder);
  return emit_widened(located, x, emit_sigmoid, facts);
}

std::unique_ptr<mlir::Pass> create_expand_math_pass(MathFacts facts) { return std::make_unique<ExpandMathPass>(facts); }

void register_expand_math_pass() { mlir::PassRegistration<ExpandMathPass>(); }

}  // namespace teeny::compiler
