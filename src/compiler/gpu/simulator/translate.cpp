// From a function of the thread dialect to instructions.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/UB/IR/UBOps.h>

#include <llvm/ADT/TypeSwitch.h>

#include "compiler/gpu/simulator/translator.hpp"

namespace teeny::compiler::simulator {

using namespace mlir;

static std::int64_t bytes_of(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

bool Translator::refuse(Operation& op, const std::string& rule, const std::string& help) {
  if (!finding_.kind.empty()) return false;
  const interpreter::Source source = interpreter::source_of(op);
  finding_.kind = "unsupported";
  finding_.message = op.getName().getStringRef().str() + ": " + rule;
  finding_.help = help;
  finding_.operation = source.operation;
  finding_.location = source.location;
  return false;
}

Slot Translator::new_slot(Kind kind) {
  code_.kinds.push_back(kind);
  return static_cast<Slot>(code_.kinds.size() - 1);
}

Slot Translator::slot_of(Value value) {
  auto [found, inserted] = slots_.try_emplace(value, static_cast<Slot>(code_.kinds.size()));
  if (!inserted) return found->second;
  const std::optional<Kind> kind = interpreter::kind_of(value.getType());
  if (!kind) {
    Operation* owner = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    refuse(*owner, "scalars of i1 to i64, f16, bf16, f32 or f64; got another type", "lower it to such scalars first");
  }
  return new_slot(kind.value_or(Kind::i64));
}

std::vector<Slot> Translator::slots_of(ValueRange values) {
  std::vector<Slot> slots;
  for (Value value : values) slots.push_back(slot_of(value));
  return slots;
}

std::uint32_t Translator::source_of(Operation& op) {
  auto [found, inserted] = sources_.try_emplace(&op, static_cast<std::uint32_t>(code_.sources.size()));
  if (!inserted) return found->second;
  code_.sources.push_back(interpreter::source_of(op));
  code_.operations.push_back(&op);
  return found->second;
}

void Translator::set_operands(Instruction& instruction, ArrayRef<Slot> operands, ArrayRef<Slot> results) {
  instruction.operands = static_cast<std::uint32_t>(code_.slots.size());
  instruction.operand_count = static_cast<std::uint32_t>(operands.size());
  code_.slots.insert(code_.slots.end(), operands.begin(), operands.end());
  instruction.results = static_cast<std::uint32_t>(code_.slots.size());
  instruction.result_count = static_cast<std::uint32_t>(results.size());
  code_.slots.insert(code_.slots.end(), results.begin(), results.end());
}

Instruction& Translator::emit(Operation& op, Run run, ArrayRef<Slot> operands, ArrayRef<Slot> results) {
  Instruction instruction;
  instruction.run = run;
  instruction.source = source_of(op);
  set_operands(instruction, operands, results);
  code_.instructions.push_back(instruction);
  return code_.instructions.back();
}

void Translator::move(Operation& op, ValueRange from, ArrayRef<Slot> to) {
  if (!to.empty()) emit(op, run_moves, slots_of(from), to);
}

bool Translator::translate(func::FuncOp kernel) {
  const auto number = [&](llvm::StringRef name, std::int64_t otherwise) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : otherwise;
  };
  code_.warps = static_cast<int>(number(thread::warps_attribute, 1));
  code_.lanes = static_cast<int>(number(thread::lanes_attribute, capability_.lanes));
  code_.shared_bytes = number(thread::shared_bytes_attribute, 0);
  code_.arguments = kernel.getNumArguments();
  if (code_.lanes < 1 || code_.lanes > 64)
    return refuse(*kernel, "a warp has 1 to 64 lanes; got " + std::to_string(code_.lanes), "choose another width");
  if (code_.shared_bytes > capability_.shared_bytes)
    return refuse(*kernel,
                  "a program must fit into shared memory; got " + std::to_string(code_.shared_bytes) +
                      " bytes, expected at most " + std::to_string(capability_.shared_bytes),
                  "use smaller blocks or fewer stages");
  for (BlockArgument argument : kernel.getArguments())
    initial(Initial::What::argument, argument, argument.getArgNumber());
  if (!block(kernel.getBody().front())) return false;
  emit(*kernel.getBody().front().getTerminator(), run_end);
  return finding_.kind.empty();
}

bool Translator::block(Block& block) {
  for (Operation& op : block.without_terminator())
    if (!operation(op)) return false;
  return true;
}

bool Translator::operation(Operation& op) {
  if (isa<thread::SharedRefOp>(op)) return true;  // accesses read it
  if (value(op) || control(op) || memory(op) || shared(op) || lanes(op) || matrix(op) || extended(op) ||
      elementwise(op))
    return finding_.kind.empty();
  return refuse(op, "an operation of the thread dialect, or of arith, math and scf on scalars; got another",
                "lower it first");
}

bool Translator::elementwise(Operation& op) {
  if (isa<math::Exp2Op, math::RsqrtOp>(op) && op.getResult(0).getType().isF32()) {
    emit(op, run_approximation, slots_of(op.getOperands()), slots_of(op.getResults())).number = isa<math::RsqrtOp>(op);
    return true;
  }
  const std::optional<interpreter::Elementwise> what = interpreter::elementwise_of(op);
  if (!what) return false;
  interpreter::ElementFunction apply = interpreter::element_function(what->op, what->from, what->to);
  if (!apply) return false;
  Instruction& instruction = emit(op, run_elements, slots_of(op.getOperands()), slots_of(op.getResults()));
  instruction.apply = apply;
  instruction.element = *what;
  return true;
}

// Low and high half of a product, sum and carry.
bool Translator::extended(Operation& op) {
  using interpreter::Op;
  const bool sum = isa<arith::AddUIExtendedOp>(op);
  if (!sum && !isa<arith::MulSIExtendedOp, arith::MulUIExtendedOp>(op)) return false;
  const std::vector<Slot> operands = slots_of(op.getOperands());
  const Slot low = slot_of(op.getResult(0)), high = slot_of(op.getResult(1));
  const Kind kind = code_.kinds[low];
  const auto half = [&](Op what, ArrayRef<Slot> from, Slot to, std::int64_t attribute) {
    Instruction& instruction = emit(op, run_elements, from, {to});
    instruction.element = {.op = what, .from = kind, .to = code_.kinds[to], .attributes = {attribute, 0}};
    instruction.apply = interpreter::element_function(what, kind, code_.kinds[to]);
  };
  half(sum ? Op::addi : Op::muli, operands, low, 0);
  if (sum)
    half(Op::cmpi, {low, operands[0]}, high, std::int64_t(arith::CmpIPredicate::ult));
  else
    half(isa<arith::MulSIExtendedOp>(op) ? Op::mulhisi : Op::mulhiui, operands, high, 0);
  return true;
}

// What is known before the first instruction. A value that nobody may depend on is a pattern that shows.
bool Translator::value(Operation& op) {
  using What = Initial::What;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    initial(What::constant, constant, interpreter::bits_of(constant.getValue()));
  } else if (isa<ub::PoisonOp>(op)) {
    const Slot slot = slot_of(op.getResult(0));
    const Word pattern = 0xa5a5a5a5a5a5a5a5u & interpreter::low_mask(interpreter::width_of(code_.kinds[slot]));
    code_.initial.push_back({What::constant, slot, pattern});
  } else if (isa<thread::LaneIdOp>(op)) {
    initial(What::lane, op.getResult(0), 0);
  } else if (isa<thread::WarpIdOp>(op)) {
    initial(What::warp, op.getResult(0), 0);
  } else if (auto id = dyn_cast<thread::ProgramIdOp>(op)) {
    initial(What::program, id, static_cast<Word>(id.getAxis()));
  } else if (auto count = dyn_cast<thread::NumProgramsOp>(op)) {
    initial(What::programs, count, static_cast<Word>(count.getAxis()));
  } else {
    return false;
  }
  return true;
}

bool Translator::control(Operation& op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) return this->loop(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return this->loop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) return this->branch(branch);
  return false;
}

// A loop's results stand where its carried values do: a lane that has left writes them no more.
bool Translator::loop(scf::ForOp loop) {
  const std::vector<Slot> carried = slots_of(loop.getRegionIterArgs());
  for (auto [result, slot] : llvm::zip_equal(loop.getResults(), carried)) slots_[result] = slot;
  const Slot variable = slot_of(loop.getInductionVar()), step = slot_of(loop.getStep()), rounds = new_slot(Kind::i64);
  move(*loop, loop.getInitArgs(), carried);
  move(*loop, loop.getLowerBound(), {variable});
  emit(*loop, run_count, {slot_of(loop.getLowerBound()), slot_of(loop.getUpperBound()), step}, {rounds}).number =
      loop.getUnsignedCmp();
  emit(*loop, run_save);
  const std::uint32_t test = here();
  emit(*loop, run_test, {rounds});
  if (!block(*loop.getBody())) return true;
  move(*loop, loop.getBody()->getTerminator()->getOperands(), carried);
  emit(*loop, run_next, {variable, step, rounds}).target = test;
  at(test).target = here();
  emit(*loop, run_join);
  return true;
}

bool Translator::loop(scf::WhileOp loop) {
  const std::vector<Slot> before = slots_of(loop.getBeforeArguments()), after = slots_of(loop.getAfterArguments());
  for (auto [result, slot] : llvm::zip_equal(loop.getResults(), after)) slots_[result] = slot;
  move(*loop, loop.getInits(), before);
  emit(*loop, run_save);
  const std::uint32_t head = here();
  if (!block(*loop.getBeforeBody())) return true;
  scf::ConditionOp condition = loop.getConditionOp();
  move(*loop, condition.getArgs(), after);
  const std::uint32_t test = here();
  emit(*loop, run_test, {slot_of(condition.getCondition())});
  if (!block(*loop.getAfterBody())) return true;
  move(*loop, loop.getYieldOp().getOperands(), before);
  emit(*loop, run_again).target = head;
  at(test).target = here();
  emit(*loop, run_join);
  return true;
}

bool Translator::branch(scf::IfOp branch) {
  const std::vector<Slot> results = slots_of(branch.getResults());
  const std::uint32_t start = here();
  emit(*branch, run_branch, {slot_of(branch.getCondition())});
  const auto side = [&](Region& region) {
    if (region.empty()) return true;
    if (!block(region.front())) return false;
    move(*branch, region.front().getTerminator()->getOperands(), results);
    return true;
  };
  if (!side(branch.getThenRegion())) return true;
  const std::uint32_t middle = here();
  at(start).target = middle;
  emit(*branch, run_else);
  if (!side(branch.getElseRegion())) return true;
  at(middle).target = here();
  emit(*branch, run_join);
  return true;
}

Instruction& Translator::global_access(Operation& op, Run run, ValueRange operands, Value mask, std::int64_t offset,
                                       Type element) {
  const Slot mask_slot = optional_slot(mask);
  Instruction& instruction = emit(op, run, slots_of(operands), slots_of(op.getResults()));
  instruction.mask = mask_slot;
  instruction.offset = offset;
  instruction.bytes = static_cast<std::int32_t>(bytes_of(element));
  instruction.element.from = interpreter::kind_of(element).value_or(Kind::i64);
  return instruction;
}

bool Translator::memory(Operation& op) {
  const auto with = [](Value first, ValueRange rest) {
    SmallVector<Value> all{first};
    llvm::append_range(all, rest);
    return all;
  };
  return llvm::TypeSwitch<Operation*, bool>(&op)
      .Case([&](thread::LoadOp load) {
        global_access(op, run_load, with(load.getAddress(), load.getOther()), load.getMask(), load.getOffset(),
                      load.getResult(0).getType())
            .number = load.getAlignment();
        return true;
      })
      .Case([&](thread::StoreOp store) {
        global_access(op, run_store, with(store.getAddress(), store.getValues()), store.getMask(), store.getOffset(),
                      store.getValues()[0].getType())
            .number = store.getAlignment();
        return true;
      })
      .Case([&](thread::AtomicRMWOp atomic) {
        global_access(op, run_atomic_rmw, {atomic.getAddress(), atomic.getValue()}, atomic.getMask(),
                      atomic.getOffset(), atomic.getValue().getType())
            .number = static_cast<std::int32_t>(atomic.getKind());
        return true;
      })
      .Case([&](thread::AtomicCASOp atomic) {
        global_access(op, run_atomic_cas, {atomic.getAddress(), atomic.getCompare(), atomic.getValue()},
                      atomic.getMask(), atomic.getOffset(), atomic.getValue().getType());
        return true;
      })
      .Default(false);
}

Array Translator::array_of(Operation& op, Value array) {
  if (auto reference = array.getDefiningOp<thread::SharedRefOp>())
    return {static_cast<std::int64_t>(reference.getOffset()), static_cast<std::int64_t>(reference.getElements())};
  refuse(op, "an array of shared memory comes from thread.shared_ref; got another value", "do not pass arrays on");
  return {};
}

Instruction& Translator::shared_access(Operation& op, Run run, Value array, ValueRange operands, Value mask,
                                       std::int64_t offset) {
  const Slot mask_slot = optional_slot(mask);
  Instruction& instruction = emit(op, run, slots_of(operands), slots_of(op.getResults()));
  Type element = cast<thread::SharedType>(array.getType()).getElement();
  instruction.mask = mask_slot;
  instruction.offset = offset;
  instruction.bytes = static_cast<std::int32_t>(bytes_of(element));
  instruction.element.from = interpreter::kind_of(element).value_or(Kind::i64);
  instruction.array = array_of(op, array);
  return instruction;
}

bool Translator::shared(Operation& op) {
  const auto with = [](Value first, ValueRange rest) {
    SmallVector<Value> all{first};
    llvm::append_range(all, rest);
    return all;
  };
  return llvm::TypeSwitch<Operation*, bool>(&op)
      .Case([&](thread::SharedLoadOp load) {
        shared_access(op, run_shared_load, load.getArray(), {load.getIndex()}, load.getMask(), load.getOffset());
        return true;
      })
      .Case([&](thread::SharedStoreOp store) {
        shared_access(op, run_shared_store, store.getArray(), with(store.getIndex(), store.getValues()),
                      store.getMask(), store.getOffset());
        return true;
      })
      .Case([&](thread::SharedAtomicRMWOp atomic) {
        shared_access(op, run_shared_atomic, atomic.getArray(), {atomic.getIndex(), atomic.getValue()},
                      atomic.getMask(), atomic.getOffset())
            .number = static_cast<std::int32_t>(atomic.getKind());
        return true;
      })
      .Case([&](thread::CopyAsyncOp copy) {
        Instruction& instruction = shared_access(op, run_copy, copy.getArray(), {copy.getIndex(), copy.getAddress()},
                                                 copy.getMask(), copy.getOffset());
        instruction.address_offset = copy.getAddressOffset();
        instruction.number = copy.getBytes();
        return true;
      })
      .Case([&](thread::CopyCommitOp) { return emit(op, run_commit), true; })
      .Case([&](thread::CopyWaitOp wait) {
        emit(op, run_wait).number = static_cast<std::int32_t>(wait.getPending());
        return true;
      })
      .Default(false);
}

bool Translator::lanes(Operation& op) {
  return llvm::TypeSwitch<Operation*, bool>(&op)
      .Case([&](thread::BarrierOp barrier) {
        if (barrier.getWarps() != 0)
          return refuse(op, "a barrier of all warps; got one of a part of them", "use a barrier of the program"), true;
        emit(op, run_barrier).number = static_cast<std::int32_t>(barrier.getMemory());
        return true;
      })
      .Case([&](thread::ShuffleOp shuffle) {
        emit(op, run_shuffle, slots_of(op.getOperands()), slots_of(op.getResults())).number =
            static_cast<std::int32_t>(shuffle.getKind());
        return true;
      })
      .Case([&](thread::BallotOp) {
        return emit(op, run_ballot, slots_of(op.getOperands()), slots_of(op.getResults())), true;
      })
      .Case([&](thread::RoundTf32Op) {
        return emit(op, run_round_tf32, slots_of(op.getOperands()), slots_of(op.getResults())), true;
      })
      .Case([&](thread::MessageOp message) {
        Instruction& instruction = emit(op, run_message, slots_of({message.getElement(), message.getValue()}));
        instruction.mask = slot_of(message.getMask());
        instruction.number = static_cast<std::int32_t>(message.getKind());
        return true;
      })
      .Default(false);
}

bool translate(func::FuncOp kernel, const gpu::Capability& capability, Code& code, Finding& finding) {
  return Translator(capability, code, finding).translate(kernel);
}

}  // namespace teeny::compiler::simulator
