#include "lang/recording.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace teeny::lang {

Recording::Recording(std::uint32_t number) : serial(number) {
  slots.reserve(512);
  nodes.reserve(512);
  operands.reserve(1024);
  shapes.emplace_back();
  regions.push_back({none, 0});
  constructs.emplace_back();
  open.push_back(0);
}

ShapeId Recording::shape(const Shape& dimensions) {
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (shapes[i] == dimensions) return static_cast<ShapeId>(i);
  shapes.push_back(dimensions);
  return static_cast<ShapeId>(shapes.size() - 1);
}

bool Recording::encloses(std::uint32_t outer, std::uint32_t inner) const {
  for (std::uint32_t r = inner; r != none; r = regions[r].parent)
    if (r == outer) return true;
  return false;
}

std::uint32_t Recording::straight(std::uint32_t r) const {
  while (constructs[regions[r].construct].form == Construct::Form::rest) r = regions[r].parent;
  return r;
}

void Recording::mistake(const char* operation, std::string rule, std::string help, const Location& where) {
  Mistake made{where.file_name(), where.line(), std::string(operation) + ": " + std::move(rule), std::move(help)};
  for (const Mistake& known : mistakes)
    if (known.line == made.line && known.file == made.file && known.message == made.message) return;
  mistakes.push_back(std::move(made));
}

SlotId Recording::new_slot(ElementType type, ShapeId shape, const Location& where) {
  Slot slot;
  slot.type = type;
  slot.shape = shape;
  slot.region = region();
  slot.shape_line = where.line();
  slot.where = where;
  slots.push_back(slot);
  return static_cast<SlotId>(slots.size() - 1);
}

SlotId Recording::poison(const Location& where, ElementType type) {
  const SlotId slot = new_slot(type, 0, where);
  slots[slot].poisoned = slots[slot].born_poisoned = true;
  return slot;
}

SlotId Recording::read(detail::Value value, const char* operation, const Location& where) {
  if (value.recording != serial || value.slot >= slots.size()) {
    mistake(operation,
            "a run-time value of another recording is used here; got a static, global or stored value, expected one "
            "made by this run of the body",
            "make the value inside the body", where);
    return poison(where);
  }
  return read(value.slot, operation, where);
}

SlotId Recording::read(SlotId id, const char* operation, const Location& where) {
  slots[id].used = true;
  if (slots[id].poisoned) return id;
  const std::uint32_t home = slots[id].region;
  bool in_combine = false;
  for (std::uint32_t r = region(); r != home; r = regions[r].parent) {
    if (r == 0 || r == none) {
      const Construct& closed = constructs[regions[home].construct];
      mistake(operation,
              "a value made inside the region of line " + std::to_string(closed.where.line()) + " is used after it",
              "declare the variable before the region and assign it inside", where);
      slots[id].poisoned = true;
      return id;
    }
    in_combine |= constructs[regions[r].construct].form == Construct::Form::combine;
  }
  if (in_combine) {
    mistake(operation, "a combine function uses a value from outside",
            "a combine function may use its parameters and constants only", where);
    return poison(where, slots[id].type);
  }
  return id;
}

std::uint32_t Recording::add_node(Node::Form form, Opcode opcode, std::span<const SlotId> inputs,
                                  const Location& where) {
  Node node{.form = form, .opcode = opcode, .region = region(), .where = where};
  node.first_operand = static_cast<std::uint32_t>(operands.size());
  node.operand_count = static_cast<std::uint32_t>(inputs.size());
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  nodes.push_back(node);
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

void Recording::note_effect(trace::Effect effect) {
  for (std::size_t i = open.size(); i-- > 0;) {
    constructs[open[i]].writes |= effect == trace::Effect::write;
    constructs[open[i]].reads |= effect == trace::Effect::read;
  }
}

void Recording::check_order_of_temporaries(Opcode opcode, std::span<const SlotId> inputs, const Location& where) {
  std::uint32_t first = none;
  for (const SlotId input : inputs) {
    const std::uint32_t effect = slots[input].effect;
    if (effect == none || effect == first) continue;
    if (first == none) {
      first = effect;
      continue;
    }
    const auto writes = [&](std::uint32_t n) { return trace::info(nodes[n].opcode).effect == trace::Effect::write; };
    if (!writes(first) && !writes(effect)) continue;
    const std::uint32_t low = std::min(first, effect), high = std::max(first, effect);
    if (depends_on(*this, nodes[high].first_result, low)) continue;
    mistake(trace::info(opcode).name, "two effects in one expression, whose order C++ leaves open",
            "give the first one a name on its own line", where);
    return;
  }
}

SlotId Recording::emit(Opcode opcode, std::span<const SlotId> inputs, ElementType type, ShapeId shape,
                       const Location& where, const Attributes& attributes) {
  trace::Effect effect = trace::info(opcode).effect;
  const bool is_volatile = opcode == Opcode::load && attributes.list.size() == 5 && attributes.list.begin()[4] != 0;
  if (is_volatile) effect = trace::Effect::write;
  if (effect != trace::Effect::pure) note_effect(effect);
  for (const SlotId input : inputs)
    if (slots[input].poisoned) return poison(where, type);
  check_order_of_temporaries(opcode, inputs, where);
  const std::uint32_t index = add_node(Node::Form::operation, opcode, inputs, where);
  Node& node = nodes[index];
  node.first_integer = static_cast<std::uint32_t>(integers.size());
  integers.insert(integers.end(), attributes.list.begin(), attributes.list.end());
  if (attributes.vector) integers.insert(integers.end(), attributes.vector->begin(), attributes.vector->end());
  node.integer_count = static_cast<std::uint32_t>(integers.size()) - node.first_integer;
  if (attributes.text) {
    node.text = static_cast<std::uint32_t>(texts.size());
    texts.emplace_back(attributes.text);
  }
  const SlotId result = new_slot(type, shape, where);
  node.first_result = result;
  node.result_count = 1;
  node.shape = shape;
  slots[result].form = type.pointer ? Type::Form::pointer : attributes.form;
  if (effect != trace::Effect::pure) {
    slots[result].effect = index;
  } else {
    for (const SlotId input : inputs)
      if (slots[input].effect != none) slots[result].effect = slots[input].effect;
  }
  return result;
}

SlotId Recording::constant(DType type, std::uint64_t bits, const Location& where) {
  const std::int64_t attribute = static_cast<std::int64_t>(bits);
  return emit(Opcode::constant, {}, {type, false, false}, 0, where, {.list = {attribute}});
}

SlotId Recording::integer(DType type, std::int64_t number, const Location& where) {
  const int width = bits_of(type);
  std::uint64_t bits = static_cast<std::uint64_t>(number);
  if (is_float(type)) {
    const double v = static_cast<double>(number);
    bits = type == DType::f64   ? std::bit_cast<std::uint64_t>(v)
           : type == DType::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(v))
           : type == DType::f16 ? half(number).bits()
                                : bfloat16(number).bits();
  } else if (width < 64) {
    bits &= (std::uint64_t{1} << width) - 1;
  }
  const SlotId slot = constant(type, bits, where);
  slots[slot].constant = true;
  slots[slot].number = number;
  return slot;
}

SlotId Recording::cast(SlotId slot, DType type, const Location& where) {
  if (slots[slot].poisoned || slots[slot].type.dtype == type || slots[slot].form != Type::Form::element) return slot;
  return emit(Opcode::cast, {slot}, {type, false, false}, slots[slot].shape, where);
}

SlotId Recording::expand(SlotId slot, int axis, const Location& where) {
  if (slots[slot].poisoned) return slot;
  Shape dimensions = shape_of(slot);
  if (dimensions.empty()) return emit(Opcode::splat, {slot}, slots[slot].type, shape({1}), where);
  dimensions.insert(dimensions.begin() + axis, 1);
  return emit(Opcode::expand_dims, {slot}, slots[slot].type, shape(dimensions), where, {.list = {axis}});
}

SlotId Recording::broadcast(SlotId slot, ShapeId target, const Location& where) {
  if (slots[slot].poisoned || slots[slot].shape == target) return slot;
  const std::size_t rank = shapes[target].size();
  if (shape_of(slot).empty()) return emit(Opcode::splat, {slot}, slots[slot].type, target, where);
  while (shape_of(slot).size() < rank) slot = expand(slot, 0, where);
  if (slots[slot].shape == target) return slot;
  return emit(Opcode::broadcast, {slot}, slots[slot].type, target, where);
}

ShapeId Recording::common_shape(SlotId a, SlotId b, const char* operation, const Location& where) {
  if (slots[a].poisoned || slots[b].poisoned) return none;
  if (slots[a].shape == slots[b].shape) return slots[a].shape;
  Shape x = shape_of(a), y = shape_of(b);
  const std::size_t rank = std::max(x.size(), y.size());
  x.insert(x.begin(), rank - x.size(), 1);
  y.insert(y.begin(), rank - y.size(), 1);
  for (std::size_t i = 0; i < rank; ++i) {
    if (x[i] == 1) x[i] = y[i];
    if (x[i] == y[i] || y[i] == 1) continue;
    mistake(operation,
            "shapes must broadcast; got " + shape_text(shape_of(a)) + " and " + shape_text(shape_of(b)) +
                ", expected equal sizes or 1 in dimension " + std::to_string(i),
            "x(tl::all, tl::none) makes a column of a vector, x(tl::none, tl::all) a row", where);
    return none;
  }
  return shape(x);
}

SlotId Recording::fit(SlotId slot, ShapeId target, const char* operation, const char* what, const Location& where) {
  if (slots[slot].poisoned || slots[slot].shape == target) return slot;
  const Shape& from = shape_of(slot);
  const Shape& to = shapes[target];
  bool fits = from.size() <= to.size();
  for (std::size_t i = 0; fits && i < from.size(); ++i)
    fits = from[from.size() - 1 - i] == 1 || from[from.size() - 1 - i] == to[to.size() - 1 - i];
  if (fits) return broadcast(slot, target, where);
  mistake(operation,
          std::string(what) + " must broadcast to the shape of the pointers; got " + shape_text(from) + ", expected " +
              shape_text(to),
          {}, where);
  return poison(where);
}

bool Recording::check_shape(const char* operation, const Shape& dimensions, const Location& where) {
  if (dimensions.size() > static_cast<std::size_t>(trace::max_rank)) {
    mistake(operation,
            "a tensor has at most " + std::to_string(trace::max_rank) + " dimensions; got " + shape_text(dimensions),
            {}, where);
    return false;
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : dimensions) {
    if (size >= 1 && elements <= trace::max_elements / size) {
      elements *= size;
      continue;
    }
    mistake(operation,
            size < 1 ? "a size must be 1 or more; got " + shape_text(dimensions)
                     : "a tensor has at most " + std::to_string(trace::max_elements) + " elements; got " +
                           shape_text(dimensions),
            {}, where);
    return false;
  }
  return true;
}

void Recording::assign(SlotId to, SlotId from, const Location& where) {
  if (slots[to].loop_variable) {
    mistake("assign", "the loop variable is assigned", "copy it first, auto j = i + 0; or use tl::while_", where);
    return;
  }
  if (!encloses(slots[to].region, region())) {
    mistake("assign", "a variable of a region that has ended is assigned", "declare the variable before the region",
            where);
    return;
  }
  const bool outer = straight(slots[to].region) != straight(region());
  for (std::uint32_t r = region(); r != slots[to].region; r = regions[r].parent) {
    Construct& construct = constructs[regions[r].construct];
    construct.changes = true;
    if (construct.form == Construct::Form::combine) {
      mistake("assign", "a combine function assigns a variable from outside", "return the new value", where);
      return;
    }
    if (std::find(construct.assigned.begin(), construct.assigned.end(), to) == construct.assigned.end())
      construct.assigned.push_back(to);
  }
  const bool known = slots[to].initialised && !slots[to].poisoned && !slots[from].poisoned;
  if (outer && known && slots[to].shape != slots[from].shape) {
    mistake("assign",
            "a variable declared outside of a region keeps its shape in it; got " + shape_text(shape_of(from)) +
                " at line " + std::to_string(where.line()) + ", expected " + shape_text(shape_of(to)) + " of line " +
                std::to_string(slots[to].shape_line),
            "give the variable its final shape before the region, tl::zeros or tl::broadcast_to", where);
    slots[to].poisoned = true;
    return;
  }
  const std::uint32_t node = add_node(Node::Form::assign, Opcode::yield, {&from, 1}, where);
  nodes[node].first_result = to;
  nodes[node].result_count = 1;
  Slot& target = slots[to];
  if (!outer || !target.initialised) {
    target.shape = slots[from].shape;
    target.shape_line = where.line();
  }
  target.initialised = true;
  target.poisoned = slots[from].poisoned;
  target.effect = none;
  target.constant = false;
}

// ---- regions

std::uint32_t Recording::open_construct(Construct construct, std::span<const SlotId> inputs) {
  const std::uint32_t id = static_cast<std::uint32_t>(constructs.size());
  const std::uint32_t node = add_node(Node::Form::open, construct.opcode, inputs, construct.where);
  nodes[node].construct = id;
  construct.parent_region = region();
  construct.region = static_cast<std::uint32_t>(regions.size());
  regions.push_back({construct.parent_region, id});
  constructs.push_back(std::move(construct));
  open.push_back(id);
  return id;
}

void Recording::next_region(std::span<const SlotId> inputs) {
  Construct& construct = constructs[open.back()];
  const std::uint32_t node = add_node(Node::Form::next, construct.opcode, inputs, construct.where);
  nodes[node].construct = open.back();
  construct.region = static_cast<std::uint32_t>(regions.size());
  regions.push_back({construct.parent_region, open.back()});
}

void Recording::close_construct(std::span<const SlotId> inputs) {
  const std::uint32_t node =
      add_node(Node::Form::close, constructs[open.back()].opcode, inputs, constructs[open.back()].where);
  nodes[node].construct = open.back();
  const Construct& construct = constructs[open.back()];
  const bool matters = construct.writes || construct.changes || construct.returns_value ||
                       construct.form == Construct::Form::combine || construct.form == Construct::Form::rest;
  if (!matters) {
    const char* name = construct.form == Construct::Form::for_loop ? "range"
                       : construct.form == Construct::Form::branch ? "if_"
                                                                   : "while_";
    mistake(name, "the region stores nothing and changes no variable declared before it: it has no effect",
            "assign a variable that is declared outside; auto and by-value parameters make copies", construct.where);
  }
  open.pop_back();
}

bool Recording::unwind_to(Construct::Form form) {
  while (open.size() > 1 && constructs[open.back()].form != form) {
    if (constructs[open.back()].form != Construct::Form::rest)
      mistake("region", "a region was left before its end (by an exception?)", {}, constructs[open.back()].where);
    constructs[open.back()].changes = true;
    close_construct({});
  }
  return open.size() > 1;
}

void Recording::finish() { unwind_to(Construct::Form::body); }

Recording& current(const char* operation, const Location& where) {
  if (Recording* recording = current_or_null()) return *recording;
  throw Error(
      ErrorCode::invalid_kernel,
      std::string(operation) +
          ": a run-time value is used outside of a kernel's body; got no recording, expected a call by "
          "teeny::launch, compile or record\nhelp: call it from the kernel's operator(), or from what that calls",
      where.file_name(), where.line());
}

bool depends_on(const Recording& recording, SlotId later, std::uint32_t earlier) {
  std::vector<SlotId> wanted{later};
  // Backwards through the log: a node's operands were made before it.
  for (std::uint32_t i = static_cast<std::uint32_t>(recording.nodes.size()); i-- > earlier;) {
    const Node& node = recording.nodes[i];
    const bool makes = std::any_of(wanted.begin(), wanted.end(), [&](SlotId s) {
      return s >= node.first_result && s < node.first_result + node.result_count;
    });
    if (!makes) continue;
    if (i == earlier) return true;
    for (std::uint32_t k = 0; k < node.operand_count; ++k) wanted.push_back(recording.operands[node.first_operand + k]);
  }
  return false;
}

void check_effects_of_a_line(Recording& recording) {
  struct Use {
    std::uint32_t node;
    std::uint32_t occurrence;  // of this very call; a host loop runs it again
  };
  std::vector<Use> uses;
  for (std::uint32_t i = 0; i < recording.nodes.size(); ++i) {
    const Node& node = recording.nodes[i];
    if (node.form != Node::Form::operation || trace::info(node.opcode).effect == trace::Effect::pure ||
        !recording.slots[node.first_result].used)
      continue;
    const auto same = [&](const Node& other) {
      return other.where.line() == node.where.line() && other.region == node.region &&
             std::string_view(other.where.file_name()) == node.where.file_name();
    };
    // Within a macro all columns are one.
    const auto same_call = [&](const Node& other) {
      return same(other) && other.where.column() == node.where.column() && other.opcode == node.opcode;
    };
    std::uint32_t occurrence = 0;
    for (const Use& use : uses) occurrence += same_call(recording.nodes[use.node]);
    for (const Use& use : uses) {
      const Node& other = recording.nodes[use.node];
      if (use.occurrence != occurrence || !same(other) || same_call(other)) continue;
      const bool writes = trace::info(node.opcode).effect == trace::Effect::write ||
                          trace::info(other.opcode).effect == trace::Effect::write;
      if (!writes || depends_on(recording, node.first_result, use.node)) continue;
      recording.mistake(trace::info(std::max(node.opcode, other.opcode)).name,
                        "two effects whose values are used stand on one line, and C++ leaves their order open",
                        "give each a name on its own line", node.where);
    }
    uses.push_back({i, occurrence});
  }
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string at_line(const char* words, const Location& where, const Location& near) {
  const bool same = where.line() != 0 && std::string_view(where.file_name()) == near.file_name();
  return same ? words + std::to_string(where.line()) : std::string();
}

}  // namespace teeny::lang
