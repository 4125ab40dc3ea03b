// What a GPU can do, as data: all that the shared lowering knows of a target.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/linear_layout.hpp"
#include "compiler/transforms/expand_exact.hpp"
#include "compiler/transforms/expand_math.hpp"

namespace teeny::compiler::gpu {

// One row of the matrix table: a product of an m x k and a k x n fragment, added to an m x n one.
struct MatrixUnit {
  enum class Form {
    lanes,      // every lane multiplies for itself, its block of accumulators in registers; m = n = k = 1
    fragments,  // a warp's lanes hold pieces of all three in layouts known here (mma.sync, MFMA, WMMA)
    memory,     // several warps; b, and a where it is not in registers, from swizzled shared memory; asynchronous (wgmma)
    opaque      // the unit loads and stores its fragments itself (cooperative matrices)
  };
  std::string name;         // "mma.sync.m16n8k16.bf16"
  Form form = Form::lanes;
  int m = 1, n = 1, k = 1;
  std::string operand;      // element type of a and b: "f16", "bf16", "tf32", "f32", "f64", "i8", "f8e4m3", …
  std::string accumulator;  // "f16", "f32", "f64", "i32"
  int warps = 1;            // that work on one fragment together
  LinearLayout a, b, accumulators;       // form fragments: register, lane (and warp) -> dim0, dim1
  bool a_from_memory = false;            // form memory: a may be in shared memory as well
  bool transposed_a = false, transposed_b = false;  // form memory: operands may be stored the other way round
  int accumulator_bits = 24;             // mantissa that a sum keeps (a fact for the allowed radius)
  int operations_per_cycle = 0;          // multiply-adds of one multiprocessor and cycle; orders the rows
};

struct Capability {
  std::string target;           // its text: "cuda:sm_90a"
  int lanes = 32;               // of a warp; 1: every thread is its own warp
  int default_warps = 4;
  int max_threads = 1024;       // of a program
  int max_registers = 255;      // 32-bit ones of a thread
  int multiprocessor_registers = 65536;
  std::int64_t shared_bytes = 48 * 1024;   // that one program may use
  int banks = 32, bank_bytes = 4;
  bool can_alias_types = true;  // one range of shared memory may hold arrays of several types in turn
  int max_vector_bytes = 16;    // of one access
  std::vector<int> copy_async_bytes;       // widths of thread.copy_async; empty: none
  bool matrix_load = false;     // thread.matrix_load and its transposed form
  bool matrix_store = false;
  bool f64 = true, f16 = true, bf16 = true, i64 = true;    // types its arithmetic has; what it lacks is emulated or refused
  MathFacts math;
  ExactFacts exact;
  std::vector<MatrixUnit> units;           // the best first; the last ones are form lanes

  const MatrixUnit *unit(std::string_view name) const;   // null: none of that name
  bool has_copy_async() const { return !copy_async_bytes.empty(); }
};

// The rows of form lanes, with which every table ends: they take every type.
std::vector<MatrixUnit> lanes_units();

// The capability of a target text: "cuda:sm_90a". Throws teeny::Error (invalid_argument) that lists what is known.
Capability capability_of(std::string_view target);

}  // namespace teeny::compiler::gpu
