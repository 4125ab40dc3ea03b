// What is known of the elements of an integer, boolean or pointer value along each of its dimensions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

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
  // Powers of two; 2^62 for 0.
  llvm::SmallVector<int64_t, 4> divisibility;
  // All elements of a group of constancy[d] are equal.
  llvm::SmallVector<int64_t, 4> constancy;
  // All elements have this value.
  std::optional<int64_t> constant;
  // All elements are >= 0, read as signed numbers.
  bool non_negative = false;

  unsigned rank() const { return contiguity.size(); }
  static AxisInfo unknown(unsigned rank);
  static AxisInfo unknown(mlir::Type type);
  // The divisibility of elements whose index along `dimension` is a multiple of `period`, given what consecutive
  // elements of a contiguous run differ by (1; for pointers, the bytes of an element).
  int64_t divisibility_at(unsigned dimension, int64_t period, int64_t unit = 1) const;
  // For tests and people: "contiguity = [1, 64], divisibility = [16, 4], constancy = [32, 1], constant = 3".
  std::string to_string() const;
  bool operator==(const AxisInfo &) const = default;
  // What holds of both. A rank of 0 stands for a value that is not computed yet.
  static AxisInfo join(const AxisInfo &a, const AxisInfo &b);
};

// Signed index arithmetic is assumed not to overflow, as in block_recovery.hpp.
//
// The analysis of one function (tt.func). Seeds: argument attributes tt.divisibility, tt.contiguity, tt.constancy, the
// same attributes on operations, and tt.hint, believed as far as the checker tests them: of a longest run of consecutive
// elements, only the first is promised to be a multiple. Invalid after the function changes.
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
