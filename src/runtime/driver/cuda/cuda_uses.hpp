// Who uses memory: what a free has to wait for. Memory is allocated in the order of the default stream and freed once
// every stream that used it has passed the work given to it by then; the host waits for neither.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/driver/cuda/libcuda.hpp"

namespace teeny::runtime::cuda {

using StreamId = std::uint32_t;  // never given twice
constexpr StreamId default_stream_id = 1;

// A place in a stream's order.
class Point {
 public:
  Point();
  ~Point();
  Point(const Point&) = delete;
  Point& operator=(const Point&) = delete;
  bool record(CudaStream stream);
  bool make_wait(CudaStream stream) const;  // the stream waits for it
  bool synchronize() const;                 // the host does

 private:
  CudaEvent event_ = nullptr;
};

// The place behind the last use of one thing in each stream, for a host that has to wait for them all.
class PointsByStream {
 public:
  void record(CudaStream stream);
  void synchronize();

 private:
  std::mutex mutex_;
  std::vector<std::pair<CudaStream, std::unique_ptr<Point>>> points_;  // guarded by mutex_
};

// True while the stream's owner records its work instead of running it: it can neither be waited for nor wait.
bool is_capturing(CudaStream stream);

// The streams that used one thing. The default stream counts as one of them from the start.
class Uses {
 public:
  bool last(StreamId id) const { return last_.load(std::memory_order_acquire) == id; }
  // Calls prepare() where the stream is new here; others that come with the same stream wait until it returns.
  template <class Prepare>
  void add(StreamId id, Prepare&& prepare) {
    const std::lock_guard lock(mutex_);
    if (id != default_stream_id && !contains(id)) {
      prepare();
      others_.push_back(id);
    }
    last_.store(id, std::memory_order_release);
  }
  std::vector<StreamId> others() const {
    const std::lock_guard lock(mutex_);
    return others_;
  }

 private:
  bool contains(StreamId id) const {
    for (const StreamId other : others_)
      if (other == id) return true;
    return false;
  }

  std::atomic<StreamId> last_{default_stream_id};
  mutable std::mutex mutex_;
  std::vector<StreamId> others_;  // guarded by mutex_
};

// The streams that are alive. One that is gone had done its work, or handed it on to `heir` before.
class StreamTable {
 public:
  StreamId add(CudaStream stream);
  void remove(StreamId id);
  bool several() const { return next_.load(std::memory_order_relaxed) > default_stream_id + 1; }
  // Makes `waiter` wait for all work given so far to the streams. False, with nothing done: one of them is capturing.
  bool make_wait(CudaStream waiter, const std::vector<StreamId>& ids);

 private:
  std::mutex mutex_;
  std::vector<std::pair<StreamId, CudaStream>> live_;  // guarded by mutex_
  std::atomic<StreamId> next_{default_stream_id};
};

}  // namespace teeny::runtime::cuda
