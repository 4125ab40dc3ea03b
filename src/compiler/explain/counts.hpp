// What a function of the thread dialect does, counted: outside of loops and in one turn of each loop.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include "compiler/gpu/capability.hpp"

namespace teeny::compiler::explain {

// Accesses of one kind and width. Masks are taken to hold.
struct Accesses {
  std::int64_t count = 0;    // instructions of one lane
  std::int64_t bytes = 0;    // of the program, each once for each instruction; as many as the lanes ask for where unknown
  std::int64_t unknown = 0;  // instructions whose places depend on more than lane and constants
  std::array<std::int64_t, 8> by_axes{};   // global: `bytes` by the axes of the grid along which programs' places may differ
  std::int64_t moved = 0;    // global: bytes of the sectors of 32 bytes that warps touch; of the known ones
  std::int64_t known_bytes = 0;            // global: distinct bytes within each warp; of the known ones
  std::int64_t turns = 0, least = 0;       // shared: cycles that the banks need for all warps, and would need at best; of the known ones
};

struct Counts {
  // By kind and bytes of a lane's access: "load", "store", "atomic"; "copy" is from global into shared memory.
  std::map<std::pair<std::string, int>, Accesses> global, copies, shared;
  std::map<std::string, std::int64_t> matrix;      // instructions of a warp, or of the warps that stand together, by unit
  std::map<std::string, std::int64_t> order;       // barriers, waits and the like
  std::map<std::string, std::int64_t> lanes;       // shuffles, ballots
  std::map<std::string, std::int64_t> special;     // of one lane, on the special function units
  std::map<std::string, std::int64_t> arithmetic;  // of one lane, by kind of number
  std::map<std::string, std::int64_t> others;      // of one lane, by the operation's name

  Counts& add(const Counts& other, std::int64_t times);
};

struct Loop {
  std::string place;                  // "operation 12", or FILE:LINE
  mlir::Location location;
  std::optional<std::int64_t> turns;  // where the bounds say
  Counts turn;                        // without the loops inside
  std::vector<Loop> inner;
};

struct Function {
  int warps = 1, lanes = 1;
  std::int64_t shared_bytes = 0;
  Counts outside;
  std::vector<Loop> loops;
  bool branches = false;              // both sides are counted

  int threads() const { return warps * lanes; }
};

struct CountOptions {
  bool contract = false, approximate = false;
};

Function count(mlir::func::FuncOp kernel, const gpu::Capability& capability, const CountOptions& options);

// "operation 12" of a kernel from a trace, or FILE:LINE.
std::string place_text(mlir::Location location);
int count_loops(const std::vector<Loop>& loops);  // with those inside

// The cycles that banks need for one access of a warp: places in bytes by lane, each of so many bytes.
std::int64_t bank_turns(const gpu::Capability& capability, const std::vector<std::int64_t>& places, std::int64_t bytes,
                        std::int64_t& least);

}  // namespace teeny::compiler::explain
