// Makes an interpreter program from a tt function.
#pragma once

#include <optional>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringMap.h>

#include "compiler/dialect/tt/tt.hpp"
#include "compiler/interpreter/interpreter.hpp"
#include "compiler/interpreter/program.hpp"

namespace teeny::compiler::interpreter {

// What is known of single operations, for all who run them.
std::optional<Kind> kind_of(mlir::Type type);  // of a scalar or a pointer; empty: there is no such element
std::uint64_t bits_of(mlir::Attribute number);  // of an integer or a float
Source source_of(mlir::Operation& op);
// The operation in its element-wise form; empty for other operations and for types that have no kind.
std::optional<Elementwise> elementwise_of(mlir::Operation& op);
// What an atomic operation leaves in memory.
std::uint64_t combine(tt::RMWOp op, Kind kind, std::uint64_t old, std::uint64_t value);

// Resolves values to slots and operations to typed instructions. Calls become regions in place; mathematical functions
// become expansions of their own. After a failure findings() says which operation cannot be run.
class Builder {
 public:
  explicit Builder(mlir::ModuleOp module) : module_(module) {}

  bool build(tt::FuncOp function, Program& program);
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  bool build_region(mlir::Region& source, Region& target);
  bool build_block(mlir::Block& source, Block& target, const llvm::DenseMap<mlir::Block*, std::uint32_t>& numbers);
  bool build_exit(mlir::Operation& op, Block& target, const llvm::DenseMap<mlir::Block*, std::uint32_t>& numbers);
  bool build_operation(mlir::Operation& op, Block& block);
  void build_extended(mlir::Operation& op, Block& block);
  bool build_elementwise(mlir::Operation& op, const Elementwise& what, Instruction& instruction);
  bool build_math(mlir::Operation& op, Instruction& instruction);
  bool build_call(tt::CallOp op, Instruction& instruction);
  bool build_constant(mlir::Attribute attribute, Instruction& instruction);
  bool build_other(mlir::Operation& op, Instruction& instruction);  // build_operations.cpp
  bool build_memory(mlir::Operation& op, Instruction& instruction);
  bool build_shape(mlir::Operation& op, Instruction& instruction);
  bool build_control(mlir::Operation& op, Instruction& instruction);
  void build_value_promises(mlir::Operation& op, Block& block);
  void classify(Region& region);

  Slot slot_of(mlir::Value value);
  bool describe(mlir::Type type, SlotType& slot);
  std::uint32_t add_source(mlir::Operation& op);
  bool refuse(mlir::Operation& op, const std::string& message, const std::string& help = "");
  std::vector<Slot> slots_of(mlir::ValueRange values);

  mlir::ModuleOp module_;
  Program* program_ = nullptr;
  llvm::DenseMap<mlir::Value, Slot> slots_;
  llvm::DenseSet<mlir::Operation*> calling_;
  llvm::StringMap<std::shared_ptr<Program>> expansions_;
  std::vector<Finding> findings_;
};

}  // namespace teeny::compiler::interpreter
