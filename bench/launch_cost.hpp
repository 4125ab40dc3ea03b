// What a launch on a CUDA device costs the host, beside the driver's own call in the same run.
#pragma once

#include <string>

namespace teeny::bench {

// Medians of interleaved samples, in seconds of one launch; every launch is of one small program with four arguments.
struct LaunchCost {
  double bare = 0;    // cuLaunchKernel in a loop
  double handle = 0;  // of a compiled handle
  double launch = 0;  // teeny::launch
};
LaunchCost measure_launches(const std::string& device, int launches, int samples);

// Seconds from giving a graph to the device to its end: of bare launches, and of teeny's.
struct GraphCost {
  double bare = 0;
  double graph = 0;
};
GraphCost measure_graphs(const std::string& device, int launches, int samples);

}  // namespace teeny::bench
