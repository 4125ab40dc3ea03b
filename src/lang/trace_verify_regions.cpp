// The rules of operations with regions, of hints and of debugging.
#include "lang/trace_verify.hpp"

#include <algorithm>

namespace teeny::trace {

namespace {

std::string list_text(const std::vector<Type>& types) {
  std::string text = "(";
  for (std::size_t i = 0; i < types.size(); ++i) text += (i ? ", " : "") + to_text(types[i]);
  return text + ")";
}

const Type boolean{DType::boolean, Type::Form::element, false, {}};

}  // namespace

std::vector<Type> OperationVerifier::operand_types(std::size_t from) const {
  std::vector<Type> types;
  for (std::size_t i = from; i < operands(); ++i) types.push_back(operand(i));
  return types;
}

std::vector<Type> OperationVerifier::result_types() const {
  std::vector<Type> types;
  for (std::size_t i = 0; i < operation_.results.size(); ++i) types.push_back(result(i));
  return types;
}

bool OperationVerifier::region_arguments(std::size_t region, const std::vector<Type>& types) {
  std::vector<Type> have;
  for (const ValueId argument : operation_.regions[region].arguments) have.push_back(body_.types[argument]);
  return rule(have == types,
              "region " + std::to_string(region) + " takes " + list_text(types) + ", has " + list_text(have));
}

// `skip` leading operands of the terminator (the condition) are checked by the caller.
bool OperationVerifier::region_ends(std::size_t region, Opcode terminator, const std::vector<Type>& types,
                                    std::size_t skip) {
  const Operation& end = operation_.regions[region].operations.back();
  std::vector<Type> have;
  for (std::size_t i = skip; i < end.operands.size(); ++i) have.push_back(body_.types[end.operands[i]]);
  return rule(end.opcode == terminator && end.operands.size() >= skip && have == types,
              "region " + std::to_string(region) + " ends in " + info(terminator).name + " of " + list_text(types) +
                  ", has " + info(end.opcode).name + " of " + list_text(have));
}

void OperationVerifier::combine() {
  const bool scans = operation_.opcode == Opcode::scan;
  if (!rule(operands() >= 1, "takes a tensor") || !counts(operands(), operands(), scans ? 2 : 1)) return;
  const std::vector<std::int64_t> shape = operand(0).shape;
  if (!rule(!shape.empty(), "takes rank 1 or more")) return;
  if (!attribute_in(0, 0, static_cast<std::int64_t>(shape.size()) - 1, "axis")) return;
  if (scans && !attribute_in(1, 0, 1, "reverse")) return;
  std::vector<std::int64_t> wanted = shape;
  if (!scans) wanted.erase(wanted.begin() + attribute(0));
  std::vector<Type> elements;
  for (std::size_t i = 0; i < operands(); ++i) {
    Type type = operand(i);
    if (!rule(type.form == Form::element && type.shape == shape, "takes elements of one shape")) return;
    type.shape = wanted;
    if (!rule(result(i) == type, "gives " + to_text(type) + " for operand " + std::to_string(i))) return;
    type.shape.clear();
    elements.push_back(type);
  }
  std::vector<Type> both = elements;
  both.insert(both.end(), elements.begin(), elements.end());
  if (region_arguments(0, both)) region_ends(0, Opcode::yield, elements);
}

void OperationVerifier::for_loop() {
  if (!rule(operands() >= 3, "takes lower, upper, step and initial values") || !counts(operands(), operands() - 3, 2))
    return;
  const Type& index = operand(0);
  const bool integer =
      index.form == Form::element && (index.dtype == DType::i32 || index.dtype == DType::i64) && index.shape.empty();
  if (!rule(integer && operand(1) == index && operand(2) == index,
            "takes bounds and step of rank 0, all i32 or all i64"))
    return;
  if (!attribute_in(0, 0, 64, "stages") || !attribute_in(1, 0, 1024, "unroll")) return;
  const std::vector<Type> carried = operand_types(3);
  std::vector<Type> arguments = carried;
  arguments.insert(arguments.begin(), index);
  if (!region_arguments(0, arguments) || !region_ends(0, Opcode::yield, carried)) return;
  rule(result_types() == carried, "gives the carried values' types");
}

void OperationVerifier::while_loop() {
  if (!rule(operation_.integers.empty(), "takes no attributes")) return;
  const std::vector<Type> initial = operand_types(0), carried = result_types();
  const Operation& end = operation_.regions[0].operations.back();
  if (!region_arguments(0, initial) || !region_ends(0, Opcode::condition, carried, 1)) return;
  rule(body_.types[end.operands[0]] == boolean, "condition takes a rank-0 bool first");
  if (region_arguments(1, carried)) region_ends(1, Opcode::yield, initial);
}

void OperationVerifier::if_else() {
  if (!rule(operation_.integers.empty(), "takes no attributes") || !rule(operand(0) == boolean, "takes a rank-0 bool"))
    return;
  for (std::size_t region = 0; region < 2; ++region)
    if (!region_arguments(region, {}) || !region_ends(region, Opcode::yield, result_types())) return;
}

void OperationVerifier::hint() {
  if (operation_.opcode == Opcode::assume) {
    if (counts(1, 0, 0)) rule(operand(0) == boolean, "takes a rank-0 bool");
    return;
  }
  if (!counts(1, 1, std::max<std::size_t>(1, operand(0).shape.size()))) return;
  const bool pointer = operand(0).form == Form::pointer;
  rule(pointer || (operand(0).form == Form::element && is_integer(operand(0).dtype)), "takes integers or pointers");
  rule(result() == operand(0), "gives the operand's type");
  for (const std::int64_t number : operation_.integers) rule(number >= 1, "promises numbers of at least 1");
}

void OperationVerifier::debug() {
  if (operation_.opcode == Opcode::device_assert) {
    if (!rule(operands() == 1 || operands() == 2, "takes a condition and a mask") || !counts(operands(), 0, 0)) return;
    for (std::size_t i = 0; i < operands(); ++i) {
      const Type& type = operand(i);
      rule(type.form == Form::element && type.dtype == DType::boolean && type.shape == operand(0).shape,
           "takes bool, the mask of the condition's shape");
    }
    return;
  }
  if (!counts(operands(), 0, 0)) return;
  for (std::size_t i = 0; i < operands(); ++i)
    rule(operand(i).form != Form::descriptor, "prints elements and pointers");
}

}  // namespace teeny::trace
