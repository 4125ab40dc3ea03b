// The state and the rules of block recovery. See block_recovery.hpp for what they compute.
#pragma once

#include <deque>

#include <llvm/ADT/DenseMap.h>

#include "compiler/analysis/block_recovery.hpp"

namespace teeny::compiler {

struct BlockRecovery::Implementation {
  // Expressions of values, in order of computation so that provisional ones can be dropped.
  llvm::DenseMap<mlir::Value, std::unique_ptr<LaneExpression>> known;
  llvm::SmallVector<mlir::Value> known_order;
  // What an iteration adds to a loop-carried value, for those in `known` in closed form.
  llvm::DenseMap<mlir::Value, LaneExpression> steps;

  // Atoms, unique per meaning.
  std::deque<Atom> atoms;
  llvm::DenseMap<mlir::Value, const Atom *> value_atoms;
  llvm::DenseMap<mlir::Operation *, const Atom *> iteration_atoms, trip_count_atoms;
  llvm::SmallVector<const Atom *> operation_atoms;

  const LaneExpression &lanes_of(mlir::Value value);
  ScalarExpression scalar(mlir::Value value);
  ScalarExpression combine(ScalarOperation operation, const ScalarExpression &left, const ScalarExpression &right);
  ScalarExpression zero_extended(const ScalarExpression &expression, unsigned width);

  // The value as itself; constant along the dimensions in which none of the operands varies when `element_wise`.
  LaneExpression opaque(mlir::Value value, bool element_wise = false);
  const LaneExpression &remember(mlir::Value value, LaneExpression lanes);
  // Computes the expression of an operation's result from those of its operands, which are known.
  LaneExpression evaluate(mlir::Value value);
  LaneExpression evaluate_arithmetic(mlir::Operation *operation);
  LaneExpression evaluate_division(mlir::Operation *operation, ScalarOperation kind, bool is_unsigned);
  LaneExpression evaluate_zero_extension(mlir::Operation *operation);

  // Loop-carried values: what one iteration adds to a carried value, where that is loop-invariant.
  std::optional<LaneExpression> carried_step(mlir::scf::ForOp loop, unsigned index);
  LaneExpression evaluate_carried(mlir::scf::ForOp loop, unsigned index);
  LaneExpression evaluate_loop_result(mlir::scf::ForOp loop, unsigned index);

  const Atom *make_atom(Atom atom);
  const Atom *value_atom(mlir::Value value);
  ScalarExpression iterations_done(mlir::scf::ForOp loop, const ScalarExpression &step);
  const Atom *trip_count_atom(mlir::scf::ForOp loop);
};

}  // namespace teeny::compiler
