// One variant of a kernel for one target: what it is called in packages and on disk, and having it compiled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <teeny/kernel.hpp>
#include <teeny/options.hpp>

#include "runtime/program_cache.hpp"
#include "support/digest.hpp"

namespace teeny::runtime {

struct ProgramRequest {
  const detail::RecordedKernel& kernel;
  CompileOptions options;
  std::string target;
  std::vector<teeny_fact> facts;  // the variant's guard
  bool analyse_only = false;      // the relevant facts alone
};

// The portable identity: body, target, options, facts and this build.
support::Digest digest_of(const ProgramRequest& request);

// From a loaded package or the cache on disk, counted as a hit of the cache; or nothing, and why.
std::optional<CacheEntry> find(const ProgramRequest& request, ProgramCache::Miss& miss);

// From there, or from the compiler, and then kept on disk. `reason`: for TEENY_LOG=compile. Throws what the compile throws.
CacheEntry find_or_compile(const ProgramRequest& request, const std::string& reason);

// What an analysis of the kernel found, as far as a launch can look at it: at most 64.
std::vector<teeny_fact> usable_facts(CacheEntry analysis, const detail::RecordedKernel& kernel);

// "argument 2 (n) is divisible by 16"
std::string fact_text(const teeny_fact& fact, const trace::Trace& trace);

}  // namespace teeny::runtime
