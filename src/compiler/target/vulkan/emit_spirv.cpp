// The module, its entry point, arguments and control flow.
//
// Values that leave a branch or a loop go through variables of the function: the spirv dialect's serialiser gives no value
// to what a region yields, and drivers promote such variables.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>

#include <teeny/error.hpp>

#include "compiler/target/vulkan/vulkan_emitter.hpp"

namespace teeny::compiler::vulkan {

using namespace mlir;

void refuse(Operation* operation, const std::string& rule, const std::string& help) {
  operation->emitOpError(rule).attachNote() << "help: " << help;
  throw Error(ErrorCode::unsupported, rule + "\nhelp: " + help);
}

Type VulkanEmitter::held_type(Type type) {
  if (type.isInteger(1) || type.isF32()) return type;
  if (type.isF64()) return needs(spirv::Capability::Float64), type;
  if (is_small_float(type)) return word_type();
  return bits_of(type) <= 32 ? word_type() : long_type();
}

// ---- constants, variables

Value VulkanEmitter::constant(TypedAttr number) {
  Value& made = constants_[number];
  if (!made) {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPoint(entry_begin_);
    made = spirv::ConstantOp::create(builder_, kernel_.getLoc(), number.getType(), number);
  }
  return made;
}

Value VulkanEmitter::zero(Type held) { return constant(cast<TypedAttr>(builder_.getZeroAttr(held))); }

Value VulkanEmitter::variable(Type held) {
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPoint(entry_begin_);
  return spirv::VariableOp::create(builder_, kernel_.getLoc(), spirv::PointerType::get(held, spirv::StorageClass::Function),
                                   spirv::StorageClass::Function, Value());
}

Value VulkanEmitter::load_variable(Value variable) { return spirv::LoadOp::create(builder_, location_, variable); }
void VulkanEmitter::store_variable(Value variable, Value value) { spirv::StoreOp::create(builder_, location_, variable, value); }

Value VulkanEmitter::bitcast(Type to, Value from) {
  if (auto before = from.getDefiningOp<spirv::BitcastOp>()) from = before.getOperand();
  return from.getType() == to ? from : make<spirv::BitcastOp>(to, from);
}

Value VulkanEmitter::extract(Value composite, int index) {
  return spirv::CompositeExtractOp::create(builder_, location_, composite, {index});
}

Value VulkanEmitter::compose(Type type, ValueRange parts) {
  return spirv::CompositeConstructOp::create(builder_, location_, type, parts);
}

spirv::GlobalVariableOp VulkanEmitter::global(Type pointee, spirv::StorageClass storage, llvm::StringRef name) {
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(module_.getBody());
  auto made = spirv::GlobalVariableOp::create(builder_, kernel_.getLoc(), spirv::PointerType::get(pointee, storage), name,
                                              FlatSymbolRefAttr());
  interface_.push_back(SymbolRefAttr::get(made));
  return made;
}

Value VulkanEmitter::builtin(spirv::BuiltIn kind, Type type) {
  Value& made = builtins_[unsigned(kind)];
  if (made) return made;
  std::string name = spirv::stringifyBuiltIn(kind).str();
  spirv::GlobalVariableOp input = global(type, spirv::StorageClass::Input, name);
  input.setBuiltInAttr(builder_.getStringAttr(name));
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPoint(entry_begin_);
  Value pointer = spirv::AddressOfOp::create(builder_, kernel_.getLoc(), input);
  return made = spirv::LoadOp::create(builder_, kernel_.getLoc(), pointer);
}

// ---- arguments

unsigned argument_words(func::FuncOp kernel) {
  return kernel.getNumArguments() + (has_messages(kernel) ? 1 : 0) + 1;
}

void VulkanEmitter::load_argument_words(unsigned count, llvm::SmallVectorImpl<Value>& words) {
  const bool in_buffer = count > most_push_constants;
  const unsigned constants = in_buffer ? 1 : count;
  llvm::SmallVector<Type> members(constants, long_type());
  llvm::SmallVector<spirv::StructType::OffsetInfo> offsets;
  for (unsigned i = 0; i < constants; ++i) offsets.push_back(8 * i);
  auto block = spirv::StructType::get(members, offsets, {}, {{spirv::Decoration::Block, builder_.getUnitAttr()}});
  Value pointer = spirv::AddressOfOp::create(builder_, location_, global(block, spirv::StorageClass::PushConstant, "arguments"));
  for (unsigned i = 0; i < constants; ++i) {
    Value place = spirv::AccessChainOp::create(builder_, location_, pointer, ValueRange{word(i)});
    words.push_back(spirv::LoadOp::create(builder_, location_, place));
  }
  if (!in_buffer) return;
  Value buffer = words.pop_back_val();
  for (unsigned i = 0; i < count; ++i)
    words.push_back(load_global(add(buffer, long_word(8 * i)), long_type(), 8, false));
}

// The value in the low bytes of a word of 64 bits.
Value VulkanEmitter::argument(Type type, Value bits) {
  if (type.isF64()) return bitcast(held_type(type), bits);
  if (bits_of(type) == 64) return bits;
  Value low = low_word(bits);
  if (type.isF32()) return bitcast(type, low);
  if (type.isInteger(1)) return make<spirv::INotEqualOp>(bool_type(), bit_and(low, word(0xff)), word(0));
  return held_value(type, low);
}

// ---- the function

void VulkanEmitter::emit_kernel() {
  builder_.setInsertionPointToEnd(module_.getBody());
  auto function = spirv::FuncOp::create(builder_, location_, kernel_.getName(), builder_.getFunctionType({}, {}));
  entry_ = function.addEntryBlock();
  builder_.setInsertionPointToStart(entry_);
  entry_begin_ = spirv::ReturnOp::create(builder_, location_);
  builder_.setInsertionPoint(entry_begin_);
  // What is made at the entry stands before the body: a marker that goes at the end.
  Operation* end = entry_begin_;
  entry_begin_ = spirv::UndefOp::create(builder_, location_, bool_type());
  Operation* marker = entry_begin_;
  builder_.setInsertionPoint(end);
  kernel_.walk([&](Operation* operation) {
    auto barrier = dyn_cast<thread::BarrierOp>(operation);
    shares_global_ |= isa<thread::AtomicRMWOp, thread::AtomicCASOp>(operation) ||
                      (barrier && barrier.getMemory() != thread::BarrierMemory::SHARED);
  });
  llvm::SmallVector<Value> words;
  load_argument_words(argument_words(kernel_), words);
  for (auto [argument_, bits] : llvm::zip(kernel_.getArguments(), words)) bind(argument_, argument(argument_.getType(), bits));
  dispatch_ = words.back();
  if (has_messages(kernel_)) message_buffer_ = words[kernel_.getNumArguments()];
  emit_block(kernel_.getBody().front());
  marker->erase();
  finish_module(function);
}

void VulkanEmitter::finish_module(spirv::FuncOp function) {
  builder_.setInsertionPointToEnd(module_.getBody());
  const auto number = [&](llvm::StringRef name) {
    auto attribute = kernel_->getAttrOfType<IntegerAttr>(name);
    return int(attribute ? attribute.getInt() : 1);
  };
  const int threads = number(thread::warps_attribute) * number(thread::lanes_attribute);
  spirv::EntryPointOp::create(builder_, location_, spirv::ExecutionModel::GLCompute, function, interface_);
  spirv::ExecutionModeOp::create(builder_, location_, function, spirv::ExecutionMode::LocalSize, llvm::ArrayRef<int>{threads, 1, 1});
  const auto mode = [&](bool has, spirv::ExecutionMode mode, spirv::Capability capability) {
    if (!has) return;
    needs(capability);
    spirv::ExecutionModeOp::create(builder_, location_, function, mode, llvm::ArrayRef<int>{32});
  };
  mode(features_.keep_nan, spirv::ExecutionMode::SignedZeroInfNanPreserve, spirv::Capability::SignedZeroInfNanPreserve);
  mode(features_.keep_denormals, spirv::ExecutionMode::DenormPreserve, spirv::Capability::DenormPreserve);
  mode(features_.round_even, spirv::ExecutionMode::RoundingModeRTE, spirv::Capability::RoundingModeRTE);
  for (spirv::Capability capability :
       {spirv::Capability::Shader, spirv::Capability::Int64, spirv::Capability::PhysicalStorageBufferAddresses,
        spirv::Capability::VulkanMemoryModel, spirv::Capability::VulkanMemoryModelDeviceScope})
    needs(capability);
  llvm::SmallVector<spirv::Capability> capabilities(capabilities_.begin(), capabilities_.end());
  llvm::SmallVector<spirv::Extension> extensions(extensions_.begin(), extensions_.end());
  module_.setVceTripleAttr(spirv::VerCapExtAttr::get(spirv::Version::V_1_6, capabilities, extensions, module_.getContext()));
}

void VulkanEmitter::emit_block(Block& block) {
  for (Operation& operation : block.without_terminator()) emit(operation);
}

void VulkanEmitter::emit(Operation& operation) {
  location_ = operation.getLoc();
  if (auto constant = dyn_cast<arith::ConstantOp>(operation)) return emit_constant(constant);
  if (auto loop = dyn_cast<scf::ForOp>(operation)) return emit_for(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(operation)) return emit_while(loop);
  if (auto branch = dyn_cast<scf::IfOp>(operation)) return emit_if(branch);
  if (isa<ub::PoisonOp>(operation)) return bind(operation.getResult(0), zero(held_type(operation.getResult(0).getType())));
  if (!features_.f64)
    for (Type type : operation.getResultTypes())
      if (type.isF64())
        refuse(&operation, "rule: the device must have f64; got a target without it", "use f32, or a device with shaderFloat64");
  if (emit_memory(operation) || emit_lanes(operation) || emit_arithmetic(operation) || emit_float(operation)) return;
  refuse(&operation, "rule: must be an operation that Vulkan programs have; got one that has no SPIR-V",
         "write it with other operations");
}

void VulkanEmitter::emit_constant(arith::ConstantOp source) {
  Type type = source.getType(), held = held_type(type);
  auto integer = dyn_cast<IntegerAttr>(source.getValue());
  auto number = dyn_cast<FloatAttr>(source.getValue());
  if (number && !is_small_float(type)) return bind(source, constant(number));
  if (type.isInteger(1)) return bind(source, constant(builder_.getBoolAttr(!integer.getValue().isZero())));
  const llvm::APInt bits = integer ? integer.getValue() : number.getValue().bitcastToAPInt();
  bind(source, bits_constant(held, bits.getZExtValue()));
}

// ---- control flow

void VulkanEmitter::branch(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no) {
  auto selection = spirv::SelectionOp::create(builder_, location_, spirv::SelectionControl::None);
  selection.addMergeBlock(builder_);
  OpBuilder::InsertionGuard guard(builder_);
  Block* merge = selection.getMergeBlock();
  auto* header = new Block();
  selection.getBody().push_front(header);
  const auto arm = [&](llvm::function_ref<void()> work) {
    auto* block = new Block();
    selection.getBody().getBlocks().insert(merge->getIterator(), block);
    builder_.setInsertionPointToStart(block);
    work();
    spirv::BranchOp::create(builder_, location_, merge);
    return block;
  };
  Block* yes_block = arm(yes);
  Block* no_block = no ? arm(no) : merge;
  builder_.setInsertionPointToStart(header);
  spirv::BranchConditionalOp::create(builder_, location_, condition, yes_block, ValueRange(), no_block, ValueRange());
}

void VulkanEmitter::turn(llvm::function_ref<Value()> test, llvm::function_ref<void()> body) {
  auto loop = spirv::LoopOp::create(builder_, location_, spirv::LoopControl::None);
  loop.addEntryAndMergeBlock(builder_);
  OpBuilder::InsertionGuard guard(builder_);
  Block* merge = loop.getMergeBlock();
  const auto block = [&] {
    auto* made = new Block();
    loop.getBody().getBlocks().insert(merge->getIterator(), made);
    return made;
  };
  Block *header = block(), *inside = block(), *resume = block();
  builder_.setInsertionPointToEnd(loop.getEntryBlock());
  spirv::BranchOp::create(builder_, location_, header);
  builder_.setInsertionPointToStart(header);
  Value begins = test();
  spirv::BranchConditionalOp::create(builder_, location_, begins, inside, ValueRange(), merge, ValueRange());
  builder_.setInsertionPointToStart(inside);
  body();
  spirv::BranchOp::create(builder_, location_, resume);
  builder_.setInsertionPointToStart(resume);
  spirv::BranchOp::create(builder_, location_, header);
}

VulkanEmitter::Values VulkanEmitter::where(Value mask, ValueRange otherwise, llvm::function_ref<Values()> work) {
  if (!mask) return work();
  Values variables, results;
  for (Value other : otherwise) {
    variables.push_back(variable(other.getType()));
    store_variable(variables.back(), other);
  }
  branch(mask, [&] {
    for (auto [place, made] : llvm::zip_first(variables, work())) store_variable(place, made);
  });
  for (Value place : variables) results.push_back(load_variable(place));
  return results;
}

void VulkanEmitter::emit_for(scf::ForOp loop) {
  Value lower = value(loop.getLowerBound()), upper = value(loop.getUpperBound()), step = value(loop.getStep());
  const Type type = loop.getInductionVar().getType(), held = lower.getType();
  if (bits_of(type) < 32)
    refuse(loop, "rule: a loop counts in 32 or 64 bits; got a narrower variable", "widen the bounds");
  // Iterations are counted: the variable itself may pass the end of its type after the last one.
  Value one = bits_constant(held, 1);
  Value runs = less(lower, upper, !loop.getUnsignedCmp());
  Value last = make<spirv::UDivOp>(held, sub(sub(upper, lower), one), step);
  Value count = select(runs, add(last, one), zero(held));
  Value iteration = variable(held), counter = variable(held);
  store_variable(iteration, zero(held));
  store_variable(counter, lower);
  Values carried;
  for (Value initial : loop.getInitArgs()) {
    carried.push_back(variable(value(initial).getType()));
    store_variable(carried.back(), value(initial));
  }
  turn([&] { return below(load_variable(iteration), count); },
       [&] {
         bind(loop.getInductionVar(), load_variable(counter));
         for (auto [argument_, place] : llvm::zip(loop.getRegionIterArgs(), carried)) bind(argument_, load_variable(place));
         emit_block(*loop.getBody());
         for (auto [place, yielded] : llvm::zip(carried, loop.getBody()->getTerminator()->getOperands()))
           store_variable(place, value(yielded));
         store_variable(iteration, add(load_variable(iteration), one));
         store_variable(counter, add(load_variable(counter), step));
       });
  for (auto [result, place] : llvm::zip(loop.getResults(), carried)) bind(result, load_variable(place));
}

// The condition is computed at the end of a turn and looked at in the next one, so that what leaves the loop is a variable
// as the turn began: Mesa's llvmpipe loses what lanes that leave earlier computed in their last turn.
void VulkanEmitter::emit_while(scf::WhileOp loop) {
  Values carried, passed;
  for (Value initial : loop.getInits()) {
    carried.push_back(variable(value(initial).getType()));
    store_variable(carried.back(), value(initial));
  }
  for (Type type : loop.getResultTypes()) passed.push_back(variable(held_type(type)));
  Value open = variable(bool_type());
  store_variable(open, constant(builder_.getBoolAttr(true)));
  turn([&] { return load_variable(open); },
       [&] {
         for (auto [argument_, place] : llvm::zip(loop.getBeforeArguments(), carried)) bind(argument_, load_variable(place));
         emit_block(*loop.getBeforeBody());
         auto condition = loop.getConditionOp();
         for (auto [place, given] : llvm::zip(passed, condition.getArgs())) store_variable(place, value(given));
         store_variable(open, value(condition.getCondition()));
         branch(value(condition.getCondition()), [&] {
           for (auto [argument_, place] : llvm::zip(loop.getAfterArguments(), passed)) bind(argument_, load_variable(place));
           emit_block(*loop.getAfterBody());
           for (auto [place, yielded] : llvm::zip(carried, loop.getYieldOp().getOperands())) store_variable(place, value(yielded));
         });
       });
  for (auto [result, place] : llvm::zip(loop.getResults(), passed)) bind(result, load_variable(place));
}

void VulkanEmitter::emit_if(scf::IfOp source) {
  Values results;
  for (Type type : source.getResultTypes()) results.push_back(variable(held_type(type)));
  const auto arm = [&](Region& region) {
    emit_block(region.front());
    for (auto [place, yielded] : llvm::zip_first(results, region.front().getTerminator()->getOperands()))
      store_variable(place, value(yielded));
  };
  Region& otherwise = source.getElseRegion();
  const auto no = [&] { arm(otherwise); };
  branch(value(source.getCondition()), [&] { arm(source.getThenRegion()); },
         otherwise.empty() ? llvm::function_ref<void()>() : llvm::function_ref<void()>(no));
  for (auto [result, place] : llvm::zip(source.getResults(), results)) bind(result, load_variable(place));
}

OwningOpRef<spirv::ModuleOp> emit_spirv(func::FuncOp kernel, const support::VulkanFeatures& features,
                                        const gpu::GpuOptions& options) {
  OpBuilder builder(kernel.getContext());
  OwningOpRef<spirv::ModuleOp> module = spirv::ModuleOp::create(
      builder, kernel.getLoc(), spirv::AddressingModel::PhysicalStorageBuffer64, spirv::MemoryModel::Vulkan);
  VulkanEmitter(*module, kernel, features, options).emit_kernel();
  return module;
}

}  // namespace teeny::compiler::vulkan
