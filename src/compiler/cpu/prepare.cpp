#include "compiler/cpu/prepare.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/Matchers.h>
#include <mlir/IR/PatternMatch.h>

#include "compiler/cpu/elementwise.hpp"

namespace teeny::compiler::cpu {

namespace {

namespace arith = mlir::arith;
namespace scf = mlir::scf;
using Tensor = mlir::RankedTensorType;

// ---- descriptors

// The pointers and the mask of a block of a tensor.
struct Block {
  mlir::Value pointers, mask;
};

mlir::Value widened(mlir::OpBuilder& b, mlir::Location location, mlir::Value value) {
  if (value.getType().isInteger(64)) return value;
  return arith::ExtSIOp::create(b, location, tt::same_shape(value.getType(), b.getI64Type()), value);
}

Block block_of(mlir::OpBuilder& b, mlir::Operation* access, mlir::Value descriptor, mlir::ValueRange indices) {
  auto made = descriptor.getDefiningOp<tt::MakeTensorDescOp>();
  if (!made)
    refuse(access, "needs a descriptor that is made in the kernel, outside of conditions",
           "call make_tensor_descriptor where it is used");
  mlir::Location location = access->getLoc();
  Tensor block = made.getType().getBlockType();
  auto shape = block.getShape();
  auto type = [&](mlir::Type element) { return Tensor::get(shape, element); };
  auto splat = [&](mlir::Value value) -> mlir::Value {
    return tt::SplatOp::create(b, location, type(value.getType()), value);
  };
  Block result;
  mlir::Value offset;
  for (auto [d, extent] : llvm::enumerate(shape)) {
    mlir::Value range = tt::MakeRangeOp::create(b, location, Tensor::get({extent}, b.getI32Type()), 0u,
                                                static_cast<std::uint32_t>(extent));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis == d) continue;
      llvm::SmallVector<std::int64_t> wider(tt::shape_of(range.getType()));
      wider.insert(wider.begin() + static_cast<std::ptrdiff_t>(axis), 1);
      range = tt::ExpandDimsOp::create(b, location, Tensor::get(wider, b.getI32Type()), range,
                                       static_cast<std::uint32_t>(axis));
    }
    mlir::Value place = tt::BroadcastOp::create(b, location, type(b.getI32Type()), range);
    place = arith::AddIOp::create(b, location, splat(widened(b, location, indices[d])), widened(b, location, place));
    mlir::Value zero = splat(arith::ConstantOp::create(b, location, b.getI64IntegerAttr(0)));
    mlir::Value inside = arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, place,
                                               splat(widened(b, location, made.getShape()[d])));
    mlir::Value started = arith::CmpIOp::create(b, location, arith::CmpIPredicate::sge, place, zero);
    inside = arith::AndIOp::create(b, location, started, inside);
    result.mask = result.mask ? arith::AndIOp::create(b, location, result.mask, inside).getResult() : inside;
    mlir::Value step = arith::MulIOp::create(b, location, place, splat(made.getStrides()[d]));
    offset = offset ? arith::AddIOp::create(b, location, offset, step).getResult() : step;
  }
  mlir::Value base = splat(made.getBase());
  result.pointers = tt::AddPtrOp::create(b, location, base.getType(), base, offset);
  return result;
}

mlir::Value padding_of(mlir::OpBuilder& b, mlir::Location location, tt::MakeTensorDescOp made) {
  Tensor block = made.getType().getBlockType();
  mlir::Type element = block.getElementType();
  mlir::TypedAttr value = b.getZeroAttr(element);
  if (auto floating = mlir::dyn_cast<mlir::FloatType>(element);
      floating && made.getPadding() == tt::PaddingOption::PAD_NAN)
    value = mlir::FloatAttr::get(element, llvm::APFloat::getQNaN(floating.getFloatSemantics()));
  return arith::ConstantOp::create(b, location, mlir::DenseElementsAttr::get(block, mlir::Attribute(value)));
}

void lower_load(tt::DescriptorLoadOp load) {
  mlir::OpBuilder b(load);
  Block block = block_of(b, load, load.getDesc(), load.getIndices());
  mlir::Value other = padding_of(b, load.getLoc(), load.getDesc().getDefiningOp<tt::MakeTensorDescOp>());
  mlir::Value value =
      tt::LoadOp::create(b, load.getLoc(), block.pointers, block.mask, other, load.getCache(), load.getEvict(), false);
  if (value.getType() != load.getType()) value = tt::ReshapeOp::create(b, load.getLoc(), load.getType(), value);
  load.replaceAllUsesWith(value);
  load.erase();
}

void lower_store(tt::DescriptorStoreOp store) {
  mlir::OpBuilder b(store);
  Block block = block_of(b, store, store.getDesc(), store.getIndices());
  mlir::Value value = store.getSrc();
  mlir::Type type = store.getDesc().getType().getBlockType();
  if (value.getType() != type) value = tt::ReshapeOp::create(b, store.getLoc(), type, value);
  tt::StoreOp::create(b, store.getLoc(), block.pointers, value, block.mask, tt::CacheModifier::NONE,
                      tt::EvictionPolicy::NORMAL);
  store.erase();
}

// ---- what loops carry

// The scalar that a tensor repeats; null where it does not say so.
mlir::Value repeated(mlir::OpBuilder& b, mlir::Value value) {
  if (auto splat = value.getDefiningOp<tt::SplatOp>()) return splat.getSrc();
  if (auto spread = value.getDefiningOp<tt::BroadcastOp>()) return repeated(b, spread.getSrc());
  mlir::Attribute attribute;
  if (!mlir::matchPattern(value, mlir::m_Constant(&attribute))) return {};
  auto splat = mlir::dyn_cast<mlir::SplatElementsAttr>(attribute);
  if (!splat) return {};
  return arith::ConstantOp::create(b, value.getLoc(),
                                   mlir::cast<mlir::TypedAttr>(splat.getSplatValue<mlir::Attribute>()));
}

bool repeats(mlir::Value value) {
  if (value.getDefiningOp<tt::SplatOp>()) return true;
  if (auto spread = value.getDefiningOp<tt::BroadcastOp>()) return repeats(spread.getSrc());
  mlir::DenseElementsAttr elements;
  return mlir::matchPattern(value, mlir::m_Constant(&elements)) && elements.isSplat();
}

// The steps by which a yielded value moves the carried one; false: it does something else.
bool find_steps(mlir::Value yielded, mlir::Value carried, scf::ForOp loop, llvm::SmallVectorImpl<mlir::Value>& steps) {
  for (; yielded != carried; yielded = yielded.getDefiningOp()->getOperand(0)) {
    mlir::Operation* operation = yielded.getDefiningOp();
    if (!operation || !mlir::isa<tt::AddPtrOp, arith::AddIOp>(operation)) return false;
    mlir::Value step = operation->getOperand(1);
    if (mlir::isa<arith::AddIOp>(operation) && step == carried) return false;
    if (!repeats(step) && !loop.isDefinedOutsideOfLoop(step)) return false;
    steps.push_back(step);
  }
  return !steps.empty() && steps.size() <= 4;
}

struct Candidate {
  unsigned number;  // of the iteration argument
  llvm::SmallVector<mlir::Value, 2> steps;
  bool uniform;  // all steps are one number for all elements: the sum is carried; otherwise the trip count is
};

// base moved by the carried number.
mlir::Value moved(mlir::OpBuilder& b, mlir::Location location, mlir::Value base, const Candidate& candidate,
                  mlir::Value number) {
  auto type = mlir::cast<Tensor>(base.getType());
  bool pointer = mlir::isa<tt::PointerType>(type.getElementType());
  auto offset_type = Tensor::get(type.getShape(), number.getType());
  mlir::Value spread = tt::SplatOp::create(b, location, offset_type, number);
  auto add = [&](mlir::Value value, mlir::Value offset) -> mlir::Value {
    if (pointer) return tt::AddPtrOp::create(b, location, type, value, offset);
    return arith::AddIOp::create(b, location, value, offset);
  };
  if (candidate.uniform) return add(base, spread);
  for (mlir::Value step : candidate.steps) {
    mlir::Value wide = pointer ? widened(b, location, step) : step;
    base = add(base, arith::MulIOp::create(b, location, wide, spread));
  }
  return base;
}

void rewrite_loop(scf::ForOp loop, llvm::ArrayRef<Candidate> candidates) {
  mlir::IRRewriter rewriter(loop);
  mlir::Location location = loop.getLoc();
  llvm::SmallVector<mlir::Value> inits(loop.getInitArgs());
  llvm::SmallVector<mlir::Value> bases;
  for (const Candidate& candidate : candidates) {
    mlir::Value& init = inits[candidate.number];
    bases.push_back(init);
    mlir::Type element = tt::element_type(init.getType());
    mlir::Type type = mlir::isa<tt::PointerType>(element) ? rewriter.getI64Type() : element;
    init = arith::ConstantOp::create(rewriter, location, rewriter.getZeroAttr(type));
  }
  auto fresh = scf::ForOp::create(rewriter, location, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits,
                                  nullptr, loop.getUnsignedCmp());
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  mlir::Block* body = fresh.getBody();
  if (!body->empty()) rewriter.eraseOp(body->getTerminator());
  rewriter.setInsertionPointToStart(body);
  llvm::SmallVector<mlir::Value> arguments(body->getArguments());
  for (auto [candidate, base] : llvm::zip(candidates, bases))
    arguments[candidate.number + 1] = moved(rewriter, location, base, candidate, arguments[candidate.number + 1]);
  rewriter.inlineBlockBefore(loop.getBody(), body, body->end(), arguments);
  auto yield = mlir::cast<scf::YieldOp>(body->getTerminator());
  rewriter.setInsertionPoint(yield);
  for (const Candidate& candidate : candidates) {
    mlir::Value number = fresh.getRegionIterArgs()[candidate.number];
    if (!candidate.uniform) {
      number = arith::AddIOp::create(
          rewriter, location, number,
          arith::ConstantOp::create(rewriter, location, rewriter.getIntegerAttr(number.getType(), 1)));
    } else {
      for (mlir::Value step : candidate.steps) {
        mlir::Value amount = repeated(rewriter, step);
        if (number.getType().isInteger(64)) amount = widened(rewriter, location, amount);
        number = arith::AddIOp::create(rewriter, location, number, amount);
      }
    }
    yield->setOperand(candidate.number, number);
  }
  rewriter.setInsertionPointAfter(fresh);
  llvm::SmallVector<mlir::Value> results(fresh.getResults());
  for (auto [candidate, base] : llvm::zip(candidates, bases)) {
    if (loop.getResult(candidate.number).use_empty()) continue;
    results[candidate.number] = moved(rewriter, location, base, candidate, results[candidate.number]);
  }
  for (auto [old, value] : llvm::zip(loop.getResults(), results))
    if (!old.use_empty()) rewriter.replaceAllUsesWith(old, value);
  rewriter.eraseOp(loop);
}

}  // namespace

void lower_descriptors(tt::FuncOp function) {
  llvm::SmallVector<mlir::Operation*> accesses, made;
  function.walk([&](mlir::Operation* operation) {
    if (mlir::isa<tt::DescriptorLoadOp, tt::DescriptorStoreOp>(operation)) accesses.push_back(operation);
    if (mlir::isa<tt::MakeTensorDescOp>(operation)) made.push_back(operation);
  });
  for (mlir::Operation* access : accesses) {
    if (auto load = mlir::dyn_cast<tt::DescriptorLoadOp>(access))
      lower_load(load);
    else
      lower_store(mlir::cast<tt::DescriptorStoreOp>(access));
  }
  for (mlir::Operation* operation : made)
    if (operation->use_empty()) operation->erase();
}

void carry_numbers(tt::FuncOp function) {
  llvm::SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  // Outer loops first would move inner ones: an inner loop's operations keep their identity, so the order is free.
  for (scf::ForOp loop : loops) {
    llvm::SmallVector<Candidate> candidates;
    for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number) {
      mlir::Value carried = loop.getRegionIterArgs()[number];
      mlir::Type element = tt::element_type(carried.getType());
      if (!mlir::isa<Tensor>(carried.getType()) || !mlir::isa<tt::PointerType, mlir::IntegerType>(element)) continue;
      Candidate candidate{number, {}, true};
      if (!find_steps(loop.getYieldedValues()[number], carried, loop, candidate.steps)) continue;
      candidate.uniform = llvm::all_of(candidate.steps, repeats);
      candidates.push_back(std::move(candidate));
    }
    if (!candidates.empty()) rewrite_loop(loop, candidates);
  }
}

}  // namespace teeny::compiler::cpu
