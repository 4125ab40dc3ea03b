// Targets by their text.
#include <teeny/error.hpp>

#include "compiler/target/cuda/cuda.hpp"
#include "compiler/target/gpu_target.hpp"
#include "compiler/target/simulator_target.hpp"
#include "compiler/target/vulkan/vulkan.hpp"

namespace teeny::compiler {

std::unique_ptr<GpuTarget> make_gpu_target(std::string_view target) {
  if (target.starts_with("cuda:")) return cuda::make_target(cuda::architecture_of(target.substr(5)));
  if (target.starts_with("vulkan:")) return vulkan::make_target(target);
  if (target.starts_with(simulator::target_prefix))
    return simulator::make_target(target.substr(simulator::target_prefix.size()));
  return nullptr;
}

gpu::Capability gpu::capability_of(std::string_view target) {
  if (auto found = make_gpu_target(target)) return found->capability();
  throw Error(ErrorCode::invalid_argument, "target: names a GPU; got '" + std::string(target) +
                                               "', expected a text like cuda:sm_90a\nhelp: `teeny devices` prints "
                                               "this machine's");
}

}  // namespace teeny::compiler
