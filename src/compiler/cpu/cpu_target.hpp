// What the CPU lowering has to know of a machine: the description that LLVM compiles for, and the facts that choose
// register tiles and instructions. Facts are derived from the description, never from the machine that compiles.
#pragma once

#include <string>

namespace teeny::compiler::cpu {

struct CpuTarget {
  std::string triple;    // LLVM target triple
  std::string cpu;       // LLVM processor name, "generic" or "x86-64-v3" included
  std::string features;  // LLVM feature string, "+avx512f,-…"; may be empty

  int vector_bytes = 16;      // the widest register worth using
  int vector_registers = 16;  // registers of that width
  int row_pointers = 6;       // general registers an inner loop can spend on pointers of rows
  bool x86 = false;
  bool aarch64 = false;
  bool fma = false;           // one rounding for a * b + c
  bool masked_memory = false; // masked loads and stores are single instructions
  bool convert_f16 = false;   // f16 to and from f32 are instructions, not calls of a support library
  bool convert_bf16 = false;  // f32 to bf16 is an instruction
  bool dot_bf16 = false;      // pairs of bf16 accumulated in f32 (vdpbf16ps) at more than the rate of f32 products
  bool dot_u8s8 = false;      // quads of u8 x s8 accumulated in i32 (vpdpbusd)
  bool dot_s8s8 = false;      // quads of s8 x s8 accumulated in i32 (sdot)
  bool dot_i16 = false;       // pairs of i16 accumulated in i32 in one instruction (vpdpwssd)
  bool multiply_add_i16 = false;  // pairs of i16 multiplied and added to i32 (pmaddwd)

  // Lanes of an element of `bytes` bytes in one register.
  int lanes(int bytes) const { return vector_bytes / bytes; }
};

// Derives the facts. The target of `triple` must have been initialised in LLVM; an unknown triple, processor or feature
// gives the facts of the baseline.
CpuTarget describe_cpu(const std::string& triple, const std::string& cpu, const std::string& features);

// The machine that runs this process.
CpuTarget describe_host_cpu();

}  // namespace teeny::compiler::cpu
