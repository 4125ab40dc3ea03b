// Atomic operations: an instruction where the device has one, else a loop of compare-and-swap on the word that holds the
// element. In the Vulkan memory model an acquire makes what others released visible, and a release makes it available.
#include "compiler/target/vulkan/vulkan_emitter.hpp"

namespace teeny::compiler::vulkan {

using namespace mlir;

namespace {

using Semantics = spirv::MemorySemantics;

constexpr Semantics all_memory = Semantics::UniformMemory | Semantics::WorkgroupMemory;

// What a failing compare-and-swap orders: it writes nothing.
Semantics without_release(Semantics semantics) {
  const auto acquires = Semantics::Acquire | Semantics::AcquireRelease;
  if ((semantics & acquires) == Semantics::None) return Semantics::None;
  return Semantics::Acquire | all_memory | Semantics::MakeVisible;
}

// The kind that a float element has.
tt::RMWOp kind_for(tt::RMWOp kind, Type type) {
  if (!isa<FloatType>(type)) return kind;
  if (kind == tt::RMWOp::ADD) return tt::RMWOp::FADD;
  if (kind == tt::RMWOp::MAX) return tt::RMWOp::FMAX;
  return kind == tt::RMWOp::MIN ? tt::RMWOp::FMIN : kind;
}

}  // namespace

VulkanEmitter::Order VulkanEmitter::order_of(tt::MemSemantic semantic, tt::MemSyncScope scope) {
  // Other devices are reached by the host's waits alone.
  const auto where = scope == tt::MemSyncScope::CTA ? spirv::Scope::Workgroup : spirv::Scope::Device;
  switch (semantic) {
    case tt::MemSemantic::RELAXED: return {where, Semantics::None};
    case tt::MemSemantic::ACQUIRE: return {where, Semantics::Acquire | all_memory | Semantics::MakeVisible};
    case tt::MemSemantic::RELEASE: return {where, Semantics::Release | all_memory | Semantics::MakeAvailable};
    case tt::MemSemantic::ACQUIRE_RELEASE: break;
  }
  return {where, Semantics::AcquireRelease | all_memory | Semantics::MakeAvailable | Semantics::MakeVisible};
}

Value VulkanEmitter::atomic_instruction(tt::RMWOp kind, Value pointer, Value operand, const Order& order) {
  const auto made = [&]<class Op>() -> Value {
    return Op::create(builder_, location_, operand.getType(), pointer, order.scope, order.semantics, operand);
  };
  switch (kind) {
    case tt::RMWOp::AND: return made.operator()<spirv::AtomicAndOp>();
    case tt::RMWOp::OR: return made.operator()<spirv::AtomicOrOp>();
    case tt::RMWOp::XOR: return made.operator()<spirv::AtomicXorOp>();
    case tt::RMWOp::ADD: return made.operator()<spirv::AtomicIAddOp>();
    case tt::RMWOp::MAX: return made.operator()<spirv::AtomicSMaxOp>();
    case tt::RMWOp::MIN: return made.operator()<spirv::AtomicSMinOp>();
    case tt::RMWOp::UMAX: return made.operator()<spirv::AtomicUMaxOp>();
    case tt::RMWOp::UMIN: return made.operator()<spirv::AtomicUMinOp>();
    case tt::RMWOp::XCHG: return made.operator()<spirv::AtomicExchangeOp>();
    default: return {};
  }
}

// The new element of a read-modify-write, all three as `type` is held.
Value VulkanEmitter::combined(tt::RMWOp kind, Type type, Value old, Value operand) {
  const auto chosen = [&](Value keeps) { return select(keeps, old, operand); };
  switch (kind) {
    case tt::RMWOp::AND: return bit_and(old, operand);
    case tt::RMWOp::OR: return bit_or(old, operand);
    case tt::RMWOp::XOR: return bit_xor(old, operand);
    case tt::RMWOp::ADD: return held_value(type, add(old, operand));
    case tt::RMWOp::XCHG: return operand;
    case tt::RMWOp::MAX:
      return chosen(less(signed_value(type, operand), signed_value(type, old), true));
    case tt::RMWOp::MIN:
      return chosen(less(signed_value(type, old), signed_value(type, operand), true));
    case tt::RMWOp::UMAX: return chosen(below(operand, old));
    case tt::RMWOp::UMIN: return chosen(below(old, operand));
    default: break;
  }
  Value a = number_of(type, old), b = number_of(type, operand);
  if (kind == tt::RMWOp::FADD) return held_float(type, exact<spirv::FAddOp>(a.getType(), a, b));
  // A number wins over NaN, and +0 counts above -0: at equal numbers the sign bits decide.
  const bool is_max = kind == tt::RMWOp::FMAX;
  Value wins = compare_floats(is_max ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, a, b);
  Value sign = less(float_bits(a), zero(float_bits(a).getType()), true);
  Value fits = is_max ? make<spirv::LogicalNotOp>(bool_type(), sign) : sign;
  Value ties = make<spirv::LogicalAndOp>(bool_type(), compare_floats(arith::CmpFPredicate::OEQ, a, b), fits);
  Value keeps = make<spirv::LogicalOrOp>(bool_type(), make<spirv::LogicalOrOp>(bool_type(), wins, ties), is_nan(b));
  return select(make<spirv::LogicalAndOp>(bool_type(), keeps, make<spirv::LogicalNotOp>(bool_type(), is_nan(a))), old, operand);
}

Value VulkanEmitter::compare_exchange(Value pointer, const Order& order, Value replacement, Value expected) {
  return spirv::AtomicCompareExchangeOp::create(builder_, location_, replacement.getType(), pointer, order.scope,
                                                order.semantics, without_release(order.semantics), replacement, expected);
}

void VulkanEmitter::fence(const Order& order, bool before) {
  const Semantics kept = before ? Semantics::Release | Semantics::MakeAvailable : Semantics::Acquire | Semantics::MakeVisible;
  const Semantics either = (before ? Semantics::Release : Semantics::Acquire) | Semantics::AcquireRelease;
  if ((order.semantics & either) == Semantics::None) return;
  spirv::MemoryBarrierOp::create(builder_, location_, order.scope, kept | all_memory);
}

// The old word; `change` gives the new one. What the operation orders is ordered outside of the loop: Mesa's llvmpipe takes a
// fence for a barrier of all subgroups, which must come equally often in each.
Value VulkanEmitter::swap_loop(Value pointer, const Order& order, llvm::function_ref<Value(Value)> change) {
  const Type type = cast<spirv::PointerType>(pointer.getType()).getPointeeType();
  Value seen = variable(type), open = variable(bool_type());
  store_variable(seen, zero(type));  // the first turn finds what stands there
  store_variable(open, constant(builder_.getBoolAttr(true)));
  fence(order, true);
  turn([&] { return load_variable(open); },
       [&] {
         Value expected = load_variable(seen);
         Value found = compare_exchange(pointer, {order.scope, Semantics::None}, change(expected), expected);
         store_variable(seen, found);
         store_variable(open, negated(equal(found, expected)));
       });
  fence(order, false);
  return load_variable(seen);
}

// An element of `width` bits within a word; the old element.
Value VulkanEmitter::part_loop(Value address, unsigned width, const Order& order, llvm::function_ref<Value(Value)> change) {
  Value pointer = global_pointer(bit_and(address, long_word(~std::uint64_t{3})), word_type());
  Value shift = shift_left(bit_and(low_word(address), word(3)), word(3));
  Value mask = word((1u << width) - 1), others = bit_not(shift_left(mask, shift));
  Value old = swap_loop(pointer, order, [&](Value whole) {
    Value element = change(bit_and(shift_right(whole, shift), mask));
    return bit_or(bit_and(whole, others), shift_left(element, shift));
  });
  return bit_and(shift_right(old, shift), mask);
}

Value VulkanEmitter::atomic_read_modify_write(Operation* operation, tt::RMWOp kind, Type type, Value address, Value operand,
                                              const Order& order) {
  const unsigned width = bits_of(type);
  if (width < 32) return part_loop(address, width, order, [&](Value old) { return combined(kind, type, old, operand); });
  if (type.isF32() && kind == tt::RMWOp::FADD && features_.atomic_f32_add) {
    needs(spirv::Capability::AtomicFloat32AddEXT);
    extensions_.insert(spirv::Extension::SPV_EXT_shader_atomic_float_add);
    return spirv::EXTAtomicFAddOp::create(builder_, location_, type, global_pointer(address, type), order.scope,
                                          order.semantics, operand);
  }
  if (width == 64) {
    if (!features_.atomic_i64)
      refuse(operation, "rule: the device must have atomics of 64 bits; got a target without them",
             "use 32 bits, or a device with shaderBufferInt64Atomics");
    needs(spirv::Capability::Int64Atomics);
  }
  const Type integer = width == 64 ? long_type() : word_type();
  Value pointer = global_pointer(address, integer);
  if (Value old = atomic_instruction(kind, pointer, bitcast(integer, operand), order)) return bitcast(operand.getType(), old);
  Value old = swap_loop(pointer, order, [&](Value bits) {
    return bitcast(integer, combined(kind, type, bitcast(operand.getType(), bits), operand));
  });
  return bitcast(operand.getType(), old);
}

void VulkanEmitter::emit_atomic(thread::AtomicRMWOp atomic) {
  const Type type = atomic.getValue().getType();
  Value operand = value(atomic.getValue());
  bind(atomic, where(atomic.getMask() ? value(atomic.getMask()) : Value(), zero(operand.getType()), [&]() -> Values {
         return {atomic_read_modify_write(atomic, kind_for(atomic.getKind(), type), type,
                                          address_of(atomic.getAddress(), atomic.getOffset()), operand,
                                          order_of(atomic.getSem(), atomic.getScope()))};
       })[0]);
}

void VulkanEmitter::emit_compare_and_swap(thread::AtomicCASOp atomic) {
  const Type type = atomic.getValue().getType();
  const unsigned width = bits_of(type);
  Value expected = value(atomic.getCompare()), replacement = value(atomic.getValue());
  if (width == 64 && !features_.atomic_i64)
    refuse(atomic, "rule: the device must have atomics of 64 bits; got a target without them",
           "use 32 bits, or a device with shaderBufferInt64Atomics");
  if (width == 64) needs(spirv::Capability::Int64Atomics);
  bind(atomic, where(atomic.getMask() ? value(atomic.getMask()) : Value(), zero(expected.getType()), [&]() -> Values {
         Value address = address_of(atomic.getAddress(), atomic.getOffset());
         const Order order = order_of(atomic.getSem(), atomic.getScope());
         if (width < 32)
           return {part_loop(address, width, order, [&](Value old) { return select(equal(old, expected), replacement, old); })};
         const Type integer = width == 64 ? long_type() : word_type();
         Value old = compare_exchange(global_pointer(address, integer), order, bitcast(integer, replacement), bitcast(integer, expected));
         return {bitcast(expected.getType(), old)};
       })[0]);
}

void VulkanEmitter::emit_shared_atomic(thread::SharedAtomicRMWOp atomic) {
  const Type type = atomic.getValue().getType();
  if (bits_of(type) != 32)
    refuse(atomic, "rule: atomics of shared memory are of 32 bits on Vulkan; got another width", "use 32 bits");
  Value operand = value(atomic.getValue());
  const tt::RMWOp kind = kind_for(atomic.getKind(), type);
  const Order order{spirv::Scope::Workgroup, Semantics::None};
  bind(atomic, where(atomic.getMask() ? value(atomic.getMask()) : Value(), zero(operand.getType()), [&]() -> Values {
         Value pointer = shared_word(shared_byte(atomic.getArray(), atomic.getIndex(), atomic.getOffset(), 32));
         if (Value old = atomic_instruction(kind, pointer, bitcast(word_type(), operand), order))
           return {bitcast(operand.getType(), old)};
         Value old = swap_loop(pointer, order, [&](Value bits) {
           return bitcast(word_type(), combined(kind, type, bitcast(operand.getType(), bits), operand));
         });
         return {bitcast(operand.getType(), old)};
       })[0]);
}

}  // namespace teeny::compiler::vulkan
