// Runs functions of the thread dialect, all threads of a program operation by operation (loops thread by thread:
// nothing in them may need others), and finds accesses to shared memory that no barrier orders.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace teeny::compiler::gpu {

class Lockstep {
 public:
  Lockstep(int lanes, int warps) : lanes_(lanes), threads_(lanes * warps) {}

  // Integers (sign-extended) and floats alike, by byte address.
  std::map<int64_t, double> global;

  // Reports what it cannot run, races and accesses outside of an array as failures of the test.
  void run(mlir::func::FuncOp function, const std::vector<double>& arguments);

 private:
  struct Cell {
    double value = 0;
    int written_by = -1, read_by = -1;  // a thread, since the last barrier; -2: several
    bool defined = false;
  };
  void run(mlir::Operation& operation);
  void run(mlir::Operation& operation, int thread);
  void run_scalar(mlir::Operation& operation, int thread);
  void run_memory(mlir::Operation& operation, int thread);
  void run_shared(mlir::Operation& operation, int thread);
  void run_loop(mlir::Operation& operation, int thread);
  void shuffle(mlir::Operation& operation);
  Cell& cell(mlir::Value array, int64_t index);
  double get(mlir::Value value, int thread) { return values_.find(value)->second[thread]; }
  void set(mlir::Value value, int thread, double number);

  int lanes_, threads_;
  llvm::DenseMap<mlir::Value, std::vector<double>> values_;
  std::map<int64_t, Cell> shared_;  // by byte offset
};

}  // namespace teeny::compiler::gpu
