// The entry: picks the kernel, builds its program, runs the grid, gives back findings.
#include "compiler/interpreter/interpreter.hpp"

#include "compiler/interpreter/build.hpp"
#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

tt::FuncOp kernel_of(mlir::ModuleOp module) {
  for (tt::FuncOp function : module.getOps<tt::FuncOp>())
    if (function.isPublic() && !function.isExternal()) return function;
  return {};
}

Finding launch_finding(std::string message, std::string help) {
  Finding finding;
  finding.kind = "launch";
  finding.message = std::move(message);
  finding.help = std::move(help);
  return finding;
}

void append_text(std::string& json, const std::string& text) {
  json += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (byte < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      json += "\\u00";
      json += digits[byte >> 4];
      json += digits[byte & 15];
    } else {
      json += c;
    }
  }
  json += '"';
}

}  // namespace

Result run(mlir::ModuleOp module, const teeny_interpret_request& request) {
  Result result;
  tt::FuncOp kernel = kernel_of(module);
  if (!kernel) {
    result.findings.push_back(
        launch_finding("interpret: module; got no public tt.func with a body, expected a kernel", "write one kernel"));
    return result;
  }
  Program program;
  Builder builder(module);
  if (!builder.build(kernel, program)) {
    result.findings = builder.findings();
    return result;
  }
  if (request.argument_count != program.arguments.size()) {
    result.findings.push_back(launch_finding(program.name + ": arguments of a launch; got " +
                                                 std::to_string(request.argument_count) + ", expected " +
                                                 std::to_string(program.arguments.size()),
                                             "pass one value for each parameter of the kernel"));
    return result;
  }
  Machine machine(program, request, result);
  machine.run_grid();
  machine.memory().collect_radii(result);
  result.ok = result.findings.empty();
  return result;
}

std::string to_json(const std::vector<Finding>& findings) {
  std::string json = "[";
  for (const Finding& finding : findings) {
    if (json.size() > 1) json += ", ";
    json += "{\"kind\": ";
    append_text(json, finding.kind);
    json += ", \"message\": ";
    append_text(json, finding.message);
    json += ", \"help\": ";
    append_text(json, finding.help);
    json += ", \"operation\": " + std::to_string(finding.operation) + ", \"location\": ";
    append_text(json, finding.location);
    json += ", \"program\": [" + std::to_string(finding.program[0]) + ", " + std::to_string(finding.program[1]) + ", " +
            std::to_string(finding.program[2]) + "], \"lane\": ";
    append_text(json, finding.lane);
    json += ", \"address\": " + std::to_string(finding.address) + "}";
  }
  return json + "]";
}

}  // namespace teeny::compiler::interpreter
