// The trace: a kernel body as an SSA form in plain C++. It is what recording produces, what is hashed, serialised,
// differentiated and fused, and what the compiler turns one to one into the tt dialect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <teeny/detail/opcode.hpp>
#include <teeny/dtype.hpp>

namespace teeny::trace {

// Raised whenever the meaning of a serialised trace changes; a compiler refuses another version.
inline constexpr std::uint32_t format_version = 1;

// What a verified body keeps to: elements of one value, its rank, and regions inside regions.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 20;
inline constexpr int max_rank = 8;
inline constexpr int max_depth = 64;

enum class Kind : std::uint8_t { unary, binary, comparison, ternary, leaf, shape, memory, matrix, region, control, hint, debug };
enum class Effect : std::uint8_t { pure, read, write, control };
enum class Elements : std::uint8_t { any, number, integer, floating, integer_or_bool, boolean, special };

// What operations.def says of an operation.
struct OperationInfo {
  Opcode opcode;
  const char* name;
  Kind kind;
  Effect effect;
  int operands;  // -1: varies
  Elements elements;
  const char* meaning;
};
const OperationInfo& info(Opcode opcode);
int opcode_count();

enum class AtomicKind : std::int64_t { add, max, min, bit_and, bit_or, bit_xor, exchange };
enum class MemoryOrder : std::int64_t { relaxed, acquire, release, acquire_release };
enum class MemoryScope : std::int64_t { group, device, system };
enum class CacheHint : std::int64_t { none, ca, cg, cs, cv, wb, wt };
enum class EvictionHint : std::int64_t { normal, first, last };
// fast: f32 operands rounded to tf32 (nearest, ties away); fast_x3: three products; ieee: f32 throughout.
// Operands that are not f32 carry ieee.
enum class DotPrecision : std::int64_t { ieee, fast, fast_x3 };

using ValueId = std::uint32_t;

// A value's type. A pointer's dtype is its pointee's. A descriptor's shape is its block shape, and its values have rank >= 1.
struct Type {
  enum class Form : std::uint8_t { element, pointer, descriptor };
  DType dtype = DType::i32;
  Form form = Form::element;
  bool read_only = false;            // a pointer to const
  std::vector<std::int64_t> shape;   // empty: rank 0
  bool operator==(const Type&) const = default;
};

struct Operation;

// A straight line of operations. A region inside an operation ends in yield or condition; the body's own region ends in neither.
struct Region {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
};

struct Operation {
  Opcode opcode;
  std::uint32_t site = 0;                // index into Trace::sites; not part of the serialised body
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<std::int64_t> integers;    // attributes, as operations.def lists them
  std::string text;                      // message or prefix of device_assert and device_print
  std::vector<Region> regions;
};

// The hashed part. Values are numbered 0 … types.size() - 1; every value is defined exactly once.
struct Body {
  std::vector<Type> types;               // by ValueId
  std::vector<ValueId> parameters;       // the kernel's arguments, in order
  Region region;
};

// Where an operation stands in the user's source.
struct Site {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
  bool operator==(const Site&) const = default;
};

// The unhashed part: what messages are made of. Operations are numbered in pre-order (an operation before those in its
// regions); site i belongs to operation i, so that programs made from equal bodies agree on the numbers.
struct Trace {
  Body body;
  std::vector<Site> sites;
  std::string kernel;                                              // for people
  std::vector<std::string> parameter_names;                        // "argument 1" … where not given
  std::vector<std::pair<std::string, std::string>> constants;      // name and value, for people
};

// The body in the one binary form (little-endian, starts with format_version). Equal bodies have equal bytes.
std::vector<std::uint8_t> serialise(const Body& body);
// The inverse; throws teeny::Error on anything that is not a verified body of this version. Sites come out in pre-order.
Body deserialise(const std::uint8_t* bytes, std::size_t size);

// The empty string, or the first thing that is wrong with the body: undefined or doubly defined values, types, regions,
// attributes; as "operation 12, add: rule; got …". Operations are numbered in pre-order from 0. The regions of reduce and
// scan see no value from outside, are free of memory, and compute on rank 0.
std::string verify(const Body& body);

// The body as text, for TEENY_DUMP=trace and tests.
std::string to_text(const Body& body);
std::string to_text(const Type& type);

// Calls visit(operation, depth) in pre-order.
template <class Visit>
void walk(const Region& region, Visit&& visit, int depth = 0) {
  for (const Operation& operation : region.operations) {
    visit(operation, depth);
    for (const Region& inner : operation.regions) walk(inner, visit, depth + 1);
  }
}

}  // namespace teeny::trace
