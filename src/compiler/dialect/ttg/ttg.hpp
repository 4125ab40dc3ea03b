// The few words of Triton's next stage that its .ttir files contain: the parser reads `ttg.barrier …` as tt.barrier,
// and attributes such as "ttg.num-warps" on a module are kept without a meaning. No operation of this dialect exists.
#pragma once

#include <mlir/IR/Dialect.h>

namespace teeny::ttg {

class TTGDialect : public mlir::Dialect {
 public:
  explicit TTGDialect(mlir::MLIRContext* context);
  static constexpr llvm::StringLiteral getDialectNamespace() { return llvm::StringLiteral("ttg"); }
  std::optional<ParseOpHook> getParseOperationHook(llvm::StringRef name) const override;
};

}  // namespace teeny::ttg

MLIR_DECLARE_EXPLICIT_TYPE_ID(teeny::ttg::TTGDialect)
