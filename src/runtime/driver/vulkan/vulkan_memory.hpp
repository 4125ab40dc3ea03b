// Memory of a Vulkan device: blocks that it gives, parts of them that buffers have, and what may be used again when.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/driver/driver.hpp"
#include "runtime/driver/vulkan/timeline.hpp"

namespace teeny::runtime::vulkan {

enum class MemoryKind {
  device,     // the device's own; mapped where the host reaches it at no cost
  host,       // the host's, which the device copies from and to
  arguments,  // the device's where the host can write it, else the host's
};

// One VkDeviceMemory with one VkBuffer over all of it.
struct Block {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t address = 0;  // as programs see it
  std::uint64_t bytes = 0;
  std::byte* mapped = nullptr;  // null: out of the host's reach
  bool shared = false;          // between several places
  std::map<std::uint64_t, std::uint64_t> free;  // offset to size, of a shared block
};

// A part of a block.
struct Place {
  Block* block = nullptr;
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t address() const { return block->address + offset; }
  std::byte* mapped() const { return block->mapped == nullptr ? nullptr : block->mapped + offset; }
};

// Gives places of one kind of memory. May be called from several threads.
class Allocator {
 public:
  Allocator(Context& context, MemoryKind kind) : context_(context), kind_(kind) {}
  ~Allocator();  // nothing is in use any more
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // A place of at least so many bytes, aligned to 256; none: the device has no more.
  bool allocate(std::uint64_t bytes, Place& place);
  // The device uses it no more after these points.
  void free(const Place& place, std::vector<Point> uses);
  // Takes back what the device has passed.
  void collect();
  // Gives unused blocks back to the system.
  void release();
  std::uint64_t held() const;  // bytes of all blocks

 private:
  struct Freed {
    Place place;
    std::vector<Point> uses;
  };
  std::unique_ptr<Block> make_block(std::uint64_t bytes);
  void destroy(Block& block);
  bool place_in(Block& block, std::uint64_t bytes, Place& place);
  void give_back(const Place& place);
  void collect_locked();

  Context& context_;
  const MemoryKind kind_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;  // guarded by mutex_, as is what follows
  std::vector<Block*> spare_;                   // whole blocks that are free
  std::vector<Freed> freed_;
};

class VulkanMemory final : public DeviceMemory {
 public:
  VulkanMemory(Allocator& allocator, const Place& place, std::uint64_t size);
  ~VulkanMemory() override { allocator_.free(place_, uses_.take()); }

  VkBuffer buffer() const { return place_.block->buffer; }
  std::uint64_t offset_of(std::uint64_t of_address) const { return of_address - place_.block->address; }
  std::byte* mapped(std::uint64_t of_address) const {
    return place_.block->mapped == nullptr ? nullptr : place_.block->mapped + offset_of(of_address);
  }
  Uses& uses() { return uses_; }

 private:
  Allocator& allocator_;
  const Place place_;
  Uses uses_;
};

class VulkanHostMemory final : public HostMemory {
 public:
  VulkanHostMemory(Allocator& allocator, const Place& place, std::uint64_t size);
  ~VulkanHostMemory() override { allocator_.free(place_, uses_.take()); }

  VkBuffer buffer() const { return place_.block->buffer; }
  std::uint64_t offset_of(const void* of_data) const {
    return place_.offset + static_cast<std::uint64_t>(static_cast<const std::byte*>(of_data) - place_.mapped());
  }
  Uses& uses() { return uses_; }

 private:
  Allocator& allocator_;
  const Place place_;
  Uses uses_;
};

}  // namespace teeny::runtime::vulkan
