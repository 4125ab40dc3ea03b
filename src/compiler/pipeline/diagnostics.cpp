#include "compiler/pipeline/diagnostics.hpp"

#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Location.h>
#include <nlohmann/json.hpp>

#include "compiler/import/operation_number.hpp"

namespace teeny::compiler {

namespace {

const char* severity_name(mlir::DiagnosticSeverity severity) {
  switch (severity) {
    case mlir::DiagnosticSeverity::Error:
      return "error";
    case mlir::DiagnosticSeverity::Warning:
      return "warning";
    default:
      return "note";
  }
}

std::string location_text(mlir::Location location) {
  std::string text;
  if (auto place = location->findInstanceOf<mlir::FileLineColLoc>()) {
    llvm::raw_string_ostream stream(text);
    stream << place.getFilename().getValue() << ':' << place.getLine() << ':' << place.getColumn();
  }
  return text;
}

}  // namespace

DiagnosticLog::DiagnosticLog(mlir::MLIRContext& context) : context_(context) {
  handler_ = context.getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) {
    CompileMessage message{severity_name(diagnostic.getSeverity()), diagnostic.str(), {}, -1, {}, {}};
    if (auto number = operation_number(diagnostic.getLocation()))
      message.operation = static_cast<int>(*number);
    else
      message.location = location_text(diagnostic.getLocation());
    add(std::move(message));
    return mlir::success();
  });
}

// "…\nhelp: …" is how teeny's own messages say what to do.
void DiagnosticLog::add(CompileMessage message) {
  if (auto at = message.message.find("\nhelp: "); at != std::string::npos) {
    message.help = message.message.substr(at + 7);
    message.message.resize(at);
  }
  messages_.push_back(std::move(message));
}

DiagnosticLog::~DiagnosticLog() { context_.getDiagEngine().eraseHandler(handler_); }

void DiagnosticLog::set_code(std::string_view code) {
  for (CompileMessage& message : messages_)
    if (message.severity == "error" && message.code.empty()) message.code = code;
}

bool DiagnosticLog::has_error() const {
  for (const CompileMessage& message : messages_)
    if (message.severity == "error") return true;
  return false;
}

std::string to_json(const std::vector<CompileMessage>& messages) {
  nlohmann::json list = nlohmann::json::array();
  for (const CompileMessage& message : messages) {
    nlohmann::json entry = {{"severity", message.severity},
                            {"message", message.message},
                            {"help", message.help},
                            {"operation", message.operation},
                            {"location", message.location}};
    if (!message.code.empty()) entry["code"] = message.code;
    list.push_back(std::move(entry));
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace teeny::compiler
