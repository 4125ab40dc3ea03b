// The body as text: one line an operation, operands and results by number, types after a colon.
#include <cstdio>
#include <cstring>

#include "lang/trace.hpp"

namespace teeny::trace {

namespace {

float float_from(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// An f16's value, exactly.
float half_from(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31, fraction = bits & 0x3ff;
  if (exponent == 31) return float_from(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return float_from(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

std::string float_text(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

std::string constant_text(DType type, std::uint64_t bits) {
  switch (type) {
    case DType::boolean: return bits ? "true" : "false";
    case DType::i8: return std::to_string(static_cast<std::int8_t>(bits));
    case DType::i16: return std::to_string(static_cast<std::int16_t>(bits));
    case DType::i32: return std::to_string(static_cast<std::int32_t>(bits));
    case DType::i64: return std::to_string(static_cast<std::int64_t>(bits));
    case DType::f16: return float_text(half_from(static_cast<std::uint32_t>(bits)), 9);
    case DType::bf16: return float_text(float_from(static_cast<std::uint32_t>(bits) << 16), 9);
    case DType::f32: return float_text(float_from(static_cast<std::uint32_t>(bits)), 9);
    case DType::f64: {
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      return float_text(value, 17);
    }
    default: return std::to_string(bits);
  }
}

class Printer {
 public:
  explicit Printer(const Body& body) : body_(body) {}

  std::string print() {
    text_ = "kernel(";
    arguments(body_.parameters);
    text_ += ") {\n";
    operations(body_.region, 1);
    return text_ + "}\n";
  }

 private:
  std::string type_of(ValueId value) const { return value < body_.types.size() ? to_text(body_.types[value]) : "?"; }

  void arguments(const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      text_ += (i ? ", %" : "%") + std::to_string(values[i]) + ": " + type_of(values[i]);
  }
  void names(const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) text_ += (i ? ", %" : "%") + std::to_string(values[i]);
  }
  void quoted(const std::string& text) {
    text_ += " \"";
    for (const unsigned char c : text) {
      char escape[5];
      std::snprintf(escape, sizeof(escape), "\\x%02x", c);
      if (c == '"' || c == '\\') (text_ += '\\') += static_cast<char>(c);
      else if (c < 0x20) text_ += escape;
      else text_ += static_cast<char>(c);
    }
    text_ += '"';
  }
  void attributes(const Operation& operation) {
    if (operation.opcode == Opcode::constant && operation.integers.size() == 1 && operation.results.size() == 1 &&
        operation.results[0] < body_.types.size()) {
      text_ += ' ' + constant_text(body_.types[operation.results[0]].dtype,
                                   static_cast<std::uint64_t>(operation.integers[0]));
      return;
    }
    if (operation.integers.empty()) return;
    text_ += " [";
    for (std::size_t i = 0; i < operation.integers.size(); ++i)
      text_ += (i ? ", " : "") + std::to_string(operation.integers[i]);
    text_ += ']';
  }
  void operations(const Region& region, int depth) {
    for (const Operation& operation : region.operations) {
      text_.append(2 * static_cast<std::size_t>(depth), ' ');
      names(operation.results);
      if (!operation.results.empty()) text_ += " = ";
      text_ += info(operation.opcode).name;
      if (!operation.operands.empty()) text_ += ' ';
      names(operation.operands);
      attributes(operation);
      if (!operation.text.empty()) quoted(operation.text);
      for (std::size_t i = 0; i < operation.results.size(); ++i)
        text_ += (i ? ", " : " : ") + type_of(operation.results[i]);
      for (const Region& inner : operation.regions) {
        text_ += " {(";
        arguments(inner.arguments);
        text_ += ")\n";
        if (depth < max_depth) operations(inner, depth + 1);
        text_.append(2 * static_cast<std::size_t>(depth), ' ');
        text_ += '}';
      }
      text_ += '\n';
    }
  }

  const Body& body_;
  std::string text_;
};

}  // namespace

std::string to_text(const Body& body) { return Printer(body).print(); }

std::string to_text(const Type& type) {
  std::string text = name_of(type.dtype);
  if (type.read_only) text = "const " + text;
  if (type.form == Type::Form::pointer) text = "ptr<" + text + ">";
  if (type.form == Type::Form::descriptor) text = "descriptor<" + text + ">";
  if (type.shape.empty()) return text;
  text += '[';
  for (std::size_t i = 0; i < type.shape.size(); ++i) text += (i ? ", " : "") + std::to_string(type.shape[i]);
  return text + ']';
}

}  // namespace teeny::trace
