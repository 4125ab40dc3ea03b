// Memory, matrix products, hints and debugging.
#include "compiler/import/trace_importer.hpp"

namespace teeny::compiler {

using namespace mlir;
using trace::Opcode;

namespace {

tt::CacheModifier cache_of(std::int64_t hint) {
  using M = tt::CacheModifier;
  constexpr M modifiers[] = {M::NONE, M::CA, M::CG, M::CS, M::CV, M::WB, M::WT};
  return modifiers[hint];
}

tt::EvictionPolicy eviction_of(std::int64_t hint) {
  using P = tt::EvictionPolicy;
  constexpr P policies[] = {P::NORMAL, P::EVICT_FIRST, P::EVICT_LAST};
  return policies[hint];
}

tt::MemSemantic order_of(std::int64_t order) {
  using S = tt::MemSemantic;
  constexpr S semantics[] = {S::RELAXED, S::ACQUIRE, S::RELEASE, S::ACQUIRE_RELEASE};
  return semantics[order];
}

tt::MemSyncScope scope_of(std::int64_t scope) {
  using S = tt::MemSyncScope;
  constexpr S scopes[] = {S::CTA, S::GPU, S::SYSTEM};
  return scopes[scope];
}

tt::RMWOp kind_of(trace::AtomicKind kind, DType dtype) {
  const bool floats = is_float(dtype), is_signed = is_signed_integer(dtype);
  switch (kind) {
    case trace::AtomicKind::add: return floats ? tt::RMWOp::FADD : tt::RMWOp::ADD;
    case trace::AtomicKind::max: return floats ? tt::RMWOp::FMAX : is_signed ? tt::RMWOp::MAX : tt::RMWOp::UMAX;
    case trace::AtomicKind::min: return floats ? tt::RMWOp::FMIN : is_signed ? tt::RMWOp::MIN : tt::RMWOp::UMIN;
    case trace::AtomicKind::bit_and: return tt::RMWOp::AND;
    case trace::AtomicKind::bit_or: return tt::RMWOp::OR;
    case trace::AtomicKind::bit_xor: return tt::RMWOp::XOR;
    case trace::AtomicKind::exchange: return tt::RMWOp::XCHG;
  }
  llvm_unreachable("a verified trace has no other kind");
}

}  // namespace

Value TraceImporter::memory(const Op& op) {
  switch (op.opcode) {
    case Opcode::load:
      return make<tt::LoadOp>(operand(op, 0), op.integers[0] ? operand(op, 1) : Value(),
                              op.integers[1] ? operand(op, 2) : Value(), cache_of(op.integers[2]),
                              eviction_of(op.integers[3]), op.integers[4] != 0);
    case Opcode::store:
      make<tt::StoreOp>(operand(op, 0), operand(op, 1), op.integers[0] ? operand(op, 2) : Value(),
                        cache_of(op.integers[1]), eviction_of(op.integers[2]));
      return {};
    case Opcode::make_descriptor: return make_descriptor(op);
    case Opcode::descriptor_load: return make<tt::DescriptorLoadOp>(result_type(op), operand(op, 0), operands(op, 1));
    case Opcode::descriptor_store:
      make<tt::DescriptorStoreOp>(operand(op, 0), operand(op, 1), operands(op, 2));
      return {};
    case Opcode::barrier: make<tt::BarrierOp>(); return {};
    default: return atomic(op);
  }
}

Value TraceImporter::atomic(const Op& op) {
  if (op.opcode == Opcode::atomic_cas)
    return make<tt::AtomicCASOp>(result_type(op), operand(op, 0), operand(op, 1), operand(op, 2),
                                 order_of(op.integers[0]), scope_of(op.integers[1]));
  const auto kind = kind_of(static_cast<trace::AtomicKind>(op.integers[0]), type_of(op, 1).dtype);
  return make<tt::AtomicRMWOp>(result_type(op), kind, operand(op, 0), operand(op, 1),
                               op.integers[3] ? operand(op, 2) : Value(), order_of(op.integers[1]),
                               scope_of(op.integers[2]));
}

Value TraceImporter::make_descriptor(const Op& op) {
  const std::size_t rank = op.integers.size() - 1;
  SmallVector<Value> all = operands(op, 1);
  return make<tt::MakeTensorDescOp>(result_type(op), operand(op, 0), ArrayRef<Value>(all).take_front(rank),
                                    ArrayRef<Value>(all).drop_front(rank),
                                    op.integers[0] ? tt::PaddingOption::PAD_NAN : tt::PaddingOption::PAD_ZERO);
}

Value TraceImporter::dot(const Op& op) {
  using P = tt::InputPrecision;
  constexpr P precisions[] = {P::IEEE, P::TF32, P::TF32x3};  // in the order of trace::DotPrecision
  return make<tt::DotOp>(result_type(op), operand(op, 0), operand(op, 1), operand(op, 2), precisions[op.integers[0]],
                         0);
}

Value TraceImporter::hint(const Op& op) {
  if (op.opcode == Opcode::assume) {
    make<tt::AssumeOp>(operand(op, 0));
    return {};
  }
  auto numbers = builder_.getDenseI64ArrayAttr(op.integers);
  const bool divides = op.opcode == Opcode::multiple_of;
  return make<tt::HintOp>(result_type(op), operand(op, 0), divides ? numbers : DenseI64ArrayAttr(),
                          divides ? DenseI64ArrayAttr() : numbers);
}

void TraceImporter::debug(const Op& op) {
  if (op.opcode == Opcode::device_assert) {
    Value condition = operand(op, 0);
    if (op.operands.size() == 2) {
      Value unmasked = make<arith::XOrIOp>(operand(op, 1), integer_constant(condition.getType(), -1));
      condition = make<arith::OrIOp>(condition, unmasked);
    }
    make<tt::AssertOp>(condition, op.text);
    return;
  }
  SmallVector<int32_t> is_signed;
  for (std::size_t i = 0; i < op.operands.size(); ++i) is_signed.push_back(is_signed_integer(type_of(op, i).dtype));
  make<tt::PrintOp>(op.text, /*hex=*/false, is_signed, operands(op));
}

}  // namespace teeny::compiler
