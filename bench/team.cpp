#include "bench/team.hpp"

#include <algorithm>
#include <chrono>

namespace teeny::bench {

Team::Team(int threads) {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { serve(i); });
}

Team::~Team() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::split(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& work) {
  work_ = &work;
  count_ = count;
  share_ = (count + size() * grain - 1) / (size() * grain) * grain;
  running_ = size() - 1;
  ++round_;
  round_.notify_all();
  run_share(0);
  while (running_ != 0) std::this_thread::yield();
}

void Team::run_share(int index) {
  std::size_t first = std::min(count_, index * share_), last = std::min(count_, first + share_);
  if (first < last) (*work_)(first, last);
}

void Team::serve(int index) {
  using Clock = std::chrono::steady_clock;
  unsigned seen = 0;
  while (true) {
    // Watches for as long as teeny's own pool does before it sleeps.
    for (auto end = Clock::now() + std::chrono::microseconds(40); round_ == seen && Clock::now() < end;) {}
    round_.wait(seen);
    seen = round_;
    if (stop_) return;
    run_share(index);
    --running_;
  }
}

}  // namespace teeny::bench
