#include <stdlib.h>
#include <unistd.h>

#include "runtime/compiler/compiler.hpp"
#include "runtime/program_cache.hpp"
#include "support/log.hpp"
#include "support/write_all.hpp"

namespace teeny::runtime {

// In the cache's folder; without one, a private file of the temporary folder.
std::string write_reproducer(const CompileRequest& request) {
  const std::vector<std::uint8_t> bytes = encode(request);
  const support::Digest key = support::sha256(bytes.data(), bytes.size());
  if (std::string path = ProgramCache::instance().store_reproducer(key, bytes); !path.empty()) return path;
  const std::string chosen = support::environment("TMPDIR");
  std::string path = (chosen.empty() ? "/tmp" : chosen) + "/teeny-reproducer-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) return {};
  const bool whole = support::write_all(file, bytes) == 0;
  ::close(file);
  return whole ? path : std::string();
}

}  // namespace teeny::runtime
