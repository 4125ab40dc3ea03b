#include "compiler/analysis/axis_info.hpp"

#include <numeric>

#include <llvm/Support/raw_ostream.h>
#include <mlir/Analysis/DataFlow/SparseAnalysis.h>
#include <mlir/Analysis/DataFlow/Utils.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/analysis/axis_info_rules.hpp"

namespace teeny::compiler {

using namespace mlir;

AxisInfo AxisInfo::unknown(unsigned rank) {
  AxisInfo info;
  info.contiguity.assign(rank, 1);
  info.divisibility.assign(rank, 1);
  info.constancy.assign(rank, 1);
  return info;
}

AxisInfo AxisInfo::unknown(Type type) { return unknown(std::max<size_t>(1, tt::shape_of(type).size())); }

// The index within its run is a multiple of gcd(period, run), so the element is the run's first plus such a multiple.
int64_t AxisInfo::divisibility_at(unsigned dimension, int64_t period, int64_t unit) const {
  int64_t run = contiguity[dimension], first = divisibility[dimension];
  if (period % run == 0) return first;
  return std::gcd(first, power_of_two_divisor(std::gcd(period, run)) * power_of_two_divisor(unit));
}

AxisInfo AxisInfo::join(const AxisInfo &a, const AxisInfo &b) {
  if (a.rank() == 0) return b;
  if (b.rank() == 0) return a;
  if (a.rank() != b.rank()) return unknown(b.rank());
  AxisInfo info = unknown(a.rank());
  for (unsigned d = 0; d < a.rank(); ++d) {
    info.contiguity[d] = std::gcd(a.contiguity[d], b.contiguity[d]);
    info.divisibility[d] = std::min(a.divisibility_at(d, info.contiguity[d]), b.divisibility_at(d, info.contiguity[d]));
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (a.constant == b.constant) info.constant = a.constant;
  info.non_negative = a.non_negative && b.non_negative;
  return info;
}

std::string AxisInfo::to_string() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto list = [&](StringRef name, ArrayRef<int64_t> numbers) {
    stream << name << " = [";
    llvm::interleaveComma(numbers, stream);
    stream << "]";
  };
  list("contiguity", contiguity);
  list(", divisibility", divisibility);
  list(", constancy", constancy);
  if (constant) stream << ", constant = " << *constant;
  return text;
}

int64_t element_bytes(Type element) {
  if (isa<tt::PointerType, IndexType>(element)) return 8;
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

namespace {

using AxisLattice = dataflow::Lattice<PrintableAxisInfo>;

class AxisPropagation final : public dataflow::SparseForwardDataFlowAnalysis<AxisLattice> {
 public:
  using SparseForwardDataFlowAnalysis::SparseForwardDataFlowAnalysis;

  LogicalResult visitOperation(Operation *operation, ArrayRef<const AxisLattice *> operands,
                               ArrayRef<AxisLattice *> results) override {
    SmallVector<const AxisInfo *> known;
    for (const AxisLattice *operand : operands) {
      // Not visited yet; it will be, and this operation again.
      if (operand->getValue().rank() == 0) return success();
      known.push_back(&operand->getValue());
    }
    for (auto [index, lattice] : llvm::enumerate(results)) {
      Value result = operation->getResult(index);
      AxisInfo info = index == 0 ? transfer_axis_info(operation, known) : AxisInfo::unknown(result.getType());
      if (index == 0) apply_attributes(operation, info);
      propagateIfChanged(lattice, lattice->join(PrintableAxisInfo{std::move(info)}));
    }
    return success();
  }

  void setToEntryState(AxisLattice *lattice) override {
    propagateIfChanged(lattice, lattice->join(PrintableAxisInfo{entry_axis_info(lattice->getAnchor())}));
  }

  void visitNonControlFlowArguments(Operation *operation, const RegionSuccessor &successor,
                                    ArrayRef<AxisLattice *> arguments, unsigned first) override {
    auto loop = dyn_cast<scf::ForOp>(operation);
    if (!loop)
      return SparseForwardDataFlowAnalysis::visitNonControlFlowArguments(operation, successor, arguments, first);
    ProgramPoint *start = getProgramPointBefore(loop.getBody());
    const AxisInfo &lower = getLatticeElementFor(start, loop.getLowerBound())->getValue();
    const AxisInfo &step = getLatticeElementFor(start, loop.getStep())->getValue();
    if (lower.rank() == 0 || step.rank() == 0) return;
    AxisInfo info = AxisInfo::unknown(1);
    info.divisibility[0] = std::min(lower.divisibility[0], step.divisibility[0]);
    info.non_negative = !loop.getUnsignedCmp() && lower.non_negative && step.non_negative;
    propagateIfChanged(arguments[0], arguments[0]->join(PrintableAxisInfo{std::move(info)}));
  }
};

}  // namespace

AxisInfoAnalysis::AxisInfoAnalysis(tt::FuncOp function)
    : solver_(std::make_unique<DataFlowSolver>(DataFlowConfig().setInterprocedural(false))) {
  dataflow::loadBaselineAnalyses(*solver_);
  solver_->load<AxisPropagation>();
  // No analysis above ever reports failure; should one, nothing is known of any value.
  if (failed(solver_->initializeAndRun(function))) solver_->eraseAllStates();
}

AxisInfoAnalysis::~AxisInfoAnalysis() = default;
AxisInfoAnalysis::AxisInfoAnalysis(AxisInfoAnalysis &&) = default;

AxisInfo AxisInfoAnalysis::of(Value value) const {
  const auto *lattice = solver_->lookupState<AxisLattice>(value);
  if (!lattice || lattice->getValue().rank() == 0) return AxisInfo::unknown(value.getType());
  return lattice->getValue();
}

int64_t AxisInfoAnalysis::vector_width(Value pointers, Value mask, unsigned dimension) const {
  AxisInfo info = of(pointers);
  if (!isa<RankedTensorType>(pointers.getType())) return 1;
  int64_t bytes = element_bytes(tt::pointee_type(pointers.getType()));
  int64_t width = std::gcd(info.contiguity[dimension], std::max<int64_t>(1, info.divisibility[dimension] / bytes));
  if (mask) width = std::gcd(width, of(mask).constancy[dimension]);
  return power_of_two_divisor(width);
}

}  // namespace teeny::compiler
