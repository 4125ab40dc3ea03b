// Prints the digest of every recorded body of the kernel suite, of the variable cases and of random programs: two
// compilers, which evaluate arguments in different orders, must print the same.
#include <cstdio>

#include "../../kernels/suite.hpp"
#include "random_program.hpp"
#include "variable_cases.hpp"
#include "worlds.hpp"

int main() {
  const auto print = [](const char* name, const teeny::detail::RecordedKernelPtr& kernel) {
    std::printf("%s %s\n", kernel->digest().c_str(), name);
  };
  kernels::for_each_recording(print);
  cases::for_each([&]<class Case>(const char* name) { print(name, teeny::record(worlds::Kernel<Case>{})); });
  for (unsigned seed = 0; seed < 100; ++seed) {
    const auto program = random_program::make(seed);
    print(("random program " + std::to_string(seed)).c_str(), random_program::record(program));
  }
}
