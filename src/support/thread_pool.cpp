#include "support/thread_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace teeny::support {

namespace {

// Long enough to bridge two launches in a row, short enough not to be felt by anyone else.
constexpr auto spin_time = std::chrono::microseconds(40);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

template <class Condition>
bool spin_until(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return condition();
}

}  // namespace

struct ThreadPool::Job {
  std::uint64_t total;
  void* state;
  Body body;
  std::uint64_t share;  // of the remaining range that one claim takes: 1 / share
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> helpers{0};  // raised and lowered under the pool's mutex

  // Claims shrink as the range runs out, so that threads end together.
  bool claim(std::uint64_t& first, std::uint64_t& last) {
    first = next.load(std::memory_order_relaxed);
    do {
      if (first >= total) return false;
      last = first + std::max<std::uint64_t>(1, (total - first) / share);
    } while (!next.compare_exchange_weak(first, last, std::memory_order_relaxed));
    return true;
  }
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {
  for (int i = 1; i < threads_; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    posted_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::help(Job& job) const {
  std::uint64_t first, last;
  while (job.claim(first, last))
    if (!job.body(job.state, first, last)) job.next.store(job.total, std::memory_order_relaxed);
}

ThreadPool::Job* ThreadPool::pick() {
  Job* best = nullptr;
  for (Job* job : jobs_) {
    if (job->next.load(std::memory_order_relaxed) >= job->total) continue;
    if (best == nullptr || job->helpers.load() < best->helpers.load()) best = job;
  }
  return best;
}

// Watches for a while, then sleeps. False: the pool ends.
bool ThreadPool::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t seen = posted_.load(std::memory_order_relaxed);
  const auto posted = [&] { return posted_.load(std::memory_order_acquire) != seen; };
  lock.unlock();
  const bool found = spin_until(posted);
  lock.lock();
  if (!found) {
    ++sleeping_;
    wake_.wait(lock, posted);
    --sleeping_;
  }
  return !stopping_;
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Job* job = pick();
    if (job == nullptr) {
      if (!wait_for_work(lock)) return;
      continue;
    }
    job->helpers.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    help(*job);
    lock.lock();
    // The last touch: its owner returns as soon as no helper is left.
    if (job->helpers.fetch_sub(1, std::memory_order_release) == 1) done_.notify_all();
  }
}

void ThreadPool::run(std::uint64_t total, void* state, Body body) {
  if (total == 0) return;
  if (total == 1 || threads_ == 1) {
    body(state, 0, total);
    return;
  }
  Job job{.total = total, .state = state, .body = body, .share = static_cast<std::uint64_t>(threads_) * 3};
  int to_wake;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    posted_.fetch_add(1, std::memory_order_release);
    to_wake = static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(sleeping_), total - 1));
  }
  for (int i = 0; i < to_wake; ++i) wake_.notify_one();
  help(job);
  {
    const std::lock_guard lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
  }
  const auto finished = [&] { return job.helpers.load(std::memory_order_acquire) == 0; };
  if (spin_until(finished)) return;
  std::unique_lock lock(mutex_);
  done_.wait(lock, finished);
}

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace teeny::support
