#include "runtime/driver/cuda/cuda_uses.hpp"

#include <algorithm>

namespace teeny::runtime::cuda {

namespace {
constexpr unsigned without_timing = 2;  // CUevent_flags
}

// Failures have no listener here: the next call on the device meets them again.
Point::Point() {
  if (symbols()->event_create(&event_, without_timing) != 0) event_ = nullptr;
}
Point::~Point() {
  if (event_ != nullptr) symbols()->event_destroy(event_);
}
bool Point::record(CudaStream stream) { return event_ != nullptr && symbols()->event_record(event_, stream) == 0; }
bool Point::make_wait(CudaStream stream) const {
  return event_ != nullptr && symbols()->stream_wait(stream, event_, 0) == 0;
}
bool Point::synchronize() const { return event_ != nullptr && symbols()->event_synchronize(event_) == 0; }

void PointsByStream::record(CudaStream stream) {
  if (is_capturing(stream)) return;  // runs when its owner's graph does
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(points_.begin(), points_.end(), [&](const auto& entry) { return entry.first == stream; });
  if (found == points_.end()) found = points_.insert(found, {stream, std::make_unique<Point>()});
  found->second->record(stream);
}

void PointsByStream::synchronize() {
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, point] : points_) point->synchronize();
}

bool is_capturing(CudaStream stream) {
  int status = 0;
  return symbols()->stream_capturing(stream, &status) == 0 && status != 0;
}

StreamId StreamTable::add(CudaStream stream) {
  const std::lock_guard lock(mutex_);
  live_.emplace_back(next_.load(std::memory_order_relaxed), stream);
  return next_.fetch_add(1, std::memory_order_relaxed);
}

void StreamTable::remove(StreamId id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(live_, [&](const auto& entry) { return entry.first == id; });
}

bool StreamTable::make_wait(CudaStream waiter, const std::vector<StreamId>& ids) {
  const std::lock_guard lock(mutex_);
  std::vector<CudaStream> streams;
  for (const auto& [id, stream] : live_)
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) streams.push_back(stream);
  if (std::any_of(streams.begin(), streams.end(), is_capturing)) return false;
  for (const CudaStream stream : streams) {
    Point point;
    if (point.record(stream)) point.make_wait(waiter);
  }
  return true;
}

}  // namespace teeny::runtime::cuda
