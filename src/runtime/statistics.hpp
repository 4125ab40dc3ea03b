// Counters behind teeny::program_statistics().
#pragma once

#include <atomic>
#include <cstdint>

namespace teeny::runtime {

struct Statistics {
  std::atomic<std::uint64_t> compiles{0};
  std::atomic<std::uint64_t> analyses{0};
  std::atomic<std::uint64_t> cache_hits{0};
  std::atomic<std::uint64_t> cache_rebuilds{0};
};

Statistics& statistics();

}  // namespace teeny::runtime
