// What this machine can do at most, measured: the figures that results are shown as a share of.
#pragma once

#include <cstddef>

namespace teeny::bench {

// Bytes a second that `threads` threads move together, read and written counted, over arrays of `bytes` in all: the better
// of plain and non-temporal stores.
double copy_bandwidth(int threads, std::size_t bytes);

// f32 multiply-adds of the widest vectors, counted as two operations, in operations a second.
double fma_peak(int threads);

// Products and sums a second of the dot instructions (vdpbf16ps, vpdpbusd), counted as above; 0 where the CPU lacks them.
double bf16_dot_peak(int threads);
double i8_dot_peak(int threads);

}  // namespace teeny::bench
