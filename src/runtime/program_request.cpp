#include "runtime/program_request.hpp"

#include <chrono>
#include <cstdio>

#include <teeny/error.hpp>

#include "lang/trace.hpp"
#include "runtime/compiler/compiler.hpp"
#include "runtime/explain.hpp"
#include "runtime/messages.hpp"
#include "runtime/package.hpp"
#include "runtime/statistics.hpp"
#include "support/log.hpp"

namespace teeny::runtime {

namespace {

std::string milliseconds_since(std::chrono::steady_clock::time_point start) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms",
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return text;
}

// TEENY_DUMP without the words that are not the compiler's.
std::string compiler_dump(const std::string& list) {
  std::string result;
  for (std::size_t first = 0; first < list.size();) {
    const std::size_t comma = std::min(list.find(',', first), list.size());
    const std::string word = list.substr(first, comma - first);
    if (!word.empty() && word != "trace") result += (result.empty() ? "" : ",") + word;
    first = comma + 1;
  }
  return result;
}

std::string variant_text(const std::vector<teeny_fact>& facts, const trace::Trace& trace) {
  if (facts.empty()) return "general variant";
  std::string text;
  for (const teeny_fact& fact : facts) text += (text.empty() ? "variant where " : ", ") + fact_text(fact, trace);
  return text;
}

// Without a package's or the cache's; `why`: what the log says.
CacheEntry compile(const ProgramRequest& request, const std::string& why, const std::string& dump) {
  const trace::Trace& trace = request.kernel.trace();
  const CompileRequest message{.body = request.kernel.body(),
                               .is_text = request.kernel.is_text(),
                               .kernel = trace.kernel,
                               .target = request.target,
                               .options = request.options,
                               .facts = request.facts,
                               .dump = with_names(dump, trace),
                               .analyse_only = request.analyse_only};
  const auto start = std::chrono::steady_clock::now();
  CompileResult result;
  const auto reproducer_note = [&] {
    const std::string path = write_reproducer(message);
    return path.empty() ? std::string("no reproducer could be written") : "reproducer " + path;
  };
  try {
    result = chosen_compiler().compile(message);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::compile_failed) throw;
    throw Error(error.code(), located(trace, -1, error.what()) + "\nnote: " + reproducer_note());
  }
  if (!result.dump_text.empty()) {
    const std::string text = with_lines(result.dump_text, trace);
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  auto& counter = request.analyse_only ? statistics().analyses : statistics().compiles;
  counter.fetch_add(1, std::memory_order_relaxed);
  if (support::log_enabled("compile")) {
    const std::string phases = phases_text(result.metadata);
    support::log_line((request.analyse_only ? "analyse " : "compile ") + trace.kernel + " for " + request.target + ": " +
                      (request.analyse_only ? "facts" : variant_text(request.facts, trace)) + " (" + why + ") " +
                      (result.ok ? "" : "failed after ") + milliseconds_since(start) +
                      (phases.empty() ? "" : " [" + phases + "]"));
  }
  if (!result.ok) throw diagnostics_error(trace, result.diagnostics, request.target, reproducer_note());
  return {std::move(result.program), std::move(result.metadata), std::move(result.relevant_facts)};
}

}  // namespace

std::string fact_text(const teeny_fact& fact, const trace::Trace& trace) {
  std::string argument = fact.argument < trace.parameter_names.size() ? trace.parameter_names[fact.argument]
                                                                      : "argument " + std::to_string(fact.argument + 1);
  switch (fact.kind) {
    case TEENY_FACT_EQUALS_ONE:
      return argument + " is 1";
    case TEENY_FACT_DIVISIBLE_BY_16:
      return argument + " is divisible by 16";
    case TEENY_FACT_FITS_32:
      return argument + " is below 2 GiB";
    case TEENY_FACT_EXCEEDS_CACHE:
      return argument + " exceeds the cache";
  }
  return argument + " has fact " + std::to_string(fact.kind);
}

support::Digest digest_of(const ProgramRequest& request) {
  const CompileOptions& options = request.options;
  support::Sha256 hash;
  hash.field("portable").field(build_id()).field(request.target).field(request.kernel.digest());
  hash.number(static_cast<std::uint64_t>(options.warps)).number(static_cast<std::uint64_t>(options.stages));
  hash.number(static_cast<std::uint64_t>(options.max_registers)).number(options.reproducible);
  hash.number(options.contract).number(options.approximate).number(options.debug_info).number(request.analyse_only);
  hash.number(request.facts.size());
  for (const teeny_fact& fact : request.facts) hash.number(fact.kind).number(fact.argument);
  return hash.finish();
}

std::optional<CacheEntry> find(const ProgramRequest& request, ProgramCache::Miss& miss) {
  const support::Digest name = digest_of(request);
  std::optional<CacheEntry> entry = find_packaged(name);
  if (!entry) entry = ProgramCache::instance().find(name, miss);
  if (entry && !request.analyse_only) statistics().cache_hits.fetch_add(1, std::memory_order_relaxed);
  return entry;
}

CacheEntry find_or_compile(const ProgramRequest& request, const std::string& reason) {
  const std::string dump = request.analyse_only ? std::string() : compiler_dump(support::environment("TEENY_DUMP"));
  ProgramCache::Miss miss = ProgramCache::Miss::absent;
  if (dump.empty())
    if (std::optional<CacheEntry> entry = find(request, miss)) return std::move(*entry);
  std::string why = reason;
  if (!dump.empty())
    why += ", TEENY_DUMP asks for it";
  else if (miss == ProgramCache::Miss::absent)
    why += ", not in the cache";
  else if (miss == ProgramCache::Miss::no_folder)
    why += ", no cache";
  else {
    why += ", its cache entry is damaged";
    statistics().cache_rebuilds.fetch_add(1, std::memory_order_relaxed);
  }
  CacheEntry entry = compile(request, why, dump);
  ProgramCache::instance().store(digest_of(request), entry);
  return entry;
}

std::vector<teeny_fact> usable_facts(CacheEntry analysis, const detail::RecordedKernel& kernel) {
  std::vector<teeny_fact> facts = std::move(analysis.relevant_facts);
  std::erase_if(facts, [&](const teeny_fact& fact) { return fact.argument >= kernel.parameters().size(); });
  if (facts.size() > 64) facts.resize(64);
  return facts;
}

}  // namespace teeny::runtime
