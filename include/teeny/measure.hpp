// The protocol by which teeny measures: warm-up, a minimum of time and of samples, medians, and pairs run in turn so
// that both sides see the same machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace teeny {

struct MeasureOptions {
  double warm_up_seconds = 0.02;
  double minimum_seconds = 0.2;  // of each side
  std::size_t minimum_samples = 7;
  std::size_t maximum_samples = 100000;
  std::size_t calls_per_sample = 1;  // more for work shorter than the clock's grain
  // Thread pools go on watching for work after a call and would take a processor from the other side of a pair; and a pool
  // whose threads have gone to sleep wakes slowly, since a scheduler takes milliseconds to spread woken threads. Before each
  // sample: a pause for the former, untimed calls for so long for the latter.
  double pause_seconds = 0;
  double rouse_seconds = 0;
};

// Seconds for one call.
struct Measurement {
  double median = 0;
  double minimum = 0;
  double spread = 0;  // between the quartiles, relative to the median
  std::size_t samples = 0;
};

struct PairMeasurement {
  Measurement first, second;
  double ratio = 0;  // median over the pairs of second's time / first's: above 1, the first is faster
};

namespace detail {

using Clock = std::chrono::steady_clock;

template <class Function>
void warm_up(Function& function, double seconds) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  do function();
  while (Clock::now() < end);
}

template <class Function>
double time_sample(Function& function, const MeasureOptions& options) {
  if (options.pause_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(options.pause_seconds));
  if (options.rouse_seconds > 0) warm_up(function, options.rouse_seconds);
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < options.calls_per_sample; ++i) function();
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(options.calls_per_sample);
}

inline double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

inline Measurement summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const double median = quantile(samples, 0.5);
  const double spread = median > 0 ? (quantile(samples, 0.75) - quantile(samples, 0.25)) / median : 0;
  return {.median = median, .minimum = samples.front(), .spread = spread, .samples = samples.size()};
}

}  // namespace detail

// Times one callable.
template <class Function>
Measurement measure(Function&& function, const MeasureOptions& options = {}) {
  detail::warm_up(function, options.warm_up_seconds);
  std::vector<double> samples;
  double total = 0;
  while (samples.size() < options.maximum_samples &&
         (samples.size() < options.minimum_samples || total < options.minimum_seconds)) {
    samples.push_back(detail::time_sample(function, options));
    total += samples.back() * static_cast<double>(options.calls_per_sample);
  }
  return detail::summarise(std::move(samples));
}

// Times two callables in turn; which one goes first changes with every pair.
template <class First, class Second>
PairMeasurement measure_pair(First&& first, Second&& second, const MeasureOptions& options = {}) {
  detail::warm_up(first, options.warm_up_seconds);
  detail::warm_up(second, options.warm_up_seconds);
  std::vector<double> a, b, ratios;
  double total = 0;
  while (a.size() < options.maximum_samples &&
         (a.size() < options.minimum_samples || total < options.minimum_seconds)) {
    double x, y;
    if (a.size() % 2 == 0) {
      x = detail::time_sample(first, options);
      y = detail::time_sample(second, options);
    } else {
      y = detail::time_sample(second, options);
      x = detail::time_sample(first, options);
    }
    a.push_back(x), b.push_back(y), ratios.push_back(x > 0 ? y / x : 0);
    total += std::min(x, y) * static_cast<double>(options.calls_per_sample);
  }
  const double ratio = detail::summarise(std::move(ratios)).median;
  return {.first = detail::summarise(std::move(a)), .second = detail::summarise(std::move(b)), .ratio = ratio};
}

}  // namespace teeny
