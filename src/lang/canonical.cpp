// The one order of a body. g++ and clang run the arguments of a call in different orders, so the log's order means
// nothing but for writes. Everything else is emitted on demand: writes and ends of regions in turn ask for their
// operands, first to last, depth first. A read has to stand before the next write that ran after it; the reads that are
// still missing there are emitted in the order in which a first pass, without this rule, would have asked for them.
#include <algorithm>
#include <unordered_map>

#include "lang/graph.hpp"

namespace teeny::lang {

namespace {

using trace::Operation;
using trace::ValueId;

class Emitter {
 public:
  // `order`: of reads by operation, from a first pass; null in that pass.
  Emitter(const Graph& graph, const std::vector<std::uint32_t>* order)
      : graph_(graph),
        order_(order),
        ids_(graph.values.size(), none),
        done_(graph.operations.size(), 0),
        emitted_(graph.regions.size()),
        asked_(graph.operations.size(), none),
        prints_(graph.operations.size()) {}

  void run() {
    for (const GraphValue parameter : graph_.parameters) give(parameter);
    region(0);
  }
  const std::vector<std::uint32_t>& asked() const { return asked_; }
  std::vector<Operation>& operations() { return emitted_[0].operations; }
  const std::vector<const Type*>& types() const { return types_; }
  std::vector<ValueId> parameters() const {
    std::vector<ValueId> list;
    for (const GraphValue parameter : graph_.parameters) list.push_back(ids_[parameter]);
    return list;
  }
  const std::vector<Location>& locations() const { return locations_; }

 private:
  ValueId give(GraphValue value) {
    types_.push_back(&graph_.values[value].type);
    return ids_[value] = static_cast<ValueId>(types_.size() - 1);
  }
  ValueId id(GraphValue value) const { return ids_[graph_.resolve(value)]; }

  // Emits what computes a value, operands first, without recursing over chains of operands.
  void demand(GraphValue value) {
    std::vector<std::pair<std::uint32_t, std::size_t>> stack;  // operation, next operand
    const auto push = [&](GraphValue wanted) {
      wanted = graph_.resolve(wanted);
      const ValueRecord& record = graph_.values[wanted];
      if (ids_[wanted] != none || record.operation == none || record.argument_of != none || done_[record.operation])
        return;
      done_[record.operation] = 1;
      stack.emplace_back(record.operation, 0);
    };
    push(value);
    while (!stack.empty()) {
      auto& [index, next] = stack.back();
      const std::uint32_t operation = index;
      const std::vector<GraphValue>& operands = graph_.operations[operation].operands;
      while (next < operands.size() && !takes(operation, next)) ++next;
      if (next < operands.size()) {
        push(operands[next++]);
        continue;
      }
      stack.pop_back();
      emit(operation);
    }
  }

  // A loop takes the initial values of live carried values only.
  bool takes(std::uint32_t index, std::size_t operand) const {
    const OperationRecord& operation = graph_.operations[index];
    const bool loop = operation.opcode == Opcode::for_loop || operation.opcode == Opcode::while_loop;
    return !loop || operand < operation.bounds || operation.carried_live[operand - operation.bounds];
  }

  void write(std::uint32_t index) {
    if (done_[index]) return;
    done_[index] = 1;
    const std::vector<GraphValue>& operands = graph_.operations[index].operands;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (takes(index, i)) demand(operands[i]);
    emit(index);
  }

  // All operands have been emitted.
  void emit(std::uint32_t index) {
    const OperationRecord& source = graph_.operations[index];
    if (asked_[index] == none) asked_[index] = counter_++;
    Operation made;
    made.opcode = source.opcode;
    made.integers = source.integers;
    made.text = source.text;
    for (std::size_t i = 0; i < source.operands.size(); ++i)
      if (takes(index, i)) made.operands.push_back(id(source.operands[i]));
    if (!source.regions.empty()) regions(index, made);
    const bool unites = source.effect != trace::Effect::write && source.opcode != Opcode::for_loop &&
                        source.opcode != Opcode::while_loop && source.opcode != Opcode::if_else;
    std::uint64_t hash = 0;
    if (unites) {
      fingerprint(index, made);
      for (const std::uint64_t word : prints_[index]) hash = (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 29);
      const auto [first, last] = known_.equal_range(hash);
      for (auto known = first; known != last; ++known) {
        const std::uint32_t other = known->second;
        if (prints_[other] != prints_[index] || !encloses(graph_.operations[other].region, source.region)) continue;
        for (std::size_t i = 0; i < source.results.size(); ++i)
          ids_[source.results[i]] = ids_[graph_.operations[other].results[i]];
        return;
      }
      known_.emplace(hash, index);
    }
    const bool carries =
        source.opcode == Opcode::for_loop || source.opcode == Opcode::while_loop || source.opcode == Opcode::if_else;
    for (std::size_t i = 0; i < source.results.size(); ++i)
      if (!carries || source.carried_live[i]) made.results.push_back(give(source.results[i]));
    made.site = static_cast<std::uint32_t>(locations_.size());
    locations_.push_back(source.where);
    emitted_[source.region].operations.push_back(std::move(made));
  }

  bool encloses(std::uint32_t outer, std::uint32_t inner) const {
    for (std::uint32_t r = inner;; r = graph_.operations[graph_.regions[r].operation].region) {
      if (r == outer) return true;
      if (graph_.regions[r].operation == none) return false;
    }
  }

  void regions(std::uint32_t index, Operation& made) {
    const OperationRecord& source = graph_.operations[index];
    for (std::size_t k = 0; k < source.regions.size(); ++k) {
      const std::uint32_t inner = source.regions[k];
      const GraphRegion& record = graph_.regions[inner];
      const std::size_t fixed = source.opcode == Opcode::for_loop ? 1 : 0;  // the index
      const bool loop = source.opcode == Opcode::for_loop || source.opcode == Opcode::while_loop;
      for (std::size_t i = 0; i < record.arguments.size(); ++i)
        if (!loop || i < fixed || source.carried_live[i - fixed])
          emitted_[inner].arguments.push_back(give(record.arguments[i]));
      region(inner);
      terminator(source, k);
      made.regions.push_back(std::move(emitted_[inner]));
    }
  }

  void terminator(const OperationRecord& source, std::size_t k) {
    const std::uint32_t inner = source.regions[k];
    const GraphRegion& record = graph_.regions[inner];
    const bool condition = source.opcode == Opcode::while_loop && k == 0;
    const bool carries =
        source.opcode == Opcode::for_loop || source.opcode == Opcode::while_loop || source.opcode == Opcode::if_else;
    const std::size_t fixed = condition ? 1 : 0;
    Operation end;
    end.opcode = condition ? Opcode::condition : Opcode::yield;
    for (std::size_t i = 0; i < record.ends.size(); ++i) {
      if (carries && i >= fixed && !source.carried_live[i - fixed]) continue;
      demand(record.ends[i]);
      end.operands.push_back(id(record.ends[i]));
    }
    end.site = static_cast<std::uint32_t>(locations_.size());
    locations_.push_back(source.where);
    emitted_[inner].operations.push_back(std::move(end));
  }

  // Writes in their order, each behind the live reads that ran before it.
  void region(std::uint32_t index) {
    std::vector<std::uint32_t> reads;
    for (const std::uint32_t operation : graph_.regions[index].memory) {
      if (!graph_.operations[operation].live) continue;
      if (graph_.operations[operation].effect == trace::Effect::read) {
        reads.push_back(operation);
        continue;
      }
      if (order_) {
        std::sort(reads.begin(), reads.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return (*order_)[a] < (*order_)[b]; });
        for (const std::uint32_t read : reads) write(read);
        reads.clear();
      }
      write(operation);
    }
  }

  // Words that are equal when two operations compute the same.
  void fingerprint(std::uint32_t index, const Operation& made) {
    const OperationRecord& source = graph_.operations[index];
    std::vector<std::uint64_t>& words = prints_[index];
    words.reserve(8 + made.operands.size() + made.integers.size());
    words.push_back(source.effect == trace::Effect::read ? source.epoch + 1 : 0);
    std::vector<ValueId> locals;
    append(words, made, locals);
    const Type& type = graph_.values[source.results[0]].type;
    words.push_back(static_cast<std::uint64_t>(type.dtype) | static_cast<std::uint64_t>(type.form) << 8 |
                    static_cast<std::uint64_t>(type.read_only) << 16);
    for (const std::int64_t size : type.shape) words.push_back(static_cast<std::uint64_t>(size));
  }
  void append(std::vector<std::uint64_t>& words, const Operation& operation, std::vector<ValueId>& locals) const {
    const auto name = [&](ValueId value) -> std::uint64_t {
      const auto local = std::find(locals.begin(), locals.end(), value);
      return local == locals.end() ? value
                                   : std::uint64_t{1} << 40 | static_cast<std::uint64_t>(local - locals.begin());
    };
    words.push_back(static_cast<std::uint64_t>(operation.opcode) | operation.operands.size() << 16 |
                    operation.integers.size() << 32);
    for (const ValueId operand : operation.operands) words.push_back(name(operand));
    for (const std::int64_t integer : operation.integers) words.push_back(static_cast<std::uint64_t>(integer));
    for (const trace::Region& inner : operation.regions) {
      locals.insert(locals.end(), inner.arguments.begin(), inner.arguments.end());
      for (const Operation& one : inner.operations) {
        append(words, one, locals);
        for (const ValueId result : one.results) {
          words.push_back(static_cast<std::uint64_t>(types_[result]->dtype));
          locals.push_back(result);
        }
      }
    }
  }

  const Graph& graph_;
  const std::vector<std::uint32_t>* order_;
  std::vector<ValueId> ids_;
  std::vector<char> done_;
  std::vector<trace::Region> emitted_;
  std::vector<std::uint32_t> asked_;
  std::vector<std::vector<std::uint64_t>> prints_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_;
  std::vector<const Type*> types_;  // in the graph
  std::vector<Location> locations_;
  std::uint32_t counter_ = 0;
};

// Numbers values in the order in which they are defined, and operations in pre-order, as sites.
class Numbering {
 public:
  Numbering(trace::Trace& trace, const std::vector<const Type*>& types, const std::vector<Location>& locations)
      : trace_(trace), types_(types), locations_(locations), ids_(types.size(), none) {}

  void run() {
    trace_.body.types.reserve(types_.size());
    trace_.sites.reserve(locations_.size());
    for (ValueId& parameter : trace_.body.parameters) define(parameter);
    region(trace_.body.region);
  }

 private:
  void define(ValueId& value) {
    trace_.body.types.push_back(*types_[value]);
    value = ids_[value] = static_cast<ValueId>(trace_.body.types.size() - 1);
  }
  void region(trace::Region& region) {
    for (ValueId& argument : region.arguments) define(argument);
    for (Operation& operation : region.operations) {
      for (ValueId& operand : operation.operands) operand = ids_[operand];
      const Location& where = locations_[operation.site];
      operation.site = static_cast<std::uint32_t>(trace_.sites.size());
      trace_.sites.push_back({where.file_name(), where.line(), where.function_name()});
      for (trace::Region& inner : operation.regions) this->region(inner);
      for (ValueId& result : operation.results) define(result);
    }
  }

  trace::Trace& trace_;
  const std::vector<const Type*>& types_;
  const std::vector<Location>& locations_;
  std::vector<ValueId> ids_;
};

void report_dead_copies(Recording& recording, const Graph& graph) {
  std::vector<SlotId> reported;
  for (const CopyAssignment& copy : graph.copies) {
    if (std::find(reported.begin(), reported.end(), copy.slot) != reported.end()) continue;
    const bool used = std::any_of(graph.copies.begin(), graph.copies.end(), [&](const CopyAssignment& other) {
      return other.slot == copy.slot && graph.values[graph.resolve(other.value)].live;
    });
    if (used) continue;
    reported.push_back(copy.slot);
    recording.mistake("assign",
                      "a copy is assigned and never read; got a variable made by auto, by a by-value parameter or by a "
                      "structured binding" +
                          at_line(" at line ", recording.slots[copy.slot].where, copy.where),
                      "use auto& or a reference parameter to change the original", copy.where);
  }
}

}  // namespace

trace::Trace build_trace(Recording& recording) {
  check_effects_of_a_line(recording);
  Graph graph = build_graph(recording);
  trace::Trace trace;
  if (!recording.mistakes.empty()) return trace;
  mark_live(graph);
  report_dead_copies(recording, graph);
  if (!recording.mistakes.empty()) return trace;
  Emitter first(graph, nullptr);
  first.run();
  Emitter second(graph, &first.asked());
  second.run();
  trace.body.parameters = second.parameters();
  trace.body.region.operations = std::move(second.operations());
  Numbering(trace, second.types(), second.locations()).run();
  return trace;
}

}  // namespace teeny::lang
