// Tiled matrix products from the CPU micro-kernel against OpenBLAS, and against the peak of the product's instruction.
//   dot_kernel_bench [--type f32|bf16|i8] [--size N] [--block M,N,K] [--threads T] [--rounds R] [--direct]
//                    [--openblas-core NAME] [--bf16-pairs]
// A program owns a block of C; per step of K it packs its operands and calls the kernel, as the CPU lowering does. Both
// sides run alternately; medians are compared, then the best times. OpenBLAS is loaded at run time and left out where
// it is absent. It chooses its own kernels, with OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE unset; which it chose is
// printed, since it takes a processor newer than itself for an old one. --openblas-core names better ones. It has f32
// alone: for other types it only checks the result.
#include <dlfcn.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "dot_harness.hpp"

using namespace teeny;
using namespace teeny::compiler::cpu;

namespace {

struct Options {
  DType type = DType::f32;
  std::int64_t size = 1024, block_m = 256, block_n = 512, block_k = 128;
  int threads = 1, rounds = 15;
  bool direct = false, bf16_pairs = false;  // bf16_pairs: vdpbf16ps even where f32 products are faster
  const char* openblas_core = nullptr;
};

// With one thread its own time, so that other processes' shares do not count; with more the clock on the wall.
double now(const Options& options) {
  timespec time;
  clock_gettime(options.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Zeroed memory that starts at a page, as device buffers do.
struct Pages {
  explicit Pages(std::size_t size)
      : bytes(static_cast<std::uint8_t*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096)), std::free) {
    std::memset(bytes.get(), 0, size);
  }
  std::uint8_t* data() const { return bytes.get(); }
  float* floats() const { return reinterpret_cast<float*>(bytes.get()); }
  std::unique_ptr<std::uint8_t, void (*)(void*)> bytes;
};

struct OpenBlas {
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  Sgemm sgemm = nullptr;
  void (*set_threads)(int) = nullptr;

  const char* core = "";

  explicit OpenBlas(const char* wanted_core) {
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    if (wanted_core) setenv("OPENBLAS_CORETYPE", wanted_core, 1);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
    set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    if (const auto name = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_corename"))) core = name();
  }
};

CpuTarget target_of(const Options& options) {
  CpuTarget target = describe_host_cpu();
  target.dot_bf16 |= options.bf16_pairs && target.convert_bf16;
  return target;
}

// The product as a grid of programs.
class Tiled {
 public:
  Tiled(const Options& options, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* c)
      : options_(options),
        a_(a),
        b_(b),
        c_(c),
        program_({options.block_m, options.block_n, options.block_k, options.type, options.type,
                  options.type == DType::i8 ? DType::i32 : DType::f32},
                 target_of(options), DotInner::k, DotInner::other),
        start_(options.threads),
        finish_(options.threads) {
    for (int i = 0; i < options.threads; ++i) {
      arenas_.push_back({Pages(static_cast<std::size_t>(program_.plan.a_bytes)),
                         Pages(static_cast<std::size_t>(program_.plan.b_bytes)),
                         Pages(static_cast<std::size_t>(options.block_m * (options.block_n + 16) * 4))});
    }
    for (int i = 1; i < options.threads; ++i) {
      workers_.emplace_back([this, i] {
        for (;;) {
          start_.arrive_and_wait();
          if (stop_) return;
          work(arenas_[static_cast<std::size_t>(i)]);
          finish_.arrive_and_wait();
        }
      });
    }
  }
  ~Tiled() {
    stop_ = true;
    start_.arrive_and_wait();
    for (std::thread& worker : workers_) worker.join();
  }

  void run() {
    next_ = 0;
    start_.arrive_and_wait();
    work(arenas_[0]);
    finish_.arrive_and_wait();
  }
  const test::DotProgram& program() const { return program_; }

 private:
  struct Arena {
    Pages a, b, sums;
  };

  void work(Arena& arena) {
    const std::int64_t down = (options_.size + options_.block_m - 1) / options_.block_m;
    const std::int64_t across = (options_.size + options_.block_n - 1) / options_.block_n;
    for (std::int64_t id; (id = next_.fetch_add(1)) < down * across;) {
      block(arena, id % down * options_.block_m, id / down * options_.block_n);
    }
  }

  void block(Arena& arena, std::int64_t row, std::int64_t column) {
    const std::int64_t size = options_.size, bytes = static_cast<std::int64_t>(size_of(options_.type));
    const std::int64_t pitch = options_.block_n + 16, m = std::min(options_.block_m, size - row),
                       n = std::min(options_.block_n, size - column);
    std::uint8_t *packed_a = arena.a.data(), *packed_b = arena.b.data(), *sums = arena.sums.data();
    std::memset(sums, 0, static_cast<std::size_t>(options_.block_m * pitch * 4));
    for (std::int64_t k = 0; k < size; k += options_.block_k) {
      const std::int64_t depth = std::min(options_.block_k, size - k);
      const std::uint8_t* a = a_ + (row * size + k) * bytes;
      const bool direct = options_.direct && program_.plan.a_direct && m == options_.block_m;
      program_.pack_b(packed_b, b_ + (k * size + column) * bytes, size, n, depth);
      if (!direct) program_.pack_a(packed_a, a, size, m, depth);
      program_.multiply(direct ? a : packed_a, direct ? size * bytes : program_.plan.a_row_bytes, packed_b, sums, pitch,
                        m, n, depth);
    }
    for (std::int64_t i = 0; i < m; ++i) {
      std::memcpy(c_ + ((row + i) * size + column) * 4, sums + i * pitch * 4, static_cast<std::size_t>(n) * 4);
    }
  }

  Options options_;
  const std::uint8_t *a_, *b_;
  std::uint8_t* c_;
  test::DotProgram program_;
  std::vector<Arena> arenas_;
  std::vector<std::thread> workers_;
  std::barrier<> start_, finish_;
  std::atomic<std::int64_t> next_{0};
  bool stop_ = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--direct") {
      options.direct = true;
      continue;
    }
    if (name == "--bf16-pairs") {
      options.bf16_pairs = true;
      continue;
    }
    ++i;
    if (name == "--type")
      options.type = !std::strcmp(value, "bf16") ? DType::bf16 : !std::strcmp(value, "i8") ? DType::i8 : DType::f32;
    else if (name == "--size")
      options.size = std::atoll(value);
    else if (name == "--threads")
      options.threads = std::atoi(value);
    else if (name == "--openblas-core")
      options.openblas_core = value;
    else if (name == "--rounds")
      options.rounds = std::atoi(value);
    else if (name != "--block" ||
             std::sscanf(value, "%ld,%ld,%ld", &options.block_m, &options.block_n, &options.block_k) != 3) {
      std::fprintf(stderr, "dot_kernel_bench: unknown option %s %s\n", name.c_str(), value);
      std::exit(2);
    }
  }
  return options;
}

// Small whole numbers: exact in every type and in any order of summation.
void fill(DType type, std::size_t count, std::mt19937& random, std::uint8_t* bytes, float* floats) {
  for (std::size_t i = 0; i < count; ++i) {
    const int value = static_cast<int>(random() % 17) - 8;
    floats[i] = static_cast<float>(value);
    std::uint32_t bits;
    std::memcpy(&bits, &floats[i], 4);
    if (type == DType::f32) std::memcpy(bytes + i * 4, &bits, 4);
    if (type == DType::bf16) {
      const auto half = static_cast<std::uint16_t>(bits >> 16);
      std::memcpy(bytes + i * 2, &half, 2);
    }
    if (type == DType::i8) bytes[i] = static_cast<std::uint8_t>(value);
  }
}

std::size_t count_wrong(DType type, std::size_t count, const std::uint8_t* got, const float* expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    float real;
    std::int32_t whole;
    std::memcpy(&real, got + i * 4, 4);
    std::memcpy(&whole, got + i * 4, 4);
    wrong += (type == DType::i8 ? static_cast<float>(whole) : real) != expected[i];
  }
  return wrong;
}

constexpr std::int64_t peak_steps = 1 << 17;

struct Times {
  std::vector<double> ours, blas, peak;
};

Times measure(const Options& options, Tiled& tiled, const std::function<void()>& run_blas, const test::PeakLoop& peak) {
  Times times;
  for (int round = -2; round < options.rounds; ++round) {
    const double start = now(options);
    tiled.run();
    const double ours = now(options);
    if (round == -2 || options.type == DType::f32) run_blas();
    const double blas = now(options);
    peak.run(peak_steps);
    const double end = now(options);
    if (round < 0) continue;
    times.ours.push_back(ours - start);
    times.blas.push_back(blas - ours);
    times.peak.push_back(end - blas);
  }
  return times;
}

void report(const char* statistic, double (*of)(std::vector<double>), const Options& options, const Times& times,
            const test::PeakLoop& peak, const OpenBlas& blas) {
  const auto size = static_cast<double>(options.size);
  const double work = 2e-9 * size * size * size, rate = work / of(times.ours);
  const double peak_rate = peak.operations(peak_steps) * 1e-9 * options.threads / of(times.peak);
  std::printf("  %s %.1f G/s, %.2f of peak %.1f", statistic, rate, rate / peak_rate, peak_rate);
  if (blas.sgemm && options.type == DType::f32) {
    std::printf(", %.2f of OpenBLAS %s %.1f", of(times.blas) / of(times.ours), blas.core, work / of(times.blas));
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const auto count = static_cast<std::size_t>(options.size * options.size);
  const Pages a(count * size_of(options.type)), b(count * size_of(options.type)), c(count * 4);
  const Pages blas_a(count * 4), blas_b(count * 4), blas_c(count * 4);
  std::mt19937 random(1);
  fill(options.type, count, random, a.data(), blas_a.floats());
  fill(options.type, count, random, b.data(), blas_b.floats());
  Tiled tiled(options, a.data(), b.data(), c.data());
  OpenBlas blas(options.openblas_core);
  if (blas.set_threads) blas.set_threads(options.threads);
  const auto run_blas = [&, n = static_cast<int>(options.size)] {
    if (!blas.sgemm) return;
    blas.sgemm(101, 111, 111, n, n, n, 1, blas_a.floats(), n, blas_b.floats(), n, 0, blas_c.floats(), n);
  };
  const test::PeakLoop peak(tiled.program().plan);
  const Times times = measure(options, tiled, run_blas, peak);
  const std::size_t wrong = blas.sgemm ? count_wrong(options.type, count, c.data(), blas_c.floats()) : 0;
  const DotPlan& plan = tiled.program().plan;
  std::printf("%s %ld^3 block %ldx%ldx%ld threads %d%s; tile %ldx%ld; optimise %.1f ms, code %.1f ms; %zu wrong\n",
              name_of(options.type), options.size, options.block_m, options.block_n, options.block_k, options.threads,
              options.direct ? " direct" : "", plan.rows.first, plan.panels.first * plan.lanes,
              tiled.program().optimise_seconds * 1e3, tiled.program().code_seconds * 1e3, wrong);
  report("median", median, options, times, peak, blas);
  const auto best = [](std::vector<double> values) { return *std::min_element(values.begin(), values.end()); };
  report("best  ", best, options, times, peak, blas);
  return wrong ? 1 : 0;
}
