// Runs element-wise functions written in MLIR on this machine's CPU.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <mlir/IR/BuiltinOps.h>

namespace teeny::test {

/// A compiled loop over `count` elements, a multiple of `Jit::lanes`: one input pointer per operand, one output.
class Jit {
 public:
  static constexpr int lanes = 16;

  /// `body` is MLIR text that computes %y of type OUT from %x of type IN (and %x2, when `operands` is 2), in which "IN"
  /// and "OUT" stand for the operand and result types, scalars or vectors of `lanes` elements. `transform` is what is
  /// tested: it runs on the module before the lowering to LLVM. Fails the test and compiles nothing when a step fails.
  Jit(const std::string& in, const std::string& out, const std::string& body, bool vectors, int operands,
      const std::function<mlir::LogicalResult(mlir::ModuleOp)>& transform);
  ~Jit();

  void run(const void* x, const void* x2, void* y, std::int64_t count) const;
  bool valid() const { return function_ != nullptr; }
  /// Operations of the math dialect left after the transformation, by name, sorted, each once.
  const std::string& remaining_math() const { return remaining_math_; }

 private:
  struct Implementation;

  void compile(const std::string& text, const std::function<mlir::LogicalResult(mlir::ModuleOp)>& transform);

  std::unique_ptr<Implementation> implementation_;
  void (*function_)(const void*, const void*, void*, std::int64_t) = nullptr;
  std::string remaining_math_;
};

}  // namespace teeny::test
