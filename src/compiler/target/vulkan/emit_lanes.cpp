// Which lane this is, what lanes tell each other, barriers, and messages to the host (gpu_program_abi.h).
#include <cstddef>

#include "compiler/target/vulkan/vulkan_emitter.hpp"
#include "support/gpu_program_abi.h"

namespace teeny::compiler::vulkan {

using namespace mlir;

bool VulkanEmitter::emit_lanes(Operation& operation) {
  const Type triple = VectorType::get(3, word_type());
  if (auto id = dyn_cast<thread::ProgramIdOp>(operation)) return bind(id, program_id(int(id.getAxis()))), true;
  if (auto count = dyn_cast<thread::NumProgramsOp>(operation)) return bind(count, program_count(int(count.getAxis()))), true;
  if (isa<thread::LaneIdOp>(operation)) return bind(operation.getResult(0), lane()), true;
  if (isa<thread::WarpIdOp>(operation)) {
    // How a device numbers the subgroups of a workgroup is its own affair; without subgroups every invocation is a warp.
    Value warp = features_.lanes == 1 ? extract(builtin(spirv::BuiltIn::LocalInvocationId, triple), 0)
                                      : builtin(spirv::BuiltIn::SubgroupId, word_type());
    if (features_.lanes != 1) needs(spirv::Capability::GroupNonUniform);
    return bind(operation.getResult(0), warp), true;
  }
  if (auto moved = dyn_cast<thread::ShuffleOp>(operation)) return emit_shuffle(moved), true;
  if (auto ballot = dyn_cast<thread::BallotOp>(operation)) {
    Value condition = value(ballot.getCondition());
    if (features_.lanes == 1) return bind(ballot, widened(from_bool(condition))), true;
    needs(spirv::Capability::GroupNonUniformBallot);
    Value words = spirv::GroupNonUniformBallotOp::create(builder_, location_, VectorType::get(4, word_type()),
                                                         spirv::Scope::Subgroup, condition);
    return bind(ballot, bitcast(long_type(), compose(VectorType::get(2, word_type()), {extract(words, 0), extract(words, 1)}))),
           true;
  }
  if (auto barrier = dyn_cast<thread::BarrierOp>(operation)) return emit_barrier(barrier), true;
  if (auto message = dyn_cast<thread::MessageOp>(operation)) return emit_message(message), true;
  return false;
}

// A launch may be several dispatches along x, each of as many programs as the device takes at once.
Value VulkanEmitter::program_id(int axis) {
  Value id = extract(builtin(spirv::BuiltIn::WorkgroupId, VectorType::get(3, word_type())), axis);
  return axis == 0 ? add(id, low_word(dispatch_)) : id;
}

Value VulkanEmitter::program_count(int axis) {
  if (axis == 0) return low_word(shift_right(dispatch_, long_word(32)));
  return extract(builtin(spirv::BuiltIn::NumWorkgroups, VectorType::get(3, word_type())), axis);
}

Value VulkanEmitter::lane() {
  if (features_.lanes == 1) return word(0);
  needs(spirv::Capability::GroupNonUniform);
  return builtin(spirv::BuiltIn::SubgroupLocalInvocationId, word_type());
}

Value VulkanEmitter::shuffle_word(thread::ShuffleKind kind, Value moved, Value distance) {
  const auto made = [&]<class Op>() -> Value {
    return Op::create(builder_, location_, word_type(), spirv::Scope::Subgroup, moved, distance);
  };
  // A lane outside of the subgroup has no value: the own one stays.
  const auto inside = [&](Value from) { return below(from, word(unsigned(features_.lanes))); };
  switch (kind) {
    case thread::ShuffleKind::XOR:
      needs(spirv::Capability::GroupNonUniformShuffle);
      return made.operator()<spirv::GroupNonUniformShuffleXorOp>();
    case thread::ShuffleKind::INDEX:
      needs(spirv::Capability::GroupNonUniformShuffle);
      return made.operator()<spirv::GroupNonUniformShuffleOp>();
    case thread::ShuffleKind::UP:
      needs(spirv::Capability::GroupNonUniformShuffleRelative);
      return select(inside(sub(lane(), distance)), made.operator()<spirv::GroupNonUniformShuffleUpOp>(), moved);
    case thread::ShuffleKind::DOWN:
      needs(spirv::Capability::GroupNonUniformShuffleRelative);
      return select(inside(add(lane(), distance)), made.operator()<spirv::GroupNonUniformShuffleDownOp>(), moved);
  }
  return {};
}

void VulkanEmitter::emit_shuffle(thread::ShuffleOp shuffle) {
  Value held = value(shuffle.getValue()), distance = value(shuffle.getLane());
  if (features_.lanes == 1) return bind(shuffle, held);
  const Type type = held.getType();
  if (type == bool_type()) {
    Value moved = shuffle_word(shuffle.getKind(), from_bool(held), distance);
    return bind(shuffle, make<spirv::INotEqualOp>(bool_type(), moved, word(0)));
  }
  if (bits_of(type) == 32)
    return bind(shuffle, bitcast(type, shuffle_word(shuffle.getKind(), bitcast(word_type(), held), distance)));
  const Type pair = VectorType::get(2, word_type());
  Value words = bitcast(pair, held);
  Value low = shuffle_word(shuffle.getKind(), extract(words, 0), distance);
  Value high = shuffle_word(shuffle.getKind(), extract(words, 1), distance);
  bind(shuffle, bitcast(type, compose(pair, {low, high})));
}

void VulkanEmitter::emit_barrier(thread::BarrierOp barrier) {
  if (barrier.getWarps() != 0)
    refuse(barrier, "rule: a barrier is of all warps on Vulkan; got one of a part", "use a barrier of the program");
  using Semantics = spirv::MemorySemantics;
  auto memory = Semantics::AcquireRelease | Semantics::MakeAvailable | Semantics::MakeVisible;
  if (barrier.getMemory() != thread::BarrierMemory::GLOBAL) memory = memory | Semantics::WorkgroupMemory;
  if (barrier.getMemory() != thread::BarrierMemory::SHARED) memory = memory | Semantics::UniformMemory;
  spirv::ControlBarrierOp::create(builder_, location_, spirv::Scope::Workgroup, spirv::Scope::Workgroup, memory);
}

void VulkanEmitter::emit_message(thread::MessageOp message) {
  static_assert(TEENY_GPU_PRINT == int(thread::MessageKind::PRINT) && TEENY_GPU_ASSERT == int(thread::MessageKind::ASSERT));
  const auto id = [&](int axis) { return widened(program_id(axis)); };
  const auto count = [&](int axis) { return widened(program_count(axis)); };
  const auto at = [&](Value base, std::size_t offset) { return offset ? add(base, long_word(offset)) : base; };
  branch(value(message.getMask()), [&] {
    Value number = atomic_instruction(
        tt::RMWOp::ADD, global_pointer(at(message_buffer_, offsetof(teeny_gpu_message_buffer, count)), word_type()), word(1),
        {spirv::Scope::Device, spirv::MemorySemantics::None});
    Value capacity = load_global(at(message_buffer_, offsetof(teeny_gpu_message_buffer, capacity)), word_type(), 4, false);
    branch(below(number, capacity), [&] {
      Value place = add(at(message_buffer_, offsetof(teeny_gpu_message_buffer, messages)),
                        multiply(widened(number), long_word(sizeof(teeny_gpu_message))));
      Value program = add(multiply(add(multiply(id(2), count(1)), id(1)), count(0)), id(0));
      store_global(at(place, offsetof(teeny_gpu_message, operation)), word(message.getSite()), 4);
      store_global(at(place, offsetof(teeny_gpu_message, operand)),
                   word(message.getArgument() | unsigned(message.getKind()) << 16), 4);
      store_global(at(place, offsetof(teeny_gpu_message, program)), program, 8);
      store_global(at(place, offsetof(teeny_gpu_message, element)), widened(value(message.getElement())), 8);
      store_global(at(place, offsetof(teeny_gpu_message, value)), value(message.getValue()), 8);
    });
  });
}

}  // namespace teeny::compiler::vulkan
