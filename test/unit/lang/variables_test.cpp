// The forty variable cases in both worlds, and random programs.
#include <gtest/gtest.h>

#include <random>

#include "random_program.hpp"
#include "variable_cases.hpp"
#include "worlds.hpp"

namespace {

TEST(Variables, CasesDoWhatPlainCppDoes) {
  int count = 0;
  cases::for_each([&]<class Case>(const char* name) {
    ++count;
    const auto kernel = teeny::record(worlds::Kernel<Case>{});
    for (int n = 0; n < 7; ++n)
      EXPECT_EQ(worlds::run_trace(kernel, n), worlds::run_plain<Case>(n))
          << name << " with n = " << n << "\n"
          << teeny::trace::to_text(kernel->trace().body);
  });
  EXPECT_GE(count, 40);
}

TEST(Variables, RandomProgramsDoWhatPlainCppDoes) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const random_program::Program program = random_program::make(seed);
    const auto kernel = random_program::record(program);
    for (const int n : {0, 1, 4}) {
      std::vector<std::uint32_t> expected = worlds::fresh_memory();
      random_program::run<worlds::Plain>(program, worlds::Plain::Pointer{&expected, 0}, worlds::Plain::Int(n));
      ASSERT_EQ(worlds::run_trace(kernel, n), expected) << "seed " << seed << ", n = " << n << "\n"
                                                        << teeny::trace::to_text(kernel->trace().body);
    }
  }
}

}  // namespace
