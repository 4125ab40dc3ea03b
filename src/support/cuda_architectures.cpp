#include "support/cuda_architectures.hpp"

namespace teeny::support {

namespace {

constexpr CudaArchitecture architectures[] = {
    {"sm_75", 75, 63},    {"sm_80", 80, 70},    {"sm_86", 86, 71},    {"sm_87", 87, 74},
    {"sm_89", 89, 78},    {"sm_90", 90, 78},    {"sm_90a", 90, 80},   {"sm_100a", 100, 86},
    {"sm_103a", 103, 88}, {"sm_110a", 110, 90}, {"sm_120a", 120, 87}, {"sm_121a", 121, 88}};

}  // namespace

std::span<const CudaArchitecture> cuda_architectures() { return architectures; }

int accepted_ptx(int driver_version) {
  const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
  if (major <= 10) return major == 10 ? 63 + minor : 0;
  if (major == 12 && minor >= 6) return 79 + minor;  // 12.6 brought no new version
  return (major == 11 ? 70 : major == 12 ? 80 : 90 + 10 * (major - 13)) + minor;
}

std::vector<std::string> cuda_targets(int number, int accepted_ptx) {
  std::vector<std::string> targets;
  for (std::size_t i = std::size(architectures); i-- > 0;) {
    const CudaArchitecture& architecture = architectures[i];
    const bool runs = architecture.is_plain() ? architecture.number <= number : architecture.number == number;
    if (runs && architecture.ptx <= accepted_ptx) targets.push_back("cuda:" + std::string(architecture.name));
  }
  return targets;
}

std::string last_cuda_target(int number) { return number >= 80 ? "cuda:sm_80" : "cuda:sm_75"; }

}  // namespace teeny::support
