// OpenBLAS, the peer of matrix products, loaded at run time where it is installed.
#pragma once

#include <optional>
#include <string>

namespace teeny::bench {

class OpenBlas {
 public:
  // Nothing where no libopenblas can be loaded. Its kernels are the best that it has for this processor; version() names them.
  static std::optional<OpenBlas> load();

  void set_threads(int count) const { set_threads_(count); }
  // c[m, n] = a[m, k] · b[k, n], row-major and contiguous.
  void sgemm(int m, int n, int k, const float* a, const float* b, float* c) const;
  std::string version() const;

 private:
  using Gemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  void (*set_threads_)(int) = nullptr;
  Gemm gemm_ = nullptr;
  char* (*config_)() = nullptr;
  char* (*core_)() = nullptr;
};

}  // namespace teeny::bench
