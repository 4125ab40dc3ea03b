#include "evaluator.hpp"

#include <llvm/ADT/TypeSwitch.h>

namespace teeny::compiler::test {

using namespace mlir;

void Evaluator::execute(Operation *operation) {
  if (auto loop = dyn_cast<scf::ForOp>(operation)) return run_loop(loop);
  if (isa<tt::LoadOp, tt::StoreOp>(operation)) {
    at_access(operation);
    // What memory holds is a function of the address.
    if (auto load = dyn_cast<tt::LoadOp>(operation))
      for (int64_t address : values[load.getPtr()]) values[load].push_back((address * 7 + 3) & 15);
    return;
  }
  if (operation->getNumResults() != 1) return;
  values[operation->getResult(0)] = operation->getDialect()->getNamespace() == "tt" && !isa<tt::AddPtrOp>(operation)
                                        ? shape_result(operation)
                                        : element_wise(operation);
}

void Evaluator::run_loop(scf::ForOp loop) {
  int64_t lower = values[loop.getLowerBound()][0], upper = values[loop.getUpperBound()][0];
  int64_t step = values[loop.getStep()][0];
  SmallVector<Lanes> carried;
  for (Value init : loop.getInitArgs()) carried.push_back(values[init]);
  for (int64_t i = lower; i < upper; i += step) {
    values[loop.getInductionVar()] = {i};
    for (auto [argument, lanes] : llvm::zip_equal(loop.getRegionIterArgs(), carried)) values[argument] = lanes;
    // Loads append, so what they read an iteration ago must go.
    loop.getBody()->walk([&](tt::LoadOp load) { values.erase(load); });
    run(*loop.getBody());
    for (auto [lanes, yielded] : llvm::zip_equal(carried, loop.getYieldedValues())) lanes = values[yielded];
  }
  for (auto [result, lanes] : llvm::zip_equal(loop.getResults(), carried)) values[result] = lanes;
}

Lanes Evaluator::shape_result(Operation *operation) {
  if (isa<tt::GetProgramIdOp>(operation)) return {program_id};
  ArrayRef<int64_t> shape = tt::shape_of(operation->getResult(0).getType());
  Lanes result;
  if (auto range = dyn_cast<tt::MakeRangeOp>(operation)) {
    for (int64_t i = 0; i < shape[0]; ++i) result.push_back(int32_t(range.getStart()) + i);
    return result;
  }
  const Lanes &source = values[operation->getOperand(0)];
  ArrayRef<int64_t> from = tt::shape_of(operation->getOperand(0).getType());
  if (isa<tt::ExpandDimsOp, tt::ReshapeOp, tt::HintOp>(operation)) return source;
  for_each_index(shape, [&](size_t, ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(from.size());
    if (auto trans = dyn_cast<tt::TransOp>(operation)) {
      for (auto [d, source_dimension] : llvm::enumerate(trans.getOrder())) at[source_dimension] = index[d];
    } else if (isa<tt::BroadcastOp>(operation)) {
      for (unsigned d = 0; d < from.size(); ++d) at[d] = from[d] == 1 ? 0 : index[d];
    }
    result.push_back(source[linear_index(from, at)]);
  });
  return result;
}

Lanes Evaluator::element_wise(Operation *operation) {
  int64_t count = 1;
  for (int64_t extent : tt::shape_of(operation->getResult(0).getType())) count *= extent;
  Lanes result;
  if (auto constant = dyn_cast<arith::ConstantOp>(operation)) {
    auto number = [](Attribute attribute) {
      APInt value = cast<IntegerAttr>(attribute).getValue();
      return value.getBitWidth() == 1 ? int64_t(value.getZExtValue()) : value.getSExtValue();
    };
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && isa<FloatType>(dense.getElementType())) return Lanes(count, 0);
    return Lanes(count, number(dense ? dense.getSplatValue<Attribute>() : Attribute(constant.getValue())));
  }
  for (int64_t lane = 0; lane < count; ++lane) {
    auto operand = [&](unsigned index) {
      const Lanes &lanes = values[operation->getOperand(index)];
      return lanes.size() == 1 ? lanes[0] : lanes[lane];
    };
    int64_t a = operand(0), b = operation->getNumOperands() > 1 ? operand(1) : 0;
    result.push_back(
        llvm::TypeSwitch<Operation *, int64_t>(operation)
            .Case<arith::AddIOp, tt::AddPtrOp>([&](Operation *) { return a + b; })
            .Case([&](arith::SubIOp) { return a - b; })
            .Case([&](arith::MulIOp) { return a * b; })
            .Case([&](arith::DivSIOp) { return a / b; })
            .Case([&](arith::RemSIOp) { return a % b; })
            .Case([&](arith::MinSIOp) { return std::min(a, b); })
            .Case([&](arith::MaxSIOp) { return std::max(a, b); })
            .Case([&](arith::AndIOp) { return a & b; })
            .Case([&](arith::OrIOp) { return a | b; })
            .Case([&](arith::XOrIOp) { return a ^ b; })
            .Case([&](arith::ExtSIOp) { return a; })
            .Case([&](arith::ExtUIOp) { return a & 0xffffffff; })
            .Case([&](arith::TruncIOp) { return int64_t(int32_t(a)); })
            .Case([&](arith::SelectOp) { return a ? b : operand(2); })
            .Case([&](arith::CmpIOp comparison) {
              APInt left(64, uint64_t(a)), right(64, uint64_t(b));
              bool is_unsigned = comparison.getPredicate() >= arith::CmpIPredicate::ult;
              if (is_unsigned && tt::element_type(comparison.getLhs().getType()).isInteger(32))
                left = left.trunc(32), right = right.trunc(32);
              return int64_t(arith::applyCmpPredicate(comparison.getPredicate(), left, right));
            })
            .Default([&](Operation *other) {
              ADD_FAILURE() << "the evaluator lacks " << other->getName().getStringRef().str();
              return 0;
            }));
  }
  return result;
}

}  // namespace teeny::compiler::test
