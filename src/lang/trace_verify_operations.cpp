// The rules of operations.def, one function a kind of operation.
#include <limits>

#include "lang/trace_verify.hpp"

namespace teeny::trace {

namespace {

bool is_element(const Type& type) { return type.form == Type::Form::element; }
bool is_pointer(const Type& type) { return type.form == Type::Form::pointer; }
bool is_bool(const Type& type) { return is_element(type) && type.dtype == DType::boolean; }
bool is_scalar(const Type& type, DType dtype) { return is_element(type) && type.dtype == dtype && type.shape.empty(); }
// What a pointer or descriptor's memory holds, in `shape`.
Type element_of(const Type& type, std::vector<std::int64_t> shape) {
  return {type.dtype, Type::Form::element, false, std::move(shape)};
}

bool fits(Elements elements, const Type& type) {
  if (!is_element(type)) return false;
  switch (elements) {
    case Elements::any: return true;
    case Elements::number: return type.dtype != DType::boolean;
    case Elements::integer: return is_integer(type.dtype);
    case Elements::floating: return is_float(type.dtype);
    case Elements::integer_or_bool: return is_integer(type.dtype) || type.dtype == DType::boolean;
    case Elements::boolean: return type.dtype == DType::boolean;
    case Elements::special: return true;
  }
  return false;
}

const char* name_of(Elements elements) {
  constexpr const char* names[] = {"elements", "numbers", "integers", "floats", "integers or masks", "masks", "values"};
  return names[static_cast<int>(elements)];
}

}  // namespace

std::string OperationVerifier::got() const {
  std::string text = "; got ";
  for (std::size_t i = 0; i < operands(); ++i) text += (i ? ", " : "") + to_text(operand(i));
  for (std::size_t i = 0; i < operation_.results.size(); ++i) text += (i ? ", " : " -> ") + to_text(result(i));
  return text;
}

bool OperationVerifier::rule(bool holds, const std::string& text) {
  if (!holds && wrong_.empty()) wrong_ = text + got();
  return holds;
}

bool OperationVerifier::counts(std::size_t operand_count, std::size_t result_count, std::size_t integer_count) {
  const std::string attributes =
      "takes " + std::to_string(integer_count) + " attributes, has " + std::to_string(operation_.integers.size());
  return rule(operands() == operand_count, "takes " + std::to_string(operand_count) + " operands") &&
         rule(operation_.results.size() == result_count, "gives " + std::to_string(result_count) + " results") &&
         rule(operation_.integers.size() == integer_count, attributes);
}

bool OperationVerifier::attribute_in(std::size_t index, std::int64_t low, std::int64_t high, const char* name) {
  return rule(attribute(index) >= low && attribute(index) <= high, std::string(name) + " is " + std::to_string(low) +
                                                                       " to " + std::to_string(high) + ", but says " +
                                                                       std::to_string(attribute(index)));
}

bool OperationVerifier::is_mask(std::size_t index, const std::vector<std::int64_t>& shape) {
  return rule(is_bool(operand(index)) && operand(index).shape == shape, "the mask is bool of the pointer's shape");
}

bool OperationVerifier::writable(const Type& type) {
  return rule(!type.read_only, "does not write through a pointer to const");
}

std::string OperationVerifier::verify() {
  const OperationInfo& what = info(operation_.opcode);
  if (what.operands >= 0)
    rule(operands() == static_cast<std::size_t>(what.operands), "takes " + std::to_string(what.operands) + " operands");
  const bool speaks = what.kind == Kind::debug;
  rule(speaks || operation_.text.empty(), "carries no text");
  std::size_t regions = 0;
  if (what.kind == Kind::region || operation_.opcode == Opcode::for_loop) regions = 1;
  if (operation_.opcode == Opcode::while_loop || operation_.opcode == Opcode::if_else) regions = 2;
  rule(operation_.regions.size() == regions, "has " + std::to_string(regions) + " regions");
  if (!wrong_.empty()) return wrong_;
  switch (what.kind) {
    case Kind::leaf: leaf(); break;
    case Kind::shape: shape(); break;
    case Kind::unary:
      if (operation_.opcode == Opcode::cast || operation_.opcode == Opcode::bitcast) conversion();
      else element_wise();
      break;
    case Kind::binary:
      if (operation_.opcode == Opcode::addptr) pointer_step();
      else element_wise();
      break;
    case Kind::comparison:
    case Kind::ternary: element_wise(); break;
    case Kind::memory: memory(); break;
    case Kind::matrix: dot(); break;
    case Kind::region: combine(); break;
    case Kind::control:
      if (operation_.opcode == Opcode::for_loop) for_loop();
      else if (operation_.opcode == Opcode::while_loop) while_loop();
      else if (operation_.opcode == Opcode::if_else) if_else();
      else rule(operation_.results.empty() && operation_.integers.empty(), "has neither results nor attributes");
      break;
    case Kind::hint: hint(); break;
    case Kind::debug: debug(); break;
  }
  return wrong_;
}

void OperationVerifier::leaf() {
  const bool range = operation_.opcode == Opcode::arange;
  if (!counts(0, 1, range ? 2 : 1)) return;
  if (operation_.opcode == Opcode::constant) {
    const int bits = bits_of(result().dtype);
    rule(is_element(result()) && result().shape.empty(), "gives a rank-0 element");
    rule(bits == 64 || static_cast<std::uint64_t>(attribute(0)) >> bits == 0, "has bits beyond its type's width");
  } else if (range) {
    constexpr std::int64_t low = std::numeric_limits<std::int32_t>::min(),
                           high = std::numeric_limits<std::int32_t>::max();
    if (!attribute_in(0, low, high, "start") || !attribute_in(1, low, high, "end")) return;
    if (!rule(attribute(1) > attribute(0), "needs end > start")) return;
    rule(result() == Type{DType::i32, Form::element, false, {attribute(1) - attribute(0)}},
         "gives i32 of end - start elements");
  } else {
    attribute_in(0, 0, 2, "axis");
    rule(is_scalar(result(), DType::i32), "gives a rank-0 i32");
  }
}

void OperationVerifier::shape() {
  const bool order = operation_.opcode == Opcode::trans, axis = operation_.opcode == Opcode::expand_dims;
  const std::vector<std::int64_t> from = operand(0).shape;
  if (!counts(1, 1, order ? from.size() : axis ? 1 : 0)) return;
  const std::vector<std::int64_t>& to = result().shape;
  Type same = operand(0);
  same.shape = to;
  if (!rule(operand(0).form != Form::descriptor && same == result(), "keeps the element type")) return;
  if (!rule(!to.empty(), "gives rank 1 or more")) return;
  if (operation_.opcode == Opcode::splat) {
    rule(from.empty(), "takes rank 0");
    return;
  }
  if (!rule(!from.empty(), "takes rank 1 or more")) return;
  if (axis) {
    if (!attribute_in(0, 0, static_cast<std::int64_t>(from.size()), "axis")) return;
    std::vector<std::int64_t> wanted = from;
    wanted.insert(wanted.begin() + attribute(0), 1);
    rule(to == wanted, "gives the operand's shape with a 1 at axis " + std::to_string(attribute(0)));
  } else if (operation_.opcode == Opcode::broadcast) {
    bool holds = to.size() == from.size();
    for (std::size_t i = 0; holds && i < to.size(); ++i) holds = from[i] == to[i] || from[i] == 1;
    rule(holds, "repeats dimensions of size 1 and keeps the others and the rank");
  } else if (operation_.opcode == Opcode::reshape) {
    std::int64_t before = 1, after = 1;
    for (const std::int64_t extent : from) before *= extent;
    for (const std::int64_t extent : to) after *= extent;
    rule(before == after, "keeps the number of elements");
  } else {
    bool holds = to.size() == from.size();
    std::vector<bool> seen(from.size(), false);
    for (std::size_t i = 0; holds && i < from.size(); ++i) {
      const std::int64_t source = attribute(i);
      holds = source >= 0 && source < static_cast<std::int64_t>(from.size()) && !seen[source] && to[i] == from[source];
      if (holds) seen[source] = true;
    }
    rule(holds, "permutes dimensions: the order names each once, and result dimension i is operand dimension order[i]");
  }
}

void OperationVerifier::element_wise() {
  const Opcode opcode = operation_.opcode;
  const OperationInfo& what = info(opcode);
  const bool flag = opcode == Opcode::minimum || opcode == Opcode::maximum || opcode == Opcode::clamp;
  if (!counts(static_cast<std::size_t>(what.operands), 1, flag ? 1 : 0)) return;
  if (flag && !attribute_in(0, 0, 1, "propagate_nan")) return;
  if (opcode == Opcode::where) {
    rule(is_bool(operand(0)) && operand(0).shape == operand(1).shape, "needs a bool mask of the values' shape");
    rule(operand(1).form != Form::descriptor && operand(1) == operand(2) && operand(1) == result(),
         "needs values and result of one type");
    return;
  }
  for (std::size_t i = 0; i < operands(); ++i) {
    if (!rule(fits(what.elements, operand(i)), std::string("takes ") + name_of(what.elements))) return;
    if (!rule(operand(i) == operand(0), "needs operands of one element type and shape")) return;
  }
  if (opcode == Opcode::umulhi) rule(bits_of(operand(0).dtype) >= 32, "takes 32- or 64-bit integers");
  Type wanted = operand(0);
  if (what.kind == Kind::comparison) wanted.dtype = DType::boolean;
  rule(result() == wanted, "gives " + to_text(wanted));
}

void OperationVerifier::conversion() {
  if (!counts(1, 1, 0)) return;
  const Type &from = operand(0), &to = result();
  if (!rule(from.shape == to.shape, "keeps the shape")) return;
  if (operation_.opcode == Opcode::cast) {
    rule(is_element(from) && is_element(to), "converts elements");
    return;
  }
  if (!rule(from.form == to.form && from.form != Form::descriptor,
            "turns elements into elements and pointers into pointers"))
    return;
  if (is_pointer(from)) rule(!from.read_only || to.read_only, "keeps a pointer to const one");
  else rule(bits_of(from.dtype) == bits_of(to.dtype), "keeps the width");
}

void OperationVerifier::pointer_step() {
  if (!counts(2, 1, 0)) return;
  rule(is_pointer(operand(0)) && is_element(operand(1)) && is_integer(operand(1).dtype),
       "takes a pointer and an integer");
  rule(operand(0).shape == operand(1).shape, "needs pointer and offset of one shape");
  rule(result() == operand(0), "gives the pointer's type");
}

void OperationVerifier::memory() {
  switch (operation_.opcode) {
    case Opcode::load: load(); break;
    case Opcode::store: store(); break;
    case Opcode::make_descriptor:
    case Opcode::descriptor_load:
    case Opcode::descriptor_store: descriptor(); break;
    case Opcode::atomic_rmw:
    case Opcode::atomic_cas: atomic(); break;
    default: counts(0, 0, 0); break;  // barrier
  }
}

void OperationVerifier::load() {
  if (!rule(operation_.integers.size() == 5, "takes 5 attributes")) return;
  if (!attribute_in(0, 0, 1, "has_mask") || !attribute_in(1, 0, attribute(0), "has_other")) return;
  if (!counts(static_cast<std::size_t>(1 + attribute(0) + attribute(1)), 1, 5)) return;
  const auto cache = static_cast<CacheHint>(attribute(2));
  rule(cache == CacheHint::none || cache == CacheHint::ca || cache == CacheHint::cg || cache == CacheHint::cs ||
           cache == CacheHint::cv,
       "takes the cache hints none, ca, cg, cs, cv");
  attribute_in(3, 0, 2, "eviction");
  attribute_in(4, 0, 1, "is_volatile");
  if (!rule(is_pointer(operand(0)), "takes a pointer")) return;
  const Type value = element_of(operand(0), operand(0).shape);
  if (attribute(0)) is_mask(1, value.shape);
  if (attribute(1)) rule(operand(2) == value, "`other` is " + to_text(value));
  rule(result() == value, "gives " + to_text(value));
}

void OperationVerifier::store() {
  if (!rule(operation_.integers.size() == 3, "takes 3 attributes") || !attribute_in(0, 0, 1, "has_mask")) return;
  if (!counts(static_cast<std::size_t>(2 + attribute(0)), 0, 3)) return;
  const auto cache = static_cast<CacheHint>(attribute(1));
  rule(cache == CacheHint::none || cache == CacheHint::wb || cache == CacheHint::cg || cache == CacheHint::cs ||
           cache == CacheHint::wt,
       "takes the cache hints none, wb, cg, cs, wt");
  attribute_in(2, 0, 2, "eviction");
  if (!rule(is_pointer(operand(0)), "takes a pointer") || !writable(operand(0))) return;
  const Type value = element_of(operand(0), operand(0).shape);
  rule(operand(1) == value, "stores " + to_text(value));
  if (attribute(0)) is_mask(2, value.shape);
}

void OperationVerifier::descriptor() {
  if (operation_.opcode == Opcode::make_descriptor) {
    const std::size_t rank = operation_.integers.empty() ? 0 : operation_.integers.size() - 1;
    if (!rule(rank >= 1 && rank <= 5, "has [padding_nan, block shape…] of rank 1 to 5") ||
        !counts(1 + 2 * rank, 1, 1 + rank))
      return;
    if (!attribute_in(0, 0, 1, "padding_nan")) return;
    if (!rule(is_pointer(operand(0)) && operand(0).shape.empty(), "takes a rank-0 pointer")) return;
    for (std::size_t i = 1; i < operands(); ++i)
      rule(is_scalar(operand(i), DType::i64), "takes extents and strides as rank-0 i64");
    rule(!attribute(0) || is_float(operand(0).dtype), "pads with NaN only floats");
    const std::vector<std::int64_t> block(operation_.integers.begin() + 1, operation_.integers.end());
    const Type wanted{operand(0).dtype, Form::descriptor, operand(0).read_only, block};
    rule(result() == wanted, "gives " + to_text(wanted));
    return;
  }
  const bool stores = operation_.opcode == Opcode::descriptor_store;
  if (!rule(operands() > (stores ? 1u : 0u) && operand(0).form == Form::descriptor, "takes a descriptor")) return;
  const Type& type = operand(0);
  const std::size_t first = stores ? 2 : 1;
  if (!counts(first + type.shape.size(), stores ? 0 : 1, 0)) return;
  for (std::size_t i = first; i < operands(); ++i)
    rule(is_scalar(operand(i), DType::i32), "takes offsets as rank-0 i32");
  const Type block = element_of(type, type.shape);
  if (stores && writable(type)) rule(operand(1) == block, "stores " + to_text(block));
  if (!stores) rule(result() == block, "gives " + to_text(block));
}

void OperationVerifier::atomic() {
  const bool cas = operation_.opcode == Opcode::atomic_cas;
  if (!rule(operation_.integers.size() == (cas ? 2 : 4),
            "takes [kind, order, scope, has_mask], or [order, scope] for cas"))
    return;
  if (!cas && !attribute_in(3, 0, 1, "has_mask")) return;
  if (!counts(cas ? 3 : static_cast<std::size_t>(2 + attribute(3)), 1, operation_.integers.size())) return;
  attribute_in(cas ? 0 : 1, 0, 3, "order");
  attribute_in(cas ? 1 : 2, 0, 2, "scope");
  if (!cas) attribute_in(0, 0, 6, "kind");
  if (!rule(is_pointer(operand(0)), "takes a pointer") || !writable(operand(0))) return;
  const Type value = element_of(operand(0), operand(0).shape);
  rule(operand(1) == value && result() == value, "takes and gives " + to_text(value));
  const int bits = bits_of(value.dtype);
  if (cas) {
    rule(operand(2) == value, "takes and gives " + to_text(value));
    rule(bits >= 16, "works on 16-, 32- and 64-bit elements");
    return;
  }
  const auto kind = static_cast<AtomicKind>(attribute(0));
  const bool on_bits = kind == AtomicKind::bit_and || kind == AtomicKind::bit_or || kind == AtomicKind::bit_xor;
  rule(bits >= (kind == AtomicKind::add && is_float(value.dtype) ? 16 : 32),
       "works on 32- and 64-bit elements; add also on f16 and bf16");
  rule(!on_bits || is_integer(value.dtype), "combines bits of integers only");
  if (attribute(3)) is_mask(2, value.shape);
}

void OperationVerifier::dot() {
  if (!counts(3, 1, 1) || !attribute_in(0, 0, 2, "precision")) return;
  const Type &a = operand(0), &b = operand(1), &c = operand(2);
  const std::size_t rank = a.shape.size();
  if (!rule(is_element(a) && is_element(b) && is_element(c) && a.dtype == b.dtype,
            "takes elements, a and b of one element type"))
    return;
  bool holds = (rank == 2 || rank == 3) && b.shape.size() == rank && c.shape.size() == rank;
  if (!rule(holds, "takes rank 2, or 3 with a batch")) return;
  holds = a.shape[rank - 1] == b.shape[rank - 2] && c.shape[rank - 2] == a.shape[rank - 2] &&
          c.shape[rank - 1] == b.shape[rank - 1];
  if (rank == 3) holds = holds && a.shape[0] == b.shape[0] && a.shape[0] == c.shape[0];
  rule(holds, "takes [.., M, K], [.., K, N] and [.., M, N]");
  const bool accumulates = a.dtype == DType::i8      ? c.dtype == DType::i32
                           : a.dtype == DType::f16   ? c.dtype == DType::f16 || c.dtype == DType::f32
                           : a.dtype == DType::bf16  ? c.dtype == DType::f32
                           : is_float(a.dtype)       ? c.dtype == a.dtype
                                                     : false;
  rule(accumulates, "accumulates i8 in i32, f16 in f16 or f32, bf16 and f32 in f32, f64 in f64");
  rule(a.dtype == DType::f32 || attribute(0) == 0, "has a choice of precision for f32 only");
  rule(result() == c, "gives the accumulator's type");
}

}  // namespace teeny::trace
