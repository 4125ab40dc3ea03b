// A table of the compiler boundary that gives out ready programs by the kernel's name.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "lang/trace.hpp"
#include "support/build_id.h"
#include "support/compiler_abi.h"

namespace {

std::atomic<int> running{0};
std::atomic<int> most_running{0};

struct Owned {
  std::vector<std::uint8_t> program;
  std::string metadata, diagnostics, dump;
  std::vector<teeny_fact> relevant;
};

void fill_result(const teeny_compile_request& request, Owned& owned, bool& ok) {
  const std::string kernel = request.kernel, target = request.target;
  ok = true;
  if (kernel == "crash") std::abort();
  if (kernel == "broken") {
    ok = false;
    owned.diagnostics = R"([{"severity": "error", "message": "dot: shapes must agree; got 3, expected 4",
                             "help": "pad the block", "operation": 0}])";
    return;
  }
  if (kernel == "refused") {
    ok = false;
    owned.diagnostics =
        R"([{"severity": "error", "code": "unsupported", "message": "dot: no f64 here", "operation": 0}])";
    return;
  }
  if (request.dump != nullptr) owned.dump = std::string("dump of ") + kernel + ": " + request.dump + "\n";
  if (kernel == "fill")
    owned.relevant = {{TEENY_FACT_DIVISIBLE_BY_16, 1}, {TEENY_FACT_EQUALS_ONE, 1}, {TEENY_FACT_FITS_32, 0}};
  if (request.analyse_only) return;
  if (target == "interpreter") {
    owned.program.assign(kernel.begin(), kernel.end());
    owned.metadata = "{}";
    return;
  }
  if (target.starts_with("cuda:")) {  // text that names its function, as PTX does
    const std::string text = "// " + target + (std::getenv("FAKE_PTX") != nullptr ? std::getenv("FAKE_PTX") : "") + "\n" + kernel;
    owned.program.assign(text.begin(), text.end());
    const char* needs = std::getenv("FAKE_CUDA_NEEDS");  // "threads": 64, "shared_bytes": 1024
    owned.metadata =
        "{\"entry\": \"" + kernel + "\", " + (needs != nullptr ? needs : "\"threads\": 128, \"shared_bytes\": 0") + "}";
    return;
  }
  std::ifstream file(FAKE_PROGRAM, std::ios::binary);
  owned.program.assign(std::istreambuf_iterator<char>(file), {});
  const bool special = std::any_of(request.facts, request.facts + request.fact_count,
                                   [](const teeny_fact& fact) { return fact.kind == TEENY_FACT_DIVISIBLE_BY_16; });
  owned.metadata = "{\"entry\": \"" + kernel + (special ? "_special" : "") +
                   "\", \"arena_bytes\": 4096, \"phases\": {\"all\": 1.5}}";
  if (std::getenv("FAKE_PADDING") != nullptr)
    owned.metadata.append(static_cast<std::size_t>(std::atoi(std::getenv("FAKE_PADDING"))), ' ');
}

int32_t compile(const teeny_compile_request* request, teeny_compile_result* result) {
  const int now = ++running;
  int most = most_running.load();
  while (now > most && !most_running.compare_exchange_weak(most, now)) {
  }
  std::this_thread::yield();
  auto* owned = new Owned;
  bool ok = false;
  fill_result(*request, *owned, ok);
  *result = {.ok = ok,
             .program = {owned->program.data(), owned->program.size()},
             .metadata = owned->metadata.c_str(),
             .relevant_facts = owned->relevant.data(),
             .relevant_fact_count = owned->relevant.size(),
             .diagnostics = owned->diagnostics.c_str(),
             .dump_text = owned->dump.empty() ? nullptr : owned->dump.c_str(),
             .owner = owned};
  --running;
  return 0;
}

void release_compile(teeny_compile_result* result) { delete static_cast<Owned*>(result->owner); }

struct Finding {
  std::string text;
};

// Kernel fill: stores p + n within the ranges and marks what it wrote; whatever lies outside is a finding.
int32_t interpret(const teeny_interpret_request* request, teeny_interpret_result* result) {
  auto* finding = new Finding;
  const std::string kernel(reinterpret_cast<const char*>(request->program.data), request->program.size);
  if (kernel == "shout") request->print(request->print_context, "hello", 5);
  const std::uint64_t out = request->arguments[0];
  for (std::uint32_t p = 0; p < request->grid[0] && kernel == "fill"; ++p) {
    const std::uint64_t address = out + 4ull * p;
    const teeny_memory_range* home = nullptr;
    for (std::size_t i = 0; i < request->range_count; ++i)
      if (address >= request->ranges[i].address && address + 4 <= request->ranges[i].address + request->ranges[i].bytes)
        home = &request->ranges[i];
    if (home == nullptr) {
      finding->text =
          R"([{"kind": "bounds", "message": "store: an address outside of every buffer", "operation": 0, "program": [)" +
          std::to_string(p) + R"(, 0, 0], "lane": "3", "address": )" + std::to_string(address) + "}]";
      break;
    }
    const float value = static_cast<float>(p + static_cast<std::uint32_t>(request->arguments[1]));
    std::memcpy(reinterpret_cast<void*>(address), &value, 4);
    if (home->initialised != nullptr) std::fill_n(home->initialised + (address - home->address), 4, std::uint8_t{1});
  }
  if (kernel == "scratch") finding->text = R"([{"kind": "assert", "message": "assertion failed", "operation": 0}])";
  // Kernel trip: reads; memory never written is a finding.
  for (std::size_t i = 0; i < request->range_count && kernel == "trip"; ++i) {
    const teeny_memory_range& range = request->ranges[i];
    if (out < range.address || out >= range.address + range.bytes || range.initialised == nullptr) continue;
    if (range.initialised[out - range.address] == 0)
      finding->text = R"([{"kind": "uninitialised", "message": "load: never written"}])";
  }
  *result = {.ok = finding->text.empty(), .findings = finding->text.c_str(), .owner = finding};
  return 0;
}

void release_interpret(teeny_interpret_result* result) { delete static_cast<Finding*>(result->owner); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const teeny_compiler_api* teeny_compiler_entry() {
  static const teeny_compiler_api api = {
      .abi_version = TEENY_COMPILER_ABI_VERSION,
      .trace_format_version = teeny::trace::format_version,
      .build_id = std::getenv("FAKE_BUILD_ID") != nullptr ? std::getenv("FAKE_BUILD_ID") : TEENY_BUILD_ID,
      .compile = compile,
      .release_compile = release_compile,
      .interpret = interpret,
      .release_interpret = release_interpret,
      .print_tt = compile,
  };
  return &api;
}

// The most compiles that ran at once.
extern "C" __attribute__((visibility("default"))) int fake_most_running() { return most_running.load(); }
