#include "runtime/driver/vulkan/timeline.hpp"

#include <algorithm>
#include <utility>

#include <teeny/error.hpp>

namespace teeny::runtime::vulkan {

Timeline::Timeline(Context& context) : context_(context) {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  check(context.vk.CreateSemaphore(context.device, &info, nullptr, &semaphore_), "vkCreateSemaphore");
}

Timeline::~Timeline() { context_.vk.DestroySemaphore(context_.device, semaphore_, nullptr); }

bool Timeline::reached(std::uint64_t value) {
  if (value <= known_.load(std::memory_order_acquire)) return true;
  std::uint64_t now = 0;
  check(context_.vk.GetSemaphoreCounterValue(context_.device, semaphore_, &now), "vkGetSemaphoreCounterValue");
  known_.store(now, std::memory_order_release);  // an older value only costs another look
  return value <= now;
}

void Timeline::wait(std::uint64_t value, const char* operation) {
  if (value <= known_.load(std::memory_order_acquire)) return;
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore_;
  info.pValues = &value;
  check(context_.vk.WaitSemaphores(context_.device, &info, UINT64_MAX), operation);
  known_.store(value, std::memory_order_release);
}

void Uses::add(const std::shared_ptr<Timeline>& timeline, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  for (Point& point : points_)
    if (point.timeline == timeline) {
      point.value = std::max(point.value, value);
      return;
    }
  points_.push_back({timeline, value});
}

bool Uses::done() {
  const std::lock_guard lock(mutex_);
  std::erase_if(points_, [](const Point& point) { return point.timeline->reached(point.value); });
  return points_.empty();
}

void Uses::wait() noexcept {
  for (const Point& point : take()) try {
      point.timeline->wait(point.value, "synchronize");
    } catch (const Error&) {
    }
}

std::vector<Point> Uses::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(points_, {});
}

}  // namespace teeny::runtime::vulkan
