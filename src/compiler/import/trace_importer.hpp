// The importer's state, shared by its files: import_trace.cpp (structure), import_arithmetic.cpp, import_memory.cpp.
#pragma once

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Builders.h>

#include "compiler/dialect/tt/tt.hpp"
#include "compiler/import/import_trace.hpp"

namespace teeny::compiler {

class TraceImporter {
 public:
  TraceImporter(const trace::Body& body, mlir::MLIRContext& context)
      : body_(body), builder_(&context), location_(builder_.getUnknownLoc()), values_(body.types.size()) {}

  mlir::OwningOpRef<mlir::ModuleOp> import(llvm::StringRef kernel);

 private:
  using Op = trace::Operation;

  // ---- structure
  void region(const trace::Region& region, mlir::Region& into);
  void operation(const Op& op);
  mlir::Value leaf(const Op& op);
  mlir::Value shape(const Op& op);
  void combine(const Op& op);
  void control(const Op& op);
  void end_region(const Op& op);

  // ---- element-wise
  mlir::Value element_wise(const Op& op);
  mlir::Value unary_float(const Op& op);
  mlir::Value integer_binary(const Op& op);
  mlir::Value float_binary(const Op& op);
  mlir::Value comparison(const Op& op);
  mlir::Value cast(const Op& op);
  mlir::Value float_to_float(mlir::Value value, mlir::Type element);
  mlir::Value bitcast(const Op& op);
  mlir::Value negate(const Op& op);
  mlir::Value sigmoid(mlir::Value x);
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value integer_constant(mlir::Type type, std::int64_t value);

  // ---- memory, matrix, hints, debugging
  mlir::Value memory(const Op& op);
  mlir::Value atomic(const Op& op);
  mlir::Value make_descriptor(const Op& op);
  mlir::Value dot(const Op& op);
  mlir::Value hint(const Op& op);
  void debug(const Op& op);

  mlir::Value operand(const Op& op, std::size_t index) const { return values_[op.operands[index]]; }
  llvm::SmallVector<mlir::Value> operands(const Op& op, std::size_t from = 0) const;
  const trace::Type& type_of(const Op& op, std::size_t index) const { return body_.types[op.operands[index]]; }
  mlir::Type result_type(const Op& op) { return import_type(body_.types[op.results[0]], *builder_.getContext()); }
  llvm::SmallVector<mlir::Type> result_types(const Op& op);
  void define(const Op& op, mlir::ValueRange results);

  template <class T, class... Arguments>
  T make(Arguments&&... arguments) {
    return T::create(builder_, location_, std::forward<Arguments>(arguments)...);
  }

  const trace::Body& body_;
  mlir::OpBuilder builder_;
  mlir::Location location_;             // of the operation being imported
  std::vector<mlir::Value> values_;     // by ValueId
  std::uint32_t number_ = 0;            // of the next operation, pre-order
};

}  // namespace teeny::compiler
