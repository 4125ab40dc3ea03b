// A target as text: what a program is compiled for. "cpu:x86-64-v4+avx512bf16+avx512vnni", "cpu:aarch64+sve",
// "cuda:sm_90a", "interpreter". Compiling needs the description, never the device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace teeny::support {

// kind ":" architecture { "+" feature }. Features are LLVM's names, sorted and without repeats, and add to what the
// architecture level has. `architecture` may be empty ("interpreter").
struct Target {
  std::string kind;
  std::string architecture;
  std::vector<std::string> features;
  bool operator==(const Target&) const = default;

  bool has(std::string_view feature) const;
  std::string text() const;
};

// Nothing where the text is no target: an empty kind or feature, or a character outside [a-z0-9._-].
std::optional<Target> parse_target(std::string_view text);

// What this processor and operating system can run: the highest x86-64 level and the features beyond it, or "aarch64".
Target host_cpu_target();

// The empty string when a host of target `host` runs programs for `wanted`, or the first thing it lacks.
std::string missing_on_host(const Target& wanted, const Target& host);

// Bytes of one array that the given number of threads can expect to keep in cache beside two others: a third of their
// second-level caches and of at most 4 MiB each of a near third level. A third level above 96 MiB belongs to a whole
// server, is hardly faster than memory and does not count.
std::size_t host_cache_share(int threads);

}  // namespace teeny::support
