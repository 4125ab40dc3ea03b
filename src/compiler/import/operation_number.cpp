#include "compiler/import/operation_number.hpp"

#include <mlir/IR/MLIRContext.h>

namespace teeny::compiler {

using namespace mlir;

namespace {
constexpr llvm::StringLiteral marker = "operation";
}

Location operation_location(MLIRContext* context, std::uint32_t number) {
  return FileLineColLoc::get(context, marker, number, 0);
}

std::optional<std::uint32_t> operation_number(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    if (file.getFilename() == marker && file.getColumn() == 0) return file.getLine();
    return std::nullopt;
  }
  if (auto named = dyn_cast<NameLoc>(location)) return operation_number(named.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) return operation_number(call.getCallee());
  if (auto opaque = dyn_cast<OpaqueLoc>(location)) return operation_number(opaque.getFallbackLocation());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (auto number = operation_number(part)) return number;
  return std::nullopt;
}

}  // namespace teeny::compiler
