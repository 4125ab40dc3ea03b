// Shape, memory, matrix, region, control and debugging operations of an interpreter program.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>

#include "compiler/interpreter/build.hpp"
#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

std::vector<std::int64_t> strides_of(llvm::ArrayRef<std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Source element of each result element, where result dimension d walks the source with source_strides[d] elements.
std::vector<std::uint32_t> gather_map(llvm::ArrayRef<std::int64_t> shape, llvm::ArrayRef<std::int64_t> source_strides) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) count *= size;
  std::vector<std::uint32_t> map(count);
  const auto strides = strides_of(shape);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) source += i / strides[d] % shape[d] * source_strides[d];
    map[i] = static_cast<std::uint32_t>(source);
  }
  return map;
}

void set(Instruction& instruction, Op op, Handler run) {
  instruction.op = op;
  instruction.run = run;
}

std::vector<std::int64_t> numbers_of(std::optional<llvm::ArrayRef<std::int64_t>> numbers) {
  return numbers ? std::vector<std::int64_t>(numbers->begin(), numbers->end()) : std::vector<std::int64_t>();
}

std::vector<std::int64_t> promise_of(mlir::Operation& op, llvm::StringRef name) {
  std::vector<std::int64_t> numbers;
  if (auto dense = op.getAttrOfType<mlir::DenseIntElementsAttr>(name))
    for (const llvm::APInt& number : dense.getValues<llvm::APInt>()) numbers.push_back(number.getSExtValue());
  return numbers;
}

// integers of a hint: [count of divisors, divisors…, lengths…]
std::vector<std::int64_t> hint_numbers(std::vector<std::int64_t> divisors, const std::vector<std::int64_t>& lengths) {
  divisors.insert(divisors.begin(), static_cast<std::int64_t>(divisors.size()));
  divisors.insert(divisors.end(), lengths.begin(), lengths.end());
  return divisors;
}

}  // namespace

// Promises about a value that .ttir files carry as attributes of the operation that defines it.
void Builder::build_value_promises(mlir::Operation& op, Block& block) {
  if (op.getNumResults() != 1) return;
  auto divisors = promise_of(op, "tt.divisibility"), lengths = promise_of(op, "tt.contiguity");
  if (divisors.empty() && lengths.empty()) return;
  const std::size_t rank = std::max<std::size_t>(1, tt::shape_of(op.getResult(0).getType()).size());
  if (divisors.size() != rank) divisors.clear();
  if (lengths.size() != rank) lengths.clear();
  Instruction hint;
  set(hint, Op::hint, run_hint);
  hint.index = add_source(op);
  hint.operands = slots_of(op.getResults());
  hint.from = hint.to = program_->types[hint.operands[0]].kind;
  hint.integers = hint_numbers(divisors, lengths);
  block.instructions.push_back(std::move(hint));
}

bool Builder::build_other(mlir::Operation& op, Instruction& instruction) {
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op))
    return build_constant(constant.getValue(), instruction) || refuse(op, "constant; expected numbers");
  if (mlir::isa<mlir::ub::PoisonOp>(op)) return set(instruction, Op::poison, run_poison), true;
  if (auto id = mlir::dyn_cast<tt::GetProgramIdOp>(op)) {
    instruction.integers = {static_cast<std::int64_t>(id.getAxis())};
    return set(instruction, Op::program_id, run_program_id), true;
  }
  if (auto count = mlir::dyn_cast<tt::GetNumProgramsOp>(op)) {
    instruction.integers = {static_cast<std::int64_t>(count.getAxis())};
    return set(instruction, Op::num_programs, run_num_programs), true;
  }
  if (auto range = mlir::dyn_cast<tt::MakeRangeOp>(op)) {
    instruction.integers = {static_cast<std::int32_t>(range.getStart()), static_cast<std::int32_t>(range.getEnd())};
    return set(instruction, Op::make_range, run_make_range), true;
  }
  if (auto hint = mlir::dyn_cast<tt::HintOp>(op)) {
    instruction.integers = hint_numbers(numbers_of(hint.getDivisibility()), numbers_of(hint.getContiguity()));
    return set(instruction, Op::hint, run_hint), true;
  }
  if (mlir::isa<tt::AssumeOp>(op) || op.getName().getStringRef() == "llvm.intr.assume")
    return set(instruction, Op::assume, run_assume), true;
  if (auto check = mlir::dyn_cast<tt::AssertOp>(op)) {
    instruction.text = check.getMessage().str();
    return set(instruction, Op::device_assert, run_assert), true;
  }
  if (auto print = mlir::dyn_cast<tt::PrintOp>(op)) {
    instruction.text = print.getPrefix().str();
    instruction.integers.push_back(print.getHex());
    for (std::size_t i = 0; i < print.getArgs().size(); ++i) instruction.integers.push_back(print.is_signed(i));
    return set(instruction, Op::device_print, run_print), true;
  }
  if (auto call = mlir::dyn_cast<tt::CallOp>(op)) return build_call(call, instruction);
  if (mlir::isa<mlir::scf::SCFDialect>(op.getDialect()) || mlir::isa<tt::ReduceOp, tt::ScanOp>(op))
    return build_control(op, instruction);
  if (auto dot = mlir::dyn_cast<tt::DotOp>(op)) {
    instruction.integers = {static_cast<std::int64_t>(dot.getInputPrecision())};
    return set(instruction, Op::dot, run_dot), true;
  }
  return build_shape(op, instruction);
}

bool Builder::build_shape(mlir::Operation& op, Instruction& instruction) {
  if (mlir::isa<tt::SplatOp>(op)) {
    instruction.gather.assign(program_->types[instruction.results[0]].elements, 0);
    return set(instruction, Op::gather, run_gather), true;
  }
  if (mlir::isa<tt::UnsplatOp, tt::ExpandDimsOp, tt::ReshapeOp>(op)) return set(instruction, Op::move, run_move), true;
  if (auto broadcast = mlir::dyn_cast<tt::BroadcastOp>(op)) {
    auto from = tt::shape_of(broadcast.getSrc().getType()), to = tt::shape_of(broadcast.getType());
    auto strides = strides_of(from);
    for (std::size_t d = 0; d < from.size(); ++d)
      if (from[d] == 1) strides[d] = 0;
    instruction.gather = gather_map(to, strides);
    return set(instruction, Op::gather, run_gather), true;
  }
  if (auto trans = mlir::dyn_cast<tt::TransOp>(op)) {
    const auto strides = strides_of(tt::shape_of(trans.getSrc().getType()));
    std::vector<std::int64_t> permuted;
    for (std::int32_t source : trans.getOrder()) permuted.push_back(strides[source]);
    instruction.gather = gather_map(tt::shape_of(trans.getType()), permuted);
    return set(instruction, Op::gather, run_gather), true;
  }
  return build_memory(op, instruction);
}

bool Builder::build_memory(mlir::Operation& op, Instruction& instruction) {
  if (auto load = mlir::dyn_cast<tt::LoadOp>(op)) {
    instruction.integers = {load.getMask() != nullptr, load.getOther() != nullptr, load.getIsVolatile()};
    return set(instruction, Op::load, run_load), true;
  }
  if (auto store = mlir::dyn_cast<tt::StoreOp>(op)) {
    instruction.integers = {store.getMask() != nullptr};
    return set(instruction, Op::store, run_store), true;
  }
  if (auto atomic = mlir::dyn_cast<tt::AtomicRMWOp>(op)) {
    instruction.integers = {static_cast<std::int64_t>(atomic.getAtomicRmwOp()),
                            static_cast<std::int64_t>(atomic.getSem()), atomic.getMask() != nullptr};
    return set(instruction, Op::atomic_rmw, run_atomic_rmw), true;
  }
  if (auto atomic = mlir::dyn_cast<tt::AtomicCASOp>(op)) {
    instruction.integers = {0, static_cast<std::int64_t>(atomic.getSem()), false};
    return set(instruction, Op::atomic_cas, run_atomic_cas), true;
  }
  if (mlir::isa<tt::BarrierOp>(op)) return set(instruction, Op::barrier, run_barrier), true;
  if (auto make = mlir::dyn_cast<tt::MakeTensorDescOp>(op)) {
    instruction.integers = {make.getPadding() == tt::PaddingOption::PAD_NAN,
                            static_cast<std::int64_t>(make.getShape().size())};
    return set(instruction, Op::make_descriptor, run_make_descriptor), true;
  }
  if (mlir::isa<tt::DescriptorLoadOp>(op)) return set(instruction, Op::descriptor_load, run_descriptor_load), true;
  if (mlir::isa<tt::DescriptorStoreOp>(op)) return set(instruction, Op::descriptor_store, run_descriptor_store), true;
  return refuse(op, "cannot be run; expected an operation that the interpreter knows");
}

bool Builder::build_control(mlir::Operation& op, Instruction& instruction) {
  if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op)) {
    instruction.integers = {loop.getUnsignedCmp()};
    set(instruction, Op::for_loop, run_for);
  } else if (mlir::isa<mlir::scf::WhileOp>(op)) {
    set(instruction, Op::while_loop, run_while);
  } else if (mlir::isa<mlir::scf::IfOp>(op)) {
    set(instruction, Op::if_else, run_if);
  } else if (auto reduce = mlir::dyn_cast<tt::ReduceOp>(op)) {
    instruction.integers = {static_cast<std::int64_t>(reduce.getAxis())};
    set(instruction, Op::reduce, run_reduce);
  } else if (auto scan = mlir::dyn_cast<tt::ScanOp>(op)) {
    instruction.integers = {static_cast<std::int64_t>(scan.getAxis()), scan.getReverse()};
    set(instruction, Op::scan, run_scan);
  } else {
    return refuse(op, "cannot be run; expected for, while or if");
  }
  instruction.regions.resize(op.getNumRegions());
  for (auto [source, target] : llvm::zip(op.getRegions(), instruction.regions))
    if (!build_region(source, target)) return false;
  return true;
}

bool Builder::build_call(tt::CallOp op, Instruction& instruction) {
  auto callee = mlir::dyn_cast_or_null<tt::FuncOp>(mlir::SymbolTable::lookupSymbolIn(module_, op.getCallee()));
  if (!callee || callee.isExternal())
    return refuse(*op, "callee; got '" + op.getCallee().str() + "', expected a function with a body");
  if (!calling_.insert(callee).second) return refuse(*op, "calls itself; got recursion, expected none");
  // Each call gets its own slots, so a body may be resolved again.
  auto saved = slots_;
  instruction.regions.resize(1);
  const bool built = build_region(callee.getBody(), instruction.regions[0]);
  slots_ = std::move(saved);
  calling_.erase(callee);
  set(instruction, Op::call, run_call);
  return built;
}

}  // namespace teeny::compiler::interpreter
