// The lowering that all GPUs share: tt -> tile (T1 laid out -> T2 staged -> T3 synchronised) -> thread.
//
// All stages work on the one public tt.func of a module whose calls are inlined and whose math is expanded; each throws
// nothing, and fails after a located error. What a GPU cannot run is refused by name.
#pragma once

#include <mlir/IR/BuiltinOps.h>

#include "compiler/dialect/tile/tile.hpp"
#include "compiler/dialect/tt/tt.hpp"
#include "compiler/gpu/capability.hpp"

namespace teeny::compiler::gpu {

struct GpuOptions {
  int warps = 0;              // 0: capability.default_warps
  int stages = 0;             // of a loop that feeds a matrix unit, where the loop does not say; 0: pipeline_loops chooses
  int max_registers = 0;      // 0: no limit
  bool reproducible = false;  // reductions follow the defined tree bit for bit
  bool contract = false;      // a * b + c may be fused
  bool approximate = false;   // divisions and square roots of f32 may be the device's own
  bool debug_info = false;
  bool verify = false;        // that each stage's function is of its form; an error where it is not
};

// Turns descriptors into pointers and masks, and pads blocks to powers of two (pad.hpp). After it the function holds what
// the next stages know.
mlir::LogicalResult prepare(tt::FuncOp function, const Capability &capability, const GpuOptions &options);

// T1: every tensor gets a layout, conversions stand where layouts meet, tt.dot becomes tile.mma with its operands in
// memory (tile.alloc) or registers. Sets thread.warps and thread.lanes on the function.
mlir::LogicalResult assign_layouts(tt::FuncOp function, const Capability &capability, const GpuOptions &options);

// T2: loads that feed tile.mma in a loop run ahead by stages.
mlir::LogicalResult pipeline_loops(tt::FuncOp function, const Capability &capability, const GpuOptions &options);

// T3: places in shared memory for allocations and for the scratch of operations (attribute tile.scratch_offsets
// in bytes), then barriers between accesses of different lanes to the same memory, shared and global. Sets
// thread.shared_bytes.
mlir::LogicalResult allocate_shared(tt::FuncOp function, const Capability &capability);
mlir::LogicalResult insert_barriers(tt::FuncOp function, const Capability &capability);

// The verifiers of the three forms. They take time: lower() runs them where GpuOptions::verify asks for it, which compiles
// do whose stages are dumped (TEENY_DUMP=tile,staged,synchronised).
enum class Form { laid_out = 1, staged = 2, synchronised = 3 };
mlir::LogicalResult verify_form(tt::FuncOp function, Form form, const Capability &capability);

// A new func.func of the thread dialect, beside the tt.func, which is erased. Returns null after an error.
mlir::func::FuncOp to_thread(tt::FuncOp function, const Capability &capability, const GpuOptions &options);

// All of the above in order. Null after an error. `after` sees the function after each stage ("tile", "staged",
// "synchronised") for dumps; may be null.
mlir::func::FuncOp lower(mlir::ModuleOp module, const Capability &capability, const GpuOptions &options,
                         llvm::function_ref<void(llvm::StringRef stage)> after = nullptr);

// ---- scratch: what an operation's own exchange through shared memory needs (conversion, reduction, scan, …)
struct Scratch {
  int64_t elements = 0;   // 0: none
  mlir::Type element;     // of the typed array (i1 counts as i8, pointers as i64)
};
// One array for each exchanged value, in the order that to_thread uses them.
llvm::SmallVector<Scratch, 1> scratch_of(mlir::Operation *operation, const Capability &capability);
// A unit attribute of a function whose reductions and scans follow the defined tree (options.reproducible); what an
// exchange needs depends on it. assign_layouts sets it.
inline constexpr llvm::StringLiteral reproducible_attribute = "tile.reproducible";
// The number by which the host knows a tt.print or tt.assert (i32), set before the lowering (gpu_program_abi.h).
inline constexpr llvm::StringLiteral message_site_attribute = "tile.message_site";
inline constexpr llvm::StringLiteral scratch_offsets_attribute = "tile.scratch_offsets";  // DenseI64ArrayAttr, one per Scratch

}  // namespace teeny::compiler::gpu
