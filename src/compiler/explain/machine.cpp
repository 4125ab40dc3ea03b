#include "compiler/explain/machine.hpp"

#include <algorithm>
#include <charconv>

namespace teeny::compiler::explain {

namespace {

constexpr std::int64_t kibibyte = 1024;

const Multiprocessor multiprocessors[] = {
    {.number = 75, .threads = 1024, .programs = 16, .shared_bytes = 64 * kibibyte, .f32 = 64, .products = 512},
    {.number = 80, .threads = 2048, .programs = 32, .shared_bytes = 164 * kibibyte, .reserved_bytes = kibibyte, .f32 = 64, .products = 1024},
    {.number = 86, .threads = 1536, .programs = 16, .shared_bytes = 100 * kibibyte, .reserved_bytes = kibibyte, .f32 = 128, .products = 512},
    {.number = 87, .threads = 1536, .programs = 16, .shared_bytes = 164 * kibibyte, .reserved_bytes = kibibyte, .f32 = 128, .products = 512},
    {.number = 89, .threads = 1536, .programs = 24, .shared_bytes = 100 * kibibyte, .reserved_bytes = kibibyte, .f32 = 128, .products = 512},
    {.number = 90, .threads = 2048, .programs = 32, .shared_bytes = 228 * kibibyte, .reserved_bytes = kibibyte, .f32 = 128, .products = 2048},
    {.number = 100, .threads = 2048, .programs = 32, .shared_bytes = 228 * kibibyte, .reserved_bytes = kibibyte, .f32 = 128, .products = 4096},
    {.number = 120, .threads = 1536, .programs = 24, .shared_bytes = 100 * kibibyte, .reserved_bytes = kibibyte, .f32 = 128, .products = 512}};

const Peak peaks[] = {{"T4", "NVIDIA T4 data sheet", 75, 40, 1.590e9, 320e9},
                      {"A100 SXM 80 GB", "NVIDIA A100 data sheet and white paper", 80, 108, 1.410e9, 2039e9},
                      {"L40S", "NVIDIA L40S data sheet", 89, 142, 2.520e9, 864e9},
                      {"H200 SXM", "NVIDIA H200 data sheet; 1830 MHz is the clock of its stated 989 TFLOP/s", 90, 132, 1.830e9, 4800e9}};

constexpr int register_unit = 256;  // of a warp, allocated at once
constexpr std::int64_t shared_unit = 128;

std::int64_t round_up(std::int64_t number, std::int64_t to) { return (number + to - 1) / to * to; }

}  // namespace

std::optional<Machine> machine_of(std::string_view target) {
  constexpr std::string_view mark = "cuda:sm_";
  const std::size_t at = target.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  int number = 0;
  std::from_chars(target.data() + at + mark.size(), target.data() + target.size(), number);
  for (const Multiprocessor& multiprocessor : multiprocessors) {
    if (multiprocessor.number != number) continue;
    Machine machine{.multiprocessor = multiprocessor, .peak = std::nullopt};
    for (const Peak& peak : peaks)
      if (peak.number == number) machine.peak = peak;
    return machine;
  }
  return std::nullopt;
}

int products_in_a_cycle(const Multiprocessor& multiprocessor, int bits) { return multiprocessor.products * 16 / bits; }

Occupancy occupancy(const Multiprocessor& multiprocessor, int warps, int lanes, int registers, std::int64_t shared_bytes) {
  const int all_warps = multiprocessor.threads / 32;
  const int taken = std::max(1, warps * lanes / 32);
  Occupancy result{.programs = multiprocessor.programs, .warps = 0, .limit = "programs"};
  const auto limit = [&](std::int64_t programs, const char* by) {
    if (programs < result.programs) result.programs = int(programs), result.limit = by;
  };
  limit(all_warps / taken, "threads");
  if (registers > 0) {
    const std::int64_t of_warp = round_up(std::int64_t(registers) * 32, register_unit);
    limit(multiprocessor.registers / of_warp / 4 * 4 / taken, "registers");  // warps are spread over four schedulers
  }
  const std::int64_t shared = round_up(shared_bytes + multiprocessor.reserved_bytes, shared_unit);
  if (shared > 0) limit(multiprocessor.shared_bytes / shared, "shared memory");
  result.warps = result.programs * taken;
  return result;
}

}  // namespace teeny::compiler::explain
