// The state of one kernel's emission. Methods stand in files by subject: emit_llvm.cpp (function, control flow,
// arithmetic), emit_memory.cpp (global and shared memory, atomics), emit_lanes.cpp (ids, shuffles, barriers),
// emit_matrix.cpp (matrix units, copies beside a lane), emit_matrix_async.cpp (products beside a warp), emit_message.cpp
// (device_print, device_assert).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include "compiler/cpu/elementwise.hpp"
#include "compiler/target/cuda/cuda.hpp"

namespace teeny::compiler::cuda {

inline unsigned bits_of(mlir::Type type) { return type.getIntOrFloatBitWidth(); }

struct Assembly;  // emit_memory.cpp

// How PTX calls an element type of a matrix unit.
inline std::string_view ptx_type(std::string_view name) { return name == "i8" ? "s8" : name == "i32" ? "s32" : name; }

class CudaEmitter {
 public:
  CudaEmitter(llvm::Module& module, const Architecture& architecture, const gpu::Capability& capability,
              const gpu::GpuOptions& options)
      : module_(module), context_(module.getContext()), builder_(context_), architecture_(architecture),
        capability_(capability), approximate_(options.approximate) {
    arithmetic_.contract = options.contract;
    arithmetic_.converts_to_bf16 = architecture.number >= 80;  // cvt.rn.bf16.f32
  }

  void emit_kernel(mlir::func::FuncOp kernel, const gpu::GpuOptions& options);

 private:
  // ---- values
  llvm::Type* type_of(mlir::Type type) { return cpu::value_type(type, context_); }
  llvm::Value* value(mlir::Value value) { return values_.lookup(value); }
  void bind(mlir::Value from, llvm::Value* to) { values_[from] = to; }
  llvm::BasicBlock* block(const char* name);

  // ---- emit_llvm.cpp
  void emit_block(mlir::Block& block);
  void emit(mlir::Operation& operation);
  void emit_constant(mlir::arith::ConstantOp constant);
  void emit_for(mlir::scf::ForOp loop);
  void emit_while(mlir::scf::WhileOp loop);
  void emit_if(mlir::scf::IfOp branch);
  bool emit_approximation(mlir::Operation& operation);

  // ---- emit_memory.cpp
  // Scalars as words of up to 32 bits (an access is a vector of them), and back.
  struct Words {
    unsigned bits = 32, count = 1;
  };
  bool emit_memory(mlir::Operation& operation);
  void emit_load(thread::LoadOp load);
  void emit_store(thread::StoreOp store);
  void emit_atomic(thread::AtomicRMWOp atomic);
  void emit_compare_and_swap(thread::AtomicCASOp atomic);
  void emit_shared_load(thread::SharedLoadOp load);
  void emit_shared_store(thread::SharedStoreOp store);
  void emit_shared_atomic(thread::SharedAtomicRMWOp atomic);
  llvm::Value* global_pointer(mlir::Value address, std::int64_t offset);
  llvm::Value* shared_pointer(mlir::Value array, mlir::Value index, std::int64_t offset);
  // How caches keep what an access touches: what follows `ld.global` and, where the architecture has one, a policy of L2.
  struct CachePolicy {
    std::string text = {};
    llvm::Value* hint = nullptr;
  };
  CachePolicy cache_policy(tt::CacheModifier cache, tt::EvictionPolicy evict, bool is_load);
  llvm::SmallVector<llvm::Value*> load_by_assembly(thread::LoadOp load, Words words, const CachePolicy& policy);
  // "[address+offset]", the address being an input of the assembly.
  std::string global_place(Assembly& assembly, mlir::Value address, std::int64_t offset);
  llvm::Value* atomic_instruction(thread::AtomicRMWOp atomic, const std::string& instruction);
  llvm::Value* atomic_rmw(tt::RMWOp kind, llvm::Value* pointer, mlir::Type element, llvm::Value* value,
                          llvm::AtomicOrdering ordering, llvm::SyncScope::ID scope);
  // Runs `work` where the mask holds; its value, or zero.
  llvm::Value* where(mlir::Value mask, llvm::function_ref<llvm::Value*()> work);
  static Words words_of(unsigned element_bits, unsigned count);
  llvm::SmallVector<llvm::Value*> pack(mlir::ValueRange values, Words words);
  void unpack(mlir::ValueRange results, llvm::ArrayRef<llvm::Value*> words);
  llvm::Value* whole_word(llvm::ArrayRef<llvm::Value*> parts, unsigned bits) const;

  // ---- emit_lanes.cpp
  bool emit_lanes(mlir::Operation& operation);
  llvm::Value* special_register(llvm::Intrinsic::ID id) { return builder_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<llvm::Value*>()); }
  llvm::Value* shuffle(thread::ShuffleKind kind, llvm::Value* word, llvm::Value* lane);
  void emit_shuffle(thread::ShuffleOp shuffle);
  llvm::Value* round_tf32(llvm::Value* number);

  // ---- emit_matrix.cpp
  bool emit_matrix(mlir::Operation& operation);
  void emit_matrix_load(thread::MatrixLoadOp load);
  void emit_mma(thread::MmaOp product);
  // The row of the matrix table; refuses the product where there is none.
  const gpu::MatrixUnit& unit_of(mlir::Operation* product, llvm::StringRef name) const;
  void emit_copy_async(thread::CopyAsyncOp copy);

  // ---- emit_matrix_async.cpp
  bool emit_matrix_async(mlir::Operation& operation);
  void emit_mma_async(thread::MmaAsyncOp product);
  void emit_mma_wait(thread::MmaWaitOp wait);
  void emit_order(const char* text);
  void emit_mma_begin(thread::MmaBeginOp begin);
  llvm::SmallVector<llvm::Value*> emit_in_registers(llvm::ArrayRef<llvm::Value*> values, const std::string& text,
                                                    llvm::ArrayRef<llvm::Value*> inputs);
  // Of what stands at array[index + offset], with the given constant part.
  llvm::Value* descriptor(mlir::Value array, mlir::Value index, std::int64_t offset, std::uint64_t constant);

  // ---- emit_message.cpp
  void emit_message(thread::MessageOp message);
  llvm::Function* message_function();

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  cpu::Builder builder_;
  const Architecture& architecture_;
  const gpu::Capability& capability_;
  const bool approximate_;
  cpu::CpuOptions arithmetic_;
  llvm::Function* function_ = nullptr;
  llvm::Function* message_function_ = nullptr;  // once a message needs it
  llvm::GlobalVariable* shared_ = nullptr;
  llvm::DenseMap<mlir::Value, llvm::Value*> values_;
  // A scalar that unpack took out of a word: the word, and which of its parts. Packing them again gives the word.
  struct Part {
    llvm::Value* word = nullptr;
    unsigned index = 0;
  };
  llvm::DenseMap<llvm::Value*, Part> parts_;
  // Registers of the products from a thread.mma_begin to its commit: words of operands by their first scalar, and sums.
  struct MatrixGroup {
    llvm::DenseMap<mlir::Value, llvm::SmallVector<llvm::Value*>> words;
    llvm::DenseMap<mlir::Value, llvm::Value*> sums;
  };
  MatrixGroup group_;
};

}  // namespace teeny::compiler::cuda
