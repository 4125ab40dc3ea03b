// Packages: programs made ahead of time, for machines without libteeny_compiler.
//
//   teeny::Package package({"cuda:sm_90a", "cpu:x86-64-v3"});      // where the compiler is; no device is needed
//   package.add<float>(Softmax{.BLOCK = 1024});
//   package.save("kernels.teeny");
//
//   teeny::load_package("kernels.teeny");                          // in the application; launches are as ever
//
// A package holds, for each kernel and target, the general program and one for the common launch: strides of 1, and
// pointers and sizes that are multiples of 16. A launch with other facts takes the general one, or has one made where
// the compiler is. It fits the libteeny of the build that wrote it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <teeny/export.hpp>
#include <teeny/kernel.hpp>
#include <teeny/options.hpp>

namespace teeny {

// Members may be called from one thread at a time.
class TEENY_EXPORT Package {
 public:
  // For these targets, as `teeny devices` prints them. One of NVIDIA's brings the plain one that all newer devices run
  // by their driver's assembler ("cuda:sm_80"), since programs for "cuda:sm_90a" run on no other. Throws
  // invalid_argument where a text is no target.
  explicit Package(std::vector<std::string> targets);
  ~Package();
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  // Compiles a kernel for element types D…. Throws what Device::compile throws; then nothing of it is in the package.
  template <class... D, class K>
  void add(const K& kernel, const CompileOptions& options = {}) {
    add(record<D...>(kernel), options);
  }
  void add(const detail::RecordedKernelPtr& kernel, const CompileOptions& options = {});

  // Those that were asked for, then those that were added.
  const std::vector<std::string>& targets() const;
  // Throws io.
  void save(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// From now on the process's launches find the package's programs, before those of the program cache. The file's programs run
// as this process: load files that you trust. May be called from any thread. Throws io where the file cannot be read, is
// damaged or is of another build.
TEENY_EXPORT void load_package(const std::string& path);

}  // namespace teeny
