#include <cstdio>
#include <vector>

#include "scale.hpp"

void run_first(const teeny::Device&, const teeny::Buffer<float>&, teeny::Buffer<float>&);
void run_second(const teeny::Device&, const teeny::Buffer<float>&, teeny::Buffer<float>&);

int main() {
  try {
    const teeny::Device device = teeny::Device::open("cpu");
    std::vector<float> host(1000);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i);
    const auto x = device.upload(host);
    auto y = device.buffer<float>(host.size());
    bool right = true;
    const auto check = [&](float factor) {
      const std::vector<float> result = y.download();
      for (std::size_t i = 0; i < host.size(); ++i) right = right && result[i] == host[i] * factor;
    };
    run_first(device, x, y);
    check(2);
    const auto before = teeny::program_statistics();
    run_second(device, x, y);
    check(3);
    const auto after = teeny::program_statistics();
    // One runtime for both: the second library's kernel has the first one's program.
    right = right && before.compiles == after.compiles && before.cache_hits == after.cache_hits;
    std::printf("%s: %s\n", device.info().target.c_str(), right ? "right" : "wrong");
    return right ? 0 : 1;
  } catch (const teeny::Error& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
