// The state of one kernel's emission. Methods stand in files by subject: emit_spirv.cpp (module, function, control flow),
// emit_arithmetic.cpp, emit_floats.cpp, emit_memory.cpp, emit_atomics.cpp, emit_lanes.cpp (ids, shuffles, barriers, messages).
//
// What stands for a value of the thread dialect: i1 is a bool; i8, i16 and i32 are 32-bit integers whose upper bits are 0;
// f16 and bf16 are their bits, in the same way; i64, f32 and f64 are themselves. So no device needs 8- or 16-bit arithmetic.
#pragma once

#include <set>

#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/Builders.h>

#include "compiler/target/vulkan/vulkan.hpp"

namespace teeny::compiler::vulkan {

namespace spirv = mlir::spirv;

inline unsigned bits_of(mlir::Type type) { return type.getIntOrFloatBitWidth(); }
inline bool is_small_float(mlir::Type type) { return type.isF16() || type.isBF16(); }

[[noreturn]] void refuse(mlir::Operation* operation, const std::string& rule, const std::string& help);

class VulkanEmitter {
 public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Values = llvm::SmallVector<Value, 4>;

  VulkanEmitter(spirv::ModuleOp module, mlir::func::FuncOp kernel, const support::VulkanFeatures& features,
                const gpu::GpuOptions& options)
      : module_(module), kernel_(kernel), features_(features), contract_(options.contract), builder_(module.getContext()),
        location_(kernel.getLoc()) {}

  void emit_kernel();

 private:
  // ---- values
  Type bool_type() { return builder_.getI1Type(); }
  Type word_type() { return builder_.getI32Type(); }
  Type long_type() { return builder_.getI64Type(); }
  Type held_type(Type type);
  Value value(Value thread_value) { return values_.lookup(thread_value); }
  void bind(Value from, Value to) { values_[from] = to; }
  Value constant(mlir::TypedAttr number);
  Value word(std::uint32_t number) { return constant(builder_.getI32IntegerAttr(int(number))); }
  Value long_word(std::uint64_t number) { return constant(builder_.getI64IntegerAttr(std::int64_t(number))); }
  Value real(Type type, double number) { return constant(builder_.getFloatAttr(type, number)); }
  Value zero(Type held);
  void needs(spirv::Capability capability) { capabilities_.insert(capability); }

  // An operation of the spirv dialect with one result of `type`.
  template <class Op, class... Operands>
  Value make(Type type, Operands... operands) {
    return Op::create(builder_, location_, mlir::TypeRange(type), mlir::ValueRange({Value(operands)...}));
  }
  // A float operation that must not be fused with another, unless the kernel allows it.
  template <class Op, class... Operands>
  Value exact(Type type, Operands... operands) {
    Value result = make<Op>(type, operands...);
    if (!contract_) result.getDefiningOp()->setAttr("no_contraction", builder_.getUnitAttr());
    return result;
  }
  Value select(Value condition, Value yes, Value no) { return make<spirv::SelectOp>(yes.getType(), condition, yes, no); }
  Value bitcast(Type to, Value from);
  Value add(Value left, Value right) { return make<spirv::IAddOp>(left.getType(), left, right); }
  Value sub(Value left, Value right) { return make<spirv::ISubOp>(left.getType(), left, right); }
  Value multiply(Value left, Value right) { return make<spirv::IMulOp>(left.getType(), left, right); }
  Value bit_and(Value left, Value right) { return make<spirv::BitwiseAndOp>(left.getType(), left, right); }
  Value bit_or(Value left, Value right) { return make<spirv::BitwiseOrOp>(left.getType(), left, right); }
  Value bit_xor(Value left, Value right) { return make<spirv::BitwiseXorOp>(left.getType(), left, right); }
  Value bit_not(Value bits) { return make<spirv::NotOp>(bits.getType(), bits); }
  Value shift_left(Value left, Value right) { return make<spirv::ShiftLeftLogicalOp>(left.getType(), left, right); }
  Value shift_right(Value left, Value right) { return make<spirv::ShiftRightLogicalOp>(left.getType(), left, right); }
  Value negated(Value condition) { return make<spirv::LogicalNotOp>(bool_type(), condition); }
  Value below(Value left, Value right) { return less(left, right, false); }
  Value widened(Value word) { return make<spirv::UConvertOp>(long_type(), word); }
  Value low_word(Value bits) { return make<spirv::UConvertOp>(word_type(), bits); }
  Value extract(Value composite, int index);
  Value compose(Type type, mlir::ValueRange parts);

  // ---- emit_spirv.cpp
  void load_argument_words(unsigned count, llvm::SmallVectorImpl<Value>& words);
  Value argument(Type type, Value word);
  spirv::GlobalVariableOp global(Type pointee, spirv::StorageClass storage, llvm::StringRef name);
  Value builtin(spirv::BuiltIn kind, Type type);
  Value variable(Type held);
  Value load_variable(Value variable);
  void store_variable(Value variable, Value value);
  void emit_block(mlir::Block& block);
  void emit(mlir::Operation& operation);
  void emit_constant(mlir::arith::ConstantOp constant);
  void emit_for(mlir::scf::ForOp loop);
  void emit_while(mlir::scf::WhileOp loop);
  void emit_if(mlir::scf::IfOp branch);
  // Runs `yes` where the condition holds and `no`, which may be null, elsewhere.
  void branch(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no = nullptr);
  // A loop: `test` gives the condition on which a turn begins, `body` is what a turn does.
  void turn(llvm::function_ref<Value()> test, llvm::function_ref<void()> body);
  // The values that `work` makes where the mask holds, elsewhere `otherwise`. A null mask always holds.
  Values where(Value mask, mlir::ValueRange otherwise, llvm::function_ref<Values()> work);
  void finish_module(spirv::FuncOp function);

  // ---- emit_arithmetic.cpp
  bool emit_arithmetic(mlir::Operation& operation);
  Value integer_operation(mlir::Operation& operation, Type type, Value left, Value right);
  Value signed_value(Type type, Value held);      // the number, in 32 or 64 bits
  Value held_value(Type type, Value number);      // its low bits, as values are held
  Value from_bool(Value condition);
  Value compare_integers(mlir::arith::CmpIOp compare);
  Value compare_extended(mlir::arith::CmpIOp compare);  // in 32 bits; null: it takes 64
  Value equal(Value a, Value b);                   // of numbers of 32 or 64 bits, as the next
  Value less(Value a, Value b, bool is_signed);
  Value compare_numbers(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value convert_integer(mlir::Operation& operation, bool is_signed);
  Value convert_to_float(Type from, Type to, Value held, bool is_signed);
  Value convert_to_integer(Type to, Value number, bool is_signed);
  Value bit_operation(mlir::Operation& operation);
  void multiply_extended(mlir::Operation& operation, bool is_signed);

  // ---- emit_floats.cpp
  bool emit_float(mlir::Operation& operation);
  Value operation_with_zero(mlir::Operation& operation, Type type, llvm::ArrayRef<Value> operands);
  Value float_operation(mlir::Operation& operation, Type type, llvm::ArrayRef<Value> operands);
  Value compare_floats(mlir::arith::CmpFPredicate predicate, Value left, Value right);
  Value is_nan(Value number);
  Value float_bits(Value number) { return bitcast(bits_of(number.getType()) == 64 ? long_type() : word_type(), number); }
  Value bits_constant(Type integer, std::uint64_t bits) { return integer == word_type() ? word(std::uint32_t(bits)) : long_word(bits); }
  Value absolute(Value number);
  Value with_sign_of(Value magnitude, Value number);
  Value round_away(Value number);
  Value fused_multiply_add(Value x, Value y, Value z);
  Value number_of(Type type, Value held);          // f16 and bf16 as f32, others as they are
  Value held_float(Type type, Value number);       // f32 rounded to f16 or bf16
  Value widen_f16(Value bits);
  Value narrow_f16(Value number);
  Value narrow_bf16(Value number);
  Value round_tf32(Value number);

  // ---- emit_memory.cpp: memory is read and written in words of 32 bits, and in parts of one
  bool emit_memory(mlir::Operation& operation);
  void emit_load(thread::LoadOp load);
  void emit_store(thread::StoreOp store);
  void emit_shared_load(thread::SharedLoadOp load);
  void emit_shared_store(thread::SharedStoreOp store);
  Value address_of(Value address, std::int64_t offset);
  Value global_pointer(Value address, Type pointee);
  Value load_global(Value address, Type type, unsigned alignment, bool is_volatile);
  void store_global(Value address, Value stored, unsigned alignment);
  Value load_part(Value address, unsigned bits, bool is_volatile);
  void store_part(Value address, Value bits, unsigned width);
  Value shared_word(Value index);                  // pointer to a word of the program's shared memory
  Value shared_byte(Value array, Value index, std::int64_t offset, unsigned bits);
  void replace_part(Value pointer, Value shift, Value bits, unsigned width, spirv::Scope scope);
  Values words_of(mlir::ValueRange values);        // packed from the lowest bits on; the last may be a part of one
  void bind_words(mlir::ValueRange results, llvm::ArrayRef<Value> words);

  // ---- emit_atomics.cpp
  struct Order {
    spirv::Scope scope;
    spirv::MemorySemantics semantics;
  };
  Order order_of(tt::MemSemantic semantic, tt::MemSyncScope scope);
  void emit_atomic(thread::AtomicRMWOp atomic);
  void emit_compare_and_swap(thread::AtomicCASOp atomic);
  void emit_shared_atomic(thread::SharedAtomicRMWOp atomic);
  Value atomic_instruction(tt::RMWOp kind, Value pointer, Value operand, const Order& order);
  Value combined(tt::RMWOp kind, Type type, Value old, Value operand);
  Value atomic_read_modify_write(mlir::Operation* operation, tt::RMWOp kind, Type type, Value address, Value operand,
                                 const Order& order);
  void fence(const Order& order, bool before);  // what an atomic operation between two fences orders
  Value swap_loop(Value pointer, const Order& order, llvm::function_ref<Value(Value)> change);
  Value part_loop(Value address, unsigned width, const Order& order, llvm::function_ref<Value(Value)> change);
  Value compare_exchange(Value pointer, const Order& order, Value replacement, Value expected);

  // ---- emit_lanes.cpp
  bool emit_lanes(mlir::Operation& operation);
  Value program_id(int axis);
  Value program_count(int axis);
  Value lane();
  void emit_shuffle(thread::ShuffleOp shuffle);
  Value shuffle_word(thread::ShuffleKind kind, Value word, Value lane);
  void emit_barrier(thread::BarrierOp barrier);
  void emit_message(thread::MessageOp message);

  spirv::ModuleOp module_;
  mlir::func::FuncOp kernel_;
  const support::VulkanFeatures& features_;
  const bool contract_;
  mlir::OpBuilder builder_;
  mlir::Location location_;
  mlir::Block* entry_ = nullptr;
  mlir::Operation* entry_begin_ = nullptr;   // constants and variables stand before it
  llvm::DenseMap<Value, Value> values_;
  llvm::DenseMap<mlir::Attribute, Value> constants_;
  std::set<spirv::Capability> capabilities_;
  std::set<spirv::Extension> extensions_;
  llvm::SmallVector<mlir::Attribute> interface_;
  llvm::DenseMap<unsigned, Value> builtins_;
  spirv::GlobalVariableOp shared_;
  Value message_buffer_;
  Value dispatch_;                           // the word behind the arguments: gpu_program_abi.h
  bool shares_global_ = false;               // lanes learn of each other through global memory
  // A scalar that bind_words took out of a word: the word, and which of its parts. Packing them again gives the word.
  struct Part {
    Value word;
    unsigned index = 0;
  };
  llvm::DenseMap<Value, Part> parts_;        // by the thread dialect's value
};

}  // namespace teeny::compiler::vulkan
