// Which tensors of a function get memory, and which roots share a loop nest.
//
// A tensor is either an expression, evaluated again wherever it is used, chunk by chunk inside its consumer's loops, or
// stored in the arena. Roots are what makes expressions run: stores, reductions, and the storing of a tensor. A load
// is an expression as long as every consumer sees the memory that the load saw: no write stands between, and a store
// that consumes it writes each element only after that element was read.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler::cpu {

struct Root {
  mlir::Operation* operation;  // a store or a reduction; or what defines `stored`
  mlir::Value stored;          // the expression to be stored, or null
  bool operator==(const Root&) const = default;
};

// Roots over one shape that run in one loop nest, at the position of the first.
using Group = llvm::SmallVector<Root, 2>;

llvm::ArrayRef<int64_t> iteration_shape(const Root& root);

// The pointer argument (or other scalar pointer) that a pointer or tensor of pointers is offset from; null if unknown.
mlir::Value base_pointer(mlir::Value pointer);
// Equal values: one SSA value, or equal pure operations on equal values.
bool same_value(mlir::Value a, mlir::Value b);
// A tensor-valued operation that can be evaluated anywhere its operands can.
bool is_expression(mlir::Operation* operation);

class Plan {
 public:
  explicit Plan(tt::FuncOp function);

  bool is_stored(mlir::Value value) const { return stored_.contains(value); }
  // The group that runs at this operation; null: none starts here.
  const Group* group_at(mlir::Operation* operation) const;
  // Stored tensors whose last reader runs within this operation.
  llvm::ArrayRef<mlir::Value> dead_after(mlir::Operation* operation) const;
  // The roots that evaluate or read a tensor.
  llvm::ArrayRef<mlir::Operation*> consumers(mlir::Value value) const;
  // Scalar operations that one element's value takes, roughly.
  unsigned cost(mlir::Value value) const;

  // Calls visit(leaf, identity) for the loads, stored tensors and scalars that evaluating `value` reads; identity says
  // that only element-wise operations lie between, so that element i needs element i of the leaf.
  void leaves(mlir::Value value, llvm::function_ref<void(mlir::Value, bool)> visit) const;
  void leaves(const Root& root, llvm::function_ref<void(mlir::Value, bool)> visit) const;

 private:
  void count_costs(tt::FuncOp function);
  void decide(mlir::Operation* operation);
  bool must_store(mlir::Operation* operation, mlir::Value value, llvm::ArrayRef<mlir::Operation*> readers) const;
  bool overtaken(tt::LoadOp load, mlir::Operation* reader) const;
  void group_block(mlir::Block& block);
  bool can_join(const Group& group, const Root& root) const;
  bool in_order(const Group& group, const Root& root) const;
  bool available(const Group& group, const Root& root) const;
  void find_last_uses();

  llvm::DenseSet<mlir::Value> stored_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation*, 2>> consumers_;
  llvm::DenseMap<mlir::Value, unsigned> costs_;
  llvm::DenseMap<mlir::Operation*, Group> groups_;
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<mlir::Value, 2>> dead_after_;
};

}  // namespace teeny::compiler::cpu
