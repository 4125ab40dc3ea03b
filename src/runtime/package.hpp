// Packages that the process has loaded.
#pragma once

#include <optional>

#include "runtime/program_cache.hpp"

namespace teeny::runtime {

// The entry of a loaded package. May be called from several threads.
std::optional<CacheEntry> find_packaged(const support::Digest& key);

}  // namespace teeny::runtime
