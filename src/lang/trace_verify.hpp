// What trace_verify.cpp (scopes, regions) and trace_verify_operations.cpp (one operation's types) share.
#pragma once

#include <string>

#include "lang/trace.hpp"

namespace teeny::trace {

// Checks the types and attributes of one operation whose operands and results all have types. Regions are looked at
// only from outside: their arguments and terminators' operand types, which must exist.
class OperationVerifier {
 public:
  OperationVerifier(const Body& body, const Operation& operation) : body_(body), operation_(operation) {}

  // The empty string, or the broken rule.
  std::string verify();

 private:
  using Form = Type::Form;

  const Type& operand(std::size_t index) const { return body_.types[operation_.operands[index]]; }
  const Type& result(std::size_t index = 0) const { return body_.types[operation_.results[index]]; }
  std::int64_t attribute(std::size_t index) const { return operation_.integers[index]; }
  std::size_t operands() const { return operation_.operands.size(); }

  bool rule(bool holds, const std::string& text);
  bool counts(std::size_t operands, std::size_t results, std::size_t integers);
  bool attribute_in(std::size_t index, std::int64_t low, std::int64_t high, const char* name);
  bool is_mask(std::size_t index, const std::vector<std::int64_t>& shape);
  bool writable(const Type& type);
  std::string got() const;

  void leaf();
  void shape();
  void element_wise();
  void conversion();
  void pointer_step();
  void memory();
  void load();
  void store();
  void descriptor();
  void atomic();
  void dot();
  void combine();
  void for_loop();
  void while_loop();
  void if_else();
  void hint();
  void debug();
  bool region_arguments(std::size_t region, const std::vector<Type>& types);
  bool region_ends(std::size_t region, Opcode terminator, const std::vector<Type>& types, std::size_t skip = 0);
  std::vector<Type> operand_types(std::size_t from) const;
  std::vector<Type> result_types() const;

  const Body& body_;
  const Operation& operation_;
  std::string wrong_;
};

}  // namespace teeny::trace
