// Vector add, copy, axpy beside hand-written loops; softmax and layer norm beside the compiler's vectorised loops.
#include <functional>

#include <teeny/teeny.hpp>

#include "bench/cpu_suite.hpp"
#include "bench/machine_limits.hpp"
#include "bench/peers.hpp"
#include "bench/team.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/normalise.hpp"

namespace teeny::bench {

namespace {

constexpr std::size_t cache_line_floats = 16;

int blocks(std::size_t count, int block) { return static_cast<int>((count + block - 1) / block); }

std::string mebibytes(std::size_t bytes) {
  return bytes >= (1u << 20) ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

struct Peer {
  const char* name;
  std::function<void()> run;
};

// Times `ours` against each peer and records GB/s of `bytes` moved beside the fastest of them.
template <class Ours>
void add_stream_row(Suite& suite, const char* name, std::size_t array_bytes, double bytes, Ours ours,
                    const std::vector<Peer>& peers) {
  MeasureOptions options = suite.measure;
  if (array_bytes <= (std::size_t(4) << 20)) options.calls_per_sample = 20;  // a millisecond or so
  PairMeasurement best;
  const char* peer_name = nullptr;
  for (const Peer& peer : peers) {
    PairMeasurement pair = measure_pair(ours, peer.run, options);
    if (peer_name && pair.second.median >= best.second.median) continue;
    best = pair;
    peer_name = peer.name;
  }
  suite.results.push_back({.name = name,
                           .size = mebibytes(array_bytes),
                           .peer = peer_name,
                           .threads = suite.threads,
                           .seconds = best.first.median,
                           .figure = bytes / best.first.median * 1e-9,
                           .unit = "GB/s",
                           .ratio = best.ratio,
                           .wanted = 0.95});
}

void stream_group(Suite& suite, Team& team, std::size_t bytes) {
  const std::size_t n = bytes / sizeof(float);
  const int count = static_cast<int>(n);
  auto x = suite.device.upload(random_floats(n, 1)), y = suite.device.upload(random_floats(n, 2));
  auto out = suite.device.buffer<float>(n);
  float *px = x.host_data(), *py = y.host_data(), *po = out.host_data();
  auto split = [&](auto loop) { return [&team, n, loop] { team.split(n, cache_line_floats, loop); }; };
  using Range = std::size_t;
  if (suite.wants("vector add")) {
    kernels::VectorAdd kernel;
    auto handle = suite.device.compile(kernel, x, y, out, count);
    add_stream_row(suite, "vector add", bytes, 3.0 * bytes, [&] { handle({blocks(n, kernel.BLOCK)}, x, y, out, count); },
                   {{"plain loop", split([=](Range a, Range b) { peers::add(px, py, po, a, b); })},
                    {"non-temporal loop", split([=](Range a, Range b) { peers::add_non_temporal(px, py, po, a, b); })}});
  }
  if (suite.wants("copy")) {
    kernels::Copy kernel;
    auto handle = suite.device.compile(kernel, x, out, count);
    add_stream_row(suite, "copy", bytes, 2.0 * bytes, [&] { handle({blocks(n, kernel.BLOCK)}, x, out, count); },
                   {{"plain loop", split([=](Range a, Range b) { peers::copy(px, po, a, b); })},
                    {"non-temporal loop", split([=](Range a, Range b) { peers::copy_non_temporal(px, po, a, b); })}});
  }
  if (suite.wants("axpy")) {
    kernels::Axpy kernel;
    auto handle = suite.device.compile(kernel, 1e-3f, x, y, count);
    add_stream_row(suite, "axpy", bytes, 3.0 * bytes, [&] { handle({blocks(n, kernel.BLOCK)}, 1e-3f, x, y, count); },
                   {{"plain loop", split([=](Range a, Range b) { peers::axpy(1e-3f, px, py, a, b); })}});
  }
}

int power_of_two_above(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// A row benchmark gives two rows: beside the C++ loop, and as a share of a copy of the same bytes.
template <class Ours, class Loop>
void add_row_result(Suite& suite, Team& team, const char* name, int rows, int columns, Ours ours, Loop loop,
                    const float* from, float* to) {
  const double bytes = 2.0 * rows * columns * sizeof(float);
  const std::string size = std::to_string(rows) + " × " + std::to_string(columns);
  PairMeasurement pair = measure_pair(
      ours, [&] { team.split(rows, 1, loop); }, suite.measure);
  suite.results.push_back({.name = name,
                           .size = size,
                           .peer = "C++ loop, -O3 -march=native -ffast-math",
                           .threads = suite.threads,
                           .seconds = pair.first.median,
                           .figure = bytes / pair.first.median * 1e-9,
                           .unit = "GB/s",
                           .ratio = pair.ratio,
                           .wanted = 1.0});
  const std::size_t n = static_cast<std::size_t>(rows) * columns;
  PairMeasurement copy = measure_pair(
      ours,
      [&] {
        team.split(n, cache_line_floats,
                   [&](std::size_t a, std::size_t b) { peers::copy_non_temporal(from, to, a, b); });
      },
      suite.measure);
  suite.results.push_back({.name = name,
                           .size = size,
                           .peer = "copy of the same bytes",
                           .threads = suite.threads,
                           .seconds = copy.first.median,
                           .figure = bytes / copy.first.median * 1e-9,
                           .unit = "GB/s",
                           .ratio = copy.ratio,
                           .wanted = 0.9});
}

void row_group(Suite& suite, Team& team, int columns) {
  const int rows = (64 << 20) / static_cast<int>(sizeof(float)) / columns;
  const std::size_t n = static_cast<std::size_t>(rows) * columns;
  auto x = suite.device.upload(random_floats(n, 3)), w = suite.device.upload(random_floats(columns, 4));
  auto b = suite.device.upload(random_floats(columns, 5));
  auto y = suite.device.buffer<float>(n);
  float *px = x.host_data(), *py = y.host_data(), *pw = w.host_data(), *pb = b.host_data();
  const std::size_t width = columns;
  if (suite.wants("softmax")) {
    kernels::Softmax kernel{.BLOCK = power_of_two_above(columns)};
    auto handle = suite.device.compile(kernel, x, y, columns);
    add_row_result(
        suite, team, "softmax", rows, columns, [&] { handle({rows}, x, y, columns); },
        [=](std::size_t first, std::size_t last) { peers::softmax(px, py, width, first, last); }, px, py);
  }
  if (suite.wants("layer norm")) {
    kernels::LayerNorm kernel{.BLOCK = power_of_two_above(columns)};
    auto handle = suite.device.compile(kernel, x, w, b, y, columns, 1e-5f);
    add_row_result(
        suite, team, "layer norm", rows, columns, [&] { handle({rows}, x, w, b, y, columns, 1e-5f); },
        [=](std::size_t first, std::size_t last) { peers::layer_norm(px, pw, pb, py, width, 1e-5f, first, last); }, px,
        py);
  }
}

}  // namespace

void stream_benchmarks(Suite& suite) {
  Team team(suite.threads);
  for (std::size_t bytes : {std::size_t(64) << 20, std::size_t(1) << 20}) stream_group(suite, team, bytes);
}

void row_benchmarks(Suite& suite) {
  Team team(suite.threads);
  for (int columns : {1024, 1000, 8192}) row_group(suite, team, columns);
}

}  // namespace teeny::bench
