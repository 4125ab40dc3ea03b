// Runs the integer part of a tt function number by number, as its definition says, and hands every access to a visitor
// together with what its operands were. The oracle of the randomised tests. Pointers count elements.
#pragma once

#include <functional>

#include "parsed_function.hpp"

namespace teeny::compiler::test {

using Lanes = std::vector<int64_t>;  // row-major

class Evaluator {
 public:
  llvm::DenseMap<mlir::Value, Lanes> values;
  std::function<void(mlir::Operation *)> at_access;
  int64_t program_id = 0;

  void run(mlir::Block &block) {
    for (mlir::Operation &operation : block) execute(&operation);
  }

 private:
  void execute(mlir::Operation *operation);
  void run_loop(mlir::scf::ForOp loop);
  Lanes shape_result(mlir::Operation *operation);
  Lanes element_wise(mlir::Operation *operation);
};

// The index of each lane of a block.
inline void for_each_index(llvm::ArrayRef<int64_t> shape,
                           llvm::function_ref<void(size_t, llvm::ArrayRef<int64_t>)> visit) {
  llvm::SmallVector<int64_t> index(shape.size());
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  for (int64_t lane = 0; lane < count; ++lane) {
    int64_t rest = lane;
    for (int d = int(shape.size()) - 1; d >= 0; rest /= shape[d--]) index[d] = rest % shape[d];
    visit(lane, index);
  }
}

inline size_t linear_index(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> index) {
  size_t linear = 0;
  for (auto [extent, i] : llvm::zip_equal(shape, index)) linear = linear * extent + i;
  return linear;
}

}  // namespace teeny::compiler::test
