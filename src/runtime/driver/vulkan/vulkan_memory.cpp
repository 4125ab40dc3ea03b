#include "runtime/driver/vulkan/vulkan_memory.hpp"

#include <algorithm>

namespace teeny::runtime::vulkan {

namespace {

constexpr std::uint64_t alignment = 256;
constexpr std::uint64_t shared_block_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t most_shared_bytes = shared_block_bytes / 8;  // larger places get blocks of their own
constexpr std::uint64_t block_grain = std::uint64_t{2} << 20;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t grain) { return (value + grain - 1) / grain * grain; }

struct Wish {
  VkMemoryPropertyFlags wanted = 0, liked = 0;
};

Wish wish_of(MemoryKind kind, bool mapped) {
  constexpr VkMemoryPropertyFlags reachable = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  switch (kind) {
    case MemoryKind::device:
      return {.wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (mapped ? reachable : 0),
              .liked = mapped ? VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_HOST_CACHED_BIT} : 0};
    case MemoryKind::host:
      return {.wanted = reachable, .liked = VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
    case MemoryKind::arguments:
      return {.wanted = reachable, .liked = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
  }
  return {};
}

}  // namespace

Allocator::~Allocator() {
  for (const auto& block : blocks_) destroy(*block);
}

// Null where the device has no more memory.
std::unique_ptr<Block> Allocator::make_block(std::uint64_t bytes) {
  const DeviceSymbols& vk = context_.vk;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  auto block = std::make_unique<Block>();
  block->bytes = bytes;
  if (bytes > context_.physical.limits.allocation_bytes) return nullptr;
  check(vk.CreateBuffer(context_.device, &info, nullptr, &block->buffer), "vkCreateBuffer");
  VkMemoryRequirements needs{};
  vk.GetBufferMemoryRequirements(context_.device, block->buffer, &needs);
  const Wish wish = wish_of(kind_, context_.physical.mapped);
  const int type = context_.memory_type(needs.memoryTypeBits, wish.wanted, wish.liked);
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocate.pNext = &flags;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = static_cast<std::uint32_t>(std::max(type, 0));
  VkResult result = type < 0 ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                             : vk.AllocateMemory(context_.device, &allocate, nullptr, &block->memory);
  if (result == VK_SUCCESS) result = vk.BindBufferMemory(context_.device, block->buffer, block->memory, 0);
  if (result == VK_SUCCESS && (wish.wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0) {
    void* mapped = nullptr;
    result = vk.MapMemory(context_.device, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    block->mapped = static_cast<std::byte*>(mapped);
  }
  if (result != VK_SUCCESS) {
    destroy(*block);
    if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY && result != VK_ERROR_OUT_OF_HOST_MEMORY &&
        result != VK_ERROR_TOO_MANY_OBJECTS)
      check(result, "vkAllocateMemory");
    return nullptr;
  }
  VkBufferDeviceAddressInfo ask{};
  ask.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  ask.buffer = block->buffer;
  block->address = vk.GetBufferDeviceAddress(context_.device, &ask);
  return block;
}

void Allocator::destroy(Block& block) {
  context_.vk.DestroyBuffer(context_.device, block.buffer, nullptr);
  context_.vk.FreeMemory(context_.device, block.memory, nullptr);
}

bool Allocator::place_in(Block& block, std::uint64_t bytes, Place& place) {
  for (auto it = block.free.begin(); it != block.free.end(); ++it) {
    const auto [offset, size] = *it;
    if (size < bytes) continue;
    block.free.erase(it);
    if (size > bytes) block.free.emplace(offset + bytes, size - bytes);
    place = {.block = &block, .offset = offset, .bytes = bytes};
    return true;
  }
  return false;
}

bool Allocator::allocate(std::uint64_t bytes, Place& place) {
  const std::lock_guard lock(mutex_);
  collect_locked();
  const bool shared = bytes <= most_shared_bytes;
  bytes = rounded_up(std::max<std::uint64_t>(bytes, 1), shared ? alignment : block_grain);
  if (shared) {
    for (const auto& block : blocks_)
      if (block->shared && place_in(*block, bytes, place)) return true;
  } else {
    const auto fits = [&](const Block* block) { return block->bytes >= bytes && block->bytes - bytes <= bytes / 4; };
    if (const auto found = std::find_if(spare_.begin(), spare_.end(), fits); found != spare_.end()) {
      place = {.block = *found, .offset = 0, .bytes = (*found)->bytes};
      spare_.erase(found);
      return true;
    }
  }
  std::unique_ptr<Block> made = make_block(shared ? shared_block_bytes : bytes);
  if (made == nullptr) return false;
  made->shared = shared;
  place = {.block = made.get(), .offset = 0, .bytes = bytes};
  if (shared) made->free.emplace(bytes, made->bytes - bytes);
  blocks_.push_back(std::move(made));
  return true;
}

void Allocator::free(const Place& place, std::vector<Point> uses) {
  const std::lock_guard lock(mutex_);
  freed_.push_back({place, std::move(uses)});
}

void Allocator::give_back(const Place& place) {
  Block& block = *place.block;
  if (!block.shared) return spare_.push_back(&block);
  auto it = block.free.emplace(place.offset, place.bytes).first;
  if (const auto next = std::next(it); next != block.free.end() && it->first + it->second == next->first) {
    it->second += next->second;
    block.free.erase(next);
  }
  if (it == block.free.begin()) return;
  const auto before = std::prev(it);
  if (before->first + before->second != it->first) return;
  before->second += it->second;
  block.free.erase(it);
}

void Allocator::collect_locked() {
  std::erase_if(freed_, [&](Freed& freed) {
    std::erase_if(freed.uses, [](const Point& point) { return point.timeline->reached(point.value); });
    if (!freed.uses.empty()) return false;
    give_back(freed.place);
    return true;
  });
}

void Allocator::collect() {
  const std::lock_guard lock(mutex_);
  collect_locked();
}

void Allocator::release() {
  const std::lock_guard lock(mutex_);
  collect_locked();
  std::erase_if(blocks_, [&](const std::unique_ptr<Block>& block) {
    const bool whole = block->shared && block->free.size() == 1 && block->free.begin()->second == block->bytes;
    if (!whole && std::erase(spare_, block.get()) == 0) return false;
    destroy(*block);
    return true;
  });
}

std::uint64_t Allocator::held() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& block : blocks_) bytes += block->bytes;
  return bytes;
}

VulkanMemory::VulkanMemory(Allocator& allocator, const Place& place, std::uint64_t size)
    : allocator_(allocator), place_(place) {
  address = place.address();
  bytes = size;
}

VulkanHostMemory::VulkanHostMemory(Allocator& allocator, const Place& place, std::uint64_t size)
    : allocator_(allocator), place_(place) {
  data = place.mapped();
  bytes = size;
}

}  // namespace teeny::runtime::vulkan
