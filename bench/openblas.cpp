#include "bench/openblas.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace teeny::bench {

void clear_openblas_overrides() {
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
}

std::optional<OpenBlas> OpenBlas::load() {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  OpenBlas blas;
  blas.set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  blas.gemm_ = reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm"));
  blas.config_ = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_config"));
  if (!blas.set_threads_ || !blas.gemm_) return std::nullopt;
  return blas;
}

void OpenBlas::sgemm(int m, int n, int k, const float* a, const float* b, float* c) const {
  constexpr int row_major = 101, no_trans = 111;  // cblas.h
  gemm_(row_major, no_trans, no_trans, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
}

std::string OpenBlas::version() const { return config_ ? config_() : "OpenBLAS"; }

}  // namespace teeny::bench
