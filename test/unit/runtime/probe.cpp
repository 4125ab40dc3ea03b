// One process that launches a kernel and says what it took: teeny_runtime_probe [kernel] [constant] [user id]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <teeny/error.hpp>

#include "kernels.hpp"

namespace {
bool mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(name) != std::string::npos) return true;
  return false;
}
}  // namespace

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "fill";
  const std::uint64_t constant = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  if (count > 3 && ::setuid(static_cast<uid_t>(std::atoi(arguments[3]))) != 0) return 2;
  try {
    const teeny::Device device = teeny::Device::open();
    const auto out = device.buffer<float>(64);
    teeny::test::launch(device, {64}, teeny::test::make_kernel(name, constant), out, 16);
    const bool right = out.download()[63] == 1079.0f;
    const teeny::ProgramStatistics statistics = teeny::program_statistics();
    std::printf("right=%d compiles=%d hits=%d rebuilds=%d compiler=%d\n", right, static_cast<int>(statistics.compiles),
                static_cast<int>(statistics.cache_hits), static_cast<int>(statistics.cache_rebuilds),
                mapped("compiler") || mapped("libLLVM") || mapped("libMLIR"));
    return 0;
  } catch (const teeny::Error& error) {
    std::printf("%s: %s\n", teeny::name_of(error.code()), error.what());
    return 1;
  }
}
