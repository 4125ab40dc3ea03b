// Which layout each tensor of a function lives in, before anything is rewritten.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include "compiler/analysis/axis_info.hpp"
#include "compiler/gpu/assign/layout_rules.hpp"
#include "compiler/gpu/dot_plan.hpp"

namespace teeny::compiler::gpu {

// Decides by demand and keeps each decision. Reads a function whose tensors have no encodings yet; every home must be
// asked for before the function changes.
class Homes {
 public:
  Homes(tt::FuncOp function, const Capability &capability, int warps);

  // The layout of a tensor value: what its operands bring (forward), else what its users want, else the layout that
  // accesses of its shape have. Values that control flow joins have one home.
  tile::DistAttr of(mlir::Value value);
  // The layout in which an access of memory is done.
  tile::DistAttr of_access(mlir::Operation *access);
  const DotPlan &plan(tt::DotOp dot) const { return plans_.find(dot)->second; }

 private:
  struct Shape {  // of an access: extents and the order of its dimensions, the fastest first
    llvm::SmallVector<int64_t, 4> extents;
    llvm::SmallVector<unsigned, 4> order;
    bool operator<(const Shape &other) const { return std::tie(extents, order) < std::tie(other.extents, other.order); }
  };
  Shape shape_of_access(mlir::Value pointers) const;
  void note_access(mlir::Operation *access);
  tile::DistAttr blocked(const Shape &shape, int64_t width) const;
  tile::DistAttr default_layout(mlir::RankedTensorType type);
  tile::DistAttr coalesced(mlir::Operation *access);
  tile::DistAttr load_home(tt::LoadOp load);
  bool stores_well(mlir::Operation *store, mlir::Value value, tile::DistAttr layout) const;
  tile::DistAttr forward(mlir::Value value);
  tile::DistAttr derive_forward(mlir::Value value);
  tile::DistAttr carried_forward(mlir::ValueRange sources);
  tile::DistAttr wanted(mlir::Value value);
  tile::DistAttr wanted_by(mlir::OpOperand &use);

  AxisInfoAnalysis axis_info_;
  const Capability &capability_;
  int warps_;
  mlir::MLIRContext *context_;
  std::map<Shape, int64_t> widths_;  // elements of a thread that accesses of one shape and order agree on
  llvm::DenseMap<mlir::Operation *, DotPlan> plans_;
  llvm::DenseSet<mlir::Attribute> accumulators_;
  llvm::DenseMap<mlir::Value, tile::DistAttr> homes_, forward_;
  llvm::DenseMap<mlir::Operation *, tile::DistAttr> accesses_;
  llvm::DenseSet<mlir::Value> visiting_;
};

// The value that stands for all that control flow joins with it: a loop's result for its carried argument.
mlir::Value representative(mlir::Value value);
// The value whose home the operand of a terminator or a loop joins; null for other uses.
mlir::Value joined_value(mlir::OpOperand &use);
// The pointers that an access is done through; null for other operations and for scalar accesses.
mlir::Value pointers_of(mlir::Operation *access);

}  // namespace teeny::compiler::gpu
