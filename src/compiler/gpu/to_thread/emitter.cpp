#include "compiler/gpu/to_thread/emitter.hpp"

#include <map>
#include <utility>

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace teeny::compiler::gpu {

using namespace mlir;

int Emitter::registers(Type type) {
  return isa<RankedTensorType>(type) ? int(tile::layout_of(type).input_size(Axis::reg)) : 1;
}

Type Emitter::scalar_type(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isIntOrFloat()) return element;
  return IntegerType::get(type.getContext(), element.isIndex() ? 32 : 64);
}

ArrayRef<Value> Emitter::scalars(Value value) { return scalars_.find(value)->second; }
void Emitter::bind(Value value, Scalars scalars) { scalars_[value] = std::move(scalars); }
SharedArray &Emitter::memory(Value memory) { return memories_.find(memory)->second; }
void Emitter::bind_memory(Value value, SharedArray array) { memories_[value] = std::move(array); }

// ---- value numbering

template <typename Body>
Value Emitter::at_entry(Body body) {
  OpBuilder::InsertionGuard guard(builder);
  if (entry_end_) builder.setInsertionPoint(entry_end_);
  bool before = std::exchange(in_entry_, true);
  Value value = body();
  in_entry_ = before;
  return value;
}

Value Emitter::number_plain(OperationName name, ValueRange operands, Type type, DictionaryAttr attributes) {
  size_t key = llvm::hash_combine(name.getAsOpaquePointer(), type.getAsOpaquePointer(),
                                  attributes ? attributes.getAsOpaquePointer() : nullptr);
  for (Value operand : operands) key = llvm::hash_combine(key, operand.getAsOpaquePointer());
  size_t count = in_entry_ ? 1 : scopes_.size();
  for (size_t scope = 0; scope < count; ++scope) {
    auto [first, last] = scopes_[scope].equal_range(key);
    for (; first != last; ++first) {
      Operation *made = first->second;
      if (made->getName() == name && made->getResult(0).getType() == type && llvm::equal(made->getOperands(), operands) &&
          (!attributes || made->getAttrDictionary() == attributes))
        return made->getResult(0);
    }
  }
  OperationState state(location, name);
  state.addOperands(operands);
  state.addTypes(type);
  if (attributes) state.addAttributes(attributes.getValue());
  Operation *made = builder.create(state);
  scopes_[in_entry_ ? 0 : scopes_.size() - 1].emplace(key, made);
  return made->getResult(0);
}

Value Emitter::constant(TypedAttr number) {
  return at_entry([&] {
    auto name = OperationName(arith::ConstantOp::getOperationName(), builder.getContext());
    Value value = number_plain(name, {}, number.getType(), builder.getDictionaryAttr(builder.getNamedAttr("value", number)));
    if (auto integer = dyn_cast<IntegerAttr>(number); integer && number.getType().getIntOrFloatBitWidth() >= 32)
      sums_[value] = {Value(), integer.getValue().getSExtValue()};
    return value;
  });
}

Emitter::Sum Emitter::sum(Value value) const {
  auto found = sums_.find(value);
  return found == sums_.end() ? Sum{value, 0} : found->second;
}

// Constants wrap as the type's arithmetic does.
Value Emitter::materialise(const Sum &exact, Type type) {
  Sum sum{exact.base, llvm::SignExtend64(uint64_t(exact.constant), type.getIntOrFloatBitWidth())};
  if (!sum.base) return constant(builder.getIntegerAttr(type, sum.constant));
  if (sum.constant == 0) return sum.base;
  Value number = constant(builder.getIntegerAttr(type, sum.constant));
  auto name = OperationName(arith::AddIOp::getOperationName(), builder.getContext());
  Value value = number_plain(name, {sum.base, number}, type, {});
  sums_[value] = sum;
  return value;
}

// Null: no sum that keeps a constant apart.
Value Emitter::number_sum(StringRef name, ValueRange operands, Type type) {
  auto plain = [&](StringRef name, ValueRange operands) {
    return number_plain(OperationName(name, builder.getContext()), operands, type, {});
  };
  Sum left = sum(operands[0]);
  if (name == "arith.extsi") {
    if (left.constant == 0 && left.base) return {};
    return materialise({left.base ? plain(name, left.base) : Value(), left.constant}, type);
  }
  Sum right = sum(operands[1]);
  if (name == "arith.addi") {
    Value base = !left.base ? right.base : !right.base ? left.base : plain(name, {left.base, right.base});
    return materialise({base, int64_t(uint64_t(left.constant) + uint64_t(right.constant))}, type);
  }
  if (name == "arith.subi") {
    if (right.base && !left.base) return {};
    Value base = !right.base ? left.base : plain(name, {left.base, right.base});
    return materialise({base, int64_t(uint64_t(left.constant) - uint64_t(right.constant))}, type);
  }
  if (left.base && right.base && left.constant == 0) std::swap(left, right);
  if (!left.base) std::swap(left, right);
  if (!left.base) return materialise({Value(), int64_t(uint64_t(left.constant) * uint64_t(right.constant))}, type);  // both constants
  if (!right.base) {  // (x + c) * n
    if (right.constant == 0) return materialise({}, type);
    Value base = right.constant == 1 ? left.base
                                     : plain(name, {left.base, materialise({Value(), right.constant}, type)});
    return materialise({base, int64_t(uint64_t(left.constant) * uint64_t(right.constant))}, type);
  }
  if (left.constant == 0) return {};
  Value factor = materialise(right, type);  // (x + c) * s = x * s + c * s
  Value product = plain(name, {left.base, factor});
  return plain("arith.addi", {product, plain(name, {factor, materialise({Value(), left.constant}, type)})});
}

Value Emitter::number(OperationName name, ValueRange operands, Type type, DictionaryAttr attributes) {
  StringRef text = name.getStringRef();
  bool wide = isa<IntegerType>(type) && type.getIntOrFloatBitWidth() >= 32;
  bool sums = text == "arith.addi" || text == "arith.subi" || text == "arith.muli" ||
              (text == "arith.extsi" && operands[0].getType().getIntOrFloatBitWidth() >= 32);
  if (wide && sums)
    if (Value value = number_sum(text, operands, type)) return value;
  return number_plain(name, operands, type, attributes);
}

Value Emitter::both(Value left, Value right) {
  if (!left || !right) return left ? left : right;
  return left == right ? left : make<arith::AndIOp>({left, right}, left.getType());
}

// ---- i32 arithmetic

Value Emitter::constant(int64_t value) { return constant(builder.getI32IntegerAttr(int32_t(value))); }
Value Emitter::add(Value left, Value right) {
  if (!left || !right) return left ? left : right;
  return make<arith::AddIOp>({left, right}, left.getType());
}
Value Emitter::exclusive_or(Value left, Value right) {
  if (!left || !right) return left ? left : right;
  Sum a = sum(left), b = sum(right);
  if (!a.base && !b.base) return constant(a.constant ^ b.constant);
  if (!b.base && b.constant == 0) return left;
  if (!a.base && a.constant == 0) return right;
  return make<arith::XOrIOp>({left, right}, left.getType());
}
Value Emitter::multiply(Value left, int64_t right) {
  return !left || right == 0 ? Value() : make<arith::MulIOp>({left, constant(right)}, left.getType());
}
Value Emitter::and_constant(Value left, int64_t right) {
  if (!left || right == 0) return {};
  if (Sum a = sum(left); !a.base) return constant(a.constant & right);
  return make<arith::AndIOp>({left, constant(right)}, left.getType());
}
Value Emitter::shift_left(Value left, int64_t distance) {
  if (!left || distance == 0) return left;
  if (Sum a = sum(left); !a.base) return constant(int64_t(uint64_t(a.constant) << distance));
  return make<arith::ShLIOp>({left, constant(distance)}, left.getType());
}

// ---- places in a layout

Value Emitter::lane() {
  if (!lane_) lane_ = at_entry([&] { return make<thread::LaneIdOp>({}, builder.getI32Type()); });
  return lane_;
}
Value Emitter::warp() {
  if (!warp_) warp_ = at_entry([&] { return make<thread::WarpIdOp>({}, builder.getI32Type()); });
  return warp_;
}

// Bits whose images are one shifted bit each, by one distance, move together; the others are selected by a product.
static Value bits_part(Emitter &emitter, Value bits, const LinearLayout &layout, Axis input, Axis axis) {
  std::map<int, int64_t> moved;  // distance -> mask
  Value result;
  for (int bit = 0; bit < layout.input_bits(input); ++bit) {
    auto image = uint32_t(layout.basis(input, bit, axis));
    for (uint32_t rest = image; rest != 0; rest &= rest - 1) moved[llvm::countr_zero(rest) - bit] |= int64_t(1) << bit;
  }
  for (auto [distance, mask] : moved) {
    Value part = emitter.and_constant(bits, mask);
    if (distance >= 0) part = emitter.shift_left(part, distance);
    else part = emitter.make<arith::ShRUIOp>({part, emitter.constant(-distance)}, part.getType());
    result = emitter.exclusive_or(result, part);
  }
  return result;
}

Value Emitter::lane_part(const LinearLayout &layout, Axis axis) {
  return at_entry([&] {
    Value lanes = layout.input_bits(Axis::lane) ? bits_part(*this, lane(), layout, Axis::lane, axis) : Value();
    Value warps = layout.input_bits(Axis::warp) ? bits_part(*this, warp(), layout, Axis::warp, axis) : Value();
    return exclusive_or(lanes, warps);
  });
}

Value Emitter::index_of(const LinearLayout &layout, int number, Axis axis) {
  int32_t own = layout.apply({{Axis::reg, number}}, axis), others = 0;
  for (Axis input : {Axis::lane, Axis::warp})
    for (int bit = 0; bit < layout.input_bits(input); ++bit) others |= layout.basis(input, bit, axis);
  Value part = lane_part(layout, axis);
  if (!part) return constant(own);
  if ((own & others) != 0) part = exclusive_or(part, constant(own & others));
  return materialise({part, own & ~others}, part.getType());
}

Value Emitter::owns(const LinearLayout &layout) {
  Value result;
  auto none_set = [&](Value bits, int32_t copies) {
    if (copies == 0) return;
    auto predicate = builder.getNamedAttr(
        "predicate", arith::CmpIPredicateAttr::get(builder.getContext(), arith::CmpIPredicate::eq));
    result = both(result, number(OperationName("arith.cmpi", builder.getContext()),
                                 {and_constant(bits, copies), constant(0)}, builder.getI1Type(),
                                 builder.getDictionaryAttr(predicate)));
  };
  if (int32_t copies = layout.free_bits(Axis::lane)) none_set(lane(), copies);
  if (int32_t copies = layout.free_bits(Axis::warp)) none_set(warp(), copies);
  return result;
}

// ---- the walk

LogicalResult Emitter::emit_region(Block &block) {
  return in_region([&] { return emit_block(block); });
}

LogicalResult Emitter::emit_block(Block &block) {
  for (Operation &operation : block.without_terminator())
    if (failed(emit(&operation))) return failure();
  return success();
}

LogicalResult Emitter::emit(Operation *operation) {
  location = operation->getLoc();
  if (!entry_end_) entry_end_ = arith::ConstantOp::create(builder, location, builder.getI32IntegerAttr(0));
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(operation)) return emit_control(*this, operation);
  if (isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp>(operation)) return emit_memory(*this, operation);
  if (isa<tile::MmaOp, tile::MmaWaitOp, tile::FenceOp>(operation)) return emit_matrix(*this, operation);
  if (auto reduction = dyn_cast<tt::ReduceOp>(operation)) return emit_reduction(*this, reduction);
  if (auto scan = dyn_cast<tt::ScanOp>(operation)) return emit_scan(*this, scan);
  if (auto conversion = dyn_cast<tile::ConvertLayoutOp>(operation)) return emit_conversion(*this, conversion);
  if (auto barrier = dyn_cast<tile::BarrierOp>(operation)) {
    tile::Executors executors = tile::executors(operation);
    bool all = !operation->getParentOfType<tile::SpecializeOp>();
    thread::BarrierOp::create(builder, location, barrier.getMemory(), all ? 0 : executors.first_warp,
                              all ? 0 : executors.warps);
    return success();
  }
  if (isa<tt::PrintOp, tt::AssertOp>(operation)) return emit_message(*this, operation);
  if (isa<tile::AllocOp, tile::ViewBufferOp, tile::ViewTransOp, tile::LocalLoadOp, tile::LocalStoreOp, tile::CopyInOp,
          tile::CommitOp, tile::WaitOp>(operation))
    return emit_shared(*this, operation);
  return emit_elementwise(*this, operation);
}

}  // namespace teeny::compiler::gpu
