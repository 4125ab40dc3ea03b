// NVIDIA's architectures as targets name them: which devices run their programs, and which drivers take their PTX.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace teeny::support {

struct CudaArchitecture {
  std::string_view name;  // "sm_90a"; the 'a' says that its programs run on 9.0 alone, others run on newer devices too
  int number = 0;         // the compute capability: 90
  int ptx = 0;            // the lowest version of PTX that knows it: 80 is 8.0. PTX ISA, "Target ISA notes"
  bool is_plain() const { return name.back() != 'a'; }
};

// Those that programs are compiled for, the oldest first; of one number the plain one first.
std::span<const CudaArchitecture> cuda_architectures();

// The highest version of PTX that a driver takes, by its own version: 87 (8.7) for 12080 (CUDA 12.8).
// PTX ISA, "Release Notes"; 0 for drivers before CUDA 10.0.
int accepted_ptx(int driver_version);

// The targets whose programs a device of this compute capability runs with a driver that takes this PTX, the best first;
// the last is plain. Empty: there is none.
std::vector<std::string> cuda_targets(int number, int accepted_ptx);

// The plain target that a list of programs ends in: "cuda:sm_80" for any that runs only on it and newer devices.
std::string last_cuda_target(int number);

}  // namespace teeny::support
