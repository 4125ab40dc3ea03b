// A few threads that wait for work, so that a hand-written loop is spread over threads as cheaply as a kernel's grid.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace teeny::bench {

class Team {
 public:
  // `threads` in all, the caller's included.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  // work(first, last) on equal shares of [0, count), share borders at multiples of `grain`; returns when all are done.
  void split(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& work);

 private:
  void serve(int index);
  void run_share(int index);

  std::vector<std::thread> threads_;
  std::atomic<unsigned> round_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  const std::function<void(std::size_t, std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0, share_ = 0;
};

}  // namespace teeny::bench
