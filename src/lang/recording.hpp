// The log that a running kernel body leaves behind, before it is an SSA form.
//
// Every C++ object of a run-time type is a slot; operations, copies and assignments are nodes in the order in which
// they ran. Slots are never reused, so a log says by itself which variable a region assigns. graph.cpp turns the log
// into an SSA form.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <teeny/detail/recorder.hpp>
#include <teeny/kernel.hpp>

#include "lang/trace.hpp"

namespace teeny::lang {

using detail::ElementType;
using detail::Location;
using trace::Opcode;
using SlotId = std::uint32_t;
using ShapeId = std::uint32_t;
using Shape = std::vector<std::int64_t>;
using trace::Type;

inline constexpr SlotId no_slot = ~SlotId{0};
inline constexpr std::uint32_t none = ~std::uint32_t{0};

// One C++ object.
struct Slot {
  ElementType type;
  Type::Form form = Type::Form::element;
  ShapeId shape = 0;
  std::uint32_t region = 0;      // in which it was made
  std::uint32_t shape_line = 0;  // of the assignment that gave it its shape
  std::uint32_t effect = none;   // an unnamed value: the node of the last effect that it comes from
  bool initialised = true;
  bool poisoned = false;  // follows from a mistake
  bool born_poisoned = false;
  bool loop_variable = false;
  bool copied = false;  // made by copying another variable
  bool used = false;
  bool constant = false;  // of a literal, whose value is `number`
  std::int64_t number = 0;
  Location where;
};

struct Node {
  enum class Form : std::uint8_t { operation, copy, assign, open, next, close };
  Form form;
  Opcode opcode = Opcode::yield;
  std::uint32_t region = 0;
  std::uint32_t construct = 0;                         // of open, next, close
  std::uint32_t first_operand = 0, operand_count = 0;  // in Recording::operands
  std::uint32_t first_result = 0, result_count = 0;    // slots, consecutive
  std::uint32_t first_integer = 0, integer_count = 0;
  std::uint32_t text = none;
  ShapeId shape = 0;  // of an operation's result, when it was made
  Location where;
};

// A region-holding operation while it is open, and afterwards.
struct Construct {
  enum class Form : std::uint8_t { body, for_loop, while_loop, branch, rest, combine };
  Form form = Form::body;
  Opcode opcode = Opcode::yield;
  std::uint32_t parent_region = none;
  std::uint32_t region = 0;  // the one now recorded
  bool returns_value = false;
  bool writes = false;  // holds an operation that keeps program order
  bool reads = false;
  bool changes = false;           // assigns a variable from outside
  std::vector<SlotId> assigned;   // those variables, in the order of first assignment
  std::vector<SlotId> arguments;  // the index; a combine's parameters
  std::vector<SlotId> inputs;
  std::vector<std::int64_t> integers;
  Location where;
};

struct RegionRecord {
  std::uint32_t parent = none;
  std::uint32_t construct = 0;
};

struct Mistake {
  std::string file;
  std::uint32_t line = 0;
  std::string message;  // `operation: rule; got …, expected …`
  std::string help;
  std::size_t order = 0;  // found before others of its line
};

// What an operation has besides its operands.
struct Attributes {
  std::initializer_list<std::int64_t> list = {};
  const std::vector<std::int64_t>* vector = nullptr;
  const char* text = nullptr;
  Type::Form form = Type::Form::element;
};

class Recording {
 public:
  explicit Recording(std::uint32_t serial);

  std::uint32_t serial;
  std::vector<Slot> slots;
  std::vector<Node> nodes;
  std::vector<SlotId> operands;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::vector<Shape> shapes;          // 0 is rank 0
  std::vector<RegionRecord> regions;  // 0 is the body
  std::vector<Construct> constructs;  // 0 is the body
  std::vector<std::uint32_t> open;    // constructs, the innermost last
  std::vector<SlotId> parameters;
  std::vector<Mistake> mistakes;

  std::uint32_t region() const { return constructs[open.back()].region; }
  const Shape& shape_of(SlotId slot) const { return shapes[slots[slot].shape]; }
  ShapeId shape(const Shape& dimensions);
  bool encloses(std::uint32_t outer, std::uint32_t inner) const;
  // The region seen as straight-line code: what follows a return_if belongs to the code before it.
  std::uint32_t straight(std::uint32_t region) const;

  // ---- mistakes
  void mistake(const char* operation, std::string rule, std::string help, const Location& where);
  SlotId poison(const Location& where, ElementType type = {});

  // ---- objects
  SlotId new_slot(ElementType type, ShapeId shape, const Location& where);
  // The slot behind a value, checked: of this recording, in scope, with a value as far as is known here. A poisoned
  // slot is returned as it is; ask is_poisoned.
  SlotId read(detail::Value value, const char* operation, const Location& where);
  SlotId read(SlotId slot, const char* operation, const Location& where);
  bool is_poisoned(SlotId slot) const { return slots[slot].poisoned; }
  detail::Value value(SlotId slot) const { return {slot, serial}; }
  void assign(SlotId to, SlotId from, const Location& where);

  // ---- operations on slots that were read; poison in, poison out
  SlotId emit(Opcode opcode, std::span<const SlotId> inputs, ElementType type, ShapeId shape, const Location& where,
              const Attributes& attributes);
  SlotId emit(Opcode opcode, std::initializer_list<SlotId> inputs, ElementType type, ShapeId shape,
              const Location& where, const Attributes& attributes = {}) {
    return emit(opcode, std::span<const SlotId>(inputs.begin(), inputs.size()), type, shape, where, attributes);
  }
  SlotId constant(DType type, std::uint64_t bits, const Location& where);
  SlotId integer(DType type, std::int64_t number, const Location& where);
  SlotId cast(SlotId slot, DType type, const Location& where);
  SlotId broadcast(SlotId slot, ShapeId shape, const Location& where);
  SlotId expand(SlotId slot, int axis, const Location& where);
  // The common shape of two, or a mistake; `none` when poisoned or wrong.
  ShapeId common_shape(SlotId a, SlotId b, const char* operation, const Location& where);
  // `slot` in exactly this shape, or a mistake that names what it is.
  SlotId fit(SlotId slot, ShapeId shape, const char* operation, const char* what, const Location& where);
  bool check_shape(const char* operation, const Shape& dimensions, const Location& where);

  // ---- regions
  std::uint32_t open_construct(Construct construct, std::span<const SlotId> inputs);
  void next_region(std::span<const SlotId> inputs);
  void close_construct(std::span<const SlotId> inputs);
  // The innermost construct of one of these forms, after closing (with a mistake) what an exception left open in it.
  bool unwind_to(Construct::Form form);
  void note_effect(trace::Effect effect);
  void finish();  // closes what return_if opened

 private:
  void check_order_of_temporaries(Opcode opcode, std::span<const SlotId> inputs, const Location& where);
  std::uint32_t add_node(Node::Form form, Opcode opcode, std::span<const SlotId> inputs, const Location& where);
  friend void check_effects_of_a_line(Recording&);
};

// Whether the value of slot `later` was computed from the results of node `earlier`.
bool depends_on(const Recording& recording, SlotId later, std::uint32_t earlier);
// Two value-returning effects on one line, one a write, neither computed from the other: C++ leaves their order open.
void check_effects_of_a_line(Recording& recording);

// The recording of this thread; throws Error(invalid_kernel) where there is none.
Recording& current(const char* operation, const Location& where);
Recording* current_or_null();

std::string shape_text(const Shape& shape);
// `words` and the line of `where`, if it is of the file of `near`; a library's line would not help anyone.
std::string at_line(const char* words, const Location& where, const Location& near);

// All mistakes as one error.
[[noreturn]] void throw_mistakes(const std::string& kernel, std::vector<Mistake> mistakes);

// The log as an SSA form in canonical order: only `body` and `sites` are filled. Mistakes that only this form shows are
// added to the recording; then the result is meaningless.
trace::Trace build_trace(Recording& recording);

}  // namespace teeny::lang
