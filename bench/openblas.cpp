#include "bench/openblas.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace teeny::bench {

namespace {

// Undoes what an environment may have pinned. OpenBLAS 0.3.21 takes AVX-512 processors that are newer than itself for
// SSE ones and would be four times slower than it can be: there its AVX-512 kernels are named.
void choose_kernels() {
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
#endif
}

}  // namespace

std::optional<OpenBlas> OpenBlas::load() {
  choose_kernels();
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  OpenBlas blas;
  blas.set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  blas.gemm_ = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
  blas.config_ = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_config"));
  blas.core_ = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"));
  if (!blas.set_threads_ || !blas.gemm_) return std::nullopt;
  return blas;
}

void OpenBlas::sgemm(int m, int n, int k, const float* a, const float* b, float* c) const {
  constexpr int row_major = 101, no_trans = 111;  // cblas.h
  gemm_(row_major, no_trans, no_trans, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
}

std::string OpenBlas::version() const {
  std::string config = config_ ? config_() : "OpenBLAS";
  // "OpenBLAS 0.3.21 …build options…": the first two words and the kernels in use.
  auto end = config.find(' ', config.find(' ') + 1);
  return config.substr(0, end) + (core_ ? std::string(" ") + core_() : "");
}

}  // namespace teeny::bench
