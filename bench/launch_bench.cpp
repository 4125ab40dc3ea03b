// What a launch costs above the driver's own call: launch_bench [device] [launches] [samples]
//
//   FAKE_CUDA_LAUNCH=nothing TEENY_CUDA_LIBRARY=libteeny_fake_libcuda.so launch_bench    teeny's part alone, without a
//   GPU
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "bench/launch_cost.hpp"

int main(int count, char** arguments) try {
  const std::string device = count > 1 ? arguments[1] : "cuda:0";
  const int launches = count > 2 ? std::atoi(arguments[2]) : 500, samples = count > 3 ? std::atoi(arguments[3]) : 101;
  const auto cost = teeny::bench::measure_launches(device, launches, samples);
  std::printf("bare cuLaunchKernel %9.1f ns\n", cost.bare * 1e9);
  std::printf("handle              %9.1f ns, %.1f above it\n", cost.handle * 1e9, (cost.handle - cost.bare) * 1e9);
  std::printf("teeny::launch       %9.1f ns, %.1f above it\n", cost.launch * 1e9, (cost.launch - cost.bare) * 1e9);
  const auto graph = teeny::bench::measure_graphs(device, 1000, samples);
  std::printf("graph of 1000, bare %9.1f us\n", graph.bare * 1e6);
  std::printf("graph of 1000       %9.1f us, %.3f of it\n", graph.graph * 1e6, graph.graph / graph.bare);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "launch_bench: %s\n", error.what());
  return 1;
}
