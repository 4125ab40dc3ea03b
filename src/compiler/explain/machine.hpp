// What NVIDIA's multiprocessors hold and do in a cycle, and what devices with them reach: tables, with their sources.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace teeny::compiler::explain {

// CUDA C++ programming guide, "Technical Specifications per Compute Capability" (what is resident) and "Throughput of
// Native Arithmetic Instructions" (results in a cycle). Matrix products: the architectures' white papers, dense.
struct Multiprocessor {
  int number = 0;                    // 90
  int threads = 0, programs = 0;     // resident
  int registers = 65536;
  std::int64_t shared_bytes = 0;     // of all its programs
  std::int64_t reserved_bytes = 0;   // of each program, by the system
  int f32 = 0, special = 16, shuffles = 32;  // results in a cycle
  int products = 0;                  // multiply-adds of 16-bit matrices in a cycle
};

// What one device has and its vendor states.
struct Peak {
  const char* name;      // "H200 SXM"
  const char* source;
  int number;            // of the architecture
  int multiprocessors;
  double hertz;          // highest clock
  double memory;         // bytes in a second
};

struct Machine {
  Multiprocessor multiprocessor;
  std::optional<Peak> peak;  // of the device that stands for the architecture
};

// Of a capability's target text ("cuda:sm_90a", "simulator:cuda:sm_80"); nothing for other kinds and unknown ones.
std::optional<Machine> machine_of(std::string_view target);

// Multiply-adds in a cycle of a product of elements with so many bits (tf32: 32).
int products_in_a_cycle(const Multiprocessor& multiprocessor, int bits);

struct Occupancy {
  int programs = 0;  // of one multiprocessor
  int warps = 0;
  std::string limit;  // "registers", "shared memory", "threads" or "programs"
};
// `registers`: of a thread; 0: not known, and not counted.
Occupancy occupancy(const Multiprocessor& multiprocessor, int warps, int lanes, int registers, std::int64_t shared_bytes);

}  // namespace teeny::compiler::explain
