#include "compiler/analysis/axis_info.hpp"

#include <mlir/Analysis/DataFlow/SparseAnalysis.h>

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

AxisInfoAnalysis::AxisInfoAnalysis(tt::FuncOp) {}
AxisInfoAnalysis::~AxisInfoAnalysis() = default;
AxisInfoAnalysis::AxisInfoAnalysis(AxisInfoAnalysis &&) = default;
AxisInfo AxisInfoAnalysis::of(Value value) const { return AxisInfo::unknown(value.getType()); }
int64_t AxisInfoAnalysis::vector_width(Value, Value, unsigned) const { return 1; }

int64_t element_bytes(Type element) {
  if (isa<tt::PointerType>(element)) return 8;
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

}  // namespace teeny::compiler
