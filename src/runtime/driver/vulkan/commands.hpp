// Command buffers of one pool, used again once the device has passed them, and what is recorded into them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/driver/vulkan/vulkan_memory.hpp"

namespace teeny::runtime::vulkan {

// Where launches put what does not fit into push constants. One writer at a time.
class ArgumentSpace {
 public:
  explicit ArgumentSpace(Allocator& allocator) : allocator_(allocator) {}
  ~ArgumentSpace();
  ArgumentSpace(const ArgumentSpace&) = delete;
  ArgumentSpace& operator=(const ArgumentSpace&) = delete;

  // Copies the words and gives their device address. Throws out_of_memory.
  std::uint64_t put(const std::uint64_t* words, std::size_t count);
  void reuse();  // the device has passed all that stands here

 private:
  Allocator& allocator_;
  std::vector<Place> places_;
  std::size_t current_ = 0;
  std::uint64_t used_ = 0;  // bytes of the current place
};

class CommandPool {
 public:
  explicit CommandPool(Context& context);
  ~CommandPool();  // the device has passed all of its command buffers
  CommandPool(const CommandPool&) = delete;
  CommandPool& operator=(const CommandPool&) = delete;
  VkCommandBuffer make();

 private:
  Context& context_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
};

void begin(Context& context, VkCommandBuffer commands, bool once);
// What was written is seen by the host; ends the recording.
void end(Context& context, VkCommandBuffer commands);
// Everything recorded later, in this command buffer and in later ones of its queue, sees what was written before.
void order(Context& context, VkCommandBuffer commands);
void copy(Context& context, VkCommandBuffer commands, VkBuffer from, std::uint64_t from_offset, VkBuffer to,
          std::uint64_t to_offset, std::uint64_t bytes);
// Records a copy in a stream's order between memory of the device and host memory of it, and the order behind it.
void record(Context& context, VkCommandBuffer commands, const HostCopy& copy, const VulkanHostMemory& host);

// Gives command buffers, of which there may be none, to a queue; `signal` is passed when they are done.
struct Submission {
  std::vector<VkCommandBuffer> commands;
  std::vector<Point> waits;
  Point signal;
};
void submit(Context& context, Queue& queue, const Submission& submission);

}  // namespace teeny::runtime::vulkan
