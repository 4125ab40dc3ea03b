#include "bench/machine_limits.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace teeny::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Runs work(thread) on `threads` threads at once, `repeats` times; the best time of one round.
template <class Work>
double best_round(int threads, int repeats, Work work) {
  double best = 1e30;
  for (int round = 0; round < repeats; ++round) {
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i)
      others.emplace_back([&, i] {
        ++ready;
        while (!go) std::this_thread::yield();
        work(i);
      });
    while (ready < threads - 1) std::this_thread::yield();
    Clock::time_point start = Clock::now();
    go = true;
    work(0);
    for (std::thread& other : others) other.join();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

void copy_non_temporal(float* to, const float* from, std::size_t count) {
#if defined(__AVX512F__)
  for (std::size_t i = 0; i + 16 <= count; i += 16) _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
  _mm_sfence();
#elif defined(__AVX__)
  for (std::size_t i = 0; i + 8 <= count; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
  _mm_sfence();
#else
  std::memcpy(to, from, count * sizeof(float));
#endif
}

#if defined(__x86_64__)
constexpr int chains = 12;  // more than latency times throughput of any current multiplier

// The empty asm keeps every step: without it a compiler may fold the loop into a formula.
#define TEENY_CHAINS(type, initial, step)   \
  type value[chains];                       \
  for (auto& v : value) v = initial;        \
  for (std::int64_t i = 0; i < rounds; ++i) \
    for (auto& v : value) {                 \
      v = step;                             \
      asm volatile("" : "+v"(v));           \
    }

__attribute__((target("avx512f"))) void fma_512(std::int64_t rounds) {
  __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  TEENY_CHAINS(__m512, _mm512_set1_ps(1.0f), _mm512_fmadd_ps(v, a, b))
}
__attribute__((target("avx2,fma"))) void fma_256(std::int64_t rounds) {
  __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  TEENY_CHAINS(__m256, _mm256_set1_ps(1.0f), _mm256_fmadd_ps(v, a, b))
}
__attribute__((target("avx512f,avx512bf16"))) void bf16_512(std::int64_t rounds) {
  __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f80), b = (__m512bh)_mm512_set1_epi16(0x3a00);
  TEENY_CHAINS(__m512, _mm512_set1_ps(1.0f), _mm512_dpbf16_ps(v, a, b))
}
__attribute__((target("avx512f,avx512vnni"))) void i8_512(std::int64_t rounds) {
  __m512i a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2);
  TEENY_CHAINS(__m512i, _mm512_set1_epi32(1), _mm512_dpbusd_epi32(v, a, b))
}
#undef TEENY_CHAINS

double rate(int threads, double operations_a_step, void (*loop)(std::int64_t)) {
  constexpr std::int64_t rounds = 2'000'000;
  double seconds = best_round(threads, 5, [&](int) { loop(rounds); });
  return operations_a_step * chains * rounds * threads / seconds;
}
#endif

}  // namespace

double copy_bandwidth(int threads, std::size_t bytes) {
  std::size_t count = bytes / 2 / sizeof(float) / 64 * 64;
  std::unique_ptr<float, Free> from(static_cast<float*>(std::aligned_alloc(64, count * sizeof(float))));
  std::unique_ptr<float, Free> to(static_cast<float*>(std::aligned_alloc(64, count * sizeof(float))));
  std::fill_n(from.get(), count, 1.0f);
  std::fill_n(to.get(), count, 0.0f);
  std::size_t share = count / threads / 64 * 64;
  auto part = [&](auto copy) {
    return [&, copy](int i) { copy(to.get() + i * share, from.get() + i * share, share); };
  };
  double plain = best_round(
      threads, 20, part([](float* d, const float* s, std::size_t n) { std::memcpy(d, s, n * sizeof(float)); }));
  double streamed = best_round(threads, 20, part(copy_non_temporal));
  return 2.0 * share * threads * sizeof(float) / std::min(plain, streamed);
}

#if defined(__x86_64__)
double fma_peak(int threads) {
  if (__builtin_cpu_supports("avx512f")) return rate(threads, 2 * 16, fma_512);
  if (__builtin_cpu_supports("fma")) return rate(threads, 2 * 8, fma_256);
  return 0;
}
double bf16_dot_peak(int threads) { return __builtin_cpu_supports("avx512bf16") ? rate(threads, 2 * 32, bf16_512) : 0; }
double i8_dot_peak(int threads) { return __builtin_cpu_supports("avx512vnni") ? rate(threads, 2 * 64, i8_512) : 0; }
#else
double fma_peak(int) { return 0; }
double bf16_dot_peak(int) { return 0; }
double i8_dot_peak(int) { return 0; }
#endif

}  // namespace teeny::bench
