// Threads that share the index range of one launch. No thread is started or woken for a range of one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace teeny::support {

// Several threads may call run() at once: each works on its own range and the workers help where they are missing,
// so that never more than `threads - 1` workers are added to the calling threads.
class ThreadPool {
 public:
  // Runs the indices first … last - 1; false stops the range: no further part of it is handed out.
  using Body = bool (*)(void* state, std::uint64_t first, std::uint64_t last);

  // `threads` counts the calling thread; at least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body for 0 … total - 1 in parts, each part ascending and parts handed out in ascending order; returns when
  // all are done. body must not throw.
  void run(std::uint64_t total, void* state, Body body);

 private:
  struct Job;

  void work();
  void help(Job& job) const;
  Job* pick();
  bool wait_for_work(std::unique_lock<std::mutex>& lock);

  const int threads_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<Job*> jobs_;                // guarded by mutex_
  int sleeping_ = 0;                      // guarded by mutex_
  bool stopping_ = false;                 // guarded by mutex_
  std::atomic<std::uint64_t> posted_{0};  // raised with every job: what idle workers watch before they sleep
};

// Processors that this process may use.
int available_processors();

}  // namespace teeny::support
