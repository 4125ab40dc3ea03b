// Functions, regions, blocks, element-wise operations and constants of an interpreter program.
#include "compiler/interpreter/build.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/import/operation_number.hpp"
#include "compiler/interpreter/machine.hpp"
#include "compiler/transforms/expand_math.hpp"

namespace teeny::compiler::interpreter {
namespace {

using mlir::Type;

const llvm::StringMap<Op>& elementwise_operations() {
  static const llvm::StringMap<Op> table = {{"arith.addf", Op::addf},
                                            {"arith.subf", Op::subf},
                                            {"arith.mulf", Op::mulf},
                                            {"arith.divf", Op::divf},
                                            {"arith.remf", Op::remf},
                                            {"arith.negf", Op::negf},
                                            {"math.absf", Op::absf},
                                            {"math.sqrt", Op::sqrt},
                                            {"tt.precise_sqrt", Op::sqrt},
                                            {"tt.precise_divf", Op::divf},
                                            {"math.floor", Op::floor},
                                            {"math.ceil", Op::ceil},
                                            {"math.trunc", Op::trunc},
                                            {"math.round", Op::round},
                                            {"math.roundeven", Op::roundeven},
                                            {"math.fma", Op::fma},
                                            {"arith.maxnumf", Op::maxnumf},
                                            {"arith.minnumf", Op::minnumf},
                                            {"arith.maximumf", Op::maximumf},
                                            {"arith.minimumf", Op::minimumf},
                                            {"math.copysign", Op::copysign},
                                            {"arith.cmpf", Op::cmpf},
                                            {"math.isnan", Op::isnan},
                                            {"math.isinf", Op::isinf},
                                            {"math.isfinite", Op::isfinite},
                                            {"tt.clampf", Op::clampf},
                                            {"arith.addi", Op::addi},
                                            {"arith.subi", Op::subi},
                                            {"arith.muli", Op::muli},
                                            {"arith.divsi", Op::divsi},
                                            {"arith.divui", Op::divui},
                                            {"arith.remsi", Op::remsi},
                                            {"arith.remui", Op::remui},
                                            {"arith.ceildivsi", Op::ceildivsi},
                                            {"arith.ceildivui", Op::ceildivui},
                                            {"arith.floordivsi", Op::floordivsi},
                                            {"arith.andi", Op::andi},
                                            {"arith.ori", Op::ori},
                                            {"arith.xori", Op::xori},
                                            {"arith.shli", Op::shli},
                                            {"arith.shrsi", Op::shrsi},
                                            {"arith.shrui", Op::shrui},
                                            {"arith.maxsi", Op::maxsi},
                                            {"arith.minsi", Op::minsi},
                                            {"arith.maxui", Op::maxui},
                                            {"arith.minui", Op::minui},
                                            {"tt.mulhiui", Op::mulhiui},
                                            {"math.absi", Op::absi},
                                            {"arith.cmpi", Op::cmpi},
                                            {"math.ctlz", Op::ctlz},
                                            {"math.cttz", Op::cttz},
                                            {"math.ctpop", Op::ctpop},
                                            {"arith.extsi", Op::extsi},
                                            {"arith.extui", Op::extui},
                                            {"arith.trunci", Op::trunci},
                                            {"arith.sitofp", Op::sitofp},
                                            {"arith.uitofp", Op::uitofp},
                                            {"arith.fptosi", Op::fptosi},
                                            {"arith.fptoui", Op::fptoui},
                                            {"arith.extf", Op::convertf},
                                            {"arith.truncf", Op::convertf},
                                            {"tt.fp_to_fp", Op::convertf},
                                            {"arith.bitcast", Op::bitcast},
                                            {"tt.bitcast", Op::bitcast},
                                            {"tt.int_to_ptr", Op::extui},
                                            {"tt.ptr_to_int", Op::trunci},
                                            {"arith.index_cast", Op::extsi},
                                            {"arith.index_castui", Op::extui},
                                            {"arith.select", Op::select},
                                            {"tt.addptr", Op::addptr},
                                            {"math.exp", Op::math},
                                            {"math.exp2", Op::math},
                                            {"math.log", Op::math},
                                            {"math.log2", Op::math},
                                            {"math.sin", Op::math},
                                            {"math.cos", Op::math},
                                            {"math.erf", Op::math},
                                            {"math.tanh", Op::math},
                                            {"math.rsqrt", Op::math}};
  return table;
}

std::string print_type(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// The innermost file location: of a call its callee, of a fused or named one what it wraps.
mlir::FileLineColLoc file_location(mlir::Location location) {
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location)) return file;
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) return file_location(name.getChildLoc());
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) return file_location(call.getCallee());
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      if (auto file = file_location(part)) return file;
  return {};
}

}  // namespace

std::optional<Kind> kind_of(Type type) {
  if (mlir::isa<tt::PointerType>(type)) return Kind::pointer;
  if (type.isF16()) return Kind::f16;
  if (type.isBF16()) return Kind::bf16;
  if (type.isF32()) return Kind::f32;
  if (type.isF64()) return Kind::f64;
  if (type.isInteger(1)) return Kind::i1;
  if (type.isInteger(8)) return Kind::i8;
  if (type.isInteger(16)) return Kind::i16;
  if (type.isInteger(32)) return Kind::i32;
  if (type.isInteger(64) || type.isIndex()) return Kind::i64;
  return std::nullopt;
}

Source source_of(mlir::Operation& op) {
  Source source;
  if (auto number = operation_number(op.getLoc())) {
    source.operation = static_cast<std::int32_t>(*number);
  } else if (auto file = file_location(op.getLoc())) {
    source.location =
        file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
  }
  source.name = op.getName().stripDialect().str();
  Type shaped = op.getNumOperands()  ? op.getOperand(0).getType()
                : op.getNumResults() ? op.getResult(0).getType()
                                     : Type();
  if (auto descriptor = mlir::dyn_cast_or_null<tt::TensorDescType>(shaped)) shaped = descriptor.getBlockType();
  if (shaped)
    for (std::int64_t size : tt::shape_of(shaped))
      if (size != 1) source.shape.push_back(size);
  return source;
}

std::optional<Elementwise> elementwise_of(mlir::Operation& op) {
  auto found = elementwise_operations().find(op.getName().getStringRef());
  if (found == elementwise_operations().end()) return std::nullopt;
  const auto from = kind_of(tt::element_type(op.getOperand(0).getType()));
  const auto to = kind_of(tt::element_type(op.getResult(0).getType()));
  if (!from || !to) return std::nullopt;
  Elementwise what{.op = found->second, .from = *from, .to = *to};
  if (auto compare = mlir::dyn_cast<mlir::arith::CmpFOp>(op)) {
    what.attributes[0] = static_cast<std::int64_t>(compare.getPredicate());
  } else if (auto compare = mlir::dyn_cast<mlir::arith::CmpIOp>(op)) {
    what.attributes[0] = static_cast<std::int64_t>(compare.getPredicate());
  } else if (auto clamp = mlir::dyn_cast<tt::ClampFOp>(op)) {
    if (clamp.getPropagateNan() == tt::PropagateNan::ALL) what.op = Op::clampf_nan;
  } else if (auto cast = mlir::dyn_cast<tt::FpToFpOp>(op)) {
    if (cast.getRounding() && *cast.getRounding() == tt::RoundingMode::RTZ) what.op = Op::convertf_to_zero;
  } else if (auto add = mlir::dyn_cast<tt::AddPtrOp>(op)) {
    const Type pointee = tt::pointee_type(tt::element_type(add.getOperand(0).getType()));
    what.attributes[0] = bytes_of(kind_of(pointee).value_or(Kind::i8));
    what.attributes[1] = width_of(kind_of(tt::element_type(add.getOperand(1).getType())).value_or(Kind::i32));
  }
  return what;
}

std::uint64_t bits_of(mlir::Attribute number) {
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(number)) return real.getValue().bitcastToAPInt().getZExtValue();
  return mlir::cast<mlir::IntegerAttr>(number).getValue().getZExtValue();
}

std::uint32_t Builder::add_source(mlir::Operation& op) {
  program_->sources.push_back(source_of(op));
  return static_cast<std::uint32_t>(program_->sources.size() - 1);
}

bool Builder::refuse(mlir::Operation& op, const std::string& message, const std::string& help) {
  const Source& source = program_->sources[add_source(op)];
  Finding finding;
  finding.kind = "unsupported";
  finding.message = op.getName().getStringRef().str() + ": " + message;
  finding.help =
      help.empty() ? "the interpreter runs the tt, arith, math, scf and cf operations of docs/language.md" : help;
  finding.operation = source.operation;
  finding.location = source.location;
  findings_.push_back(std::move(finding));
  return false;
}

static bool set_kind(Type type, Kind& kind) {
  const std::optional<Kind> known = kind_of(type);
  if (known) kind = *known;
  return known.has_value();
}

bool Builder::describe(Type type, SlotType& slot) {
  if (auto descriptor = mlir::dyn_cast<tt::TensorDescType>(type)) {
    slot.kind = Kind::pointer;
    slot.shape.assign(descriptor.getBlockType().getShape().begin(), descriptor.getBlockType().getShape().end());
    return set_kind(descriptor.getBlockType().getElementType(), slot.pointee);
  }
  Type element = tt::element_type(type);
  if (!set_kind(element, slot.kind)) return false;
  if (auto pointer = mlir::dyn_cast<tt::PointerType>(element))
    if (!set_kind(pointer.getPointeeType(), slot.pointee)) return false;
  slot.shape.assign(tt::shape_of(type).begin(), tt::shape_of(type).end());
  for (std::int64_t size : slot.shape) slot.elements *= size;
  return true;
}

Slot Builder::slot_of(mlir::Value value) {
  auto [found, inserted] = slots_.try_emplace(value, static_cast<Slot>(program_->types.size()));
  if (!inserted) return found->second;
  SlotType type;
  if (!describe(value.getType(), type)) {
    mlir::Operation* owner = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    refuse(*owner, "element type; got " + print_type(value.getType()) +
                       ", expected i1 to i64, f16, bf16, f32, f64 or a pointer");
  }
  program_->types.push_back(std::move(type));
  return found->second;
}

std::vector<Slot> Builder::slots_of(mlir::ValueRange values) {
  std::vector<Slot> slots;
  for (mlir::Value value : values) slots.push_back(slot_of(value));
  return slots;
}

bool Builder::build(tt::FuncOp function, Program& program) {
  program_ = &program;
  slots_.clear();
  calling_.insert(function);
  program.name = function.getName().str();
  if (function.isExternal()) return refuse(*function, "has no body; got a declaration, expected a kernel");
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    program.arguments.push_back(slot_of(function.getArgument(i)));
    auto divisibility = function.getArgAttrOfType<mlir::IntegerAttr>(i, "tt.divisibility");
    program.divisibility.push_back(divisibility ? divisibility.getInt() : 1);
    if (mlir::isa<tt::TensorDescType, mlir::RankedTensorType>(function.getArgument(i).getType()) && function.isPublic())
      return refuse(*function, "argument " + std::to_string(i) + "; got " +
                                   print_type(function.getArgument(i).getType()) + ", expected a scalar or a pointer");
  }
  const bool built = build_region(function.getBody(), program.body);
  calling_.erase(function);
  return built && findings_.empty();
}

bool Builder::build_region(mlir::Region& source, Region& target) {
  llvm::DenseMap<mlir::Block*, std::uint32_t> numbers;
  for (mlir::Block& block : source) numbers.try_emplace(&block, static_cast<std::uint32_t>(numbers.size()));
  target.blocks.resize(numbers.size());
  for (auto [block, number] : llvm::zip(source, llvm::seq<std::size_t>(0, target.blocks.size())))
    target.blocks[number].arguments = slots_of(block.getArguments());
  for (mlir::Block& block : source)
    if (!build_block(block, target.blocks[numbers[&block]], numbers)) return false;
  classify(target);
  return true;
}

void Builder::classify(Region& region) {
  region.elementwise = region.blocks.size() == 1;
  for (const Block& block : region.blocks) {
    for (const Instruction& instruction : block.instructions) {
      const Op op = instruction.op;
      if (!is_elementwise(op) && op != Op::constant && op != Op::program_id && op != Op::num_programs)
        region.elementwise = false;
      if (op == Op::addf) ++region.float_additions;
      if (op == Op::subf || op == Op::mulf || op == Op::divf || op == Op::fma || op == Op::math || op == Op::sqrt ||
          op == Op::convertf)
        ++region.float_operations;
    }
  }
}

bool Builder::build_block(mlir::Block& source, Block& target,
                          const llvm::DenseMap<mlir::Block*, std::uint32_t>& numbers) {
  if (source.empty()) return true;  // an absent else branch
  for (mlir::Operation& op : source.without_terminator())
    if (!build_operation(op, target)) return false;
  return build_exit(source.back(), target, numbers);
}

bool Builder::build_exit(mlir::Operation& op, Block& target,
                         const llvm::DenseMap<mlir::Block*, std::uint32_t>& numbers) {
  target.exit_index = static_cast<std::int32_t>(add_source(op));
  if (auto branch = mlir::dyn_cast<mlir::cf::BranchOp>(op)) {
    target.exit = Exit::branch;
    target.targets[0] = numbers.lookup(branch.getDest());
    target.target_operands[0] = slots_of(branch.getDestOperands());
    return true;
  }
  if (auto branch = mlir::dyn_cast<mlir::cf::CondBranchOp>(op)) {
    target.exit = Exit::conditional_branch;
    target.operands = {slot_of(branch.getCondition())};
    target.targets[0] = numbers.lookup(branch.getTrueDest());
    target.targets[1] = numbers.lookup(branch.getFalseDest());
    target.target_operands[0] = slots_of(branch.getTrueDestOperands());
    target.target_operands[1] = slots_of(branch.getFalseDestOperands());
    return true;
  }
  target.operands = slots_of(op.getOperands());
  if (mlir::isa<tt::ReturnOp>(op)) return target.exit = Exit::returns, true;
  if (mlir::isa<mlir::scf::ConditionOp>(op)) return target.exit = Exit::condition, true;
  if (mlir::isa<mlir::scf::YieldOp, tt::ReduceReturnOp, tt::ScanReturnOp>(op)) return target.exit = Exit::yield, true;
  return refuse(op, "ends a block; expected yield, condition, return or a branch");
}

// Extended products and sums in the arithmetic of one word: low and high half, or sum and carry.
void Builder::build_extended(mlir::Operation& op, Block& block) {
  const bool sum = mlir::isa<mlir::arith::AddUIExtendedOp>(op);
  Instruction low, high;
  low.index = high.index = add_source(op);
  low.operands = high.operands = slots_of(op.getOperands());
  low.results = {slot_of(op.getResult(0))};
  high.results = {slot_of(op.getResult(1))};
  low.from = low.to = high.from = program_->types[low.operands[0]].kind;
  high.to = program_->types[high.results[0]].kind;
  low.op = sum ? Op::addi : Op::muli;
  high.op = sum ? Op::cmpi : mlir::isa<mlir::arith::MulSIExtendedOp>(op) ? Op::mulhisi : Op::mulhiui;
  if (sum) {
    high.operands = {low.results[0], low.operands[0]};
    high.attributes[0] = static_cast<std::int64_t>(mlir::arith::CmpIPredicate::ult);
  }
  for (Instruction* half : {&low, &high}) {
    half->run = run_elementwise;
    half->apply = element_function(half->op, half->from, half->to);
    block.instructions.push_back(std::move(*half));
  }
}

bool Builder::build_operation(mlir::Operation& op, Block& block) {
  if (mlir::isa<mlir::arith::AddUIExtendedOp, mlir::arith::MulSIExtendedOp, mlir::arith::MulUIExtendedOp>(op))
    return build_extended(op, block), findings_.empty();
  Instruction instruction;
  instruction.index = add_source(op);
  instruction.operands = slots_of(op.getOperands());
  instruction.results = slots_of(op.getResults());
  if (!findings_.empty()) return false;
  if (!instruction.operands.empty()) instruction.from = program_->types[instruction.operands[0]].kind;
  if (!instruction.results.empty()) instruction.to = program_->types[instruction.results[0]].kind;
  const std::optional<Elementwise> what = elementwise_of(op);
  const bool built = what ? build_elementwise(op, *what, instruction) : build_other(op, instruction);
  if (!built) return false;
  block.instructions.push_back(std::move(instruction));
  build_value_promises(op, block);
  return true;
}

bool Builder::build_elementwise(mlir::Operation& op, const Elementwise& what, Instruction& instruction) {
  static_cast<Elementwise&>(instruction) = what;
  if (what.op == Op::math) {
    instruction.run = run_math;
    return build_math(op, instruction);
  }
  instruction.run = run_elementwise;
  instruction.apply = element_function(what.op, what.from, what.to);
  if (!instruction.apply)
    return refuse(
        op, "element type; got " + print_type(op.getOperand(0).getType()) + ", expected one that it is defined for");
  return true;
}

bool Builder::build_math(mlir::Operation& op, Instruction& instruction) {
  Type element = tt::element_type(op.getOperand(0).getType());
  program_->sources[instruction.index].math = op.getName().stripDialect().str();
  std::shared_ptr<Program>& cached = expansions_[(op.getName().getStringRef() + print_type(element)).str()];
  if (!cached) {
    // A function of one element, expanded by the code that every device compiles; it runs on all elements at once.
    mlir::OpBuilder builder(op.getContext());
    auto location = op.getLoc();
    mlir::OwningOpRef<mlir::ModuleOp> scratch = mlir::ModuleOp::create(location);
    builder.setInsertionPointToEnd(scratch->getBody());
    Type type = mlir::RankedTensorType::get({1}, element);
    auto function = tt::FuncOp::create(builder, location, "expansion", builder.getFunctionType({type}, {type}));
    function.setPrivate();
    mlir::Block* body = builder.createBlock(&function.getBody(), {}, {type}, {location});
    mlir::OperationState state(location, op.getName(), body->getArguments(), {type});
    mlir::Operation* call = builder.create(state);
    tt::ReturnOp::create(builder, location, call->getResults());
    if (mlir::failed(expand_math(*scratch, MathFacts{})))
      return refuse(op, "has no expansion for " + print_type(element));
    auto expansion = std::make_shared<Program>();
    Builder inner(module_);
    if (!inner.build(function, *expansion) || !expansion->body.elementwise)
      return refuse(op, "expands into more than element-wise arithmetic");
    cached = std::move(expansion);
  }
  instruction.expansion = cached;
  return true;
}

bool Builder::build_constant(mlir::Attribute attribute, Instruction& instruction) {
  instruction.op = Op::constant;
  instruction.run = run_constant;
  if (mlir::isa<mlir::FloatAttr, mlir::IntegerAttr>(attribute)) {
    instruction.constant = {bits_of(attribute)};
    return true;
  }
  auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(attribute);
  if (!dense) return false;
  if (dense.isSplat()) {
    instruction.constant.assign(dense.getNumElements(), bits_of(dense.getSplatValue<mlir::Attribute>()));
    return true;
  }
  for (mlir::Attribute value : dense.getValues<mlir::Attribute>())
    instruction.constant.push_back(bits_of(value));
  return true;
}

}  // namespace teeny::compiler::interpreter
