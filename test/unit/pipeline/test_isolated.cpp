// A compile that goes wrong in any way is a failure, and the process is as before.
#include "compiler/pipeline/isolated.hpp"

#include <atomic>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <llvm/Support/ErrorHandling.h>

namespace teeny::compiler {
namespace {

TEST(Isolated, ReturnsAfterTheWork) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  IsolatedResult result = run_isolated([done] { *done = true; });
  EXPECT_TRUE(result.ok);
  EXPECT_TRUE(*done);
}

TEST(Isolated, CarriesAnExceptionsText) {
  IsolatedResult result = run_isolated([] { throw std::runtime_error("no such tile"); });
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.failure, "no such tile");
}

TEST(Isolated, SurvivesFatalErrorsOfLlvmAgainAndAgain) {
  for (int i = 0; i < 5; ++i) {
    IsolatedResult result = run_isolated([] { llvm::report_fatal_error("Cannot select", false); });
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.failure, "Cannot select");
    EXPECT_TRUE(run_isolated([] {}).ok);
  }
}

TEST(Isolated, KeepsGoodAndBadWorkOfManyThreadsApart) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 10; ++i) {
        bool bad = (t + i) % 3 == 0;
        IsolatedResult result = run_isolated([bad] { if (bad) llvm::report_fatal_error("bad", false); });
        wrong += result.ok == bad;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Isolated, HasRoomForDeepRecursion) {
  auto depth = std::make_shared<int>(0);
  // 30 MB of frames: more than a thread of the host's has.
  std::function<void(int)> descend = [&](int left) {
    volatile char frame[4096] = {};
    frame[0] = 1;
    ++*depth;
    if (left > 0) descend(left - frame[0]);
  };
  EXPECT_TRUE(run_isolated([&] { descend(7000); }).ok);
  EXPECT_EQ(*depth, 7001);
}

}  // namespace
}  // namespace teeny::compiler
