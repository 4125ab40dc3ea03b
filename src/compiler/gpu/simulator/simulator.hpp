// The simulator of the thread dialect: runs a kernel as a GPU of any width would, all lanes of all warps of a program,
// without a GPU, and watches what lanes do to each other.
//
// Lanes of a warp step together, operation by operation, with a mask of active ones; warps take turns at barriers and,
// with a seed, at random points. Scalars are computed by the interpreter's functions, so that results differ from the
// interpreter's only where an order of summation is free. Programs of a launch run one after another.
//
// Two accesses of one byte by different lanes of a program, at least one of them a write and not both atomic, are a race
// unless a barrier for that memory lies between; lanes of one warp are no exception, since nothing promises that they
// stay together. A write of one operation by several lanes that all write the same bits is none: copies do that.
// A copy_async lands at the copy_wait that covers it; until then nobody may touch the bytes that it writes or change
// those that it reads.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include "compiler/gpu/capability.hpp"
#include "compiler/interpreter/interpreter.hpp"

namespace teeny::compiler::simulator {

using interpreter::Finding;

// What happened in a run, in its order.
struct Event {
  enum class What : std::uint8_t {
    read, write,   // `bytes` from `address` on (in shared memory: an offset); by a copy_async where it sets out and lands
    landing,       // the copy of group `group` of a lane lands: its destination
    wait,          // a lane's copies of groups below `group` have landed when it goes on
    barrier        // of the program, for the memories in `memory`
  } what;
  std::uint8_t memory = 0;     // bits of thread::BarrierMemory
  bool atomic = false;
  std::uint32_t thread = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t group = 0;
  mlir::Operation* operation = nullptr;
};

struct Options {
  std::uint64_t seed = 0;               // 0: warps take turns at barriers alone, in order
  int max_findings = 100;
  bool count_banks = false;             // Result::shared
  std::uint64_t max_rounds = 1u << 24;  // of the loops of one program
  std::vector<Event>* log = nullptr;    // receives all events
};

struct Launch {
  std::vector<std::uint64_t> arguments;       // one for each of the function's, value in the low bytes
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::vector<teeny_memory_range> ranges;     // that it may touch; ascending
};

// How the accesses of one operation to shared memory fell on its banks.
struct SharedAccesses {
  std::int32_t operation = -1;   // as in Finding
  std::string location, name;
  std::uint64_t accesses = 0;    // by warps
  std::uint64_t turns = 0;       // that the banks needed for them
  std::uint64_t least = 0;       // that they would have needed without conflicts
};

struct Result {
  bool ok = false;               // ran to the end with no finding
  std::vector<Finding> findings; // one for each operation and kind, in the order met
  std::vector<SharedAccesses> shared;
};

// Runs a function of the thread dialect as gpu::lower makes it for `capability`. Memory is touched only inside the
// launch's ranges. Nothing is thrown; what cannot be run is a finding of kind "unsupported" with nothing written.
// Kinds: "race" | "divergence" | "unwaited_copy" | "uninitialised" | "out_of_bounds" | "misaligned" | "endless_loop" |
// "assert" | "launch" | "unsupported".
Result run(mlir::func::FuncOp kernel, const gpu::Capability& capability, const Launch& launch, const Options& options);

}  // namespace teeny::compiler::simulator
