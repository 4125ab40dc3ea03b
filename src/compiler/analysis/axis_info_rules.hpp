// What each operation does to axis info. See axis_info.hpp for what it means.
#pragma once

#include <bit>

#include "compiler/analysis/axis_info.hpp"

namespace teeny::compiler {

inline constexpr int64_t max_divisibility = int64_t(1) << 62;

// The largest power of two that divides the number; 2^62 for 0.
inline int64_t power_of_two_divisor(int64_t number) {
  return number == 0 ? max_divisibility : int64_t(1) << std::min(62, std::countr_zero(uint64_t(number)));
}

// The element of the data-flow lattice.
struct PrintableAxisInfo : AxisInfo {
  static PrintableAxisInfo join(const PrintableAxisInfo &a, const PrintableAxisInfo &b) {
    return {AxisInfo::join(a, b)};
  }
  void print(llvm::raw_ostream &stream) const { stream << to_string(); }
  bool operator==(const PrintableAxisInfo &) const = default;
};

// The first result of an operation, given what is known of its operands.
AxisInfo transfer_axis_info(mlir::Operation *operation, llvm::ArrayRef<const AxisInfo *> operands);
// A value that nothing flows into: an argument of the function with its attributes, or anything else.
AxisInfo entry_axis_info(mlir::Value value);
// Adds what tt.divisibility, tt.contiguity and tt.constancy on an operation say.
void apply_attributes(mlir::Operation *operation, AxisInfo &info);

}  // namespace teeny::compiler
