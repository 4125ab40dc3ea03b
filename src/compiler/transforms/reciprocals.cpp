// Divisions by one number for several elements.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Builders.h>

#include "compiler/dialect/tt/tt.hpp"
#include "expand_math.hpp"

namespace teeny::compiler {

using mlir::Value;

namespace {

bool is_spread(Value divisor) {
  mlir::Operation* definition = divisor.getDefiningOp();
  return mlir::isa_and_nonnull<tt::SplatOp, tt::BroadcastOp>(definition);
}

// 1 / divisor, computed where the divisor has the fewest elements.
Value reciprocal(mlir::OpBuilder& builder, Value divisor) {
  mlir::Operation* definition = divisor.getDefiningOp();
  if (mlir::isa_and_nonnull<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp>(definition)) {
    Value narrow = reciprocal(builder, definition->getOperand(0));
    mlir::Operation* copy = builder.clone(*definition);
    copy->setOperand(0, narrow);
    return copy->getResult(0);
  }
  mlir::TypedAttr one = builder.getF32FloatAttr(1);
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(divisor.getType()))
    one = mlir::DenseElementsAttr::get(tensor, builder.getF32FloatAttr(1).getValue());
  Value constant = mlir::arith::ConstantOp::create(builder, divisor.getLoc(), one);
  return mlir::arith::DivFOp::create(builder, divisor.getLoc(), constant, divisor);
}

}  // namespace

void multiply_by_reciprocals(mlir::Operation* root) {
  llvm::SmallVector<mlir::arith::DivFOp> found;
  root->walk([&](mlir::arith::DivFOp division) {
    if (tt::element_type(division.getType()).isF32() && is_spread(division.getRhs())) found.push_back(division);
  });
  for (mlir::arith::DivFOp division : found) {
    mlir::OpBuilder builder(division);
    Value inverse = reciprocal(builder, division.getRhs());
    division.replaceAllUsesWith(mlir::arith::MulFOp::create(builder, division.getLoc(), division.getLhs(), inverse).getResult());
    division.erase();
  }
}

}  // namespace teeny::compiler
