#include "bench/bare_cuda.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace teeny::bench {

namespace {

const char* const program = R"(.version 6.3
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) { ret; }
)";

// The entry point `name` as a function of these parameters.
template <class... P>
auto find(void* library, const char* name) {
  auto* found = reinterpret_cast<int (*)(P...)>(::dlsym(library, name));
  if (found == nullptr) throw std::runtime_error(std::string("the CUDA driver has no ") + name);
  return found;
}

}  // namespace

void BareCuda::check(int result, const char* call) {
  if (result != 0) throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
}

BareCuda::BareCuda(int device) {
  const char* chosen = std::getenv("TEENY_CUDA_LIBRARY");
  library_ = ::dlopen(chosen != nullptr ? chosen : "libcuda.so.1", RTLD_NOW);
  if (library_ == nullptr) throw std::runtime_error(::dlerror());
  launch_ = find<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**>(
      library_, "cuLaunchKernel");
  synchronize_ = find<void*>(library_, "cuStreamSynchronize");
  graph_launch_ = find<void*, void*>(library_, "cuGraphLaunch");
  int ordinal = 0;
  void* context = nullptr;
  check(find<unsigned>(library_, "cuInit")(0), "cuInit");
  check(find<int*, int>(library_, "cuDeviceGet")(&ordinal, device), "cuDeviceGet");
  check(find<void**, int>(library_, "cuDevicePrimaryCtxRetain")(&context, ordinal), "cuDevicePrimaryCtxRetain");
  check(find<void*>(library_, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  check(find<void**, const void*>(library_, "cuModuleLoadData")(&module_, program), "cuModuleLoadData");
  check(find<void**, void*, const char*>(library_, "cuModuleGetFunction")(&function_, module_, "nothing"),
        "cuModuleGetFunction");
  check(find<void**, unsigned>(library_, "cuStreamCreate")(&stream_, 1), "cuStreamCreate");
}

BareCuda::~BareCuda() {
  synchronize_(stream_);
  if (graph_ != nullptr) find<void*>(library_, "cuGraphExecDestroy")(graph_);
  find<void*>(library_, "cuStreamDestroy_v2")(stream_);
  find<void*>(library_, "cuModuleUnload")(module_);
}

void BareCuda::synchronize() { check(synchronize_(stream_), "cuStreamSynchronize"); }

void BareCuda::capture(int launches) {
  void* captured = nullptr;
  check(find<void*, int>(library_, "cuStreamBeginCapture_v2")(stream_, 2), "cuStreamBeginCapture");
  for (int i = 0; i < launches; ++i) launch(0, 0, 0, i);
  check(find<void*, void**>(library_, "cuStreamEndCapture")(stream_, &captured), "cuStreamEndCapture");
  check(find<void**, void*, unsigned long long>(library_, "cuGraphInstantiateWithFlags")(&graph_, captured, 0),
        "cuGraphInstantiate");
  find<void*>(library_, "cuGraphDestroy")(captured);
}

void BareCuda::replay() { check(graph_launch_(graph_, stream_), "cuGraphLaunch"); }

}  // namespace teeny::bench
