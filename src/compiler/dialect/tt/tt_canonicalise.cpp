// Canonical forms of tt that pay on every device: scalars stay scalars as long as they can, masks that say nothing go.
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/IR/Matchers.h>
#include <mlir/IR/PatternMatch.h>

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::tt {

using namespace mlir;

namespace {

// Zeros of a type of elements.
Value zeros(PatternRewriter &rewriter, Location location, Type type) {
  return arith::ConstantOp::create(rewriter, location, cast<TypedAttr>(rewriter.getZeroAttr(type)));
}

// expand_dims, broadcast, reshape or trans of a splat is the splat.
template <class Op>
struct ShapeOfSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto splat = op.getSrc().template getDefiningOp<SplatOp>();
    if (!splat) return failure();
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), splat.getSrc());
    return success();
  }
};

struct BroadcastOfBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getSrc().getDefiningOp<BroadcastOp>();
    if (!inner) return failure();
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getSrc());
    return success();
  }
};

// A new dimension of size 1 does not move elements, and neither does a reshape.
struct ReshapeOfExpandDims : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getSrc().getDefiningOp<ExpandDimsOp>();
    if (!inner) return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getSrc());
    return success();
  }
};

// The scalar that a tensor repeats, made if it is a constant; null otherwise.
Value scalar_of(Value tensor, PatternRewriter &rewriter) {
  if (auto splat = tensor.getDefiningOp<SplatOp>()) return splat.getSrc();
  DenseElementsAttr constant;
  if (!matchPattern(tensor, m_Constant(&constant)) || !constant.isSplat()) return {};
  return arith::ConstantOp::create(rewriter, tensor.getLoc(), cast<TypedAttr>(constant.getSplatValue<Attribute>()));
}

bool repeats_scalar(Value value) {
  if (value.getDefiningOp<SplatOp>()) return true;
  DenseElementsAttr constant;
  return isa<RankedTensorType>(value.getType()) && matchPattern(value, m_Constant(&constant)) && constant.isSplat();
}

bool is_element_wise(Operation *op) {
  if (isa<AddPtrOp, BitcastOp, IntToPtrOp, PtrToIntOp, FpToFpOp, ClampFOp, PreciseSqrtOp, PreciseDivFOp, MulhiUIOp>(op))
    return true;
  return op->hasTrait<OpTrait::Elementwise>() && isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

// An element-wise operation on splats alone is done once, on scalars.
struct ElementWiseOfSplats : RewritePattern {
  explicit ElementWiseOfSplats(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0 || op->getNumRegions() != 0 || !is_element_wise(op))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !llvm::all_of(op->getOperands(), repeats_scalar)) return failure();
    // Constants alone are arith's to fold.
    if (llvm::none_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp<SplatOp>(); }))
      return failure();
    SmallVector<Value> scalars;
    for (Value operand : op->getOperands()) scalars.push_back(scalar_of(operand, rewriter));
    Operation *scalar =
        Operation::create(op->getLoc(), op->getName(), type.getElementType(), scalars,
                          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(), BlockRange(), 0);
    rewriter.insert(scalar);
    rewriter.replaceOpWithNewOp<SplatOp>(op, type, scalar->getResult(0));
    return success();
  }
};

// addptr(addptr(p, a), b) is addptr(p, a + b) where the sum cannot overflow: in 64 bits, where it wraps as addresses
// do, and for constants whose sum is seen to fit.
struct AddPtrOfAddPtr : OpRewritePattern<AddPtrOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddPtrOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getPtr().getDefiningOp<AddPtrOp>();
    if (!inner || inner.getOffset().getType() != op.getOffset().getType()) return failure();
    Value sum;
    APInt first, second;
    bool overflow = false;
    if (matchPattern(inner.getOffset(), m_ConstantInt(&first)) &&
        matchPattern(op.getOffset(), m_ConstantInt(&second))) {
      APInt total = first.sadd_ov(second, overflow);
      if (overflow) return failure();
      Type type = op.getOffset().getType();
      TypedAttr attribute = rewriter.getIntegerAttr(element_type(type), total);
      if (auto tensor = dyn_cast<RankedTensorType>(type)) attribute = DenseElementsAttr::get(tensor, attribute);
      sum = arith::ConstantOp::create(rewriter, op.getLoc(), attribute);
    } else if (element_type(op.getOffset().getType()).isInteger(64) && inner->hasOneUse()) {
      sum = arith::AddIOp::create(rewriter, op.getLoc(), inner.getOffset(), op.getOffset());
    } else {
      return failure();
    }
    rewriter.replaceOpWithNewOp<AddPtrOp>(op, inner.getPtr(), sum);
    return success();
  }
};

// True or false where the mask is so in every lane.
std::optional<bool> known_mask(Value mask) {
  APInt bit;
  if (mask && matchPattern(mask, m_ConstantInt(&bit))) return !bit.isZero();
  auto splat = mask ? mask.getDefiningOp<SplatOp>() : SplatOp();
  if (splat && matchPattern(splat.getSrc(), m_ConstantInt(&bit))) return !bit.isZero();
  return std::nullopt;
}

struct LoadOfKnownMask : OpRewritePattern<LoadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoadOp op, PatternRewriter &rewriter) const override {
    auto mask = known_mask(op.getMask());
    if (!mask) return failure();
    if (*mask) {
      rewriter.replaceOpWithNewOp<LoadOp>(op, op.getPtr(), Value(), Value(), op.getCache(), op.getEvict(),
                                          op.getIsVolatile());
      return success();
    }
    rewriter.replaceOp(op, op.getOther() ? op.getOther() : zeros(rewriter, op.getLoc(), op.getType()));
    return success();
  }
};

struct StoreOfKnownMask : OpRewritePattern<StoreOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(StoreOp op, PatternRewriter &rewriter) const override {
    auto mask = known_mask(op.getMask());
    if (!mask) return failure();
    if (*mask) rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    else rewriter.eraseOp(op);
    return success();
  }
};

struct AtomicOfKnownMask : OpRewritePattern<AtomicRMWOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AtomicRMWOp op, PatternRewriter &rewriter) const override {
    auto mask = known_mask(op.getMask());
    if (!mask) return failure();
    if (*mask) rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    else if (op.getSem() == MemSemantic::RELAXED) rewriter.replaceOp(op, zeros(rewriter, op.getLoc(), op.getType()));
    else return failure();
    return success();
  }
};

// What is known to hold needs neither promise nor check.
template <class Op>
struct ConditionHolds : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (known_mask(op.getCondition()) != true) return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

// Folding along an axis of one element combines nothing.
struct ReduceOfOne : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    if (shape_of(op.getSrcs()[0].getType())[op.getAxis()] != 1) return failure();
    SmallVector<Value> results;
    for (auto [source, type] : llvm::zip(op.getSrcs(), op.getResultTypes())) {
      if (isa<RankedTensorType>(type)) results.push_back(ReshapeOp::create(rewriter, op.getLoc(), type, source));
      else results.push_back(UnsplatOp::create(rewriter, op.getLoc(), type, source));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

}  // namespace

void TTDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<ShapeOfSplat<ExpandDimsOp>, ShapeOfSplat<BroadcastOp>, ShapeOfSplat<ReshapeOp>, ShapeOfSplat<TransOp>,
               BroadcastOfBroadcast, ReshapeOfExpandDims, ElementWiseOfSplats>(patterns.getContext());
}

void AddPtrOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AddPtrOfAddPtr>(context);
}
void AssumeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ConditionHolds<AssumeOp>>(context);
}
void AssertOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ConditionHolds<AssertOp>>(context);
}
void LoadOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<LoadOfKnownMask>(context);
}
void StoreOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<StoreOfKnownMask>(context);
}
void AtomicRMWOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AtomicOfKnownMask>(context);
}
void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReduceOfOne>(context);
}

}  // namespace teeny::tt
