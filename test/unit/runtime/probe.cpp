// One process that launches a kernel and says what it took: teeny_runtime_probe [kernel] [constant] [user id]
//   MAKE_PACKAGE=FILE TARGETS=a,b   packages the kernel instead
//   LOAD_PACKAGE=FILE               loads one before
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <teeny/error.hpp>
#include <teeny/package.hpp>

#include "kernels.hpp"

namespace {
bool mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(name) != std::string::npos) return true;
  return false;
}

void make_package(const std::string& path, const teeny::detail::RecordedKernelPtr& kernel) {
  std::vector<std::string> targets;
  std::istringstream list(std::getenv("TARGETS"));
  for (std::string target; std::getline(list, target, ',');) targets.push_back(target);
  teeny::Package package(targets);
  package.add(kernel);
  package.save(path);
  for (const std::string& target : package.targets()) std::printf("%s ", target.c_str());
  std::printf("compiles=%d\n", static_cast<int>(teeny::program_statistics().compiles));
}
}  // namespace

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "fill";
  const std::uint64_t constant = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  if (count > 3 && ::setuid(static_cast<uid_t>(std::atoi(arguments[3]))) != 0) return 2;
  try {
    if (const char* path = std::getenv("MAKE_PACKAGE")) return make_package(path, teeny::test::make_kernel(name, constant)), 0;
    if (const char* path = std::getenv("LOAD_PACKAGE")) teeny::load_package(path);
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
