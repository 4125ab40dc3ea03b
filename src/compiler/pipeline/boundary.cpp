// The C table that libteeny_compiler exports; see support/compiler_abi.h.
#include <memory>
#include <string>

#include <mlir/IR/MLIRContext.h>
#include <mlir/Parser/Parser.h>

#include <teeny/export.hpp>

#include "compiler/gpu/simulator/simulator.hpp"
#include "compiler/interpreter/interpreter.hpp"
#include "compiler/pipeline/compile.hpp"
#include "compiler/pipeline/isolated.hpp"
#include "compiler/pipeline/stages.hpp"
#include "compiler/target/simulator_target.hpp"
#include "lang/trace.hpp"
#include "support/build_id.h"
#include "support/compiler_abi.h"

namespace teeny::compiler {

namespace {

struct CompileOwner {
  CompileOutput output;
  std::string diagnostics;
};

int32_t publish(CompileOutput output, teeny_compile_result* result) {
  auto owner = std::make_unique<CompileOwner>();
  owner->output = std::move(output);
  owner->diagnostics = to_json(owner->output.messages);
  const CompileOutput& out = owner->output;
  *result = {};
  result->ok = out.ok;
  result->program = {out.program.data(), out.program.size()};
  result->metadata = out.metadata.c_str();
  result->relevant_facts = out.relevant_facts.data();
  result->relevant_fact_count = out.relevant_facts.size();
  result->diagnostics = owner->diagnostics.c_str();
  result->dump_text = out.dump_text.empty() ? nullptr : out.dump_text.c_str();
  result->owner = owner.release();
  return result->ok ? 0 : 1;
}

int32_t boundary_compile(const teeny_compile_request* request, teeny_compile_result* result) {
  return publish(compile(own(*request)), result);
}

int32_t boundary_print_tt(const teeny_compile_request* request, teeny_compile_result* result) {
  return publish(print_tt(own(*request)), result);
}

void boundary_release_compile(teeny_compile_result* result) {
  delete static_cast<CompileOwner*>(result->owner);
  *result = {};
}

struct InterpretOwner {
  interpreter::Result output;  // the simulator's has no radii
  std::string findings;
};

std::string give_up(const char* message) {
  interpreter::Finding finding;
  finding.kind = "unsupported";
  finding.message = message;
  return interpreter::to_json({finding});
}

interpreter::Result simulate(mlir::ModuleOp module, llvm::StringRef target, const teeny_interpret_request& request) {
  simulator::Launch launch;
  launch.arguments.assign(request.arguments, request.arguments + request.argument_count);
  launch.grid = {request.grid[0], request.grid[1], request.grid[2]};
  launch.ranges.assign(request.ranges, request.ranges + request.range_count);
  const simulator::Options options{.seed = request.seed, .max_findings = request.max_findings};
  simulator::Result result = simulator::run(*module.getOps<mlir::func::FuncOp>().begin(),
                                            gpu::capability_of(std::string_view(target)), launch, options);
  interpreter::Result output;
  output.ok = result.ok;
  output.findings = std::move(result.findings);
  return output;
}

// The interpreter touches the caller's memory, so the caller waits for it and nothing is copied.
int32_t boundary_interpret(const teeny_interpret_request* request, teeny_interpret_result* result) {
  auto owner = std::make_shared<InterpretOwner>();
  IsolatedResult run = run_isolated([owner, request] {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    load_dialects(context);
    llvm::StringRef bytes(reinterpret_cast<const char*>(request->program.data), request->program.size);
    mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(bytes, config);
    if (!module) {
      owner->findings = give_up("interpret: the program could not be read");
      return;
    }
    auto target = (*module)->getAttrOfType<mlir::StringAttr>(simulator::target_attribute);
    owner->output = target ? simulate(*module, target.getValue(), *request) : interpreter::run(*module, *request);
    owner->findings = interpreter::to_json(owner->output.findings);
  });
  *result = {};
  auto kept = std::make_unique<InterpretOwner>();
  if (run.ok)
    *kept = std::move(*owner);  // otherwise its state may be half written
  else
    kept->findings = give_up(("interpret: " + run.failure).c_str());
  result->ok = kept->output.ok;
  result->findings = kept->findings.c_str();
  result->radius_addresses = kept->output.radius_addresses.data();
  result->radii = kept->output.radii.data();
  result->radius_count = kept->output.radii.size();
  result->owner = kept.release();
  return result->ok ? 0 : 1;
}

void boundary_release_interpret(teeny_interpret_result* result) {
  delete static_cast<InterpretOwner*>(result->owner);
  *result = {};
}

}  // namespace

}  // namespace teeny::compiler

extern "C" TEENY_EXPORT const teeny_compiler_api* teeny_compiler_entry(void) {
  using namespace teeny::compiler;
  static const teeny_compiler_api api = {TEENY_COMPILER_ABI_VERSION,
                                         teeny::trace::format_version,
                                         TEENY_BUILD_ID,
                                         boundary_compile,
                                         boundary_release_compile,
                                         boundary_interpret,
                                         boundary_release_interpret,
                                         boundary_print_tt};
  return &api;
}
