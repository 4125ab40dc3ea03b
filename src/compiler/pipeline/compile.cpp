#include "compiler/pipeline/compile.hpp"

#include <chrono>
#include <memory>

#include <llvm/Support/raw_ostream.h>
#include <mlir/Bytecode/BytecodeWriter.h>
#include <mlir/IR/AsmState.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <nlohmann/json.hpp>

#include <teeny/error.hpp>

#include "compiler/analysis/fact_relevance.hpp"
#include "compiler/explain/explain.hpp"
#include "compiler/import/import_trace.hpp"
#include "compiler/pipeline/cpu_program.hpp"
#include "compiler/pipeline/gpu_program.hpp"
#include "compiler/pipeline/isolated.hpp"
#include "compiler/pipeline/stages.hpp"
#include "lang/trace.hpp"

namespace teeny::compiler {

namespace {

// Everything one compile works on. Shared with the compile's thread, which may never return.
struct Compilation {
  CompileInput input;
  CompileOutput output;
  nlohmann::json phases = nlohmann::json::object();
  nlohmann::json details = nlohmann::json::object();
  std::unique_ptr<GpuTarget> gpu;  // null: the target is no GPU

  // Runs a phase and adds its milliseconds to the phase table.
  template <class Work>
  auto phase(const char* name, Work&& work) {
    struct Timer {
      nlohmann::json& entry;
      std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
      ~Timer() { entry = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count(); }
    } timer{phases[name]};
    return work();
  }

  bool dumps(std::string_view what) const {
    std::string list = "," + input.dump + ",";
    return list.find("," + std::string(what) + ",") != std::string::npos;
  }
  void dump(std::string_view what, const std::string& text) {
    if (dumps(what)) output.dump_text += "// ---- " + std::string(what) + "\n" + text + "\n";
  }
};

std::string text_of(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return text;
}

mlir::OwningOpRef<mlir::ModuleOp> read_module(const CompileInput& input, mlir::MLIRContext& context) {
  if (!input.is_text) {
    trace::Body body = trace::deserialise(input.body.data(), input.body.size());
    return import_trace(body, input.kernel, context);
  }
  llvm::StringRef text(reinterpret_cast<const char*>(input.body.data()), input.body.size());
  mlir::ParserConfig config(&context);
  return mlir::parseSourceString<mlir::ModuleOp>(text, config, input.kernel);
}

tt::FuncOp kernel_of(mlir::ModuleOp module) {
  tt::FuncOp kernel;
  for (auto function : module.getOps<tt::FuncOp>()) {
    if (!function.isPublic() || function.isExternal()) continue;
    if (kernel)
      throw Error(ErrorCode::invalid_argument,
                  "compile: a module holds one kernel; got @" + kernel.getName().str() + " and @" +
                      function.getName().str() +
                      "\nhelp: make the others private, or compile them as modules of their own");
    kernel = function;
  }
  if (kernel) return kernel;
  throw Error(ErrorCode::invalid_argument,
              "compile: the module has no public tt.func\nhelp: a kernel is a public function with a body");
}

nlohmann::json describe_arguments(tt::FuncOp function) {
  nlohmann::json list = nlohmann::json::array();
  for (mlir::Type type : function.getArgumentTypes()) {
    bool pointer = mlir::isa<tt::PointerType>(type);
    std::string name;
    llvm::raw_string_ostream(name) << (pointer ? tt::pointee_type(type) : type);
    list.push_back({{"type", name}, {"pointer", pointer}});
  }
  return list;
}

// Vector accesses of a CPU need no alignment and its addresses are 64 bits wide, so such facts would only make more
// variants.
bool target_uses(std::string_view target, const teeny_fact& fact) {
  if (target == "interpreter") return false;
  if (target.starts_with("cpu")) return fact.kind == TEENY_FACT_EQUALS_ONE || fact.kind == TEENY_FACT_EXCEEDS_CACHE;
  return fact.kind != TEENY_FACT_EXCEEDS_CACHE;
}

// Triton text may leave the facts to attributes of the arguments; a trace's facts come with the request.
mlir::OwningOpRef<mlir::ModuleOp> prepare(Compilation& job, mlir::MLIRContext& context) {
  auto module = job.phase("import", [&] { return read_module(job.input, context); });
  if (!module) throw Error(ErrorCode::compile_failed, "compile: the module could not be read");
  if (job.input.is_text) job.phase("legalise", [&] { legalise_text(*module); });
  job.phase("clean_up", [&] { clean_up(*module); });
  tt::FuncOp function = kernel_of(*module);
  job.details["entry"] = function.getName().str();
  job.details["arguments"] = describe_arguments(function);
  job.phase("facts", [&] {
    for (const teeny_fact& fact : relevant_facts(function))
      if (target_uses(job.input.target, fact)) job.output.relevant_facts.push_back(fact);
    if (mlir::failed(apply_facts(function, job.input.facts)))
      throw Error(ErrorCode::invalid_argument, "compile: a fact of the request fits none of the kernel's arguments");
  });
  // The interpreter gives every operation its meaning itself: it must see a division by zero, and knows exp's radius.
  if (job.input.target != "interpreter") {
    const bool gpu = job.gpu != nullptr;
    MathFacts math = gpu ? job.gpu->capability().math : MathFacts{};
    math.approximate = math.approximate && job.input.options.approximate != 0;
    const ExactFacts exact = gpu ? job.gpu->capability().exact : ExactFacts{};
    job.phase("expand", [&] { expand(*module, math, exact); });
  }
  if (job.dumps("tt")) job.dump("tt", text_of(*module));
  return module;
}

// The interpreter runs the prepared module itself, kept as bytecode with its locations.
void make_interpreter_program(Compilation& job, mlir::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  if (mlir::failed(mlir::writeBytecodeToFile(module, out)))
    throw Error(ErrorCode::compile_failed, "compile: the program could not be written");
  job.output.program.assign(bytes.begin(), bytes.end());
}

void make_cpu_program(Compilation& job, mlir::ModuleOp module) {
  CpuProgram program =
      build_cpu_program(module, job.input.target, job.input.options, job.dumps("llvm"), job.dumps("asm"));
  for (auto& [name, milliseconds] : program.phases) job.phases[name] = milliseconds;
  if (!program.llvm_text.empty()) job.dump("llvm", program.llvm_text);
  if (!program.assembly.empty()) job.dump("asm", program.assembly);
  if (const auto request = explain::request_of(job.input.dump))
    job.output.dump_text += explain::explain_cpu(*request, job.input.kernel, job.input.target, program.arena_bytes,
                                                 program.shared_object.size(), job.input.facts);
  job.details["arena_bytes"] = program.arena_bytes;
  job.details["entry"] = program.entry;
  job.output.program = std::move(program.shared_object);
}

// Up to here the kernel was right: what the lowering reports is what a GPU cannot run.
void make_gpu_program(Compilation& job, mlir::ModuleOp module, DiagnosticLog& log) {
  std::optional<explain::Explainer> explainer;
  if (auto request = explain::request_of(job.input.dump))
    explainer.emplace(std::move(*request), job.input.kernel, job.gpu->capability(), job.input.options, job.input.facts);
  const auto dump = [&](llvm::StringRef stage) {
    if (job.dumps(stage.str())) job.dump(stage.str(), text_of(module));
    if (explainer) explainer->note(stage, module);
  };
  std::optional<GpuProgram> built = build_gpu_program(module, *job.gpu, job.input.options, dump, job.dumps("llvm"),
                                                      job.dumps("asm") || job.dumps("ptx") || job.dumps("spirv"),
                                                      job.dumps("tile") || job.dumps("staged") || job.dumps("synchronised"),
                                                      job.details);
  if (!built) {
    log.set_code(name_of(ErrorCode::unsupported));
    throw Error(ErrorCode::unsupported, "compile: the kernel must have a form on this GPU; got one that has none");
  }
  GpuProgram& program = *built;
  for (auto& [name, milliseconds] : program.phases) job.phases[name] = milliseconds;
  if (!program.llvm_text.empty()) job.dump("llvm", program.llvm_text);
  if (!program.assembly.empty()) job.dump(job.dumps("ptx") ? "ptx" : job.dumps("spirv") ? "spirv" : "asm", program.assembly);
  if (explainer) job.output.dump_text += explainer->finish(program);
  job.output.program = std::move(program.bytes);
}

// A located message of MLIR says more than the summary thrown after it.
void report(DiagnosticLog& log, const std::exception& error) {
  if (log.has_error()) return;
  CompileMessage message{"error", error.what(), {}, -1, {}, {}};
  if (auto* known = dynamic_cast<const Error*>(&error)) message.code = name_of(known->code());
  log.add(std::move(message));
}

void compile_here(Compilation& job) {
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  load_dialects(*context);
  DiagnosticLog log(*context);
  try {
    job.gpu = make_gpu_target(job.input.target);
    auto module = prepare(job, *context);
    std::string_view target = job.input.target;
    if (job.input.analyse_only) {
    }  // relevant_facts is all that was asked for
    else if (target == "interpreter")
      make_interpreter_program(job, *module);
    else if (target == "cpu" || target.starts_with("cpu:"))
      make_cpu_program(job, *module);
    else if (job.gpu)
      make_gpu_program(job, *module, log);
    else
      throw Error(ErrorCode::unsupported,
                  "compile: unknown target; got '" + job.input.target +
                      "', expected cpu:…, cuda:…, vulkan:…, simulator:… or interpreter\nhelp: `teeny devices` lists the targets of this machine");
    job.output.ok = !log.has_error();
  } catch (const std::exception& error) {
    report(log, error);
  }
  job.output.messages = log.messages();
  job.details["phases"] = job.phases;
  job.output.metadata = job.details.dump();
}

CompileOutput run(CompileInput input, void (*work)(Compilation&)) {
  auto job = std::make_shared<Compilation>();
  job->input = std::move(input);
  IsolatedResult result = run_isolated([job, work] { work(*job); });
  if (result.ok) return std::move(job->output);
  CompileOutput failed;  // the job's own state may be half written
  failed.messages.push_back(
      {"error", "compile: LLVM gave up; " + result.failure, "the compile's reproducer shows the kernel", -1, {}, {}});
  return failed;
}

void print_here(Compilation& job) {
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  load_dialects(*context);
  DiagnosticLog log(*context);
  try {
    auto module = read_module(job.input, *context);
    if (!module) throw Error(ErrorCode::compile_failed, "compile: the module could not be read");
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    job.output.program.assign(text.begin(), text.end());
    job.output.ok = !log.has_error();
  } catch (const std::exception& error) {
    report(log, error);
  }
  job.output.messages = log.messages();
}

}  // namespace

CompileInput own(const teeny_compile_request& request) {
  CompileInput input;
  input.body.assign(request.body.data, request.body.data + request.body.size);
  input.is_text = request.is_text != 0;
  input.kernel = request.kernel ? request.kernel : "kernel";
  input.target = request.target ? request.target : "";
  input.options = request.options;
  input.facts.assign(request.facts, request.facts + request.fact_count);
  input.dump = request.dump ? request.dump : "";
  input.analyse_only = request.analyse_only != 0;
  return input;
}

CompileOutput compile(CompileInput input) { return run(std::move(input), compile_here); }
CompileOutput print_tt(CompileInput input) { return run(std::move(input), print_here); }

}  // namespace teeny::compiler
