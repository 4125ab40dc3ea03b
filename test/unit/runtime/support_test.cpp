#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <numeric>
#include <thread>
#include <vector>

#include "support/digest.hpp"
#include "support/dynamic_library.hpp"
#include "support/target.hpp"
#include "support/thread_pool.hpp"

namespace {

using namespace teeny::support;

// The examples of FIPS 180-4.
TEST(Digest, KnownAnswers) {
  EXPECT_EQ(to_hex(sha256("", 0)), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc", 3)), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string million(1000000, 'a');
  Sha256 hash;
  for (std::size_t i = 0; i < million.size(); i += 997)
    hash.update(million.data() + i, std::min<std::size_t>(997, million.size() - i));
  EXPECT_EQ(to_hex(hash.finish()), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, FieldsDoNotRunTogether) {
  EXPECT_NE(Sha256().field("ab").field("c").finish(), Sha256().field("a").field("bc").finish());
}

TEST(Target, TextAndBack) {
  const auto target = parse_target("cpu:x86-64-v4+avx512vnni+avx512bf16+avx512vnni");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->kind, "cpu");
  EXPECT_EQ(target->architecture, "x86-64-v4");
  EXPECT_EQ(target->text(), "cpu:x86-64-v4+avx512bf16+avx512vnni");
  EXPECT_EQ(parse_target("interpreter")->text(), "interpreter");
  for (const char* wrong : {"", ":", "cpu:", "cpu:x86-64+", "cpu:x86 64", "CPU:x", "cpu:x++y"})
    EXPECT_FALSE(parse_target(wrong)) << wrong;
}

TEST(Target, HostHasItselfAndLess) {
  const Target host = host_cpu_target();
  EXPECT_EQ(parse_target(host.text()), host);
  EXPECT_EQ(missing_on_host(host, host), "");
  Target less = host;
  less.features.clear();
  EXPECT_EQ(missing_on_host(less, host), "");
  Target more = host;
  more.features.push_back("teleportation");
  EXPECT_EQ(missing_on_host(more, host), "teleportation");
  EXPECT_EQ(missing_on_host(*parse_target("cpu:x86-64-v4"), *parse_target("cpu:x86-64-v3")), "x86-64-v4");
  EXPECT_EQ(missing_on_host(*parse_target("cpu:x86-64-v2"), *parse_target("cpu:x86-64-v3")), "");
  EXPECT_EQ(missing_on_host(*parse_target("cpu:aarch64"), *parse_target("cpu:x86-64-v3")), "aarch64");
}

void somewhere() {}

TEST(DynamicLibrary, KnowsItsFolder) {
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe");
  EXPECT_EQ(folder_of(reinterpret_cast<const void*>(&somewhere)), program.parent_path().string());
  std::string error;
  EXPECT_FALSE(DynamicLibrary::open("/nowhere.so", error));
  EXPECT_NE(error.find("/nowhere.so"), std::string::npos);
}

struct Marks {
  std::vector<std::atomic<int>> marks;
  explicit Marks(std::size_t count) : marks(count) {}
  static bool mark(void* state, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) static_cast<Marks*>(state)->marks[i].fetch_add(1);
    return true;
  }
};

TEST(ThreadPool, EveryIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const std::size_t total : {0, 1, 2, 7, 64, 10007}) {
      Marks marks(total);
      pool.run(total, &marks, Marks::mark);
      for (const auto& mark : marks.marks) ASSERT_EQ(mark.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyCallersAtOnce) {
  ThreadPool pool(4);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 16; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Marks marks(101);
        pool.run(101, &marks, Marks::mark);
        for (const auto& mark : marks.marks) wrong += mark.load() != 1;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, NeverMoreThreadsThanAsked) {
  ThreadPool pool(3);
  struct State {
    std::atomic<int> now{0}, most{0};
  } state;
  pool.run(2000, &state, [](void* raw, std::uint64_t, std::uint64_t) {
    auto& s = *static_cast<State*>(raw);
    const int now = ++s.now;
    int most = s.most.load();
    while (now > most && !s.most.compare_exchange_weak(most, now)) {
    }
    std::this_thread::yield();
    --s.now;
    return true;
  });
  EXPECT_LE(state.most.load(), 3);
}

TEST(ThreadPool, OneRunsOnTheCaller) {
  ThreadPool pool(4);
  std::thread::id ran;
  pool.run(1, &ran, [](void* state, std::uint64_t, std::uint64_t) {
    *static_cast<std::thread::id*>(state) = std::this_thread::get_id();
    return true;
  });
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(ThreadPool, StopHandsOutNoMore) {
  ThreadPool pool(2);
  std::atomic<std::uint64_t> done{0};
  pool.run(1u << 20, &done, [](void* state, std::uint64_t first, std::uint64_t last) {
    static_cast<std::atomic<std::uint64_t>*>(state)->fetch_add(last - first);
    return false;
  });
  EXPECT_LT(done.load(), 1u << 20);
  EXPECT_GT(done.load(), 0u);
}

TEST(ThreadPool, NestedRangesEnd) {
  ThreadPool pool(2);
  struct State {
    ThreadPool* pool;
    std::atomic<int> inner{0};
  } state{&pool};
  pool.run(8, &state, [](void* raw, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i)
      static_cast<State*>(raw)->pool->run(10, raw, [](void* inner, std::uint64_t a, std::uint64_t b) {
        static_cast<State*>(inner)->inner += static_cast<int>(b - a);
        return true;
      });
    return true;
  });
  EXPECT_EQ(state.inner.load(), 80);
}

}  // namespace
