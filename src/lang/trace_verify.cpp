// Scopes: every value defined once, before its uses and in a region that encloses them; terminators where they belong.
#include "lang/trace_verify.hpp"

namespace teeny::trace {

namespace {

class Verifier {
 public:
  explicit Verifier(const Body& body)
      : body_(body), defined_(body.types.size(), false), visible_(body.types.size(), false) {}

  std::string verify() {
    for (std::size_t i = 0; i < body_.types.size() && wrong_.empty(); ++i) check_type(i);
    if (!wrong_.empty()) return wrong_;
    if (!body_.region.arguments.empty()) return "the body's region takes no arguments; parameters are listed beside it";
    for (const ValueId parameter : body_.parameters) {
      if (!define(parameter)) return "parameters: " + wrong_;
      const Type& type = body_.types[parameter];
      if (!type.shape.empty() || type.form == Type::Form::descriptor)
        return "parameters: a kernel takes scalars and pointers; got " + to_text(type);
    }
    region(body_.region, nullptr, 0, false);
    if (!wrong_.empty()) return wrong_;
    for (std::size_t i = 0; i < defined_.size(); ++i)
      if (!defined_[i]) return "value %" + std::to_string(i) + " is never defined";
    return {};
  }

 private:
  bool fail(const std::string& text) {
    if (wrong_.empty()) wrong_ = text;
    return false;
  }
  void check_type(std::size_t index) {
    const Type& type = body_.types[index];
    const std::string name = "value %" + std::to_string(index) + ": ";
    if (static_cast<int>(type.dtype) >= dtype_count || type.form > Type::Form::descriptor) {
      fail(name + "has an unknown type");
      return;
    }
    if (type.shape.size() > static_cast<std::size_t>(max_rank))
      fail(name + "rank is at most " + std::to_string(max_rank));
    std::int64_t elements = 1;
    for (const std::int64_t extent : type.shape) {
      if (extent < 1) fail(name + "extents are at least 1; got " + std::to_string(extent));
      if (!wrong_.empty()) return;
      if (extent > max_elements / elements) fail(name + "has more than " + std::to_string(max_elements) + " elements");
      if (!wrong_.empty()) return;
      elements *= extent;
    }
    if (type.form == Type::Form::element && type.read_only) fail(name + "only pointers and descriptors are read-only");
    if (type.form == Type::Form::descriptor && type.shape.empty()) fail(name + "a descriptor needs a block shape");
  }
  bool define(ValueId value) {
    if (value >= body_.types.size()) return fail("value %" + std::to_string(value) + " has no type");
    if (defined_[value]) return fail("value %" + std::to_string(value) + " is defined twice");
    defined_[value] = visible_[value] = true;
    return true;
  }
  static bool is_terminator(Opcode opcode) { return opcode == Opcode::yield || opcode == Opcode::condition; }
  static bool is_combine(const Operation* operation) {
    return operation && (operation->opcode == Opcode::reduce || operation->opcode == Opcode::scan);
  }

  void region(const Region& region, const Operation* owner, int depth, bool in_combine) {
    std::vector<ValueId> here(region.arguments);
    for (const ValueId argument : region.arguments)
      if (!define(argument)) return;
    for (std::size_t i = 0; i < region.operations.size() && wrong_.empty(); ++i) {
      const Operation& current = region.operations[i];
      const std::uint32_t number = number_++;
      if (static_cast<int>(current.opcode) >= opcode_count()) {
        fail("operation " + std::to_string(number) + ": has an unknown opcode");
        return;
      }
      const bool last = owner && i + 1 == region.operations.size();
      operation(current, last, depth, in_combine);
      if (!wrong_.empty() && wrong_.rfind("operation ", 0) != 0)
        wrong_ = "operation " + std::to_string(number) + ", " + info(current.opcode).name + ": " + wrong_;
      here.insert(here.end(), current.results.begin(), current.results.end());
    }
    if (owner && region.operations.empty()) fail("a region must end in yield or condition; got an empty one");
    for (const ValueId value : here)
      if (value < visible_.size()) visible_[value] = false;
  }

  void operation(const Operation& operation, bool last, int depth, bool in_combine) {
    if (is_terminator(operation.opcode) && !last) fail("may only end a region inside an operation");
    if (last && !is_terminator(operation.opcode)) fail("a region must end in yield or condition");
    for (const ValueId operand : operation.operands) {
      if (operand >= body_.types.size()) fail("operand %" + std::to_string(operand) + " has no type");
      else if (!visible_[operand]) fail("operand %" + std::to_string(operand) + " is not defined here");
    }
    if (in_combine) combine_operation(operation);
    if (operation.regions.size() > 0 && depth >= max_depth)
      fail("nests more than " + std::to_string(max_depth) + " regions");
    if (!wrong_.empty()) return;
    inner_regions(operation, depth, in_combine);
    if (!wrong_.empty()) return;
    for (const ValueId result : operation.results)
      if (!define(result)) return;
    if (const std::string wrong = OperationVerifier(body_, operation).verify(); !wrong.empty()) fail(wrong);
  }
  void inner_regions(const Operation& operation, int depth, bool in_combine) {
    std::vector<bool> outside;
    if (is_combine(&operation)) {  // these see nothing from outside
      outside = visible_;
      visible_.assign(visible_.size(), false);
    }
    for (const Region& inner : operation.regions)
      region(inner, &operation, depth + 1, in_combine || is_combine(&operation));
    if (is_combine(&operation)) visible_ = std::move(outside);
  }
  void combine_operation(const Operation& operation) {
    const OperationInfo& what = info(operation.opcode);
    if (what.effect != Effect::pure && what.effect != Effect::control) fail("has an effect inside a combine region");
    for (const ValueId result : operation.results)
      if (result < body_.types.size() && !body_.types[result].shape.empty())
        fail("a combine region computes on rank 0");
  }

  const Body& body_;
  std::vector<bool> defined_, visible_;
  std::uint32_t number_ = 0;
  std::string wrong_;
};

}  // namespace

std::string verify(const Body& body) { return Verifier(body).verify(); }

}  // namespace teeny::trace
