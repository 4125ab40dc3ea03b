// The recording as a graph of SSA values, before its operations are put in order.
#pragma once

#include <cstdint>
#include <vector>

#include "lang/recording.hpp"

namespace teeny::lang {

using GraphValue = std::uint32_t;
inline constexpr GraphValue undefined_value = ~GraphValue{0};      // no value on some path
inline constexpr GraphValue poisoned_value = undefined_value - 1;  // follows from a mistake

struct ValueRecord {
  Type type;
  std::uint32_t operation = none;      // that gives it, or whose region it enters
  std::uint32_t argument_of = none;    // region, for a region's argument
  std::uint32_t index = 0;             // among the results, or the region's arguments
  GraphValue alias = undefined_value;  // the value that it is, where it turned out to be another one
  bool live = false;
};

struct OperationRecord {
  Opcode opcode;
  trace::Effect effect = trace::Effect::pure;  // of a control operation: of what it holds
  std::uint32_t region = 0;
  std::uint32_t epoch = 0;           // of a read: how many writes came before
  std::vector<GraphValue> operands;  // of a loop: bounds, then initial values
  std::vector<GraphValue> results;
  std::vector<std::int64_t> integers;
  std::string text;
  std::vector<std::uint32_t> regions;
  Location where;
  std::uint32_t bounds = 0;  // of a for_loop: 3; operands before the carried ones
  bool live = false;
  std::vector<char> carried_live;  // by carried value or result
};

struct GraphRegion {
  std::uint32_t operation = none;     // none: the body
  std::vector<GraphValue> arguments;  // of a loop: the index first
  std::vector<std::uint32_t> memory;  // its reads and writes, in the order in which they ran
  std::vector<GraphValue> ends;       // what the terminator takes; of a condition, the truth first
};

// A copy that is assigned within a region: a mistake when nothing assigned to it is used.
struct CopyAssignment {
  SlotId slot;
  GraphValue value;
  Location where;
};

struct Graph {
  std::vector<ValueRecord> values;
  std::vector<OperationRecord> operations;
  std::vector<GraphRegion> regions;  // 0 is the body
  std::vector<GraphValue> parameters;
  std::vector<CopyAssignment> copies;

  GraphValue resolve(GraphValue value) const {
    while (value < poisoned_value && values[value].alias != undefined_value) value = values[value].alias;
    return value;
  }
};

// Adds the mistakes that it finds (values that are missing on a path) to the recording.
Graph build_graph(Recording& recording);

// Marks what effects need, through loops.
void mark_live(Graph& graph);

}  // namespace teeny::lang
