#include "bench/peers.hpp"

#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace teeny::bench::peers {

void add(const float* __restrict x, const float* __restrict y, float* __restrict out, std::size_t first,
         std::size_t last) {
  for (std::size_t i = first; i < last; ++i) out[i] = x[i] + y[i];
}

void copy(const float* __restrict x, float* __restrict out, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) out[i] = x[i];
}

void axpy(float alpha, const float* __restrict x, float* __restrict y, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) y[i] += alpha * x[i];
}

// Shares start at multiples of 16 elements of 64-byte aligned arrays; what remains is done plainly.
#if defined(__AVX512F__)
void add_non_temporal(const float* __restrict x, const float* __restrict y, float* __restrict out, std::size_t first,
                      std::size_t last) {
  std::size_t i = first;
  for (; i + 16 <= last; i += 16)
    _mm512_stream_ps(out + i, _mm512_add_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(y + i)));
  _mm_sfence();
  add(x, y, out, i, last);
}
void copy_non_temporal(const float* __restrict x, float* __restrict out, std::size_t first, std::size_t last) {
  std::size_t i = first;
  for (; i + 16 <= last; i += 16) _mm512_stream_ps(out + i, _mm512_loadu_ps(x + i));
  _mm_sfence();
  copy(x, out, i, last);
}
#else
void add_non_temporal(const float* x, const float* y, float* out, std::size_t first, std::size_t last) {
  add(x, y, out, first, last);
}
void copy_non_temporal(const float* x, float* out, std::size_t first, std::size_t last) { copy(x, out, first, last); }
#endif

void softmax(const float* __restrict x, float* __restrict y, std::size_t columns, std::size_t first, std::size_t last) {
  for (std::size_t row = first; row < last; ++row) {
    const float* __restrict in = x + row * columns;
    float* __restrict out = y + row * columns;
    float largest = -std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < columns; ++i) largest = in[i] > largest ? in[i] : largest;
    float sum = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      out[i] = std::exp(in[i] - largest);
      sum += out[i];
    }
    float scale = 1 / sum;
    for (std::size_t i = 0; i < columns; ++i) out[i] *= scale;
  }
}

void layer_norm(const float* __restrict x, const float* __restrict weight, const float* __restrict bias,
                float* __restrict y, std::size_t columns, float eps, std::size_t first, std::size_t last) {
  for (std::size_t row = first; row < last; ++row) {
    const float* __restrict in = x + row * columns;
    float* __restrict out = y + row * columns;
    float sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += in[i];
    float mean = sum / columns, squares = 0;
    for (std::size_t i = 0; i < columns; ++i) squares += (in[i] - mean) * (in[i] - mean);
    float scale = 1 / std::sqrt(squares / columns + eps);
    for (std::size_t i = 0; i < columns; ++i) out[i] = (in[i] - mean) * scale * weight[i] + bias[i];
  }
}

}  // namespace teeny::bench::peers
