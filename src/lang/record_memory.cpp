// Memory, matrix products and debugging: the recorder's calls with effects or shapes of their own.
#include "lang/recording.hpp"

namespace teeny::detail {

using lang::current;
using lang::none;
using lang::Recording;
using lang::Shape;
using lang::ShapeId;
using lang::SlotId;

namespace {

ElementType element(DType type) { return {type, false, false}; }

// A mask in the shape of the pointers, or no_slot where there is none.
SlotId masked(Recording& r, Value mask, ShapeId shape, const char* name, Location where) {
  return mask.present() ? r.fit(r.read(mask, name, where), shape, name, "the mask", where) : lang::no_slot;
}

}  // namespace

Value load(Value pointer, Value mask, Value other, LoadAttributes attributes, Location where) {
  Recording& r = current("load", where);
  const SlotId p = r.read(pointer, "load", where);
  const DType type = r.slots[p].type.dtype;
  if (other.present() && !mask.present())
    r.mistake("load", ".other needs .mask", "without a mask every lane is loaded", where);
  r.note_effect(trace::Effect::read);
  if (r.is_poisoned(p)) return r.value(r.poison(where, element(type)));
  const ShapeId shape = r.slots[p].shape;
  std::vector<SlotId> inputs{p};
  if (mask.present()) inputs.push_back(masked(r, mask, shape, "load", where));
  if (other.present())
    inputs.push_back(r.fit(r.cast(r.read(other, "load", where), type, where), shape, "load", ".other", where));
  return r.value(r.emit(
      Opcode::load, inputs, element(type), shape, where,
      {.list = {mask.present(), other.present(), attributes.cache, attributes.eviction, attributes.is_volatile}}));
}

void store(Value pointer, Value value, Value mask, int cache, int eviction, Location where) {
  Recording& r = current("store", where);
  r.note_effect(trace::Effect::write);
  const SlotId p = r.read(pointer, "store", where), v = r.read(value, "store", where);
  if (r.is_poisoned(p) || r.is_poisoned(v)) return;
  const ShapeId shape = r.slots[p].shape;
  std::vector<SlotId> inputs{p, r.fit(r.cast(v, r.slots[p].type.dtype, where), shape, "store", "the value", where)};
  if (mask.present()) inputs.push_back(masked(r, mask, shape, "store", where));
  r.emit(Opcode::store, inputs, {}, 0, where, {.list = {mask.present(), cache, eviction}});
}

Value make_descriptor(Value pointer, const Value* shape, const Value* strides, Sizes block, bool padding_nan,
                      Location where) {
  Recording& r = current("make_descriptor", where);
  const SlotId p = r.read(pointer, "make_descriptor", where);
  const ElementType type = r.slots[p].type;
  std::vector<SlotId> inputs{p};
  for (const Value* list : {shape, strides})
    for (int i = 0; i < block.count; ++i) {
      const SlotId slot = r.read(list[i], "make_descriptor", where);
      if (list == strides && i + 1 == block.count && r.slots[slot].constant && r.slots[slot].number != 1)
        r.mistake("make_descriptor", "the last stride must be 1; got " + std::to_string(r.slots[slot].number),
                  "describe the transposed tensor and use tl::trans", where);
      inputs.push_back(r.cast(slot, DType::i64, where));
    }
  const Shape sizes(block.data, block.data + block.count);
  if (!r.check_shape("make_descriptor", sizes, where)) return r.value(r.poison(where, type));
  if (padding_nan && !is_float(type.dtype))
    r.mistake("make_descriptor", std::string("NaN padding needs floats; got ") + name_of(type.dtype), {}, where);
  std::vector<std::int64_t> attributes{padding_nan};
  attributes.insert(attributes.end(), sizes.begin(), sizes.end());
  return r.value(r.emit(Opcode::make_descriptor, inputs, {type.dtype, false, type.read_only}, r.shape(sizes), where,
                        {.vector = &attributes, .form = lang::Type::Form::descriptor}));
}

Value descriptor_load(Value descriptor, const Value* offsets, int rank, Location where) {
  Recording& r = current("descriptor_load", where);
  const SlotId d = r.read(descriptor, "descriptor_load", where);
  std::vector<SlotId> inputs{d};
  for (int i = 0; i < rank; ++i)
    inputs.push_back(r.cast(r.read(offsets[i], "descriptor_load", where), DType::i32, where));
  return r.value(r.emit(Opcode::descriptor_load, inputs, element(r.slots[d].type.dtype), r.slots[d].shape, where, {}));
}

void descriptor_store(Value descriptor, const Value* offsets, int rank, Value value, Location where) {
  Recording& r = current("descriptor_store", where);
  r.note_effect(trace::Effect::write);
  const SlotId d = r.read(descriptor, "descriptor_store", where), v = r.read(value, "descriptor_store", where);
  if (r.is_poisoned(d) || r.is_poisoned(v)) return;
  if (!r.shape_of(v).empty() && r.slots[v].shape != r.slots[d].shape) {
    r.mistake("descriptor_store",
              "the value must have the block's shape; got " + lang::shape_text(r.shape_of(v)) + ", expected " +
                  lang::shape_text(r.shape_of(d)),
              {}, where);
    return;
  }
  std::vector<SlotId> inputs{d, r.broadcast(r.cast(v, r.slots[d].type.dtype, where), r.slots[d].shape, where)};
  for (int i = 0; i < rank; ++i)
    inputs.push_back(r.cast(r.read(offsets[i], "descriptor_store", where), DType::i32, where));
  r.emit(Opcode::descriptor_store, inputs, {}, 0, where, {});
}

Value atomic(const char* name, int kind, Value pointer, Value value, Value mask, int order, int scope, Location where) {
  Recording& r = current(name, where);
  r.note_effect(trace::Effect::write);
  const SlotId p = r.read(pointer, name, where), v = r.read(value, name, where);
  const DType type = r.slots[p].type.dtype;
  if (r.is_poisoned(p) || r.is_poisoned(v)) return r.value(r.poison(where, element(type)));
  const ShapeId shape = r.slots[p].shape;
  std::vector<SlotId> inputs{p, r.fit(r.cast(v, type, where), shape, name, "the value", where)};
  if (mask.present()) inputs.push_back(masked(r, mask, shape, name, where));
  return r.value(
      r.emit(Opcode::atomic_rmw, inputs, element(type), shape, where, {.list = {kind, order, scope, mask.present()}}));
}

Value compare_and_swap(Value pointer, Value expected, Value desired, int order, int scope, Location where) {
  Recording& r = current("atomic_cas", where);
  r.note_effect(trace::Effect::write);
  const SlotId p = r.read(pointer, "atomic_cas", where), e = r.read(expected, "atomic_cas", where),
               d = r.read(desired, "atomic_cas", where);
  const DType type = r.slots[p].type.dtype;
  if (r.is_poisoned(p) || r.is_poisoned(e) || r.is_poisoned(d)) return r.value(r.poison(where, element(type)));
  const ShapeId shape = r.slots[p].shape;
  const SlotId from = r.fit(r.cast(e, type, where), shape, "atomic_cas", "the expected value", where);
  const SlotId to = r.fit(r.cast(d, type, where), shape, "atomic_cas", "the desired value", where);
  return r.value(r.emit(Opcode::atomic_cas, {p, from, to}, element(type), shape, where, {.list = {order, scope}}));
}

void barrier(Location where) { current("barrier", where).emit(Opcode::barrier, {}, {}, 0, where); }

Value dot(Value a, Value b, Value accumulator, DType result, int precision, Location where) {
  Recording& r = current("dot", where);
  const SlotId x = r.read(a, "dot", where), y = r.read(b, "dot", where);
  SlotId acc = accumulator.present() ? r.read(accumulator, "dot", where) : lang::no_slot;
  if (r.is_poisoned(x) || r.is_poisoned(y) || (accumulator.present() && r.is_poisoned(acc)))
    return r.value(r.poison(where, element(result)));
  Shape s = r.shape_of(x);
  const Shape t = r.shape_of(y);
  const std::size_t rank = s.size();
  const bool batches = rank == 2 || s[0] == t[0];
  if (s[rank - 1] != t[rank - 2] || !batches) {
    r.mistake("dot",
              std::string(batches ? "the inner sizes must agree" : "the batches must agree") + "; got " +
                  lang::shape_text(s) + " and " + lang::shape_text(t) + ", expected [.., M, K] and [.., K, N]",
              s[rank - 1] == t[rank - 1] ? "tl::trans(b)" : "", where);
    return r.value(r.poison(where, element(result)));
  }
  s[rank - 1] = t[rank - 1];
  const ShapeId shape = r.shape(s);
  if (!accumulator.present()) {
    acc = r.broadcast(r.integer(result, 0, where), shape, where);
  } else if (r.slots[acc].shape != shape) {
    r.mistake("dot",
              "the accumulator has the product's shape; got " + lang::shape_text(r.shape_of(acc)) + ", expected " +
                  lang::shape_text(s),
              {}, where);
    return r.value(r.poison(where, element(result)));
  }
  return r.value(r.emit(Opcode::dot, {x, y, acc}, element(result), shape, where, {.list = {precision}}));
}

void assume(Value condition, Location where) {
  Recording& r = current("assume", where);
  r.emit(Opcode::assume, {r.read(condition, "assume", where)}, {}, 0, where);
}

void device_assert(Value condition, Value mask, const char* text, Location where) {
  Recording& r = current("device_assert", where);
  r.note_effect(trace::Effect::write);
  const SlotId c = r.read(condition, "device_assert", where);
  if (r.is_poisoned(c)) return;
  std::vector<SlotId> inputs{c};
  if (mask.present()) inputs.push_back(masked(r, mask, r.slots[c].shape, "device_assert", where));
  r.emit(Opcode::device_assert, inputs, {}, 0, where, {.text = text});
}

namespace {
// As Python Triton has it: " x: " before a value, whatever the user left out of it.
std::string print_prefix(std::string text, bool has_values) {
  if (has_values) {
    while (text.ends_with(' ')) text.pop_back();
    text += text.ends_with(':') || text.ends_with('=') ? " " : ": ";
  }
  return text.starts_with(' ') ? text : " " + text;
}
}  // namespace

void device_print(const char* text, const Value* values, int count, Location where) {
  Recording& r = current("device_print", where);
  std::vector<SlotId> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back(r.read(values[i], "device_print", where));
  const std::string prefix = print_prefix(text, count != 0);
  r.emit(Opcode::device_print, inputs, {}, 0, where, {.text = prefix.c_str()});
}

}  // namespace teeny::detail
