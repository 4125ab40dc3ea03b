// From a function of the thread dialect to instructions: translate.cpp, and translate_products.cpp for matrix units.
#pragma once

#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/dialect/thread/thread.hpp"
#include "compiler/gpu/simulator/machine.hpp"

namespace teeny::compiler::simulator {

// Makes the instructions of one kernel; a family of operations says whether it knows one, and refuses what it cannot run.
class Translator {
 public:
  Translator(const gpu::Capability& capability, Code& code, Finding& finding)
      : capability_(capability), code_(code), finding_(finding) {}

  bool translate(mlir::func::FuncOp kernel);

 private:
  Slot slot_of(mlir::Value value);
  Slot new_slot(Kind kind);
  Slot optional_slot(mlir::Value value) { return value ? slot_of(value) : no_slot; }
  std::vector<Slot> slots_of(mlir::ValueRange values);
  void set_operands(Instruction& instruction, llvm::ArrayRef<Slot> operands, llvm::ArrayRef<Slot> results);
  std::uint32_t source_of(mlir::Operation& op);
  Instruction& emit(mlir::Operation& op, Run run, llvm::ArrayRef<Slot> operands = {}, llvm::ArrayRef<Slot> results = {});
  std::uint32_t here() const { return static_cast<std::uint32_t>(code_.instructions.size()); }
  Instruction& at(std::uint32_t number) { return code_.instructions[number]; }
  void move(mlir::Operation& op, mlir::ValueRange from, llvm::ArrayRef<Slot> to);
  void initial(Initial::What what, mlir::Value value, Word number) {
    code_.initial.push_back({what, slot_of(value), number});
  }

  bool block(mlir::Block& block);
  bool operation(mlir::Operation& op);
  bool elementwise(mlir::Operation& op);
  bool extended(mlir::Operation& op);
  bool value(mlir::Operation& op);
  bool control(mlir::Operation& op);
  bool loop(mlir::scf::ForOp loop);
  bool loop(mlir::scf::WhileOp loop);
  bool branch(mlir::scf::IfOp branch);
  bool memory(mlir::Operation& op);
  bool shared(mlir::Operation& op);
  bool lanes(mlir::Operation& op);
  bool matrix(mlir::Operation& op);
  bool product(thread::MmaOp op);
  bool product(thread::MmaAsyncOp op);
  std::optional<std::uint32_t> unit(mlir::Operation& op, llvm::StringRef name, gpu::MatrixUnit::Form form);
  Array array_of(mlir::Operation& op, mlir::Value array);
  Instruction& global_access(mlir::Operation& op, Run run, mlir::ValueRange operands, mlir::Value mask,
                             std::int64_t offset, mlir::Type element);
  Instruction& shared_access(mlir::Operation& op, Run run, mlir::Value array, mlir::ValueRange operands,
                             mlir::Value mask, std::int64_t offset);
  bool refuse(mlir::Operation& op, const std::string& rule, const std::string& help);

  const gpu::Capability& capability_;
  Code& code_;
  Finding& finding_;
  llvm::DenseMap<mlir::Value, Slot> slots_;
  llvm::DenseMap<mlir::Operation*, std::uint32_t> sources_;
  std::vector<std::string> unit_names_;
};

}  // namespace teeny::compiler::simulator
