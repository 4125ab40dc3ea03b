// Objects, element-wise operations and shapes: the recorder's calls that only make values.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "lang/recording.hpp"

namespace teeny::detail {

using lang::current;
using lang::current_or_null;
using lang::none;
using lang::Recording;
using lang::Shape;
using lang::ShapeId;
using lang::SlotId;

namespace {

Shape to_shape(Sizes sizes) { return Shape(sizes.data, sizes.data + sizes.count); }

ElementType element(DType type) { return {type, false, false}; }

// Casts to one type, broadcasts to one shape; false when poisoned.
bool unify(Recording& r, SlotId* slots, int count, DType type, const char* name, Location where) {
  for (int i = 0; i < count; ++i)
    if (r.is_poisoned(slots[i])) return false;
  ShapeId shape = r.slots[slots[0]].shape;
  SlotId widest = slots[0];
  for (int i = 1; i < count; ++i) {
    shape = r.common_shape(widest, slots[i], name, where);
    if (shape == none) return false;
    if (i + 1 < count && r.slots[widest].shape != shape) {
      widest = r.slots[slots[i]].shape == shape ? slots[i] : r.broadcast(widest, shape, where);
    }
  }
  for (int i = 0; i < count; ++i) slots[i] = r.broadcast(r.cast(slots[i], type, where), shape, where);
  return true;
}

}  // namespace

Value undefined(ElementType type, int, Location where) {
  Recording* r = current_or_null();
  if (!r) return {};
  const SlotId slot = r->new_slot(type, 0, where);
  r->slots[slot].initialised = false;
  r->slots[slot].form = type.pointer ? lang::Type::Form::pointer : lang::Type::Form::element;
  return r->value(slot);
}

Value copy(Value from, ElementType type, int, Location where) {
  Recording* r = current_or_null();
  if (!r) return {};
  const SlotId source = r->read(from, "copy", where);
  if (r->is_poisoned(source)) {
    const SlotId slot = r->poison(where, type);
    return r->value(slot);
  }
  const SlotId slot = r->new_slot(type, r->slots[source].shape, where);
  lang::Slot& made = r->slots[slot];
  const lang::Slot& origin = r->slots[source];
  made.form = origin.form;
  made.initialised = origin.initialised;
  made.constant = origin.constant;
  made.number = origin.number;
  made.copied = true;
  lang::Node node{.form = lang::Node::Form::copy, .region = r->region(), .where = where};
  node.first_operand = static_cast<std::uint32_t>(r->operands.size());
  node.operand_count = 1;
  r->operands.push_back(source);
  node.first_result = slot;
  node.result_count = 1;
  r->nodes.push_back(node);
  return r->value(slot);
}

Value copy_descriptor(Value from, Location where) {
  const Recording* r = current_or_null();
  const bool known = r && from.recording == r->serial && from.slot < r->slots.size();
  return copy(from, known ? r->slots[from.slot].type : ElementType{}, 0, where);
}

void assign(Value to, Value from) {
  Recording& r = current("assign", {});
  if (to.recording != r.serial || to.slot >= r.slots.size()) {
    r.mistake("assign", "a variable of another recording is assigned (static, global or stored)",
              "declare the variable inside the body", later(from));
    return;
  }
  if (from.recording != r.serial || from.slot >= r.slots.size()) {
    r.assign(to.slot, r.read(from, "assign", later(from)), later(from));
    return;
  }
  const Location where = r.slots[from.slot].where;
  r.assign(to.slot, r.read(from, "assign", where), where);
}

void assign_filled(Value to, Value scalar) {
  Recording& r = current("assign", {});
  const Location where = later(scalar);
  if (to.recording != r.serial || to.slot >= r.slots.size()) return assign(to, scalar);
  const lang::Slot& target = r.slots[to.slot];
  if (!target.initialised) {
    r.mistake("assign", "a literal is assigned to a variable that has no shape yet",
              "write tl::full<dtype>({…}, value)", where);
    r.slots[to.slot].poisoned = true;
    return;
  }
  if (target.poisoned) return;
  r.assign(to.slot, r.broadcast(r.read(scalar, "assign", where), target.shape, where), where);
}

namespace {

template <class T>
Value integer_literal(DType type, T value, Location where) {
  Recording* r = current_or_null();
  if (!r) return {};
  if (is_float(type)) {
    if (type == DType::f16 && static_cast<double>(half(value)) > 65504)
      return literal(type, static_cast<double>(value), where);
    std::uint64_t bits = 0;
    if (type == DType::f64) bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
    else if (type == DType::f32) bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    else if (type == DType::f16) bits = half(value).bits();
    else bits = bfloat16(value).bits();
    const SlotId slot = r->constant(type, bits, where);
    return r->value(slot);
  }
  const int width = bits_of(type);
  const bool negative = std::is_signed_v<T> && value < 0;
  const std::uint64_t magnitude =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const std::uint64_t limit = is_signed_integer(type) ? (std::uint64_t{1} << (width - 1)) - (negative ? 0 : 1)
                              : negative              ? 0
                              : width == 64           ? ~std::uint64_t{0}
                                                      : (std::uint64_t{1} << width) - 1;
  if (magnitude > limit) {
    r->mistake(
        "literal",
        "a literal must fit its element type; got " + std::to_string(value) + ", expected a value of " + name_of(type),
        "cast the tensor to a wider type first, tl::cast<…>(x)", where);
    return r->value(r->poison(where, element(type)));
  }
  return r->value(r->integer(type, static_cast<std::int64_t>(value), where));
}

}  // namespace

Value literal(DType type, long long value, Location where) { return integer_literal(type, value, where); }
Value literal(DType type, unsigned long long value, Location where) { return integer_literal(type, value, where); }

Value literal(DType type, double value, Location where) {
  Recording* r = current_or_null();
  if (!r) return {};
  std::uint64_t bits = 0;
  double rounded = value;
  if (type == DType::f64) {
    bits = std::bit_cast<std::uint64_t>(value);
  } else if (type == DType::f32) {
    // Beyond the largest float the conversion would be undefined.
    const float f =
        std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()) * (1 + 0x1p-25) && !std::isinf(value)
            ? std::numeric_limits<float>::infinity()
            : static_cast<float>(value);
    rounded = f;
    bits = std::bit_cast<std::uint32_t>(f);
  } else if (type == DType::f16) {
    bits = half(value).bits();
    rounded = half(value);
  } else {
    bits = bfloat16(value).bits();
    rounded = bfloat16(value);
  }
  if (std::isinf(rounded) && !std::isinf(value)) {
    r->mistake(
        "literal",
        "a literal must fit its element type; got " + std::to_string(value) + ", expected a value of " + name_of(type),
        {}, where);
    return r->value(r->poison(where, element(type)));
  }
  return r->value(r->constant(type, bits, where));
}

long long size(Value value, int axis) {
  Recording& r = current("size", {});
  const SlotId slot = r.read(value, "size", later(value));
  const Shape& shape = r.shape_of(slot);
  if (r.is_poisoned(slot)) return 1;
  if (axis >= 0 && axis < static_cast<int>(shape.size())) return shape[axis];
  r.mistake("size",
            "no such dimension; got " + std::to_string(axis) + ", expected 0 to " +
                std::to_string(static_cast<int>(shape.size()) - 1),
            {}, later(value));
  return 1;
}

Location later(Value a, Value b) {
  Recording* r = current_or_null();
  if (!r) return {};
  const bool has_a = a.recording == r->serial && a.slot < r->slots.size(),
             has_b = b.recording == r->serial && b.slot < r->slots.size();
  if (!has_a && !has_b) return {};
  return r->slots[!has_b || (has_a && a.slot > b.slot) ? a.slot : b.slot].where;
}

// ---- element-wise

Value unary(Opcode opcode, Value x, Location where) {
  Recording& r = current(trace::info(opcode).name, where);
  const SlotId slot = r.read(x, trace::info(opcode).name, where);
  return r.value(r.emit(opcode, {slot}, r.slots[slot].type, r.slots[slot].shape, where));
}

Value binary(Opcode opcode, Value a, Value b, DType operands, DType result, Location where, int attribute) {
  const char* name = trace::info(opcode).name;
  Recording& r = current(name, where);
  SlotId slots[] = {r.read(a, name, where), r.read(b, name, where)};
  if (!unify(r, slots, 2, operands, name, where)) return r.value(r.poison(where, element(result)));
  const bool has_attribute = opcode == Opcode::minimum || opcode == Opcode::maximum;
  const std::vector<std::int64_t> integers{attribute > 0 ? 1 : 0};
  return r.value(r.emit(opcode, {slots[0], slots[1]}, element(result), r.slots[slots[0]].shape, where,
                        {.vector = has_attribute ? &integers : nullptr}));
}

Value ternary(Opcode opcode, Value a, Value b, Value c, DType operands, Location where, int attribute) {
  const char* name = trace::info(opcode).name;
  Recording& r = current(name, where);
  SlotId slots[] = {r.read(a, name, where), r.read(b, name, where), r.read(c, name, where)};
  if (!unify(r, slots, 3, operands, name, where)) return r.value(r.poison(where, element(operands)));
  const std::vector<std::int64_t> integers{attribute > 0 ? 1 : 0};
  return r.value(r.emit(opcode, {slots[0], slots[1], slots[2]}, element(operands), r.slots[slots[0]].shape, where,
                        {.vector = opcode == Opcode::clamp ? &integers : nullptr}));
}

Value select(Value condition, Value x, Value y, DType operands, bool pointers, Location where) {
  Recording& r = current("where", where);
  SlotId slots[] = {r.read(x, "where", where), r.read(y, "where", where), r.read(condition, "where", where)};
  if (r.is_poisoned(slots[0]) || r.is_poisoned(slots[1]) || r.is_poisoned(slots[2]))
    return r.value(r.poison(where, element(operands)));
  if (!pointers) {
    slots[0] = r.cast(slots[0], operands, where);
    slots[1] = r.cast(slots[1], operands, where);
  }
  ShapeId shape = r.common_shape(slots[0], slots[1], "where", where);
  if (shape == none) return r.value(r.poison(where, element(operands)));
  const SlotId wide = r.slots[slots[1]].shape == shape ? slots[1] : r.broadcast(slots[0], shape, where);
  shape = r.common_shape(wide, slots[2], "where", where);
  if (shape == none) return r.value(r.poison(where, element(operands)));
  for (SlotId& slot : slots) slot = r.broadcast(slot, shape, where);
  return r.value(r.emit(Opcode::where, {slots[2], slots[0], slots[1]}, r.slots[slots[0]].type, shape, where));
}

namespace {

SlotId moved_pointer(Recording& r, SlotId pointer, SlotId offset, bool subtract, Location where) {
  if (r.is_poisoned(pointer) || r.is_poisoned(offset)) return r.poison(where, r.slots[pointer].type);
  if (subtract) {
    const DType type = r.slots[offset].type.dtype;
    if (is_unsigned_integer(type) && bits_of(type) < 64) offset = r.cast(offset, DType::i64, where);
    offset = r.emit(Opcode::neg, {offset}, r.slots[offset].type, r.slots[offset].shape, where);
  }
  const ShapeId shape = r.common_shape(pointer, offset, "addptr", where);
  if (shape == none) return r.poison(where, r.slots[pointer].type);
  pointer = r.broadcast(pointer, shape, where);
  offset = r.broadcast(offset, shape, where);
  return r.emit(Opcode::addptr, {pointer, offset}, r.slots[pointer].type, shape, where);
}

// A compound assignment reads the variable as an operand of its own, at the line of the operand.
Value named(Recording& r, Value variable, Location where) {
  const ElementType type =
      variable.recording == r.serial && variable.slot < r.slots.size() ? r.slots[variable.slot].type : ElementType{};
  const Value read = copy(variable, type, 0, where);
  r.slots[read.slot].copied = false;
  return read;
}

}  // namespace

Value add_pointer(Value pointer, Value offset, bool subtract, Location where) {
  Recording& r = current("addptr", where);
  const SlotId p = r.read(pointer, "addptr", where), o = r.read(offset, "addptr", where);
  return r.value(moved_pointer(r, p, o, subtract, where));
}

void compound(Opcode opcode, Value to, Value operand, DType operands) {
  const Location where = later(operand);
  Recording& r = current(trace::info(opcode).name, where);
  assign(to, binary(opcode, named(r, to, where), operand, operands, operands, where));
}

void compound_pointer(Value to, Value offset, bool subtract) {
  const Location where = later(offset);
  Recording& r = current("addptr", where);
  assign(to, add_pointer(named(r, to, where), offset, subtract, where));
}

Value cast(Value x, DType type, Location where) {
  Recording& r = current("cast", where);
  return r.value(r.cast(r.read(x, "cast", where), type, where));
}

Value bitcast(Value x, ElementType type, Location where) {
  Recording& r = current("bitcast", where);
  const SlotId slot = r.read(x, "bitcast", where);
  if (!type.pointer && r.slots[slot].type.dtype == type.dtype) return r.value(slot);
  return r.value(r.emit(Opcode::bitcast, {slot}, type, r.slots[slot].shape, where));
}

Value ceiling_division(Value a, Value b, DType type, Location where) {
  Recording& r = current("cdiv", where);
  SlotId slots[] = {r.read(a, "cdiv", where), r.read(b, "cdiv", where)};
  if (!unify(r, slots, 2, type, "cdiv", where)) return r.value(r.poison(where, element(type)));
  const ShapeId shape = r.slots[slots[0]].shape;
  const SlotId one = r.broadcast(r.integer(type, 1, where), shape, where);
  const SlotId sum = r.emit(Opcode::add, {slots[0], slots[1]}, element(type), shape, where);
  const SlotId rounded = r.emit(Opcode::sub, {sum, one}, element(type), shape, where);
  return r.value(r.emit(Opcode::div, {rounded, slots[1]}, element(type), shape, where));
}

// ---- leaves and shape

Value program_axis(Opcode opcode, int axis, Location where) {
  const char* name = trace::info(opcode).name;
  Recording& r = current(name, where);
  if (axis < 0 || axis > 2) {
    r.mistake(name, "a grid has three axes; got " + std::to_string(axis) + ", expected 0, 1 or 2", {}, where);
    return r.value(r.poison(where, element(DType::i32)));
  }
  return r.value(r.emit(opcode, {}, element(DType::i32), 0, where, {.list = {axis}}));
}

Value arange(long long start, long long end, Location where) {
  Recording& r = current("arange", where);
  if (end <= start) {
    r.mistake("arange", "the end must be above the start; got " + std::to_string(start) + " to " + std::to_string(end),
              {}, where);
    return r.value(r.poison(where, element(DType::i32)));
  }
  if (!r.check_shape("arange", {end - start}, where)) return r.value(r.poison(where, element(DType::i32)));
  return r.value(
      r.emit(Opcode::arange, {}, element(DType::i32), r.shape({end - start}), where, {.list = {start, end}}));
}

Value full(Value scalar, Sizes sizes, Location where) {
  Recording& r = current("full", where);
  const SlotId slot = r.read(scalar, "full", where);
  const Shape shape = to_shape(sizes);
  if (!r.check_shape("full", shape, where)) return r.value(r.poison(where, r.slots[slot].type));
  return r.value(r.broadcast(slot, r.shape(shape), where));
}

Value full_like(Value scalar, Value shape_of, Location where) {
  Recording& r = current("zeros_like", where);
  const SlotId slot = r.read(scalar, "zeros_like", where), like = r.read(shape_of, "zeros_like", where);
  if (r.is_poisoned(like)) return r.value(r.poison(where, r.slots[slot].type));
  return r.value(r.broadcast(slot, r.slots[like].shape, where));
}

Value expand_dims(Value x, int axis, Location where) {
  Recording& r = current("expand_dims", where);
  const SlotId slot = r.read(x, "expand_dims", where);
  if (r.is_poisoned(slot)) return r.value(slot);
  const int rank = static_cast<int>(r.shape_of(slot).size());
  const int position = axis < 0 ? axis + rank + 1 : axis;
  if (position < 0 || position > rank) {
    r.mistake(
        "expand_dims",
        "the axis must be in the new shape; got " + std::to_string(axis) + ", expected 0 to " + std::to_string(rank),
        {}, where);
    return r.value(r.poison(where, r.slots[slot].type));
  }
  return r.value(r.expand(slot, position, where));
}

Value insert_dimensions(Value x, std::uint32_t new_dimensions, int rank, Location where) {
  Recording& r = current("expand_dims", where);
  SlotId slot = r.read(x, "expand_dims", where);
  for (int i = 0; i < rank; ++i)
    if (new_dimensions >> i & 1) slot = r.expand(slot, i, where);
  if (new_dimensions == 0) return copy(x, r.slots[slot].type, rank, where);
  return r.value(slot);
}

Value broadcast_to(Value x, Sizes sizes, Location where) {
  Recording& r = current("broadcast_to", where);
  const SlotId slot = r.read(x, "broadcast_to", where);
  const Shape target = to_shape(sizes);
  if (r.is_poisoned(slot) || !r.check_shape("broadcast_to", target, where))
    return r.value(r.poison(where, r.slots[slot].type));
  const Shape from = r.shape_of(slot);
  bool fits = from.size() <= target.size();
  for (std::size_t i = 1; fits && i <= from.size(); ++i)
    fits = from[from.size() - i] == 1 || from[from.size() - i] == target[target.size() - i];
  if (!fits) {
    r.mistake("broadcast_to",
              "sizes must be equal or 1; got " + lang::shape_text(from) + ", expected " + lang::shape_text(target), {},
              where);
    return r.value(r.poison(where, r.slots[slot].type));
  }
  return r.value(r.broadcast(slot, r.shape(target), where));
}

Value reshape(Value x, Sizes sizes, Location where) {
  Recording& r = current("reshape", where);
  const SlotId slot = r.read(x, "reshape", where);
  const Shape target = to_shape(sizes);
  if (r.is_poisoned(slot) || !r.check_shape("reshape", target, where))
    return r.value(r.poison(where, r.slots[slot].type));
  std::int64_t before = 1, after = 1;
  for (const std::int64_t size : r.shape_of(slot)) before *= size;
  for (const std::int64_t size : target) after *= size;
  if (before != after) {
    r.mistake("reshape",
              "the number of elements must stay; got " + lang::shape_text(r.shape_of(slot)) + " as " +
                  lang::shape_text(target),
              {}, where);
    return r.value(r.poison(where, r.slots[slot].type));
  }
  if (r.shape_of(slot).empty()) return r.value(r.broadcast(slot, r.shape(target), where));
  if (r.shape_of(slot) == target) return r.value(slot);
  return r.value(r.emit(Opcode::reshape, {slot}, r.slots[slot].type, r.shape(target), where));
}

Value transpose(Value x, Sizes order, Location where) {
  Recording& r = current("trans", where);
  const SlotId slot = r.read(x, "trans", where);
  if (r.is_poisoned(slot)) return r.value(slot);
  const Shape from = r.shape_of(slot);
  std::vector<std::int64_t> permutation(order.data, order.data + order.count), sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] == static_cast<std::int64_t>(i)) continue;
    r.mistake("trans", "the order must name every dimension once; got " + lang::shape_text(permutation), {}, where);
    return r.value(r.poison(where, r.slots[slot].type));
  }
  Shape to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[permutation[i]];
  return r.value(r.emit(Opcode::trans, {slot}, r.slots[slot].type, r.shape(to), where, {.vector = &permutation}));
}

Value hint(Opcode opcode, Value x, Sizes values, Location where) {
  const char* name = trace::info(opcode).name;
  Recording& r = current(name, where);
  const SlotId slot = r.read(x, name, where);
  const std::vector<std::int64_t> list(values.data, values.data + values.count);
  for (const std::int64_t value : list) {
    if (value >= 1) continue;
    r.mistake(name, "a promise is 1 or more; got " + std::to_string(value), {}, where);
    return r.value(r.poison(where, r.slots[slot].type));
  }
  return r.value(r.emit(opcode, {slot}, r.slots[slot].type, r.slots[slot].shape, where, {.vector = &list}));
}

void mistake(const char* operation, const char* rule, const char* help, Location where) {
  current(operation, where).mistake(operation, rule, help ? help : "", where);
}

}  // namespace teeny::detail
