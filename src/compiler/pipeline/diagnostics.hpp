// What a compile has to say, gathered from MLIR and from teeny, as the boundary's JSON.
#pragma once

#include <string>
#include <vector>

#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>

namespace teeny::compiler {

struct CompileMessage {
  std::string severity;      // "error", "warning", "note"
  std::string message;       // `op: rule; got …, expected …`
  std::string help;          // one line, or empty
  int operation = -1;        // pre-order number in the trace, or -1
  std::string location;      // file:line:column for text input
  std::string code;          // the name of a teeny::ErrorCode, or empty
};

class DiagnosticLog {
 public:
  // Collects everything that `context` emits while this object lives.
  explicit DiagnosticLog(mlir::MLIRContext& context);
  ~DiagnosticLog();
  DiagnosticLog(const DiagnosticLog&) = delete;
  DiagnosticLog& operator=(const DiagnosticLog&) = delete;

  void add(CompileMessage message);
  bool has_error() const;
  // Gives the errors so far that have no code of their own this one.
  void set_code(std::string_view code);
  const std::vector<CompileMessage>& messages() const { return messages_; }

 private:
  mlir::MLIRContext& context_;
  mlir::DiagnosticEngine::HandlerID handler_;
  std::vector<CompileMessage> messages_;
};

// [{"severity", "message", "help", "operation", "location"}, …]
std::string to_json(const std::vector<CompileMessage>& messages);

}  // namespace teeny::compiler
