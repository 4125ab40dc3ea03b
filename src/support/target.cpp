#include "support/target.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace teeny::support {

bool Target::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

std::string Target::text() const {
  std::string result = kind;
  if (!architecture.empty()) result += ":" + architecture;
  for (const std::string& feature : features) result += "+" + feature;
  return result;
}

std::optional<Target> parse_target(std::string_view text) {
  const auto word = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    });
  };
  Target target;
  const std::size_t colon = text.find(':');
  target.kind = text.substr(0, colon);
  if (!word(target.kind)) return std::nullopt;
  if (colon == std::string_view::npos) return target;
  std::string_view rest = text.substr(colon + 1);
  for (bool first = true;; first = false) {
    const std::size_t plus = rest.find('+');
    const std::string_view part = rest.substr(0, plus);
    if (!word(part)) return std::nullopt;
    if (first)
      target.architecture = part;
    else
      target.features.emplace_back(part);
    if (plus == std::string_view::npos) break;
    rest = rest.substr(plus + 1);
  }
  std::sort(target.features.begin(), target.features.end());
  target.features.erase(std::unique(target.features.begin(), target.features.end()), target.features.end());
  return target;
}

#if defined(__x86_64__)
namespace {

struct CpuId {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

CpuId cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  CpuId r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

// Which register states the operating system saves: bit 1 and 2 for AVX, 5 to 7 for AVX-512.
std::uint64_t saved_states() {
  std::uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

bool bit(std::uint32_t word, int index) { return (word >> index & 1u) != 0; }

}  // namespace

// Levels are those of the x86-64 psABI, section 3.1.1.
Target host_cpu_target() {
  const CpuId one = cpuid(1), seven = cpuid(7), seven_one = cpuid(7, 1), extended = cpuid(0x80000001u);
  const std::uint64_t saved = bit(one.c, 27) ? saved_states() : 0;
  const bool avx_state = (saved & 0x6) == 0x6, avx512_state = (saved & 0xe6) == 0xe6;
  const bool v2 = bit(one.c, 0) && bit(one.c, 9) && bit(one.c, 13) && bit(one.c, 19) && bit(one.c, 20) &&
                  bit(one.c, 23) && bit(extended.c, 0);
  const bool v3 = v2 && avx_state && bit(one.c, 28) && bit(one.c, 12) && bit(one.c, 29) && bit(one.c, 22) &&
                  bit(seven.b, 3) && bit(seven.b, 5) && bit(seven.b, 8) && bit(extended.c, 5);
  const bool v4 = v3 && avx512_state && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 28) && bit(seven.b, 30) &&
                  bit(seven.b, 31);
  Target target{"cpu", v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64", {}};
  const auto add = [&](bool present, const char* feature) {
    if (present) target.features.emplace_back(feature);
  };
  add(v4 && bit(seven_one.a, 5), "avx512bf16");
  add(v4 && bit(seven.c, 12), "avx512bitalg");
  add(v4 && bit(seven.d, 23), "avx512fp16");
  add(v4 && bit(seven.b, 21), "avx512ifma");
  add(v4 && bit(seven.c, 1), "avx512vbmi");
  add(v4 && bit(seven.c, 6), "avx512vbmi2");
  add(v4 && bit(seven.c, 11), "avx512vnni");
  add(v4 && bit(seven.c, 14), "avx512vpopcntdq");
  add(v3 && bit(seven_one.a, 4), "avxvnni");
  return target;
}
#elif defined(__aarch64__)
Target host_cpu_target() {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  Target target{"cpu", "aarch64", {}};
  if (second & (1ul << 14)) target.features.emplace_back("bf16");
  if (first & (1ul << 20)) target.features.emplace_back("dotprod");
  if (first & (1ul << 10)) target.features.emplace_back("fullfp16");
  if (second & (1ul << 13)) target.features.emplace_back("i8mm");
  if (first & (1ul << 22)) target.features.emplace_back("sve");
  return target;
}
#else
Target host_cpu_target() { return {"cpu", "generic", {}}; }
#endif

std::string missing_on_host(const Target& wanted, const Target& host) {
  static const std::vector<std::string> levels = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  const auto level = [](const std::string& name) { return std::find(levels.begin(), levels.end(), name); };
  if (wanted.kind != host.kind) return wanted.kind;
  const auto wanted_level = level(wanted.architecture), host_level = level(host.architecture);
  if (wanted_level == levels.end() || host_level == levels.end()) {
    if (wanted.architecture != host.architecture) return wanted.architecture;
  } else if (wanted_level > host_level) {
    return wanted.architecture;
  }
  for (const std::string& feature : wanted.features)
    if (!host.has(feature)) return feature;
  return {};
}

std::size_t host_cache_share(int threads) {
  const std::size_t count = static_cast<std::size_t>(std::max(threads, 1)), mebibyte = std::size_t{1} << 20;
  const long second = ::sysconf(_SC_LEVEL2_CACHE_SIZE), third = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  const std::size_t own = (second > 0 ? static_cast<std::size_t>(second) : mebibyte) * count;
  const std::size_t shared = third > 0 ? static_cast<std::size_t>(third) : 0;
  // Measured on a Sapphire Rapids with 260 MiB of third level: stores that bypass the cache win from 1 MiB an array on.
  const std::size_t near = shared <= 96 * mebibyte ? std::min(shared, count * 4 * mebibyte) : 0;
  return (own + near) / 3;
}

}  // namespace teeny::support
