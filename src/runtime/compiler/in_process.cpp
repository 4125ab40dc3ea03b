#include <unistd.h>

#include <mutex>

#include <teeny/error.hpp>

#include "lang/trace.hpp"
#include "runtime/compiler/compiler.hpp"
#include "support/build_id.h"
#include "support/dynamic_library.hpp"
#include "support/log.hpp"

namespace teeny::runtime {

const char* build_id() { return TEENY_BUILD_ID; }

namespace {

constexpr const char* help_text =
    "\nhelp: install libteeny_compiler of this build beside libteeny, or name it in TEENY_COMPILER_LIBRARY; packaged "
    "and "
    "cached programs run without it";

std::vector<std::string> candidates() {
  if (const std::string chosen = support::environment("TEENY_COMPILER_LIBRARY"); !chosen.empty()) return {chosen};
  std::vector<std::string> paths;
  const std::string name = "/libteeny_compiler.so." TEENY_SOVERSION;
  if (const std::string folder = support::folder_of(reinterpret_cast<const void*>(&build_id)); !folder.empty()) {
    paths.push_back(folder + name);
    paths.push_back(folder + "/../lib" + name);  // a program that has the runtime linked in, beside lib
  }
  paths.push_back(TEENY_INSTALL_LIBDIR + name);
  return paths;
}

// Empty, or what does not fit.
std::string mismatch(const teeny_compiler_api* api) {
  const auto differs = [](const std::string& what, const std::string& got, const std::string& expected) {
    return what + "; got '" + got + "', expected '" + expected + "'";
  };
  if (api == nullptr) return "its table; got none, expected one";
  if (api->abi_version != TEENY_COMPILER_ABI_VERSION)
    return differs("its boundary version", std::to_string(api->abi_version),
                   std::to_string(TEENY_COMPILER_ABI_VERSION));
  if (api->build_id == nullptr || std::string(api->build_id) != build_id())
    return differs("its build", api->build_id != nullptr ? api->build_id : "", build_id());
  if (api->trace_format_version != trace::format_version)
    return differs("its trace format", std::to_string(api->trace_format_version),
                   std::to_string(trace::format_version));
  return {};
}

const teeny_compiler_api* load() {
  std::string tried;
  for (const std::string& path : candidates()) {
    std::string error;
    support::DynamicLibrary library =
        support::DynamicLibrary::open(path, error, support::DynamicLibrary::Binding::lazy);
    if (!library) {
      tried += "\nnote: " + error;
      continue;
    }
    const auto entry = reinterpret_cast<teeny_compiler_entry_function>(library.symbol(TEENY_COMPILER_ENTRY));
    const teeny_compiler_api* api = entry != nullptr ? entry() : nullptr;
    if (const std::string wrong = mismatch(api); !wrong.empty())
      throw Error(ErrorCode::compiler_missing, "compiler: " + path + " must fit this libteeny: " + wrong + help_text);
    library.leak();  // LLVM's own statics do not survive an unload
    return api;
  }
  throw Error(ErrorCode::compiler_missing,
              "compiler: a kernel that is in no cache needs libteeny_compiler; got none, expected it at one of the "
              "places below" +
                  tried + help_text);
}

class InProcess final : public Compiler {
 public:
  CompileResult compile(const CompileRequest& request) override {
    const teeny_compiler_api& api = compiler_api();
    const CompileOptions& options = request.options;
    const teeny_compile_request raw{
        .body = {request.body.data(), request.body.size()},
        .is_text = request.is_text,
        .kernel = request.kernel.c_str(),
        .target = request.target.c_str(),
        .options = {.warps = options.warps,
                    .stages = options.stages,
                    .max_registers = options.max_registers,
                    .reproducible = options.reproducible,
                    .contract = options.contract,
                    .approximate = options.approximate,
                    .debug_info = options.debug_info},
        .facts = request.facts.data(),
        .fact_count = request.facts.size(),
        .dump = request.dump.empty() ? nullptr : request.dump.c_str(),
        .analyse_only = request.analyse_only,
    };
    teeny_compile_result raw_result{};
    api.compile(&raw, &raw_result);  // `ok` says all
    CompileResult result = copy(raw_result);
    api.release_compile(&raw_result);
    return result;
  }

 private:
  static std::string text(const char* value) { return value != nullptr ? value : ""; }
  static CompileResult copy(const teeny_compile_result& raw) {
    CompileResult result;
    result.ok = raw.ok != 0;
    if (raw.program.size != 0) result.program.assign(raw.program.data, raw.program.data + raw.program.size);
    result.metadata = text(raw.metadata);
    if (raw.relevant_fact_count != 0)
      result.relevant_facts.assign(raw.relevant_facts, raw.relevant_facts + raw.relevant_fact_count);
    result.diagnostics = text(raw.diagnostics);
    result.dump_text = text(raw.dump_text);
    return result;
  }
};

}  // namespace

const teeny_compiler_api& compiler_api() {
  static std::mutex mutex;
  static const teeny_compiler_api* api = nullptr;
  const std::lock_guard lock(mutex);
  if (api == nullptr) api = load();
  return *api;
}

Compiler& in_process_compiler() {
  static auto& compiler = *new InProcess;
  return compiler;
}

Compiler& chosen_compiler() {
  const std::string choice = support::environment("TEENY_COMPILER");
  if (choice == "process") return out_of_process_compiler();
  if (!choice.empty())
    throw Error(ErrorCode::invalid_argument, "TEENY_COMPILER: where kernels are compiled; got '" + choice +
                                                 "', expected 'process' or nothing\nhelp: unset it");
  return in_process_compiler();
}

}  // namespace teeny::runtime
