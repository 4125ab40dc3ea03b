// Exchange between the lanes of a program through an operation's scratch in shared memory.
#pragma once

#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {

// What an element is in memory: i1 takes an i8, pointers are i64.
mlir::Type stored_type(mlir::Type type);
// i1 of an integer, as an i1 is read from memory.
mlir::Value is_nonzero(Emitter& emitter, mlir::Value stored);

// Array `number` of the operation's scratch (scratch_of). Null after an error: the operation has no place for it.
mlir::Value scratch_array(Emitter& emitter, mlir::Operation* operation, unsigned number);

// An index as a value and a constant to add to it, as operations take them.
std::pair<mlir::Value, int32_t> place_of(Emitter& emitter, mlir::Value index);

// Consecutive elements at `index`, which is a multiple of their number; `mask` may be null.
void store_shared(Emitter& emitter, mlir::Value array, mlir::Value index, llvm::ArrayRef<mlir::Value> values,
                  mlir::Value mask);
// Appends `count` scalars of type `scalar` that begin at `index`, at most `width` with one access.
void load_shared(Emitter& emitter, mlir::Value array, mlir::Value index, int64_t count, int64_t width,
                 mlir::Type scalar, Scalars& results);

// All threads that run the operation meet; their accesses to shared memory are ordered.
void shared_barrier(Emitter& emitter, mlir::Operation* operation);

// The same places, to the row-major number of the element alone (along index0).
LinearLayout row_major(const LinearLayout& layout);

// Elements of `bytes` bytes that one access of the device takes at most.
int64_t widest(const Emitter& emitter, mlir::Type stored);

// Elements of `array` in registers of `from`, one copy of each stored, then loaded as those of `to`. Both layouts map
// to index0. A barrier stands between; what it needs of shared memory is the size of index0.
Scalars exchange(Emitter& emitter, mlir::Operation* operation, mlir::Value array, const LinearLayout& from,
                 llvm::ArrayRef<mlir::Value> values, const LinearLayout& to);

// Where the elements of a value stand: places to row-major numbers along index0; a scalar is in every register.
LinearLayout element_places(mlir::Operation* operation, mlir::Type type, const Capability& capability);
// Whether an element has several places.
bool has_copies(const LinearLayout& places);

}  // namespace teeny::compiler::gpu
