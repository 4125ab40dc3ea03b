// The recorder as the language's templates see it: opaque ids in, opaque ids out, everything out of line. A kernel body
// runs between the opening and closing of a recording on one thread; each C++ object of a run-time type holds a slot of
// it. Mistakes are collected by the recording, never thrown here; a result that follows from a mistake is poisoned and
// silent. Outside of a recording every function but `undefined`, `copy` and `literal` throws
// teeny::Error(invalid_kernel).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>

#include <teeny/detail/opcode.hpp>
#include <teeny/dtype.hpp>
#include <teeny/export.hpp>

namespace teeny::detail {

using Location = std::source_location;
using trace::Opcode;

// What the type of a C++ object says of its value: the element, or the pointee of a pointer.
struct ElementType {
  DType dtype = DType::i32;
  bool pointer = false;
  bool read_only = false;
};

// The id of a C++ object within a recording; recording 0 is none.
struct Value {
  std::uint32_t slot = ~std::uint32_t{0};
  std::uint32_t recording = 0;
  bool present() const { return slot != ~std::uint32_t{0}; }
};

// A list of block sizes, axes or the like.
struct Sizes {
  const int* data = nullptr;
  int count = 0;
};

// ---- objects
TEENY_EXPORT Value undefined(ElementType type, int rank, Location where);
TEENY_EXPORT Value copy(Value from, ElementType type, int rank, Location where);
TEENY_EXPORT void assign(Value to, Value from);           // where: the line that `from` carries
TEENY_EXPORT void assign_filled(Value to, Value scalar);  // a literal takes the variable's shape
TEENY_EXPORT Value literal(DType type, long long value, Location where);
TEENY_EXPORT Value literal(DType type, unsigned long long value, Location where);
TEENY_EXPORT Value literal(DType type, double value, Location where);
TEENY_EXPORT long long size(Value value, int axis);
// The later recorded of the two: where the operator between them stands.
TEENY_EXPORT Location later(Value a, Value b = {});

// ---- element-wise: operands are cast to `operands`, then broadcast against each other
TEENY_EXPORT Value unary(Opcode opcode, Value x, Location where);
TEENY_EXPORT Value binary(Opcode opcode, Value a, Value b, DType operands, DType result, Location where,
                          int attribute = -1);
TEENY_EXPORT Value ternary(Opcode opcode, Value a, Value b, Value c, DType operands, Location where,
                           int attribute = -1);
TEENY_EXPORT Value select(Value condition, Value x, Value y, DType operands, bool pointers, Location where);
TEENY_EXPORT Value add_pointer(Value pointer, Value offset, bool subtract, Location where);
TEENY_EXPORT void compound(Opcode opcode, Value to, Value operand, DType operands);
TEENY_EXPORT void compound_pointer(Value to, Value offset, bool subtract);
TEENY_EXPORT Value cast(Value x, DType type, Location where);
TEENY_EXPORT Value bitcast(Value x, ElementType type, Location where);
TEENY_EXPORT Value ceiling_division(Value a, Value b, DType type, Location where);

// ---- leaves and shape
TEENY_EXPORT Value program_axis(Opcode opcode, int axis, Location where);
TEENY_EXPORT Value arange(long long start, long long end, Location where);
TEENY_EXPORT Value full(Value scalar, Sizes shape, Location where);
TEENY_EXPORT Value full_like(Value scalar, Value shape_of, Location where);
TEENY_EXPORT Value expand_dims(Value x, int axis, Location where);
TEENY_EXPORT Value insert_dimensions(Value x, std::uint32_t new_dimensions, int rank,
                                     Location where);  // a bit for each new one
TEENY_EXPORT Value broadcast_to(Value x, Sizes shape, Location where);
TEENY_EXPORT Value reshape(Value x, Sizes shape, Location where);
TEENY_EXPORT Value transpose(Value x, Sizes order, Location where);
TEENY_EXPORT Value hint(Opcode opcode, Value x, Sizes values, Location where);

// ---- memory; an absent mask or other is Value{}
struct LoadAttributes {
  int cache = 0, eviction = 0;
  bool is_volatile = false;
};
TEENY_EXPORT Value load(Value pointer, Value mask, Value other, LoadAttributes attributes, Location where);
TEENY_EXPORT void store(Value pointer, Value value, Value mask, int cache, int eviction, Location where);
TEENY_EXPORT Value make_descriptor(Value pointer, const Value* shape, const Value* strides, Sizes block,
                                   bool padding_nan, Location where);
TEENY_EXPORT Value copy_descriptor(Value from, Location where);
TEENY_EXPORT Value descriptor_load(Value descriptor, const Value* offsets, int rank, Location where);
TEENY_EXPORT void descriptor_store(Value descriptor, const Value* offsets, int rank, Value value, Location where);
TEENY_EXPORT Value atomic(const char* name, int kind, Value pointer, Value value, Value mask, int order, int scope,
                          Location where);
TEENY_EXPORT Value compare_and_swap(Value pointer, Value expected, Value desired, int order, int scope, Location where);
TEENY_EXPORT void barrier(Location where);

// ---- matrix, reductions; `axis` is null for all axes
TEENY_EXPORT Value dot(Value a, Value b, Value accumulator, DType result, int precision, Location where);
enum class Reduction : std::uint8_t { sum, max, min, argmax, argmin };
TEENY_EXPORT Value reduce(const char* name, Reduction kind, Value x, DType accumulate, const int* axis, bool keep_dims,
                          Location where);
TEENY_EXPORT Value running_sum(Value x, DType accumulate, int axis, bool reverse, Location where);
// Opens the region of a reduce or scan over `inputs`, whose 2 * count arguments it writes to `arguments`; the close
// yields `count` values and writes the results.
TEENY_EXPORT void open_combine(Opcode opcode, const Value* inputs, int count, int axis, bool reverse, Value* arguments,
                               Location where);
TEENY_EXPORT void close_combine(const Value* yields, Value* results, int count);

// ---- control
// `continued` is false when the iteration was left before its end.
TEENY_EXPORT Value open_for(Value lower, Value upper, Value step, DType index, int stages, int unroll, Location where);
TEENY_EXPORT void close_for(bool continued);
// A range that no loop ran over; says nothing outside of a recording, since a destructor calls it.
TEENY_EXPORT void unused_range(Location where);
TEENY_EXPORT void open_if(Value condition, bool returns_value, Location where);
TEENY_EXPORT void next_else();
TEENY_EXPORT void close_if();
TEENY_EXPORT void open_while(Location where);
TEENY_EXPORT void next_body(Value condition);
TEENY_EXPORT void close_while();
TEENY_EXPORT void return_if(Value condition, Location where);

// ---- debugging
TEENY_EXPORT void assume(Value condition, Location where);
TEENY_EXPORT void device_assert(Value condition, Value mask, const char* text, Location where);
TEENY_EXPORT void device_print(const char* text, const Value* values, int count, Location where);
// A mistake found by a template: `operation: rule; got …, expected …` and its help. Empty parts are left out.
TEENY_EXPORT void mistake(const char* operation, const char* rule, const char* help, Location where);

// ---- parameters
TEENY_EXPORT Value parameter(int index);
// The body takes parameter `index` as another number type than the host's.
TEENY_EXPORT Value parameter_as(int index, DType type);

}  // namespace teeny::detail
