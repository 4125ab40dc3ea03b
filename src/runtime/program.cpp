#include "runtime/program.hpp"

#include <algorithm>
#include <bit>

#include <teeny/error.hpp>

#include "runtime/messages.hpp"

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

}  // namespace

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

Program::Program(DriverDevice& device, const CompileOptions& options)
    : device_(device), options_(options), cache_bytes_(device.info().cache_bytes) {}

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
  if (table.variants.size() < table.places()) try {
      return *add(mask, kernel, reason).executable;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::compiler_missing || mask == 0) throw;
      return *stand_in(mask, kernel).executable;
    }
  if (const Variant* variant = table.fitting(mask)) return *variant->executable;
  return *add(0, kernel, "all special variants are made and none fits").executable;
}

// Where nothing can make a variant, the most special one that fits takes its place, so that later launches find it at once.
const Program::Variant& Program::stand_in(std::uint64_t guard, const detail::RecordedKernel& kernel) {
  const Variant* fitting = tables_.back()->fitting(guard);
  if (fitting == nullptr) fitting = &add(0, kernel, "no compiler to make another");
  return publish(guard, fitting->executable);
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
  Table table{.relevant = usable_facts(obtain(kernel, {}, true, "first launch").entry, kernel), .variants = {}};
  publish(std::move(table));
}

void Program::publish(Table table) {
  tables_.push_back(std::make_unique<const Table>(std::move(table)));
  // A table without variants stays private: choose() relies on there being one.
  if (!tables_.back()->variants.empty()) table_.store(tables_.back().get(), std::memory_order_release);
}

const Program::Variant& Program::add(std::uint64_t guard, const detail::RecordedKernel& kernel,
                                     const std::string& reason) {
  const Table& table = *tables_.back();
  std::vector<teeny_fact> facts;
  for (std::size_t i = 0; i < table.relevant.size(); ++i)
    if ((guard >> i & 1) != 0) facts.push_back(table.relevant[i]);
  const Found found = obtain(kernel, facts, false, reason);
  executables_.push_back(device_.load(assembled(found), read_metadata(found.entry.metadata)));
  return publish(guard, executables_.back().get());
}

const Program::Variant& Program::publish(std::uint64_t guard, Executable* executable) {
  Table table = *tables_.back();
  const auto less_special = [&](const Variant& variant) { return std::popcount(variant.guard) < std::popcount(guard); };
  table.variants.insert(std::find_if(table.variants.begin(), table.variants.end(), less_special), {guard, executable});
  publish(std::move(table));
  return *tables_.back()->exact(guard);
}

Program::Found Program::obtain(const detail::RecordedKernel& kernel, const std::vector<teeny_fact>& facts,
                               bool analyse_only, const std::string& reason) const {
  const std::vector<std::string> targets = device_.targets();
  ProgramRequest request{kernel, options_, targets.front(), facts, analyse_only};
  try {
    CacheEntry entry = find_or_compile(request, reason);
    return {digest_of(request), std::move(entry)};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::compiler_missing) throw;
    // Programs of other targets that the device runs: a package's list ends in one that all newer devices take.
    for (std::size_t i = 1; i < targets.size(); ++i) {
      request.target = targets[i];
      ProgramCache::Miss miss = ProgramCache::Miss::none;
      if (std::optional<CacheEntry> entry = find(request, miss)) return {digest_of(request), std::move(*entry)};
    }
    throw;
  }
}

std::vector<std::uint8_t> Program::assembled(const Found& found) {
  const std::string identity = device_.assembler_identity();
  if (identity.empty()) return found.entry.program;
  const support::Digest name =
      support::Sha256().field("device").field(found.name.data(), found.name.size()).field(identity).finish();
  ProgramCache::Miss miss = ProgramCache::Miss::none;
  if (std::optional<CacheEntry> kept = ProgramCache::instance().find(name, miss)) return std::move(kept->program);
  CacheEntry made{.program = device_.assemble(found.entry.program, read_metadata(found.entry.metadata)),
                  .metadata = found.entry.metadata,
                  .relevant_facts = {}};
  ProgramCache::instance().store(name, made);
  return std::move(made.program);
}

}  // namespace teeny::runtime
