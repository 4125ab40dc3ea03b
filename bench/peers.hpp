// The hand-written loops that kernels are timed beside, compiled at -O3 -march=native -ffast-math with a vector libm.
// Each works on rows or elements first … last - 1, so that the caller spreads it over threads.
#pragma once

#include <cstddef>

namespace teeny::bench::peers {

void add(const float* x, const float* y, float* out, std::size_t first, std::size_t last);
void add_non_temporal(const float* x, const float* y, float* out, std::size_t first, std::size_t last);
void copy(const float* x, float* out, std::size_t first, std::size_t last);
void copy_non_temporal(const float* x, float* out, std::size_t first, std::size_t last);
void axpy(float alpha, const float* x, float* y, std::size_t first, std::size_t last);
void softmax(const float* x, float* y, std::size_t columns, std::size_t first, std::size_t last);
void layer_norm(const float* x, const float* weight, const float* bias, float* y, std::size_t columns, float eps,
                std::size_t first, std::size_t last);

}  // namespace teeny::bench::peers
