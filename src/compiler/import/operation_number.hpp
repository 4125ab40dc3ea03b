// Where an operation came from. Operations imported from a trace carry their pre-order number in the body as the
// location "operation":NUMBER:0; operations read from a .ttir file carry that file's own file:line:column.
#pragma once

#include <cstdint>
#include <optional>

#include <mlir/IR/Location.h>

namespace teeny::compiler {

mlir::Location operation_location(mlir::MLIRContext* context, std::uint32_t number);

// The number in a location, also inside fused, named and call-site locations (the innermost callee; of fused ones the
// first that has a number). Empty where the operation does not come from a trace.
std::optional<std::uint32_t> operation_number(mlir::Location location);

}  // namespace teeny::compiler
