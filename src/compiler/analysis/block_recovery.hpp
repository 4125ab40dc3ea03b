// Blocks from pointers: the address of every lane of a load, store or atomic as
//   base + offset + sum over d of stride_d * i_d + sum over terms of scale * tensor[i]
// in elements, where i is the lane's index in the block, base a scalar pointer, and offset, strides and scales are
// ScalarExpressions over program ids, arguments, induction variables and other scalars.
//
// Signed index arithmetic of 32 bits or more is assumed not to overflow (see scalar_expression.hpp).
// Works on canonical and on raw IR alike. Values carried by an scf.for that grow by a loop-invariant amount are
// expressed in closed form over the loop's induction variable or iteration number, so every expression is usable at
// the access itself; ScalarExpression::varies_in says out of which loops it may be moved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <llvm/ADT/SmallVector.h>

#include "compiler/analysis/scalar_expression.hpp"
#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler {

// An addend that is not affine in the lane's index (gathered rows, wrapped rows, …): scale * tensor[j], where
// j_k = i[dimensions[k]], or 0 where dimensions[k] is -1 (all elements along that dimension of the tensor are equal).
// A term that depends on no dimension is the same for every lane.
// The tensor's values dominate the access. Its elements are integers, sign-extended.
struct LaneTerm {
  mlir::Value tensor;
  llvm::SmallVector<int, 4> dimensions;
  ScalarExpression scale = 1;
  // Set where tensor[j] = (start + i[d]) rem modulus with d the only dimension in `dimensions`: a wrapped range. The
  // remainder has the dividend's sign, as arith.remsi. A generator that ignores this reads the tensor and stays right.
  struct Wrap {
    unsigned dimension;
    ScalarExpression start, modulus;
    bool operator==(const Wrap &) const = default;
  };
  std::optional<Wrap> wrap;

  bool depends_on(unsigned dimension) const;
  bool operator==(const LaneTerm &) const = default;
};

// An integer or pointer value, one per lane.
struct LaneExpression {
  mlir::Value base;                   // scalar pointer; null for integers, and where lane_base is set
  std::optional<LaneTerm> lane_base;  // a tensor of pointers that could not be taken apart; scale 1
  ScalarExpression offset;
  llvm::SmallVector<ScalarExpression, 4> strides;  // one per dimension; empty for a scalar
  llvm::SmallVector<LaneTerm, 1> terms;

  unsigned rank() const { return strides.size(); }
  bool is_uniform() const;           // the same value in every lane, known as base + offset
  bool is_affine() const;            // no terms and no lane_base
  bool is_affine(
      unsigned d) const;  // no term and no lane_base depends on dimension d: moving along d moves by stride d
  bool depends_on(unsigned d) const;  // some stride, term or lane_base does
  bool operator==(const LaneExpression &) const = default;
  // For tests and people: "arg0 + 64*pid_x + i0*arg3 + i1 + arg5*remsi[i0]{wraps at arg2}".
  std::string to_string() const;
};

// A memory access of a block of lanes. Offsets and strides count elements of `element`.
struct BlockAccess : LaneExpression {
  mlir::Operation *operation = nullptr;
  mlir::Type element;                     // the type in memory; an i1 takes a byte
  llvm::SmallVector<int64_t, 4> shape;    // the block's extents; empty for a scalar access
  bool from_descriptor = false;           // strides.back() is 1 and lanes outside the tensor are masked (mask_bounds)

  std::optional<int64_t> constant_stride(unsigned d) const { return strides[d].constant(); }
  // Neighbours along d lie next to each other in memory.
  bool is_contiguous(unsigned d) const { return is_affine(d) && constant_stride(d) == 1; }
  // The wrapped range that alone makes addresses vary along d; null where there is none or something else does too.
  // Its lanes step by its scale except where the range wraps.
  const LaneTerm *wrapped(unsigned d) const;
  // All lanes along d have one address.
  bool is_broadcast(unsigned d) const { return is_affine(d) && strides[d].is_zero(); }
};

// The analysis of one function, computed on demand and remembered. Owns the atoms of its expressions. Invalid after
// the function changes. Not thread-safe.
class BlockRecovery {
 public:
  explicit BlockRecovery(tt::FuncOp function);
  ~BlockRecovery();
  BlockRecovery(BlockRecovery &&);

  // For tt.load, tt.store, tt.atomic_rmw, tt.atomic_cas (scalar or tensor; always succeeds: at worst lane_base is the
  // tensor of pointers itself), tt.descriptor_load and tt.descriptor_store (fails where the descriptor is not made by
  // a visible tt.make_tensor_descriptor). Descriptor blocks have the rank of the loaded or stored tensor; leading unit
  // dimensions that it drops are part of `offset`.
  std::optional<BlockAccess> recover(mlir::Operation *access);

  // Any integer or pointer value, scalar or tensor; at worst one term (or lane_base) which is the value itself.
  LaneExpression lanes_of(mlir::Value value);
  // A scalar integer value as an expression; at worst the value itself.
  ScalarExpression scalar(mlir::Value value);
  // `left operation right` as an expression.
  ScalarExpression combine(ScalarOperation operation, const ScalarExpression &left, const ScalarExpression &right);
  // An i32, i64, … expression's bits read as an unsigned number of `width` bits.
  ScalarExpression zero_extended(const ScalarExpression &expression, unsigned width);

  struct Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace teeny::compiler
