// Products of matrix units, and what moves their operands.
#include "compiler/gpu/simulator/translator.hpp"

namespace teeny::compiler::simulator {

using namespace mlir;

bool Translator::matrix(Operation& op) {
  if (isa<thread::FenceAsyncOp>(op)) return emit(op, run_fence), true;
  if (!isa<thread::MmaOp, thread::MmaAsyncOp, thread::MmaBeginOp, thread::MmaCommitOp, thread::MmaWaitOp,
           thread::MatrixLoadOp, thread::MatrixStoreOp>(op))
    return false;
  if (code_.lanes != 32)
    return refuse(op, "warps of 32 lanes; got " + std::to_string(code_.lanes), "compile for a target of 32 lanes"), true;
  if (auto product = dyn_cast<thread::MmaOp>(op)) return this->product(product);
  if (auto product = dyn_cast<thread::MmaAsyncOp>(op)) return this->product(product);
  if (isa<thread::MmaBeginOp>(op)) return true;  // accumulators are read where a product begins
  if (isa<thread::MmaCommitOp>(op)) return emit(op, run_mma_commit), true;
  if (auto wait = dyn_cast<thread::MmaWaitOp>(op)) {
    emit(op, run_mma_wait, slots_of(op.getOperands()), slots_of(op.getResults())).number =
        static_cast<std::int32_t>(wait.getPending());
    return true;
  }
  if (auto load = dyn_cast<thread::MatrixLoadOp>(op)) {
    shared_access(op, run_matrix_load, load.getArray(), {load.getIndex()}, {}, load.getOffset()).number =
        load.getTranspose();
    return true;
  }
  if (auto store = dyn_cast<thread::MatrixStoreOp>(op)) {
    SmallVector<Value> operands{store.getIndex()};
    llvm::append_range(operands, store.getValues());
    shared_access(op, run_matrix_store, store.getArray(), operands, {}, store.getOffset()).number =
        store.getTranspose();
    return true;
  }
  return false;
}

// The number of the unit in Code::units; nothing after a refusal.
std::optional<std::uint32_t> Translator::unit(Operation& op, llvm::StringRef name, gpu::MatrixUnit::Form form) {
  const gpu::MatrixUnit* row = capability_.unit(name);
  if (!row || row->form != form) {
    refuse(op, "a matrix unit of " + capability_.target + " in this form; got " + name.str(), "compile for another target");
    return std::nullopt;
  }
  const auto known = llvm::find(unit_names_, row->name);
  const auto number = static_cast<std::uint32_t>(known - unit_names_.begin());
  if (known != unit_names_.end()) return number;
  unit_names_.push_back(row->name);
  code_.units.push_back(unit_of(*row));
  return number;
}

bool Translator::product(thread::MmaOp op) {
  const auto number = unit(*op, op.getUnit(), gpu::MatrixUnit::Form::fragments);
  if (!number) return true;
  Instruction& instruction = emit(*op, run_mma, slots_of(op.getOperands()), slots_of(op.getResults()));
  instruction.unit = *number;
  instruction.number = static_cast<std::int32_t>(op.getA().size());
  instruction.bytes = static_cast<std::int32_t>(op.getB().size());
  instruction.element.from = interpreter::kind_of(op.getA()[0].getType()).value_or(Kind::f32);
  instruction.element.to = interpreter::kind_of(op.getResult(0).getType()).value_or(Kind::f32);
  return true;
}

bool Translator::product(thread::MmaAsyncOp op) {
  const auto number = unit(*op, op.getUnit(), gpu::MatrixUnit::Form::memory);
  if (!number) return true;
  SmallVector<Value> operands(op.getA());
  if (op.getAArray()) operands.push_back(op.getAIndex());
  operands.push_back(op.getBIndex());
  llvm::append_range(operands, op.getAccumulators());
  Instruction& instruction = emit(*op, run_mma_async, slots_of(operands), slots_of(op.getResults()));
  instruction.unit = *number;
  instruction.number = static_cast<std::int32_t>(op.getA().size());
  instruction.target = static_cast<std::uint32_t>(code_.placed.size());
  const Type element = op.getBArray().getType().getElement();
  instruction.bytes = static_cast<std::int32_t>(element.getIntOrFloatBitWidth() / 8);
  instruction.element.from = interpreter::kind_of(element).value_or(Kind::f32);
  instruction.element.to = interpreter::kind_of(op.getResult(0).getType()).value_or(Kind::f32);
  code_.placed.push_back({op.getAArray() ? array_of(*op, op.getAArray()) : Array(), op.getAOffset(),
                          std::int32_t(op.getASwizzle()), std::int32_t(op.getAPanel()), op.getATransposed()});
  code_.placed.push_back({array_of(*op, op.getBArray()), op.getBOffset(), std::int32_t(op.getBSwizzle()),
                          std::int32_t(op.getBPanel()), op.getBTransposed()});
  return true;
}

}  // namespace teeny::compiler::simulator
