// Places in the order of a stream's work: values of a timeline semaphore, one for each submission.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/driver/vulkan/vulkan_context.hpp"

namespace teeny::runtime::vulkan {

// Shared by the stream and by all who may have to wait for its work.
class Timeline {
 public:
  explicit Timeline(Context& context);
  ~Timeline();  // the caller has waited for all work
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Whether the device has passed the submission with this value. One that is not given to the device yet is not passed.
  bool reached(std::uint64_t value);
  // Blocks the host; the submission has been given to the device. Throws device_failed.
  void wait(std::uint64_t value, const char* operation);
  VkSemaphore semaphore() const { return semaphore_; }

 private:
  Context& context_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::atomic<std::uint64_t> known_{0};
};

struct Point {
  std::shared_ptr<Timeline> timeline;
  std::uint64_t value = 0;
};

// The last use of one thing in each stream.
class Uses {
 public:
  void add(const std::shared_ptr<Timeline>& timeline, std::uint64_t value);
  // Forgets what is passed; true where nothing is left.
  bool done();
  // Blocks the host; all uses have been given to the device. Failures have no listener: the next call meets them again.
  void wait() noexcept;
  std::vector<Point> take();

 private:
  std::mutex mutex_;
  std::vector<Point> points_;  // guarded by mutex_
};

}  // namespace teeny::runtime::vulkan
