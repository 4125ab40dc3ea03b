// Programs on disk. A folder of files named by the digest of everything that a program depends on.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/compiler_abi.h"
#include "support/digest.hpp"

namespace teeny::runtime {

struct CacheEntry {
  std::vector<std::uint8_t> program;
  std::string metadata;
  std::vector<teeny_fact> relevant_facts;
};

// The folder is TEENY_CACHE, or teeny in XDG_CACHE_HOME, or .cache/teeny in HOME; TEENY_CACHE=off means none. It is
// made with mode 0700; one of another owner, or that others may write to, is refused with a warning: its entries would
// run as this user. Entries appear whole (written under another name, renamed) and carry their digest, so that any
// number of processes may share the folder and a damaged entry is only a miss. Nothing here fails a launch: what cannot
// be kept is compiled again.
class ProgramCache {
 public:
  enum class Miss { none, absent, damaged, no_folder };

  // The process's cache; the environment is read at every call, so that a change of folder takes effect.
  static ProgramCache& instance();

  // The entry, or nothing and why.
  std::optional<CacheEntry> find(const support::Digest& key, Miss& miss);
  void store(const support::Digest& key, const CacheEntry& entry);

  // A new file of the folder for a developer to find; the path, or the empty string.
  std::string store_reproducer(const support::Digest& key, const std::vector<std::uint8_t>& bytes);

 private:
  // A descriptor of the folder, or -1; opened again when the environment names another one. Guarded by mutex_.
  int folder();
  void warn_once(const std::string& text);

  std::mutex mutex_;
  std::string path_;
  int descriptor_ = -1;
  bool opened_ = false;
  std::string warned_;
};

}  // namespace teeny::runtime
