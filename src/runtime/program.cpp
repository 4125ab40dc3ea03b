#include "runtime/program.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>

#include <teeny/error.hpp>

#include "runtime/messages.hpp"
#include "runtime/statistics.hpp"
#include "support/log.hpp"

namespace teeny::runtime {

namespace {

bool holds(const teeny_fact& fact, const Argument& argument, std::uint64_t cache_bytes) {
  switch (fact.kind) {
    case TEENY_FACT_EQUALS_ONE:
      return argument.buffer == nullptr && argument.bits == 1;
    case TEENY_FACT_DIVISIBLE_BY_16:
      return argument.bits % 16 == 0;
    case TEENY_FACT_FITS_32:
      return argument.buffer != nullptr && argument.buffer->bytes < (std::uint64_t{1} << 31);
    case TEENY_FACT_EXCEEDS_CACHE:
      return argument.buffer != nullptr && cache_bytes != 0 && argument.buffer->bytes > cache_bytes;
  }
  return false;  // a kind that this build does not know is never promised
}

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

std::uint64_t Program::Table::mask(const Argument* arguments, std::uint64_t cache_bytes) const {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < relevant.size(); ++i)
    result |= std::uint64_t{holds(relevant[i], arguments[relevant[i].argument], cache_bytes)} << i;
  return result;
}

const Program::Variant* Program::Table::exact(std::uint64_t mask) const {
  for (const Variant& variant : variants)
    if (variant.guard == mask) return &variant;
  return nullptr;
}

// The last place is the general variant's.
std::size_t Program::Table::places() const { return max_variants - (exact(0) != nullptr ? 0 : 1); }

const Program::Variant* Program::Table::fitting(std::uint64_t mask) const {
  for (const Variant& variant : variants)
    if ((variant.guard & ~mask) == 0) return &variant;
  return nullptr;
}

Program::Program(DriverDevice& device, const detail::RecordedKernel& kernel, const CompileOptions& options)
    : device_(device), body_(kernel.digest()), options_(options), cache_bytes_(device.info().cache_bytes) {}

Executable& Program::choose(const Argument* arguments, const detail::RecordedKernel& kernel) {
  if (const Table* table = table_.load(std::memory_order_acquire)) {
    const std::uint64_t mask = table->mask(arguments, cache_bytes_);
    if (const Variant* variant = table->exact(mask)) return *variant->executable;
    if (table->variants.size() >= table->places())
      if (const Variant* variant = table->fitting(mask)) return *variant->executable;
  }
  return choose_slow(arguments, kernel);
}

Executable& Program::choose_slow(const Argument* arguments, const detail::RecordedKernel& kernel) {
  const std::lock_guard lock(mutex_);
  if (tables_.empty()) analyse(kernel);
  const Table& table = *tables_.back();
  const std::uint64_t mask = table.mask(arguments, cache_bytes_);
  if (const Variant* variant = table.exact(mask)) return *variant->executable;
  const std::string reason = table.variants.empty() ? "first launch" : "a launch with other facts";
  if (table.variants.size() < table.places()) return *add(mask, kernel, reason).executable;
  if (const Variant* variant = table.fitting(mask)) return *variant->executable;
  return *add(0, kernel, "all special variants are made and none fits").executable;
}

void Program::prepare_general(const detail::RecordedKernel& kernel) {
  const std::lock_guard lock(mutex_);
  if (tables_.empty()) analyse(kernel);
  if (tables_.back()->exact(0) == nullptr) add(0, kernel, "compiled ahead");
}

std::size_t Program::variant_count() const {
  const std::lock_guard lock(mutex_);
  return tables_.empty() ? 0 : tables_.back()->variants.size();
}

void Program::analyse(const detail::RecordedKernel& kernel) {
  CacheEntry entry = obtain(kernel, {}, true, "first launch");
  Table table{.relevant = std::move(entry.relevant_facts), .variants = {}};
  std::erase_if(table.relevant, [&](const teeny_fact& fact) { return fact.argument >= kernel.parameters().size(); });
  if (table.relevant.size() > 64) table.relevant.resize(64);
  publish(std::move(table));
}

void Program::publish(Table table) {
  tables_.push_back(std::make_unique<const Table>(std::move(table)));
  // A table without variants stays private: choose() relies on there being one.
  if (!tables_.back()->variants.empty()) table_.store(tables_.back().get(), std::memory_order_release);
}

const Program::Variant& Program::add(std::uint64_t guard, const detail::RecordedKernel& kernel,
                                     const std::string& reason) {
  Table table = *tables_.back();
  std::vector<teeny_fact> facts;
  for (std::size_t i = 0; i < table.relevant.size(); ++i)
    if ((guard >> i & 1) != 0) facts.push_back(table.relevant[i]);
  const CacheEntry entry = obtain(kernel, facts, false, reason);
  executables_.push_back(device_.load(assembled(key(facts, false), entry), read_metadata(entry.metadata)));
  const auto less_special = [&](const Variant& variant) { return std::popcount(variant.guard) < std::popcount(guard); };
  table.variants.insert(std::find_if(table.variants.begin(), table.variants.end(), less_special),
                        {guard, executables_.back().get()});
  publish(std::move(table));
  return *tables_.back()->exact(guard);
}

support::Digest Program::key(const std::vector<teeny_fact>& facts, bool analyse_only) const {
  support::Sha256 hash;
  hash.field("portable").field(build_id()).field(device_.info().target).field(body_);
  hash.number(static_cast<std::uint64_t>(options_.warps)).number(static_cast<std::uint64_t>(options_.stages));
  hash.number(static_cast<std::uint64_t>(options_.max_registers)).number(options_.reproducible);
  hash.number(options_.contract).number(options_.approximate).number(options_.debug_info).number(analyse_only).number(facts.size());
  for (const teeny_fact& fact : facts) hash.number(fact.kind).number(fact.argument);
  return hash.finish();
}

CacheEntry Program::obtain(const detail::RecordedKernel& kernel, const std::vector<teeny_fact>& facts,
                           bool analyse_only, const std::string& reason) {
  const std::string dump = analyse_only ? std::string() : compiler_dump(support::environment("TEENY_DUMP"));
  const support::Digest name = key(facts, analyse_only);
  ProgramCache::Miss miss = ProgramCache::Miss::absent;
  if (dump.empty()) {
    if (std::optional<CacheEntry> entry = ProgramCache::instance().find(name, miss)) {
      if (!analyse_only) statistics().cache_hits.fetch_add(1, std::memory_order_relaxed);
      return std::move(*entry);
    }
  }
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
  CacheEntry entry = compile(kernel, facts, analyse_only, why, dump);
  ProgramCache::instance().store(name, entry);
  return entry;
}

CacheEntry Program::compile(const detail::RecordedKernel& kernel, const std::vector<teeny_fact>& facts,
                            bool analyse_only, const std::string& reason, const std::string& dump) {
  const trace::Trace& trace = kernel.trace();
  const CompileRequest request{.body = kernel.body(),
                               .is_text = kernel.is_text(),
                               .kernel = trace.kernel,
                               .target = device_.info().target,
                               .options = options_,
                               .facts = facts,
                               .dump = dump,
                               .analyse_only = analyse_only};
  const auto start = std::chrono::steady_clock::now();
  CompileResult result;
  const auto reproducer_note = [&] {
    const std::string path = write_reproducer(request);
    return path.empty() ? std::string("no reproducer could be written") : "reproducer " + path;
  };
  try {
    result = chosen_compiler().compile(request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::compile_failed) throw;
    throw Error(error.code(), located(trace, -1, error.what()) + "\nnote: " + reproducer_note());
  }
  if (!result.dump_text.empty()) std::fwrite(result.dump_text.data(), 1, result.dump_text.size(), stderr);
  auto& counter = analyse_only ? statistics().analyses : statistics().compiles;
  counter.fetch_add(1, std::memory_order_relaxed);
  if (support::log_enabled("compile")) {
    const std::string phases = phases_text(result.metadata);
    support::log_line((analyse_only ? "analyse " : "compile ") + trace.kernel + " for " + request.target + ": " +
                      (analyse_only ? "facts" : variant_text(facts, trace)) + " (" + reason + ") " +
                      (result.ok ? "" : "failed after ") + milliseconds_since(start) +
                      (phases.empty() ? "" : " [" + phases + "]"));
  }
  if (!result.ok) throw diagnostics_error(trace, result.diagnostics, request.target, reproducer_note());
  return {std::move(result.program), std::move(result.metadata), std::move(result.relevant_facts)};
}

std::vector<std::uint8_t> Program::assembled(const support::Digest& portable, const CacheEntry& entry) {
  const std::string identity = device_.assembler_identity();
  if (identity.empty()) return entry.program;
  const support::Digest name =
      support::Sha256().field("device").field(portable.data(), portable.size()).field(identity).finish();
  ProgramCache::Miss miss = ProgramCache::Miss::none;
  if (std::optional<CacheEntry> found = ProgramCache::instance().find(name, miss)) return std::move(found->program);
  CacheEntry made{.program = device_.assemble(entry.program, read_metadata(entry.metadata)), .metadata = entry.metadata, .relevant_facts = {}};
  ProgramCache::instance().store(name, made);
  return std::move(made.program);
}

}  // namespace teeny::runtime
