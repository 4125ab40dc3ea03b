#include "fixture.hpp"

#include <algorithm>

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/Parser/Parser.h>

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler::interpreter {

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string& text) {
  static mlir::MLIRContext* context = [] {
    auto* made = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<tt::TTDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                      mlir::cf::ControlFlowDialect, mlir::ub::UBDialect>();
    return made;
  }();
  return mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(context), "kernel.mlir");
}

Result Launch::run() {
  auto module = parse(text_);
  if (!module) {
    ADD_FAILURE() << "the kernel does not parse";
    return {};
  }
  if (change_) change_(*module);
  teeny_interpret_request request = {};
  request.arguments = arguments_.data();
  request.argument_count = arguments_.size();
  std::copy(grid_.begin(), grid_.end(), request.grid);
  request.ranges = ranges_.data();
  request.range_count = ranges_.size();
  request.check = check_;
  request.radius = radius_;
  request.max_findings = limit_;
  request.print = [](void* context, const char* text, std::size_t size) {
    static_cast<std::string*>(context)->append(text, size);
  };
  request.print_context = &printed_;
  return interpreter::run(*module, request);
}

std::string map_kernel(int n, const std::vector<std::string>& inputs, const std::string& output,
                       const std::string& body) {
  const std::string shape = std::to_string(n) + "x";
  std::string head = "tt.func @map(", text;
  text +=
      "  %lanes = tt.make_range {end = " + std::to_string(n) + " : i32, start = 0 : i32} : tensor<" + shape + "i32>\n";
  auto pointers = [&](const std::string& name, const std::string& type) {
    const std::string pointer = "tensor<" + shape + "!tt.ptr<" + type + ">>";
    text += "  %" + name + "s = tt.splat %" + name + " : !tt.ptr<" + type + "> -> " + pointer + "\n";
    text += "  %" + name + "p = tt.addptr %" + name + "s, %lanes : " + pointer + ", tensor<" + shape + "i32>\n";
    return pointer;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string number = std::to_string(i);
    head += "%in" + number + ": !tt.ptr<" + inputs[i] + ">, ";
    const std::string pointer = pointers("in" + number, inputs[i]);
    text += "  %x" + number + " = tt.load %in" + number + "p : " + pointer + "\n";
  }
  head += "%out: !tt.ptr<" + output + ">) {\n";
  text += body;
  const std::string pointer = pointers("out", output);
  return head + text + "  tt.store %outp, %r : " + pointer + "\n  tt.return\n}\n";
}

std::string scalar_kernel(const std::vector<std::string>& inputs, const std::string& output, const std::string& body) {
  std::string text = "tt.func @scalars(";
  for (std::size_t i = 0; i < inputs.size(); ++i) text += "%x" + std::to_string(i) + ": " + inputs[i] + ", ";
  return text + "%out: !tt.ptr<" + output + ">) {\n" + body + "  tt.store %out, %r : !tt.ptr<" + output +
         ">\n  tt.return\n}\n";
}

std::string line_of(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  return at == std::string::npos
             ? "absent"
             : std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

std::string line_of(const Finding& finding) {
  const std::size_t first = finding.location.find(':'), last = finding.location.rfind(':');
  return first == last ? finding.location : finding.location.substr(first + 1, last - first - 1);
}

}  // namespace teeny::compiler::interpreter
