// Accesses of all lanes to memory, by what their addresses are.
#pragma once

#include "compiler/explain/counts.hpp"
#include "compiler/explain/lane_values.hpp"

namespace teeny::compiler::explain {

class AccessCounter {
 public:
  AccessCounter(const gpu::Capability& capability, int lanes, int warps) : capability_(capability), values_(lanes, warps) {}

  // Each lane reaches `bytes` bytes from the address on.
  void global(Accesses& accesses, mlir::Value address, std::int64_t bytes);
  // Each lane reaches `bytes` bytes from element index + offset on, elements of so many bytes; `last` lanes of a warp
  // at most (0: all).
  void shared(Accesses& accesses, mlir::Value index, std::int64_t offset, std::int64_t element_bytes, std::int64_t bytes,
              int last = 0);

 private:
  const gpu::Capability& capability_;
  LaneValues values_;
};

}  // namespace teeny::compiler::explain
