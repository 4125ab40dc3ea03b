// Regions: control flow, combine functions, and the reductions that the library builds from them.
#include "lang/recording.hpp"

namespace teeny::detail {

using lang::Construct;
using lang::current;
using lang::Recording;
using lang::Shape;
using lang::ShapeId;
using lang::SlotId;

namespace {
ElementType element(DType type) { return {type, false, false}; }
}  // namespace

// ---- control flow

Value open_for(Value lower, Value upper, Value step, DType index, int stages, int unroll, Location where) {
  Recording& r = current("range", where);
  SlotId bounds[3];
  int i = 0;
  for (const Value& value : {lower, upper, step}) bounds[i++] = r.cast(r.read(value, "range", where), index, where);
  const SlotId given = r.read(step, "range", where);
  if (r.slots[given].constant && r.slots[given].number < 1)
    r.mistake("range", "the step must be positive; got " + std::to_string(r.slots[given].number),
              "count up and subtract", where);
  if (stages < 0 || stages > 64 || unroll < 0 || unroll > 1024)
    r.mistake(
        "range",
        "stages are 0 to 64 and unroll is 0 to 1024; got " + std::to_string(stages) + " and " + std::to_string(unroll),
        {}, where);
  const std::uint32_t id = r.open_construct(
      {.form = Construct::Form::for_loop, .opcode = Opcode::for_loop, .integers = {stages, unroll}, .where = where},
      bounds);
  const SlotId argument = r.new_slot(element(index), 0, where);
  r.slots[argument].loop_variable = true;
  r.constructs[id].arguments = {argument};
  return r.value(argument);
}

void close_for(bool continued) {
  Recording* r = lang::current_or_null();
  if (!r || !r->unwind_to(Construct::Form::for_loop)) return;
  if (!continued) {
    Construct& construct = r->constructs[r->open.back()];
    r->mistake("range", "'break' or 'return' leaves a run-time loop",
               "use tl::while_, or tl::if_ around the rest of the body", construct.where);
    construct.changes = true;
  }
  r->close_construct({});
}

void unused_range(Location where) {
  if (Recording* r = lang::current_or_null())
    r->mistake("range", "a range that no loop runs over", "write for (auto i : tl::range(a, b))", where);
}

void open_if(Value condition, bool returns_value, Location where) {
  Recording& r = current("if_", where);
  const SlotId slot = r.read(condition, "if_", where);
  r.open_construct(
      {.form = Construct::Form::branch, .opcode = Opcode::if_else, .returns_value = returns_value, .where = where},
      {&slot, 1});
}
void next_else() {
  Recording& r = current("if_", {});
  if (r.unwind_to(Construct::Form::branch)) r.next_region({});
}
void close_if() {
  Recording& r = current("if_", {});
  if (r.unwind_to(Construct::Form::branch)) r.close_construct({});
}

void open_while(Location where) {
  current("while_", where)
      .open_construct({.form = Construct::Form::while_loop, .opcode = Opcode::while_loop, .where = where}, {});
}
void next_body(Value condition) {
  Recording& r = current("while_", {});
  if (!r.unwind_to(Construct::Form::while_loop)) return;
  const SlotId slot = r.read(condition, "while_", r.constructs[r.open.back()].where);
  r.next_region({&slot, 1});
}
void close_while() {
  Recording& r = current("while_", {});
  if (r.unwind_to(Construct::Form::while_loop)) r.close_construct({});
}

void return_if(Value condition, Location where) {
  Recording& r = current("return_if", where);
  const SlotId slot = r.read(condition, "return_if", where);
  if (r.straight(r.region()) != 0) {
    r.mistake("return_if", "only the top level of a body can be left; this is inside a loop or if_",
              "use tl::if_ around the rest", where);
    return;
  }
  if (r.is_poisoned(slot)) return;
  const SlotId go_on = r.emit(Opcode::bit_not, {slot}, element(DType::boolean), 0, where);
  r.open_construct({.form = Construct::Form::rest, .opcode = Opcode::if_else, .where = where}, {&go_on, 1});
}

// ---- combine functions

void open_combine(Opcode opcode, const Value* inputs, int count, int axis, bool reverse, Value* arguments,
                  Location where) {
  const char* name = trace::info(opcode).name;
  Recording& r = current(name, where);
  Construct construct{.form = Construct::Form::combine, .opcode = opcode, .where = where};
  bool poisoned = false;
  for (int i = 0; i < count; ++i) {
    construct.inputs.push_back(r.read(inputs[i], name, where));
    poisoned |= r.is_poisoned(construct.inputs.back());
  }
  const Shape& shape = r.shape_of(construct.inputs[0]);
  const int rank = static_cast<int>(shape.size());
  const int position = axis < 0 ? axis + rank : axis;
  if (!poisoned && (position < 0 || position >= rank)) {
    r.mistake(name,
              "the axis must be one of the tensor's; got " + std::to_string(axis) + ", expected 0 to " +
                  std::to_string(rank - 1),
              {}, where);
    poisoned = true;
  }
  for (const SlotId input : construct.inputs) {
    if (poisoned || r.slots[input].shape == r.slots[construct.inputs[0]].shape) continue;
    r.mistake(name,
              "all tensors have one shape; got " + lang::shape_text(r.shape_of(input)) + ", expected " +
                  lang::shape_text(shape),
              {}, where);
    poisoned = true;
  }
  construct.integers = {position};
  if (opcode == Opcode::scan) construct.integers.push_back(reverse);
  if (poisoned) construct.integers.clear();  // remembered until the close
  const std::vector<SlotId> slots = construct.inputs;
  const std::uint32_t id = r.open_construct(std::move(construct), slots);
  for (int i = 0; i < 2 * count; ++i) {
    const SlotId argument = r.new_slot(r.slots[slots[i % count]].type, 0, where);
    r.constructs[id].arguments.push_back(argument);
    arguments[i] = r.value(argument);
  }
}

void close_combine(const Value* yields, Value* results, int count) {
  Recording& r = current("reduce", {});
  if (!r.unwind_to(Construct::Form::combine)) return;
  const std::uint32_t id = r.open.back();
  const Location where = r.constructs[id].where;
  const char* name = trace::info(r.constructs[id].opcode).name;
  std::vector<SlotId> out;
  bool poisoned = r.constructs[id].integers.empty();
  for (int i = 0; i < count; ++i) {
    out.push_back(yields[i].present() ? r.read(yields[i], name, where) : r.poison(where));
    poisoned |= r.is_poisoned(out.back());
  }
  if (r.constructs[id].writes || r.constructs[id].reads) {
    r.mistake(name, "a combine function touches memory", "it may only compute from its parameters", where);
    poisoned = true;
  }
  r.close_construct(out);
  const std::vector<SlotId> inputs = r.constructs[id].inputs;
  lang::Node& close = r.nodes.back();
  for (int i = 0; i < count; ++i) {
    SlotId result;
    if (poisoned) {
      result = r.poison(where, r.slots[inputs[i]].type);
    } else {
      Shape shape = r.shape_of(inputs[i]);
      if (r.constructs[id].opcode == Opcode::reduce) shape.erase(shape.begin() + r.constructs[id].integers[0]);
      result = r.new_slot(r.slots[inputs[i]].type, r.shape(shape), where);
    }
    if (i == 0) close.first_result = result;
    results[i] = r.value(result);
  }
  close.result_count = poisoned ? 0 : static_cast<std::uint32_t>(count);
}

// ---- the library's reductions

namespace {

// The positions along an axis in the shape of `like`.
Value positions(Recording& r, SlotId like, int axis, Location where) {
  const Shape shape = r.shape_of(like);
  SlotId slot = r.read(arange(0, shape[axis], where), "arange", where);
  for (int i = axis + 1; i < static_cast<int>(shape.size()); ++i) slot = r.expand(slot, i - axis, where);
  return r.value(r.broadcast(slot, r.slots[like].shape, where));
}

Value fold(Reduction kind, Value x, DType type, int axis, Location where) {
  Value arguments[2], result;
  open_combine(Opcode::reduce, &x, 1, axis, false, arguments, where);
  const Opcode opcode = kind == Reduction::sum   ? Opcode::add
                        : kind == Reduction::max ? Opcode::maximum
                                                 : Opcode::minimum;
  const Value out = binary(opcode, arguments[0], arguments[1], type, type, where);
  close_combine(&out, &result, 1);
  return result;
}

// The left one wins when it is better, or equal and earlier.
Value position_of_best(Reduction kind, Value x, Value index, DType type, int axis, Location where) {
  Value inputs[] = {x, index}, p[4], results[2];
  open_combine(Opcode::reduce, inputs, 2, axis, false, p, where);
  const Opcode better = kind == Reduction::argmax ? Opcode::gt : Opcode::lt;
  const DType boolean = DType::boolean, i32 = DType::i32;
  const Value wins = binary(better, p[0], p[2], type, boolean, where),
              equal = binary(Opcode::eq, p[0], p[2], type, boolean, where);
  const Value earlier = binary(Opcode::lt, p[1], p[3], i32, boolean, where);
  const Value left = binary(Opcode::bit_or, wins, binary(Opcode::bit_and, equal, earlier, boolean, boolean, where),
                            boolean, boolean, where);
  const Value out[] = {select(left, p[0], p[2], type, false, where), select(left, p[1], p[3], i32, false, where)};
  close_combine(out, results, 2);
  return results[1];
}

}  // namespace

Value reduce(const char* name, Reduction kind, Value x, DType accumulate, const int* axis, bool keep_dims,
             Location where) {
  Recording& r = current(name, where);
  SlotId slot = r.cast(r.read(x, name, where), accumulate, where);
  const bool arg = kind == Reduction::argmax || kind == Reduction::argmin;
  if (r.is_poisoned(slot)) return r.value(r.poison(where, element(arg ? DType::i32 : accumulate)));
  const int rank = static_cast<int>(r.shape_of(slot).size());
  if (rank == 0) return arg ? r.value(r.integer(DType::i32, 0, where)) : r.value(slot);
  int position = axis ? (*axis < 0 ? *axis + rank : *axis) : 0;
  if (position < 0 || position >= rank) {
    r.mistake(name,
              "the axis must be one of the tensor's; got " + std::to_string(*axis) + ", expected 0 to " +
                  std::to_string(rank - 1),
              {}, where);
    return r.value(r.poison(where, element(arg ? DType::i32 : accumulate)));
  }
  if (!axis && rank > 1) {
    std::int64_t elements = 1;
    for (const std::int64_t size : r.shape_of(slot)) elements *= size;
    slot = r.emit(Opcode::reshape, {slot}, r.slots[slot].type, r.shape({elements}), where);
  }
  const Value result =
      arg ? position_of_best(kind, r.value(slot), positions(r, slot, position, where), accumulate, position, where)
          : fold(kind, r.value(slot), accumulate, position, where);
  return keep_dims ? r.value(r.expand(r.read(result, name, where), position, where)) : result;
}

Value running_sum(Value x, DType accumulate, int axis, bool reverse, Location where) {
  const Value input = cast(x, accumulate, where);
  Value arguments[2], result;
  open_combine(Opcode::scan, &input, 1, axis, reverse, arguments, where);
  const Value out = binary(Opcode::add, arguments[0], arguments[1], accumulate, accumulate, where);
  close_combine(&out, &result, 1);
  return result;
}

}  // namespace teeny::detail
