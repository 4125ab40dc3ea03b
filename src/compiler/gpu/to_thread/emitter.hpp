// From tile T3 to thread: every tensor becomes one scalar per register of its layout. Emitter walks the function once
// and keeps what stands for what; the files beside this one emit one family of operations each.
#pragma once

#include <memory>
#include <unordered_map>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Builders.h>

#include "compiler/analysis/axis_info.hpp"
#include "compiler/dialect/thread/thread.hpp"
#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

using Scalars = llvm::SmallVector<mlir::Value, 4>;

// A typed array in shared memory, or one buffer of it, in which a block stands.
struct SharedArray {
  mlir::Value array;        // !thread.shared<T>
  mlir::Value first;        // i32 index of the block's first element; null: 0
  LinearLayout layout;      // offset -> dims
  mlir::Type element;
};

class Emitter {
 public:
  Emitter(tt::FuncOp source, mlir::OpBuilder &builder, const Capability &capability, const GpuOptions &options)
      : source(source), builder(builder), capability(capability), options(options), axis_info(source) {}

  tt::FuncOp source;
  mlir::OpBuilder &builder;
  const Capability &capability;
  const GpuOptions &options;
  AxisInfoAnalysis axis_info;  // of the source
  mlir::Location location = source.getLoc();  // of the operation being emitted

  // What stands for a value of the tile level in a thread: one scalar, or one per register of its layout. Pointers are
  // i64 addresses.
  llvm::ArrayRef<mlir::Value> scalars(mlir::Value value);
  mlir::Value scalar(mlir::Value value) { return scalars(value).front(); }
  void bind(mlir::Value value, Scalars scalars);
  SharedArray &memory(mlir::Value memory);
  void bind_memory(mlir::Value value, SharedArray array);

  // i32, made once at the function's entry.
  mlir::Value lane();
  mlir::Value warp();

  // i32 arithmetic that folds constants as it goes. Null stands for 0.
  mlir::Value constant(int64_t number);
  mlir::Value add(mlir::Value left, mlir::Value right);
  mlir::Value exclusive_or(mlir::Value left, mlir::Value right);
  mlir::Value multiply(mlir::Value left, int64_t right);
  mlir::Value and_constant(mlir::Value left, int64_t right);
  mlir::Value shift_left(mlir::Value left, int64_t distance);

  // The part of a linear map of (lane, warp) bits alone, along output `axis`: xor of the images of the bits that are
  // set. Remembered for the function (the same map is emitted once); computed at the entry. Null: 0.
  mlir::Value lane_part(const LinearLayout &layout, Axis axis);
  // The index along `axis` of register `number` in `layout`: lane_part combined with the register's image; bits that the
  // lanes' part never has are added as a constant, so that addresses of registers differ by constants.
  mlir::Value index_of(const LinearLayout &layout, int number, Axis axis);
  // i1: this thread's copy is the one that counts where lanes or warps hold copies (stores, atomics, messages); null
  // where all do.
  mlir::Value owns(const LinearLayout &layout);

  // A scalar as base + constant: what registers of one address or index have in common, and how they differ. `base` is
  // null where the scalar is a constant. Signed index arithmetic is assumed not to overflow (axis_info.hpp).
  struct Sum {
    mlir::Value base;
    int64_t constant = 0;
  };
  Sum sum(mlir::Value value) const;
  mlir::Value materialise(const Sum &sum, mlir::Type type);
  mlir::Value constant(mlir::TypedAttr number);

  // The result of a pure operation on scalars; equal operations of one block and the blocks around it are made once.
  // Additions, and what distributes over them, keep constants apart (sum()).
  mlir::Value number(mlir::OperationName name, mlir::ValueRange operands, mlir::Type type,
                     mlir::DictionaryAttr attributes = {});
  // The same without keeping constants apart: for a sign extension of a number that may have wrapped.
  mlir::Value number_whole(mlir::OperationName name, mlir::ValueRange operands, mlir::Type type,
                           mlir::DictionaryAttr attributes = {}) {
    return number_plain(name, operands, type, attributes);
  }
  template <typename Op>
  mlir::Value make(mlir::ValueRange operands, mlir::Type type) {
    return number(mlir::OperationName(Op::getOperationName(), builder.getContext()), operands, type);
  }
  // i1 and of two conditions; null stands for true.
  mlir::Value both(mlir::Value left, mlir::Value right);

  // Registers of a value: those of its layout, 1 for a scalar.
  static int registers(mlir::Type type);
  // What one of its elements is in a thread: pointers are i64.
  static mlir::Type scalar_type(mlir::Type type);

  // Runs `body`, which builds the inside of a region: what is made there stands for nothing outside.
  template <typename Body>
  auto in_region(Body body) {
    scopes_.emplace_back();
    llvm::scope_exit leave([&] { scopes_.pop_back(); });
    return body();
  }
  // Emits the operations of a block of a region.
  mlir::LogicalResult emit_region(mlir::Block &block);
  // Emits the operations of a block, without its terminator.
  mlir::LogicalResult emit_block(mlir::Block &block);
  mlir::LogicalResult emit(mlir::Operation *operation);

 private:
  llvm::DenseMap<mlir::Value, Scalars> scalars_;
  llvm::DenseMap<mlir::Value, SharedArray> memories_;
  mlir::Value number_plain(mlir::OperationName name, mlir::ValueRange operands, mlir::Type type,
                           mlir::DictionaryAttr attributes);
  mlir::Value number_sum(llvm::StringRef name, mlir::ValueRange operands, mlir::Type type);
  template <typename Body>
  mlir::Value at_entry(Body body);

  using Scope = std::unordered_multimap<size_t, mlir::Operation *>;
  std::vector<Scope> scopes_ = std::vector<Scope>(2);  // of the entry, of the body, then of the regions around
  mlir::Operation *entry_end_ = nullptr;               // what is computed at the entry stands before it
  bool in_entry_ = false;
  llvm::DenseMap<mlir::Value, Sum> sums_;
  mlir::Value lane_, warp_;
};

// Families. Each fails after a located error.
mlir::LogicalResult emit_elementwise(Emitter &emitter, mlir::Operation *operation);  // arith, math, tt's pointwise and shape operations
void emit_f64_remainder(Emitter &emitter, mlir::arith::RemFOp remainder);
mlir::LogicalResult emit_memory(Emitter &emitter, mlir::Operation *operation);       // tt.load, tt.store, atomics
mlir::LogicalResult emit_atomic(Emitter &emitter, tt::AtomicRMWOp atomic);
mlir::LogicalResult emit_compare_and_swap(Emitter &emitter, tt::AtomicCASOp atomic);
mlir::LogicalResult emit_volatile_load(Emitter &emitter, tt::LoadOp load);
mlir::LogicalResult emit_control(Emitter &emitter, mlir::Operation *operation);      // scf
mlir::LogicalResult emit_conversion(Emitter &emitter, tile::ConvertLayoutOp conversion);
mlir::LogicalResult emit_reduction(Emitter &emitter, tt::ReduceOp reduction);
mlir::LogicalResult emit_scan(Emitter &emitter, tt::ScanOp scan);
mlir::LogicalResult emit_shared(Emitter &emitter, mlir::Operation *operation);       // tile.alloc, views, local_load, local_store, copies
mlir::LogicalResult emit_matrix(Emitter &emitter, mlir::Operation *operation);       // tile.mma, tile.mma_wait, tile.fence
mlir::LogicalResult emit_message(Emitter &emitter, mlir::Operation *operation);      // tt.print, tt.assert

}  // namespace teeny::compiler::gpu
