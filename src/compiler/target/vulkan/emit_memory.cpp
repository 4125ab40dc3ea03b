// Accesses to global and shared memory, in words of 32 bits or parts of one.
//
// Shared memory is one array of words: variables in workgroup memory have types and may not overlap, but words hold
// everything in turn. A part of a word is written by two atomic operations that touch no other bits.
#include "compiler/target/vulkan/vulkan_emitter.hpp"

namespace teeny::compiler::vulkan {

using namespace mlir;

namespace {

constexpr unsigned word_bits = 32;

spirv::MemoryAccessAttr access_attribute(MLIRContext* context, spirv::MemoryAccess access) {
  return spirv::MemoryAccessAttr::get(context, access);
}

}  // namespace

bool VulkanEmitter::emit_memory(Operation& operation) {
  return llvm::TypeSwitch<Operation*, bool>(&operation)
      .Case<thread::LoadOp>([&](auto op) { return emit_load(op), true; })
      .Case<thread::StoreOp>([&](auto op) { return emit_store(op), true; })
      .Case<thread::AtomicRMWOp>([&](auto op) { return emit_atomic(op), true; })
      .Case<thread::AtomicCASOp>([&](auto op) { return emit_compare_and_swap(op), true; })
      .Case<thread::SharedRefOp>([&](auto) { return true; })  // shared_byte reads it
      .Case<thread::SharedLoadOp>([&](auto op) { return emit_shared_load(op), true; })
      .Case<thread::SharedStoreOp>([&](auto op) { return emit_shared_store(op), true; })
      .Case<thread::SharedAtomicRMWOp>([&](auto op) { return emit_shared_atomic(op), true; })
      .Default(false);
}

// ---- words and scalars

VulkanEmitter::Values VulkanEmitter::words_of(ValueRange values) {
  Values words;
  const unsigned bits = bits_of(values[0].getType());
  if (bits >= word_bits) {
    for (Value scalar : values) {
      if (bits == word_bits) {
        words.push_back(bitcast(word_type(), value(scalar)));
        continue;
      }
      Value pair = bitcast(VectorType::get(2, word_type()), value(scalar));
      words.append({extract(pair, 0), extract(pair, 1)});
    }
    return words;
  }
  const unsigned per_word = std::min<unsigned>(word_bits / bits, values.size());
  for (unsigned first = 0; first < values.size(); first += per_word) {
    const Part start = parts_.lookup(values[first]);
    bool whole = start.word && start.index == 0 && per_word * bits == word_bits;
    for (unsigned i = 0; i < per_word; ++i) {
      const Part part = parts_.lookup(values[first + i]);
      whole &= part.word == start.word && part.index == i;
    }
    Value packed = whole ? start.word : value(values[first]);
    for (unsigned i = 1; i < per_word && !whole; ++i)
      packed = bit_or(packed, shift_left(value(values[first + i]), word(i * bits)));
    words.push_back(packed);
  }
  return words;
}

void VulkanEmitter::bind_words(ValueRange results, llvm::ArrayRef<Value> words) {
  const unsigned bits = bits_of(results[0].getType());
  const unsigned per_word = std::max<unsigned>(1, results.size() / words.size());
  for (auto [index, result] : llvm::enumerate(results)) {
    const Type held = held_type(result.getType());
    if (bits == 2 * word_bits) {
      bind(result, bitcast(held, compose(VectorType::get(2, word_type()), {words[2 * index], words[2 * index + 1]})));
      continue;
    }
    Value scalar = words[index / per_word];
    const unsigned part = index % per_word;
    if (per_word > 1) {
      if (per_word * bits == word_bits) parts_[result] = {scalar, part};
      if (part != 0) scalar = shift_right(scalar, word(part * bits));
      if ((part + 1) * bits < word_bits) scalar = bit_and(scalar, word((1u << bits) - 1));
    }
    bind(result, bitcast(held, scalar));
  }
}

// ---- global memory

Value VulkanEmitter::address_of(Value address, std::int64_t offset) {
  return offset ? add(value(address), long_word(std::uint64_t(offset))) : value(address);
}

Value VulkanEmitter::global_pointer(Value address, Type pointee) {
  return make<spirv::ConvertUToPtrOp>(spirv::PointerType::get(pointee, spirv::StorageClass::PhysicalStorageBuffer), address);
}

Value VulkanEmitter::load_global(Value address, Type type, unsigned alignment, bool is_volatile) {
  auto access = spirv::MemoryAccess::Aligned;
  if (shares_global_) access = access | spirv::MemoryAccess::NonPrivatePointer;
  if (is_volatile) access = access | spirv::MemoryAccess::Volatile;
  return spirv::LoadOp::create(builder_, location_, global_pointer(address, type),
                               access_attribute(builder_.getContext(), access), builder_.getI32IntegerAttr(int(alignment)));
}

void VulkanEmitter::store_global(Value address, Value stored, unsigned alignment) {
  auto access = spirv::MemoryAccess::Aligned;
  if (shares_global_) access = access | spirv::MemoryAccess::NonPrivatePointer;
  auto store = spirv::StoreOp::create(builder_, location_, global_pointer(address, stored.getType()), stored);
  store.setMemoryAccessAttr(access_attribute(builder_.getContext(), access));
  store.setAlignmentAttr(builder_.getI32IntegerAttr(int(alignment)));
}

Value VulkanEmitter::load_part(Value address, unsigned bits, bool is_volatile) {
  if (bits == 8 ? features_.storage8 : features_.storage16) {
    needs(bits == 8 ? spirv::Capability::StorageBuffer8BitAccess : spirv::Capability::StorageBuffer16BitAccess);
    return make<spirv::UConvertOp>(word_type(), load_global(address, builder_.getIntegerType(bits), bits / 8, is_volatile));
  }
  Value whole = load_global(bit_and(address, long_word(~std::uint64_t{3})), word_type(), 4, is_volatile);
  Value shift = shift_left(bit_and(low_word(address), word(3)), word(3));
  return bit_and(shift_right(whole, shift), word((1u << bits) - 1));
}

void VulkanEmitter::store_part(Value address, Value bits, unsigned width) {
  if (width == 8 ? features_.storage8 : features_.storage16) {
    needs(width == 8 ? spirv::Capability::StorageBuffer8BitAccess : spirv::Capability::StorageBuffer16BitAccess);
    return store_global(address, make<spirv::UConvertOp>(builder_.getIntegerType(width), bits), width / 8);
  }
  Value pointer = global_pointer(bit_and(address, long_word(~std::uint64_t{3})), word_type());
  replace_part(pointer, shift_left(bit_and(low_word(address), word(3)), word(3)), bits, width, spirv::Scope::Device);
}

void VulkanEmitter::replace_part(Value pointer, Value shift, Value bits, unsigned width, spirv::Scope scope) {
  Value kept = bit_not(shift_left(word((1u << width) - 1), shift));
  spirv::AtomicAndOp::create(builder_, location_, word_type(), pointer, scope, spirv::MemorySemantics::None, kept);
  spirv::AtomicOrOp::create(builder_, location_, word_type(), pointer, scope, spirv::MemorySemantics::None,
                            shift_left(bits, shift));
}

void VulkanEmitter::emit_load(thread::LoadOp load) {
  const unsigned total = bits_of(load.getResult(0).getType()) * load.getNumResults(), count = std::max(1u, total / word_bits);
  const Type type = count == 1 ? word_type() : VectorType::get(count, word_type());
  Value other = zero(type);
  if (load.getMask() && !load.getOther().empty()) {
    Values words = words_of(load.getOther());
    other = count == 1 ? words[0] : compose(type, words);
  }
  Value address = address_of(load.getAddress(), load.getOffset());
  Value loaded = where(load.getMask() ? value(load.getMask()) : Value(), other, [&]() -> Values {
    if (total < word_bits) return {load_part(address, total, load.getIsVolatile())};
    return {load_global(address, type, load.getAlignment(), load.getIsVolatile())};
  })[0];
  Values words;
  for (unsigned i = 0; i < count; ++i) words.push_back(count == 1 ? loaded : extract(loaded, int(i)));
  bind_words(load.getResults(), words);
}

void VulkanEmitter::emit_store(thread::StoreOp store) {
  const unsigned total = bits_of(store.getValues()[0].getType()) * store.getValues().size();
  Values words = words_of(store.getValues());
  Value stored = words.size() == 1 ? words[0] : compose(VectorType::get(int64_t(words.size()), word_type()), words);
  where(store.getMask() ? value(store.getMask()) : Value(), {}, [&]() -> Values {
    Value address = address_of(store.getAddress(), store.getOffset());
    if (total < word_bits)
      store_part(address, stored, total);
    else
      store_global(address, stored, store.getAlignment());
    return {};
  });
}

// ---- shared memory

Value VulkanEmitter::shared_word(Value index) {
  if (!shared_) {
    auto bytes = kernel_->getAttrOfType<IntegerAttr>(thread::shared_bytes_attribute);
    const unsigned words = std::max<std::int64_t>(1, (bytes ? bytes.getInt() + 3 : 4) / 4);
    shared_ = global(spirv::ArrayType::get(word_type(), words), spirv::StorageClass::Workgroup, "shared_words");
  }
  Value& array = builtins_[~1u];
  if (!array) {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPoint(entry_begin_);
    array = spirv::AddressOfOp::create(builder_, kernel_.getLoc(), shared_);
  }
  return spirv::AccessChainOp::create(builder_, location_, array, ValueRange{index});
}

// Where element index + offset begins: in words for elements of whole words, else in bytes.
Value VulkanEmitter::shared_byte(Value array, Value index, std::int64_t offset, unsigned bits) {
  auto reference = array.getDefiningOp<thread::SharedRefOp>();
  const unsigned unit = bits >= word_bits ? bits / word_bits : bits / 8;
  const std::int64_t start = std::int64_t(reference.getOffset()) / (bits >= word_bits ? 4 : 1) + offset * unit;
  Value place = unit == 1 ? value(index) : multiply(value(index), word(unit));
  return start ? add(place, word(std::uint32_t(start))) : place;
}

void VulkanEmitter::emit_shared_load(thread::SharedLoadOp load) {
  const unsigned bits = bits_of(load.getResult(0).getType()), total = bits * load.getNumResults();
  const unsigned count = std::max(1u, total / word_bits);
  const auto access = access_attribute(builder_.getContext(), spirv::MemoryAccess::NonPrivatePointer);
  const auto loaded_word = [&](Value index) -> Value {
    return spirv::LoadOp::create(builder_, location_, shared_word(index), access, IntegerAttr());
  };
  Values words = where(load.getMask() ? value(load.getMask()) : Value(), Values(count, word(0)), [&] {
    Value place = shared_byte(load.getArray(), load.getIndex(), load.getOffset(), bits);
    Value first = bits >= word_bits ? place : shift_right(place, word(2));
    Values loaded;
    for (unsigned i = 0; i < count; ++i) loaded.push_back(loaded_word(i ? add(first, word(i)) : first));
    if (total < word_bits) {
      Value shift = shift_left(bit_and(place, word(3)), word(3));
      loaded[0] = bit_and(shift_right(loaded[0], shift), word((1u << total) - 1));
    }
    return loaded;
  });
  bind_words(load.getResults(), words);
}

void VulkanEmitter::emit_shared_store(thread::SharedStoreOp store) {
  const unsigned bits = bits_of(store.getValues()[0].getType()), total = bits * store.getValues().size();
  Values words = words_of(store.getValues());
  where(store.getMask() ? value(store.getMask()) : Value(), {}, [&]() -> Values {
    Value place = shared_byte(store.getArray(), store.getIndex(), store.getOffset(), bits);
    Value first = bits >= word_bits ? place : shift_right(place, word(2));
    if (total < word_bits) {
      Value shift = shift_left(bit_and(place, word(3)), word(3));
      replace_part(shared_word(first), shift, words[0], total, spirv::Scope::Workgroup);
      return {};
    }
    for (auto [i, stored] : llvm::enumerate(words)) {
      auto made = spirv::StoreOp::create(builder_, location_, shared_word(i ? add(first, word(std::uint32_t(i))) : first), stored);
      made.setMemoryAccessAttr(access_attribute(builder_.getContext(), spirv::MemoryAccess::NonPrivatePointer));
    }
    return {};
  });
}

}  // namespace teeny::compiler::vulkan
