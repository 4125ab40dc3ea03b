// Matrix products on a CPU: acc[M, N] += a[M, K] * b[K, N] as one register-blocked function of LLVM IR per shape, and
// the code that packs its operands. Nothing here knows where operands come from: a callback yields their elements.
//
// Meaning. Integers wrap, exactly. Floats are accumulated in f32 (f64 when the accumulator is f64), per element a chain
// over ascending k that starts from the accumulator: with FMA one rounding a step, without it two; either way
// |error| <= gamma_(2 K) * (|acc| + sum |a||b|). f16 and bf16 become f32 exactly. `fast` rounds f32 operands to tf32
// (nearest, ties away) as they are packed; `fast_x3` is computed as the plain f32 product, which is at least as exact.
// bf16 where the target gains by vdpbf16ps (CpuTarget::dot_bf16): two fused steps for a pair of terms, each rounded to
// nearest even, so the same bound holds in the normal range; but denormal operands count as 0 and denormal sums become
// 0, which no relative bound covers. `reproducible` therefore takes the f32 chain.
//
// Cost. A panel of b stays in the first-level cache, a and the accumulator in the second level, so blocks of 256 x 512
// with k in steps of 128 (f32, bf16) or 256 (8 bits) suit caches of 48 KiB and 2 MiB; each operand is read from memory
// once per block of the other extent, so larger blocks move less. Small problems that must feed several threads: 256 x
// 256.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <teeny/dtype.hpp>

#include "compiler/cpu/cpu_target.hpp"

namespace teeny::compiler::cpu {

enum class DotPrecision : std::uint8_t { ieee, fast, fast_x3 };

// Extents of the block, each >= 1, any value; a and b both floats or both integers.
struct DotShape {
  std::int64_t m = 0, n = 0, k = 0;
  DType a = DType::f32, b = DType::f32, accumulator = DType::f32;
  DotPrecision precision = DotPrecision::ieee;
  bool reproducible = false;
};

// How two packed operands are multiplied; a word is `group` neighbours along k that one lane of an instruction
// consumes.
enum class DotProduct : std::uint8_t {
  multiply_add_float,
  multiply_add_integer,
  pairs_bf16,
  pairs_i16,
  quads_u8s8,
  quads_s8u8,
  quads_s8s8,
};

// Equal parts of an extent: `first_count` parts of `first` and then `second_count` parts of first - 1 units.
struct DotPartition {
  std::int64_t first = 0, first_count = 0, second_count = 0;
};

// The plan of a product: the packed layouts as data. a is row major in words with rows of a_row_bytes; b is a sequence
// of panels, each [k words, panel width] row major. Panels and row tiles partition the extents almost equally.
struct DotPlan {
  DotShape shape;
  CpuTarget target;
  DotProduct product = DotProduct::multiply_add_float;
  DType packed_a = DType::f32, packed_b = DType::f32;  // element types in packed memory
  int group = 1;                                       // elements in a word
  int word_bytes = 4;
  int lanes = 0;                          // words in a register
  std::int64_t k_words = 0;               // ceil(k / group)
  DotPartition rows;                      // of m, in rows
  DotPartition panels;                    // of ceil(n / lanes), in registers
  bool compensate = false;                // a was biased by 128; packed b ends with 128 * (sum of each column)
  std::int64_t a_row_bytes = 0;           // of packed a, padded against cache-set conflicts
  std::int64_t a_bytes = 0, b_bytes = 0;  // of the packed operands, 64-byte aligned memory
  // a may be used where it lies: its elements are already packed elements. Rows need unit stride along k, any row
  // pitch.
  bool a_direct = false;
};

struct DotKernel {
  llvm::Function* function = nullptr;  // internal; called through emit_multiply
  DotPlan plan;
};

// The arguments of one step acc[m, n] += a[m, k] * b[k, n].
// a and b are packed (or a direct, see DotPlan: then the row tiles that m_used touches must be readable, and k_used is
// whole words). acc is row major with unit stride in shape.accumulator, any alignment; exactly m x n elements are
// accessed at most. *_used are the extents that matter, up to m, n, k; 0 or less does nothing: what lies beyond counts
// as zero operands, and the accumulator beyond is left as it was or gets the products of the operands there, up to the
// next row tile or panel. The packing of this step must have been given the same k_used, and at least m_used and
// n_used.
struct DotCall {
  llvm::Value *a = nullptr, *a_row_bytes = nullptr, *b = nullptr;
  llvm::Value *accumulator = nullptr, *accumulator_row_elements = nullptr;
  llvm::Value *m_used = nullptr, *n_used = nullptr, *k_used = nullptr;
};

// Where consecutive elements of an operand are neighbours: along k (a as stored by rows, b transposed), or along its
// other dimension (b as stored by rows, a transposed). Choose the direction in which the callback is cheap.
enum class DotInner : std::uint8_t { k, other };

// Yields <lanes x element type> (the operand's own dtype; f16/bf16 as half/bfloat): elements of the operand that start
// at (row, column), i64 indices of a[m, k] or b[k, n], and go on along `inner`. Only the first `valid` lie inside the
// block (valid == lanes except at a block's end): memory beyond must not be touched and those lanes may hold anything.
// Lanes inside the block but outside the operand's bounds are 0. May create blocks; leaves the builder where the value
// is available. Load halves as i16 and cast the bits where a mask is involved: LLVM calls a support library for masked
// halves on targets without them. Masks cost a tenth of packing: a block known to be inside its bounds deserves loops
// of its own without them.
using DotElements = llvm::function_ref<llvm::Value*(llvm::IRBuilderBase& builder, llvm::Value* row, llvm::Value* column,
                                                    unsigned lanes, unsigned valid)>;

// The plan alone, without code: sizes for an arena. Fails where dtypes do not fit together or an extent is < 1.
llvm::Expected<DotPlan> plan_dot(const DotShape& shape, const CpuTarget& target);

// Adds the function to the module, or returns the one that an equal shape got before.
llvm::Expected<DotKernel> make_dot_kernel(llvm::Module& module, const DotShape& shape, const CpuTarget& target);

// Emits the call of the kernel at the builder's position.
void emit_multiply(llvm::IRBuilderBase& builder, const DotKernel& kernel, const DotCall& call);

// Emit, at the builder's position, the loops that pack an operand to `destination` (plan.a_bytes or b_bytes, aligned to
// 64): rows of a below m_used, or columns of b below n_used, up to the next tile, and words of k below k_used. The
// builder is left in a new block behind the loops.
void emit_pack_a(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* destination, DotInner inner,
                 DotElements elements, llvm::Value* m_used, llvm::Value* k_used);
void emit_pack_b(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* destination, DotInner inner,
                 DotElements elements, llvm::Value* n_used, llvm::Value* k_used);

}  // namespace teeny::compiler::cpu
