// Accesses to global and shared memory.
#include <llvm/IR/InlineAsm.h>

#include "compiler/target/cuda/cuda_emitter.hpp"

namespace teeny::compiler::cuda {

// An inline assembly under construction: outputs $0 …, then inputs in the order in which they are named.
struct Assembly {
  std::string constraints;
  llvm::SmallVector<llvm::Value*> operands;
  unsigned outputs = 0;

  void output(char letter) { constraints += std::string(outputs++ ? ",=" : "=") + letter; }
  std::string input(const std::string& constraint, llvm::Value* operand) {
    constraints += (constraints.empty() ? "" : ",") + constraint;
    operands.push_back(operand);
    return "$" + std::to_string(outputs + operands.size() - 1);
  }
  llvm::CallInst* call(cpu::Builder& builder, llvm::Type* result, const std::string& text) const {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* operand : operands) types.push_back(operand->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    return builder.CreateCall(llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true), operands);
  }
};

namespace {

constexpr unsigned global_space = 1;

// The constraint letter of an inline assembly operand of so many bits.
char letter_of(unsigned bits) { return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h'; }

// ".v4.b32", ".b16"
std::string access_suffix(unsigned bits, unsigned count) {
  return (count > 1 ? ".v" + std::to_string(count) : std::string()) + ".b" + std::to_string(bits);
}

// "{$0, $1}" or "$0"
std::string operand_list(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += (i ? ", $" : "$") + std::to_string(first + i);
  return count > 1 ? "{" + text + "}" : text;
}

// The letters of a cache operation that loads or stores have; empty for those of the other kind, which mean nothing here.
std::string cache_text(tt::CacheModifier cache, bool is_load) {
  switch (cache) {
    case tt::CacheModifier::CA: return is_load ? ".ca" : "";
    case tt::CacheModifier::CG: return ".cg";
    case tt::CacheModifier::CS: return ".cs";
    case tt::CacheModifier::CV: return is_load ? ".cv" : "";
    case tt::CacheModifier::WB: return is_load ? "" : ".wb";
    case tt::CacheModifier::WT: return is_load ? "" : ".wt";
    case tt::CacheModifier::NONE: return "";
  }
  return "";
}

llvm::AtomicOrdering ordering_of(tt::MemSemantic semantic) {
  switch (semantic) {
    case tt::MemSemantic::RELAXED: return llvm::AtomicOrdering::Monotonic;
    case tt::MemSemantic::ACQUIRE: return llvm::AtomicOrdering::Acquire;
    case tt::MemSemantic::RELEASE: return llvm::AtomicOrdering::Release;
    case tt::MemSemantic::ACQUIRE_RELEASE: return llvm::AtomicOrdering::AcquireRelease;
  }
  return llvm::AtomicOrdering::AcquireRelease;
}

llvm::SyncScope::ID scope_of(tt::MemSyncScope scope, llvm::LLVMContext& context) {
  if (scope == tt::MemSyncScope::SYSTEM) return llvm::SyncScope::System;
  return context.getOrInsertSyncScopeID(scope == tt::MemSyncScope::CTA ? "block" : "device");
}

std::string order_text(tt::MemSemantic semantic) {
  switch (semantic) {
    case tt::MemSemantic::RELAXED: return ".relaxed";
    case tt::MemSemantic::ACQUIRE: return ".acquire";
    case tt::MemSemantic::RELEASE: return ".release";
    case tt::MemSemantic::ACQUIRE_RELEASE: return ".acq_rel";
  }
  return ".acq_rel";
}

std::string scope_text(tt::MemSyncScope scope) {
  switch (scope) {
    case tt::MemSyncScope::CTA: return ".cta";
    case tt::MemSyncScope::GPU: return ".gpu";
    case tt::MemSyncScope::SYSTEM: return ".sys";
  }
  return ".sys";
}

// The operation and type of PTX's one instruction for a read-modify-write of global memory, as ".add.u32"; empty: it has
// none. PTX ISA, "atom": PTX ISA Notes and Target ISA Notes.
std::string one_atomic(tt::RMWOp kind, mlir::Type element, const Architecture& architecture) {
  const unsigned width = bits_of(element);
  if (kind == tt::RMWOp::FADD) {
    if (element.isF16()) return ".add.noftz.f16";
    if (element.isBF16()) return architecture.number >= 90 ? ".add.noftz.bf16" : "";
    return ".add.f" + std::to_string(width);
  }
  if (width != 32 && width != 64) return {};
  const std::string bits = std::to_string(width);
  switch (kind) {
    case tt::RMWOp::AND: return ".and.b" + bits;
    case tt::RMWOp::OR: return ".or.b" + bits;
    case tt::RMWOp::XOR: return ".xor.b" + bits;
    case tt::RMWOp::XCHG: return ".exch.b" + bits;
    case tt::RMWOp::ADD: return ".add.u" + bits;
    case tt::RMWOp::MAX: return ".max.s" + bits;
    case tt::RMWOp::MIN: return ".min.s" + bits;
    case tt::RMWOp::UMAX: return ".max.u" + bits;
    case tt::RMWOp::UMIN: return ".min.u" + bits;
    default: return {};
  }
}

}  // namespace

CudaEmitter::Words CudaEmitter::words_of(unsigned element_bits, unsigned count) {
  const unsigned total = element_bits * count;
  if (element_bits == 64) return {64, count};
  return total <= 32 ? Words{total, 1} : Words{32, total / 32};
}

llvm::SmallVector<llvm::Value*> CudaEmitter::pack(mlir::ValueRange values, Words words) {
  llvm::SmallVector<llvm::Value*> scalars;
  for (mlir::Value scalar : values) {
    llvm::Value* bits = value(scalar);
    scalars.push_back(builder_.CreateBitCast(bits, builder_.getIntNTy(bits->getType()->getPrimitiveSizeInBits())));
  }
  const unsigned per_word = scalars.size() / words.count;
  if (per_word == 1) return scalars;
  llvm::SmallVector<llvm::Value*> packed;
  auto* vector = llvm::FixedVectorType::get(scalars[0]->getType(), per_word);
  for (unsigned word = 0; word < words.count; ++word) {
    if (llvm::Value* whole = whole_word(llvm::ArrayRef(scalars).slice(word * per_word, per_word), words.bits)) {
      packed.push_back(whole);
      continue;
    }
    llvm::Value* group = llvm::PoisonValue::get(vector);
    for (unsigned i = 0; i < per_word; ++i) group = builder_.CreateInsertElement(group, scalars[word * per_word + i], i);
    packed.push_back(builder_.CreateBitCast(group, builder_.getIntNTy(words.bits)));
  }
  return packed;
}

llvm::Value* CudaEmitter::whole_word(llvm::ArrayRef<llvm::Value*> parts, unsigned bits) const {
  const Part first = parts_.lookup(parts[0]);
  if (!first.word || first.word->getType()->getPrimitiveSizeInBits() != bits) return nullptr;
  for (auto [index, value] : llvm::enumerate(parts)) {
    const Part part = parts_.lookup(value);
    if (part.word != first.word || part.index != index) return nullptr;
  }
  return first.word;
}

void CudaEmitter::unpack(mlir::ValueRange results, llvm::ArrayRef<llvm::Value*> words) {
  const unsigned per_word = results.size() / words.size(), bits = bits_of(results[0].getType());
  for (auto [index, result] : llvm::enumerate(results)) {
    llvm::Value* scalar = words[index / per_word];
    if (per_word > 1) {
      auto* vector = llvm::FixedVectorType::get(builder_.getIntNTy(bits), per_word);
      llvm::Value* word = scalar;
      scalar = builder_.CreateExtractElement(builder_.CreateBitCast(word, vector), index % per_word);
      parts_[scalar] = {word, unsigned(index % per_word)};
    }
    bind(result, builder_.CreateBitCast(scalar, type_of(result.getType())));
  }
}

llvm::Value* CudaEmitter::global_pointer(mlir::Value address, std::int64_t offset) {
  llvm::Value* bytes = value(address);
  llvm::Value* pointer = builder_.CreateIntToPtr(bytes, builder_.getPtrTy(global_space));
  return offset ? builder_.CreateConstGEP1_64(builder_.getInt8Ty(), pointer, offset) : pointer;
}

llvm::Value* CudaEmitter::shared_pointer(mlir::Value array, mlir::Value index, std::int64_t offset) {
  auto reference = array.getDefiningOp<thread::SharedRefOp>();
  llvm::Type* element = builder_.getIntNTy(bits_of(reference.getType().getElement()));
  llvm::Value* start = builder_.CreateConstGEP1_32(builder_.getInt8Ty(), shared_, reference.getOffset());
  llvm::Value* place = builder_.CreateGEP(element, start, value(index));
  return offset ? builder_.CreateConstGEP1_32(element, place, offset) : place;
}

llvm::Value* CudaEmitter::where(mlir::Value mask, llvm::function_ref<llvm::Value*()> work) {
  if (!mask) return work();
  llvm::BasicBlock *from = builder_.GetInsertBlock(), *active = block("active"), *after = block("end");
  builder_.CreateCondBr(value(mask), active, after);
  builder_.SetInsertPoint(active);
  llvm::Value* result = work();
  llvm::BasicBlock* last = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  if (!result || result->getType()->isVoidTy()) return nullptr;
  llvm::PHINode* phi = builder_.CreatePHI(result->getType(), 2);
  phi->addIncoming(llvm::Constant::getNullValue(result->getType()), from);
  phi->addIncoming(result, last);
  return phi;
}

bool CudaEmitter::emit_memory(mlir::Operation& operation) {
  return llvm::TypeSwitch<mlir::Operation*, bool>(&operation)
      .Case<thread::LoadOp>([&](auto op) { return emit_load(op), true; })
      .Case<thread::StoreOp>([&](auto op) { return emit_store(op), true; })
      .Case<thread::AtomicRMWOp>([&](auto op) { return emit_atomic(op), true; })
      .Case<thread::AtomicCASOp>([&](auto op) { return emit_compare_and_swap(op), true; })
      .Case<thread::SharedRefOp>([&](auto) { return true; })  // shared_pointer reads it
      .Case<thread::SharedLoadOp>([&](auto op) { return emit_shared_load(op), true; })
      .Case<thread::SharedStoreOp>([&](auto op) { return emit_shared_store(op), true; })
      .Case<thread::SharedAtomicRMWOp>([&](auto op) { return emit_shared_atomic(op), true; })
      .Default(false);
}

CudaEmitter::CachePolicy CudaEmitter::cache_policy(tt::CacheModifier cache, tt::EvictionPolicy evict, bool is_load) {
  CachePolicy policy{cache_text(cache, is_load)};
  if (evict == tt::EvictionPolicy::NORMAL) return policy;
  const std::string priority = evict == tt::EvictionPolicy::EVICT_FIRST ? "evict_first" : "evict_last";
  // PTX has no priority in L1 beside a cache operation, which says itself what becomes of L1's line.
  if (policy.text.empty()) policy.text = ".L1::" + priority;
  if (architecture_.number < 80) return policy;
  auto* type = llvm::FunctionType::get(builder_.getInt64Ty(), false);
  auto* made = llvm::InlineAsm::get(type, "createpolicy.fractional.L2::" + priority + ".b64 $0, 1.0;", "=l", false);
  llvm::CallInst* hint = builder_.CreateCall(made);
  hint->setDoesNotAccessMemory();
  policy.text += ".L2::cache_hint";
  policy.hint = hint;
  return policy;
}

std::string CudaEmitter::global_place(Assembly& assembly, mlir::Value address, std::int64_t offset) {
  const bool immediate = llvm::isInt<32>(offset);
  llvm::Value* start = value(address);
  if (!immediate) start = builder_.CreateAdd(start, builder_.getInt64(offset));
  const std::string place = assembly.input("l", start);
  return "[" + place + (immediate && offset ? "+" + std::to_string(offset) : "") + "]";
}

void CudaEmitter::emit_load(thread::LoadOp load) {
  const Words words = words_of(bits_of(load.getResult(0).getType()), load.getNumResults());
  const CachePolicy policy =
      load.getIsVolatile() ? CachePolicy() : cache_policy(load.getCache(), load.getEvict(), /*is_load=*/true);
  if (load.getMask() || !policy.text.empty()) return unpack(load.getResults(), load_by_assembly(load, words, policy));
  llvm::Type* word = builder_.getIntNTy(words.bits);
  llvm::Type* type = words.count > 1 ? llvm::FixedVectorType::get(word, words.count) : word;
  llvm::Value* loaded = builder_.CreateAlignedLoad(type, global_pointer(load.getAddress(), load.getOffset()),
                                                   llvm::Align(words.bits / 8 * words.count), load.getIsVolatile());
  llvm::SmallVector<llvm::Value*> parts;
  for (unsigned i = 0; i < words.count; ++i)
    parts.push_back(words.count > 1 ? builder_.CreateExtractElement(loaded, i) : loaded);
  unpack(load.getResults(), parts);
}

// A predicated load: no branch, and what the mask leaves off keeps `other`.
llvm::SmallVector<llvm::Value*> CudaEmitter::load_by_assembly(thread::LoadOp load, Words words, const CachePolicy& policy) {
  llvm::Type* word = builder_.getIntNTy(words.bits);
  const bool byte = words.bits == 8;  // there are no registers of 8 bits
  llvm::Type* held = byte ? builder_.getInt16Ty() : word;
  Assembly assembly;
  for (unsigned i = 0; i < words.count; ++i) assembly.output(letter_of(words.bits));
  std::string text = std::string("ld") + (load.getIsVolatile() ? ".volatile" : "") + ".global" + policy.text +
                     access_suffix(words.bits, words.count) + " " + operand_list(0, words.count) + ", " +
                     global_place(assembly, load.getAddress(), load.getOffset());
  if (policy.hint) text += ", " + assembly.input("l", policy.hint);
  if (load.getMask()) {
    text = "@" + assembly.input("b", value(load.getMask())) + " " + text;
    llvm::SmallVector<llvm::Value*> others(words.count, llvm::Constant::getNullValue(word));
    if (!load.getOther().empty()) others = pack(load.getOther(), words);
    for (auto [i, other] : llvm::enumerate(others))
      assembly.input(std::to_string(i), byte ? builder_.CreateZExt(other, held) : other);
  }
  llvm::Type* result = held;
  if (words.count > 1)
    result = llvm::StructType::get(context_, llvm::SmallVector<llvm::Type*>(words.count, held));
  llvm::Value* loaded = assembly.call(builder_, result, text + ";");
  llvm::SmallVector<llvm::Value*> parts;
  for (unsigned i = 0; i < words.count; ++i) {
    llvm::Value* part = words.count > 1 ? builder_.CreateExtractValue(loaded, i) : loaded;
    parts.push_back(byte ? builder_.CreateTrunc(part, word) : part);
  }
  return parts;
}

void CudaEmitter::emit_store(thread::StoreOp store) {
  const Words words = words_of(bits_of(store.getValues()[0].getType()), store.getValues().size());
  llvm::SmallVector<llvm::Value*> parts = pack(store.getValues(), words);
  const CachePolicy policy = cache_policy(store.getCache(), store.getEvict(), /*is_load=*/false);
  if (!store.getMask() && policy.text.empty()) {
    llvm::Value* stored = parts[0];
    if (words.count > 1) {
      stored = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder_.getIntNTy(words.bits), words.count));
      for (auto [i, part] : llvm::enumerate(parts)) stored = builder_.CreateInsertElement(stored, part, i);
    }
    builder_.CreateAlignedStore(stored, global_pointer(store.getAddress(), store.getOffset()),
                                llvm::Align(words.bits / 8 * words.count));
    return;
  }
  Assembly assembly;
  const std::string place = global_place(assembly, store.getAddress(), store.getOffset());
  const std::string mask = store.getMask() ? "@" + assembly.input("b", value(store.getMask())) + " " : "";
  const unsigned first = assembly.operands.size();
  for (llvm::Value* part : parts)
    assembly.input(std::string(1, letter_of(words.bits)),
                   words.bits == 8 ? builder_.CreateZExt(part, builder_.getInt16Ty()) : part);
  std::string text = mask + "st.global" + policy.text + access_suffix(words.bits, words.count) + " " + place + ", " +
                     operand_list(first, words.count);
  if (policy.hint) text += ", " + assembly.input("l", policy.hint);
  assembly.constraints += ",~{memory}";
  assembly.call(builder_, builder_.getVoidTy(), text + ";");
}

llvm::Value* CudaEmitter::atomic_rmw(tt::RMWOp kind, llvm::Value* pointer, mlir::Type element, llvm::Value* operand,
                                     llvm::AtomicOrdering ordering, llvm::SyncScope::ID scope) {
  using Operation = llvm::AtomicRMWInst;
  static constexpr Operation::BinOp operations[] = {
      Operation::And,  Operation::Or,   Operation::Xor,  Operation::Add,  Operation::FAdd, Operation::Max, Operation::Min,
      Operation::UMax, Operation::UMin, Operation::Xchg, Operation::FMax, Operation::FMin};
  llvm::Type* held = operand->getType();
  // 16-bit floats are held as their bits.
  llvm::Type* real = element.isF16() ? builder_.getHalfTy() : element.isBF16() ? builder_.getBFloatTy() : held;
  if (kind == tt::RMWOp::XCHG && real->isFloatingPointTy()) real = builder_.getIntNTy(bits_of(element));
  llvm::Value* old = builder_.CreateAtomicRMW(operations[unsigned(kind) - 1], pointer,
                                              builder_.CreateBitCast(operand, real), llvm::MaybeAlign(), ordering, scope);
  return builder_.CreateBitCast(old, held);
}

// LLVM's back end drops the order and scope of an atomicrmw that it has one instruction for; only its loops of
// compare-and-swap keep them.
llvm::Value* CudaEmitter::atomic_instruction(thread::AtomicRMWOp atomic, const std::string& instruction) {
  llvm::Value* operand = value(atomic.getValue());
  llvm::Type *held = operand->getType(), *bits = builder_.getIntNTy(held->getPrimitiveSizeInBits());
  const char letter = letter_of(bits->getIntegerBitWidth());
  Assembly assembly;
  assembly.output(letter);
  const std::string place = global_place(assembly, atomic.getAddress(), atomic.getOffset());
  const std::string number = assembly.input(std::string(1, letter), builder_.CreateBitCast(operand, bits));
  assembly.constraints += ",~{memory}";
  const std::string name = "atom" + order_text(atomic.getSem()) + scope_text(atomic.getScope()) + ".global" + instruction;
  return builder_.CreateBitCast(assembly.call(builder_, bits, name + " $0, " + place + ", " + number + ";"), held);
}

void CudaEmitter::emit_atomic(thread::AtomicRMWOp atomic) {
  const std::string instruction = one_atomic(atomic.getKind(), atomic.getValue().getType(), architecture_);
  llvm::Value* old = where(atomic.getMask(), [&] {
    if (!instruction.empty()) return atomic_instruction(atomic, instruction);
    return atomic_rmw(atomic.getKind(), global_pointer(atomic.getAddress(), atomic.getOffset()),
                      atomic.getValue().getType(), value(atomic.getValue()), ordering_of(atomic.getSem()),
                      scope_of(atomic.getScope(), context_));
  });
  bind(atomic, old);
}

void CudaEmitter::emit_compare_and_swap(thread::AtomicCASOp atomic) {
  llvm::Value* old = where(atomic.getMask(), [&]() -> llvm::Value* {
    llvm::Type* held = value(atomic.getValue())->getType();
    llvm::Type* bits = builder_.getIntNTy(held->getPrimitiveSizeInBits());
    const llvm::AtomicOrdering ordering = ordering_of(atomic.getSem());
    llvm::Value* pair = builder_.CreateAtomicCmpXchg(
        global_pointer(atomic.getAddress(), atomic.getOffset()), builder_.CreateBitCast(value(atomic.getCompare()), bits),
        builder_.CreateBitCast(value(atomic.getValue()), bits), llvm::MaybeAlign(), ordering,
        llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering), scope_of(atomic.getScope(), context_));
    return builder_.CreateBitCast(builder_.CreateExtractValue(pair, 0), held);
  });
  bind(atomic, old);
}

void CudaEmitter::emit_shared_load(thread::SharedLoadOp load) {
  const Words words = words_of(bits_of(load.getResult(0).getType()), load.getNumResults());
  llvm::Type* word = builder_.getIntNTy(words.bits);
  llvm::Type* type = words.count > 1 ? llvm::FixedVectorType::get(word, words.count) : word;
  llvm::Value* loaded = where(load.getMask(), [&]() -> llvm::Value* {
    return builder_.CreateAlignedLoad(type, shared_pointer(load.getArray(), load.getIndex(), load.getOffset()),
                                      llvm::Align(words.bits / 8 * words.count));
  });
  llvm::SmallVector<llvm::Value*> parts;
  for (unsigned i = 0; i < words.count; ++i)
    parts.push_back(words.count > 1 ? builder_.CreateExtractElement(loaded, i) : loaded);
  unpack(load.getResults(), parts);
}

void CudaEmitter::emit_shared_store(thread::SharedStoreOp store) {
  const Words words = words_of(bits_of(store.getValues()[0].getType()), store.getValues().size());
  llvm::SmallVector<llvm::Value*> parts = pack(store.getValues(), words);
  llvm::Value* stored = parts[0];
  if (words.count > 1) {
    stored = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder_.getIntNTy(words.bits), words.count));
    for (auto [i, part] : llvm::enumerate(parts)) stored = builder_.CreateInsertElement(stored, part, i);
  }
  where(store.getMask(), [&]() -> llvm::Value* {
    builder_.CreateAlignedStore(stored, shared_pointer(store.getArray(), store.getIndex(), store.getOffset()),
                                llvm::Align(words.bits / 8 * words.count));
    return nullptr;
  });
}

void CudaEmitter::emit_shared_atomic(thread::SharedAtomicRMWOp atomic) {
  llvm::Value* old = where(atomic.getMask(), [&] {
    return atomic_rmw(atomic.getKind(), shared_pointer(atomic.getArray(), atomic.getIndex(), atomic.getOffset()),
                      atomic.getValue().getType(), value(atomic.getValue()), llvm::AtomicOrdering::Monotonic,
                      context_.getOrInsertSyncScopeID("block"));
  });
  bind(atomic, old);
}

}  // namespace teeny::compiler::cuda
