// From the log to SSA: `now_` says which value each variable has. A region's variables from outside become its
// arguments and results, as far as its log assigns them.
#include "lang/graph.hpp"

#include <algorithm>

namespace teeny::lang {

namespace {

bool has_result(Opcode opcode) {
  switch (opcode) {
    case Opcode::store:
    case Opcode::descriptor_store:
    case Opcode::barrier:
    case Opcode::assume:
    case Opcode::device_assert:
    case Opcode::device_print: return false;
    default: return true;
  }
}

class Builder {
 public:
  explicit Builder(Recording& recording) : recording_(recording), now_(recording.slots.size(), undefined_value) {}

  Graph build() {
    graph_.operations.reserve(recording_.nodes.size());
    graph_.values.reserve(recording_.slots.size());
    graph_.regions.emplace_back();
    for (std::size_t i = 0; i < recording_.slots.size(); ++i)
      if (recording_.slots[i].born_poisoned) now_[i] = poisoned_value;
    parameters();
    std::size_t node = 0;
    walk(node, 0);
    return std::move(graph_);
  }

 private:
  // A pointer parameter is read-only when every use of it goes through a pointer to const.
  void parameters() {
    for (const SlotId slot : recording_.parameters) {
      Type type = type_of(slot);
      if (type.form == Type::Form::pointer && !type.read_only) {
        bool copied = false, written = false;
        for (const Node& node : recording_.nodes)
          for (std::uint32_t i = 0; i < node.operand_count; ++i) {
            if (recording_.operands[node.first_operand + i] != slot) continue;
            const bool copy = node.form == Node::Form::copy;
            copied |= copy;
            written |= !copy || !recording_.slots[node.first_result].type.read_only;
          }
        type.read_only = copied && !written;
      }
      const GraphValue value = new_value(type);
      graph_.parameters.push_back(value);
      now_[slot] = value;
    }
  }

  Type type_of(SlotId id) const {
    const Slot& slot = recording_.slots[id];
    return {slot.type.dtype, slot.form, slot.type.read_only, recording_.shapes[slot.shape]};
  }

  GraphValue new_value(Type type, std::uint32_t operation = none, std::uint32_t index = 0) {
    ValueRecord value;
    value.type = std::move(type);
    value.operation = operation;
    value.index = index;
    graph_.values.push_back(std::move(value));
    return static_cast<GraphValue>(graph_.values.size() - 1);
  }
  std::uint32_t new_operation(Opcode opcode, std::uint32_t region, const Location& where) {
    OperationRecord operation{.opcode = opcode, .region = region, .where = where};
    graph_.operations.push_back(std::move(operation));
    return static_cast<std::uint32_t>(graph_.operations.size() - 1);
  }
  std::uint32_t new_region(std::uint32_t operation) {
    graph_.regions.emplace_back();
    graph_.regions.back().operation = operation;
    const auto region = static_cast<std::uint32_t>(graph_.regions.size() - 1);
    graph_.operations[operation].regions.push_back(region);
    return region;
  }
  GraphValue new_argument(std::uint32_t region, const Type& type) {
    const GraphValue value = new_value(type, graph_.regions[region].operation,
                                       static_cast<std::uint32_t>(graph_.regions[region].arguments.size()));
    graph_.values[value].argument_of = region;
    graph_.regions[region].arguments.push_back(value);
    return value;
  }
  GraphValue new_result(std::uint32_t operation, const Type& type) {
    const GraphValue value =
        new_value(type, operation, static_cast<std::uint32_t>(graph_.operations[operation].results.size()));
    graph_.operations[operation].results.push_back(value);
    graph_.operations[operation].carried_live.push_back(0);
    return value;
  }
  const Type& type(GraphValue value) const { return graph_.values[graph_.resolve(value)].type; }

  // The value of a variable where an operation needs one.
  GraphValue get(SlotId slot, const Location& where) {
    const GraphValue value = now_[slot];
    if (value != undefined_value) return value;
    const Slot& variable = recording_.slots[slot];
    recording_.mistake("variable",
                       "it may have no value here; got one that is set in one branch or only inside a loop, or never" +
                           at_line(", declared or copied at line ", variable.where, where),
                       "give it a value where it is declared", where);
    return now_[slot] = poisoned_value;
  }

  // The same pointer as one to const, where a type asks for it.
  GraphValue coerce(GraphValue value, const Type& wanted, std::uint32_t region, const Location& where) {
    if (value >= poisoned_value || wanted.form != Type::Form::pointer || type(value) == wanted || type(value).read_only)
      return value;
    const std::uint32_t operation = new_operation(Opcode::bitcast, region, where);
    graph_.operations[operation].operands = {value};
    return new_result(operation, wanted);
  }

  // Executes nodes until the end of the region; `node` is then at the next or close that ends it.
  void walk(std::size_t& node, std::uint32_t region) {
    for (; node < recording_.nodes.size(); ++node) {
      const Node& entry = recording_.nodes[node];
      switch (entry.form) {
        case Node::Form::copy: now_[entry.first_result] = now_[recording_.operands[entry.first_operand]]; break;
        case Node::Form::assign: assign(entry); break;
        case Node::Form::operation: operation(entry, region); break;
        case Node::Form::open: construct(node, region); break;
        case Node::Form::next:
        case Node::Form::close: return;
      }
    }
  }

  void assign(const Node& entry) {
    const SlotId slot = entry.first_result;
    now_[slot] = get(recording_.operands[entry.first_operand], entry.where);
    const Slot& variable = recording_.slots[slot];
    if (variable.copied && recording_.straight(variable.region) != 0 && now_[slot] < poisoned_value)
      graph_.copies.push_back({slot, now_[slot], entry.where});
  }

  void operation(const Node& entry, std::uint32_t region) {
    const std::uint32_t index = new_operation(entry.opcode, region, entry.where);
    std::vector<GraphValue> operands;
    bool poisoned = false;
    for (std::uint32_t i = 0; i < entry.operand_count; ++i) {
      operands.push_back(get(recording_.operands[entry.first_operand + i], entry.where));
      poisoned |= operands.back() == poisoned_value;
    }
    if (poisoned) {
      now_[entry.first_result] = poisoned_value;
      return;
    }
    if (entry.opcode == Opcode::where) {
      operands[1] = coerce(operands[1], type(operands[2]), region, entry.where);
      operands[2] = coerce(operands[2], type(operands[1]), region, entry.where);
    }
    Type result = type_of(entry.first_result);
    result.shape = recording_.shapes[entry.shape];  // the variable may have another one by now
    const bool keeps = entry.opcode != Opcode::bitcast &&
                       (result.form == Type::Form::pointer || result.form == Type::Form::descriptor);
    if (keeps) result.read_only = type(operands[entry.opcode == Opcode::where ? 1 : 0]).read_only;
    else if (entry.opcode == Opcode::bitcast && result.form == Type::Form::pointer)
      result.read_only = type(operands[0]).read_only;
    OperationRecord& made = graph_.operations[index];
    made.operands = std::move(operands);
    made.integers.assign(recording_.integers.begin() + entry.first_integer,
                         recording_.integers.begin() + entry.first_integer + entry.integer_count);
    if (entry.text != none) made.text = recording_.texts[entry.text];
    made.effect = trace::info(entry.opcode).effect;
    if (entry.opcode == Opcode::load && made.integers[4]) made.effect = trace::Effect::write;
    if (made.effect == trace::Effect::write) epoch_ = ++epochs_;
    made.epoch = epoch_;
    if (made.effect != trace::Effect::pure) graph_.regions[region].memory.push_back(index);
    now_[entry.first_result] = has_result(entry.opcode) ? new_result(index, result) : poisoned_value;
  }

  void construct(std::size_t& node, std::uint32_t region) {
    const Node entry = recording_.nodes[node];
    const Construct& construct = recording_.constructs[entry.construct];
    const std::uint32_t index = new_operation(construct.opcode, region, construct.where);
    OperationRecord& made = graph_.operations[index];
    made.integers = construct.integers;
    made.effect = construct.writes ? trace::Effect::write : construct.reads ? trace::Effect::read : trace::Effect::pure;
    std::vector<GraphValue> inputs;
    for (std::uint32_t i = 0; i < entry.operand_count; ++i)
      inputs.push_back(get(recording_.operands[entry.first_operand + i], entry.where));
    graph_.operations[index].operands = std::move(inputs);
    const std::uint32_t before = epoch_;
    graph_.operations[index].epoch = before;
    if (made.effect != trace::Effect::pure) graph_.regions[region].memory.push_back(index);
    const bool writes = construct.writes;
    switch (construct.form) {
      case Construct::Form::for_loop: for_loop(node, index, construct); break;
      case Construct::Form::while_loop: while_loop(node, index, construct); break;
      case Construct::Form::branch:
      case Construct::Form::rest: branch(node, index, construct, before); break;
      case Construct::Form::combine: combine(node, index, construct); break;
      case Construct::Form::body: break;
    }
    // A later iteration sees what an earlier one wrote, and so does everything behind.
    if (writes) epoch_ = ++epochs_;
  }

  // The variables of outside that the construct assigns and that have a value before it.
  std::vector<SlotId> carried_of(const Construct& construct) const {
    std::vector<SlotId> carried;
    for (const SlotId slot : construct.assigned)
      if (now_[slot] < poisoned_value) carried.push_back(slot);
    return carried;
  }
  // What a loop did not have a value for before it has none after it.
  void restore_missing(const Construct& construct, const std::vector<GraphValue>& before) {
    for (const SlotId slot : construct.assigned)
      if (before[slot] >= poisoned_value && now_[slot] != poisoned_value) now_[slot] = before[slot];
  }

  void for_loop(std::size_t& node, std::uint32_t index, const Construct& construct) {
    if (construct.writes) epoch_ = ++epochs_;
    graph_.operations[index].bounds = 3;
    const std::vector<SlotId> carried = carried_of(construct);
    const std::vector<GraphValue> before = now_;
    const std::uint32_t body = new_region(index);
    now_[construct.arguments[0]] = new_argument(body, type_of(construct.arguments[0]));
    for (const SlotId slot : carried) {
      graph_.operations[index].operands.push_back(now_[slot]);
      now_[slot] = new_argument(body, type(now_[slot]));
    }
    walk(++node, body);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const SlotId slot = carried[i];
      const GraphValue argument = graph_.regions[body].arguments[i + 1];
      const GraphValue end = coerce(get(slot, construct.where), type(argument), body, construct.where);
      graph_.regions[body].ends.push_back(end);
      const GraphValue result = new_result(index, type(argument));
      now_[slot] = result;
      if (graph_.resolve(end) == argument) {
        graph_.values[argument].alias = graph_.values[result].alias = graph_.operations[index].operands[3 + i];
      }
      if (end == poisoned_value) now_[slot] = poisoned_value;
    }
    restore_missing(construct, before);
  }

  void while_loop(std::size_t& node, std::uint32_t index, const Construct& construct) {
    if (construct.writes) epoch_ = ++epochs_;
    const std::vector<SlotId> carried = carried_of(construct);
    const std::vector<GraphValue> before = now_;
    const std::uint32_t first = new_region(index), second = new_region(index);
    for (const SlotId slot : carried) {
      graph_.operations[index].operands.push_back(now_[slot]);
      now_[slot] = new_argument(first, type(now_[slot]));
    }
    walk(++node, first);
    const Node& next = recording_.nodes[node];
    if (next.operand_count == 1)
      graph_.regions[first].ends.push_back(get(recording_.operands[next.first_operand], next.where));
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Type wanted = type(graph_.regions[first].arguments[i]);
      graph_.regions[first].ends.push_back(coerce(get(carried[i], construct.where), wanted, first, construct.where));
      now_[carried[i]] = new_argument(second, wanted);
    }
    if (next.form == Node::Form::next) walk(++node, second);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const GraphValue start = graph_.regions[first].arguments[i], middle = graph_.regions[second].arguments[i];
      const GraphValue end = coerce(get(carried[i], construct.where), type(start), second, construct.where);
      graph_.regions[second].ends.push_back(end);
      const GraphValue result = new_result(index, type(start));
      now_[carried[i]] = end == poisoned_value ? poisoned_value : result;
      if (i + 1 < graph_.regions[first].ends.size() && graph_.resolve(graph_.regions[first].ends[i + 1]) == start &&
          graph_.resolve(end) == middle)
        graph_.values[start].alias = graph_.values[middle].alias = graph_.values[result].alias =
            graph_.operations[index].operands[i];
    }
    restore_missing(construct, before);
  }

  void branch(std::size_t& node, std::uint32_t index, const Construct& construct, std::uint32_t epoch) {
    const std::vector<GraphValue> before = now_;
    const std::uint32_t then = new_region(index), otherwise = new_region(index);
    walk(++node, then);
    std::vector<GraphValue> after_then = now_;
    for (const SlotId slot : construct.assigned) now_[slot] = before[slot];
    epoch_ = epoch;
    if (node < recording_.nodes.size() && recording_.nodes[node].form == Node::Form::next) walk(++node, otherwise);
    for (const SlotId slot : construct.assigned) {
      GraphValue a = after_then[slot], b = now_[slot];
      if (a == poisoned_value || b == poisoned_value) {
        now_[slot] = poisoned_value;
      } else if (a == undefined_value || b == undefined_value) {
        now_[slot] = undefined_value;
      } else if (graph_.resolve(a) != graph_.resolve(b)) {
        a = coerce(a, type(b), then, construct.where);
        b = coerce(b, type(a), otherwise, construct.where);
        if (type(a).shape != type(b).shape) {
          // Only behind a return_if may a shape change, and then nothing follows.
          now_[slot] = undefined_value;
          continue;
        }
        graph_.regions[then].ends.push_back(a);
        graph_.regions[otherwise].ends.push_back(b);
        now_[slot] = new_result(index, type(a));
      }
    }
  }

  void combine(std::size_t& node, std::uint32_t index, const Construct& construct) {
    const std::uint32_t body = new_region(index);
    for (const SlotId slot : construct.arguments) now_[slot] = new_argument(body, type_of(slot));
    walk(++node, body);
    const Node& close = recording_.nodes[node];
    for (std::uint32_t i = 0; i < close.operand_count; ++i)
      graph_.regions[body].ends.push_back(get(recording_.operands[close.first_operand + i], close.where));
    for (std::uint32_t i = 0; i < close.result_count; ++i) {
      const GraphValue input = graph_.operations[index].operands[i];
      if (input >= poisoned_value) {
        now_[close.first_result + i] = poisoned_value;
        continue;
      }
      Type result = type(input);
      if (construct.opcode == Opcode::reduce) result.shape.erase(result.shape.begin() + construct.integers[0]);
      now_[close.first_result + i] = new_result(index, result);
    }
  }

  Recording& recording_;
  Graph graph_;
  std::vector<GraphValue> now_;  // by slot
  std::uint32_t epoch_ = 0, epochs_ = 0;
};

// ---- liveness

class Liveness {
 public:
  explicit Liveness(Graph& graph) : graph_(graph) {}
  void run() {
    for (const GraphRegion& region : graph_.regions)
      for (const std::uint32_t index : region.memory)
        if (graph_.operations[index].regions.empty() && graph_.operations[index].effect == trace::Effect::write)
          operation(index);
    while (!wanted_.empty()) {
      const GraphValue value = wanted_.back();
      wanted_.pop_back();
      define(value);
    }
  }

 private:
  void want(GraphValue value) {
    value = graph_.resolve(value);
    if (value >= poisoned_value || graph_.values[value].live) return;
    graph_.values[value].live = true;
    wanted_.push_back(value);
  }

  void define(GraphValue value) {
    const ValueRecord& record = graph_.values[value];
    if (record.operation == none) return;
    operation(record.operation);
    const OperationRecord& owner = graph_.operations[record.operation];
    if (owner.opcode == Opcode::for_loop) {
      if (record.argument_of == none) carried(record.operation, record.index);
      else if (record.index > 0) carried(record.operation, record.index - 1);
    } else if (owner.opcode == Opcode::while_loop || owner.opcode == Opcode::if_else) {
      carried(record.operation, record.index);
    }
  }

  // Everything that flows into carried value or result `k`.
  void carried(std::uint32_t index, std::uint32_t k) {
    OperationRecord& owner = graph_.operations[index];
    if (owner.carried_live[k]) return;
    owner.carried_live[k] = 1;
    const auto& regions = graph_.regions;
    if (owner.opcode == Opcode::for_loop) {
      want(owner.operands[owner.bounds + k]);
      want(regions[owner.regions[0]].ends[k]);
    } else if (owner.opcode == Opcode::while_loop) {
      want(owner.operands[k]);
      want(regions[owner.regions[0]].ends[k + 1]);
      want(regions[owner.regions[1]].ends[k]);
    } else {
      want(regions[owner.regions[0]].ends[k]);
      want(regions[owner.regions[1]].ends[k]);
    }
  }

  void operation(std::uint32_t index) {
    for (; index != none; index = graph_.regions[graph_.operations[index].region].operation) {
      OperationRecord& owner = graph_.operations[index];
      if (owner.live) return;
      owner.live = true;
      const bool loop = owner.opcode == Opcode::for_loop || owner.opcode == Opcode::while_loop;
      for (std::size_t i = 0; i < (loop ? owner.bounds : owner.operands.size()); ++i) want(owner.operands[i]);
      if (owner.opcode == Opcode::while_loop) want(graph_.regions[owner.regions[0]].ends[0]);
      if (owner.opcode == Opcode::reduce || owner.opcode == Opcode::scan)
        for (const GraphValue end : graph_.regions[owner.regions[0]].ends) want(end);
    }
  }

  Graph& graph_;
  std::vector<GraphValue> wanted_;
};

}  // namespace

Graph build_graph(Recording& recording) { return Builder(recording).build(); }

void mark_live(Graph& graph) { Liveness(graph).run(); }

}  // namespace teeny::lang
