// An explanation's parts, and their two forms.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "compiler/explain/assembler.hpp"
#include "compiler/explain/counts.hpp"
#include "compiler/explain/machine.hpp"

namespace teeny::compiler::explain {

// A part of shared memory. Parts that are not needed at the same time may have one place.
struct SharedPart {
  std::string what;  // "ring of 3 buffers of 128×64×f16, 128-byte swizzle"
  std::int64_t offset = 0, bytes = 0;
};

// The least time of counted work, each resource by itself. Cycles are of one multiprocessor.
struct Floor {
  double matrix = 0, special = 0, f32 = 0, shuffles = 0, shared = 0;  // cycles
  double memory = -1;                                                 // seconds, at an equal share of the memory's bandwidth; negative: not known
};

// One instruction of a matrix unit.
struct Product {
  double multiply_adds = 0;
  int bits = 16;  // of an element
  int warps = 1;  // that run it together
};

struct Ring {
  std::string place;  // of the loop
  std::int64_t buffers = 0;
};

struct Report {
  std::string kernel, target;
  std::vector<std::string> assumed;
  Function function;
  std::int64_t shared_limit = 0;
  std::vector<SharedPart> shared;
  std::vector<Ring> rings;
  std::map<std::string, Product> products;    // by unit
  std::optional<Machine> machine;
  Assembled assembled;
  int max_registers = 0;
  std::array<std::int64_t, 3> grid{0, 0, 0};  // 0: not given
  std::vector<std::int64_t> turns;            // given for the loops, in order; empty: not given

  // Work of the whole program; nothing where a loop's turns are not known.
  std::optional<Counts> all() const;
  Floor floor_of(const Counts& counts) const;
  double multiply_adds(const Counts& counts) const;  // of matrix units, of the program
  // Of a launch over the grid: from memory with caches that keep everything (each place once), and without any.
  std::array<double, 2> launch_bytes(const Counts& all) const;
  double programs() const { return double(grid[0]) * double(grid[1]) * double(grid[2]); }
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);

}  // namespace teeny::compiler::explain
