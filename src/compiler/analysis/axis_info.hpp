// What is known of the elements of an integer, boolean or pointer value along each of its dimensions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/Value.h>

#include "compiler/dialect/tt/tt.hpp"

namespace mlir {
class DataFlowSolver;
}

namespace teeny::compiler {

// One number per dimension of a tensor; one dimension for a scalar. All numbers are >= 1, and 1 promises nothing.
// A "group" below is an aligned run of elements along the dimension: indices [k * n, (k + 1) * n).
struct AxisInfo {
  // Every group of contiguity[d] elements holds consecutive integers x, x + 1, … (consecutive elements for pointers).
  llvm::SmallVector<int64_t, 4> contiguity;
  // The first element of every group of contiguity[d] is a multiple of divisibility[d]; for pointers, in bytes.
  // A power of two; at most 2^62.
  llvm::SmallVector<int64_t, 4> divisibility;
  // All elements of a group of constancy[d] are equal.
  llvm::SmallVector<int64_t, 4> constancy;
  // All elements have this value.
  std::optional<int64_t> constant;

  unsigned rank() const { return contiguity.size(); }
  static AxisInfo unknown(unsigned rank);
  static AxisInfo unknown(mlir::Type type);
  bool operator==(const AxisInfo &) const = default;
  // What holds of both.
  static AxisInfo join(const AxisInfo &a, const AxisInfo &b);
};

// The analysis of one function (tt.func). Seeds: argument attributes tt.divisibility, tt.contiguity, tt.constancy, the
// same attributes on operations, and tt.hint. Invalid after the function changes.
class AxisInfoAnalysis {
 public:
  explicit AxisInfoAnalysis(tt::FuncOp function);
  ~AxisInfoAnalysis();
  AxisInfoAnalysis(AxisInfoAnalysis &&);

  // Never fails: AxisInfo::unknown for values it knows nothing of.
  AxisInfo of(mlir::Value value) const;

  // How many elements along dimension `dimension` each aligned group of the access may read or write as one vector:
  // contiguous, naturally aligned (the group's address is a multiple of its bytes), and under one mask bit.
  // `mask` may be null. A power of two.
  int64_t vector_width(mlir::Value pointers, mlir::Value mask, unsigned dimension) const;

 private:
  std::unique_ptr<mlir::DataFlowSolver> solver_;
};

// Bytes that an element takes in memory (i1 takes one).
int64_t element_bytes(mlir::Type element);

}  // namespace teeny::compiler
