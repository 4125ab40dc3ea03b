// Streams and events of a Vulkan device.
#include <algorithm>
#include <array>

#include <teeny/error.hpp>

#include "runtime/driver/vulkan/vulkan_device.hpp"
#include "runtime/gpu_messages.hpp"

namespace teeny::runtime::vulkan {

namespace {

constexpr int most_gathered = 64;  // launches, before the device gets them though it is busy

class VulkanEvent final : public DriverEvent {
 public:
  VulkanEvent(Context& context, Point at) : point(std::move(at)), time(context), context_(context) {}
  ~VulkanEvent() override {  // the device still writes the time
    try {
      synchronize();
    } catch (const Error&) {  // a lost device, which the next call meets again
    }
  }
  bool done() override { return point.timeline->reached(point.value); }
  void synchronize() override { point.timeline->wait(point.value, "Event::synchronize"); }
  double seconds_since(DriverEvent& start) override;

  const Point point;
  Timestamp time;

 private:
  Context& context_;
};

double VulkanEvent::seconds_since(DriverEvent& start) {
  const Limits& limits = context_.physical.limits;
  if (limits.timestamp_bits == 0)
    throw Error(ErrorCode::unsupported, "seconds_since: the device's queue must tell times; got " +
                                            context_.physical.info.spec +
                                            ", whose driver has no timestamps, expected one that does\nhelp: measure on "
                                            "the host around synchronize()");
  const std::uint64_t mask =
      limits.timestamp_bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << limits.timestamp_bits) - 1;
  const std::uint64_t counts = (time.read() - static_cast<VulkanEvent&>(start).time.read()) & mask;
  return static_cast<double>(counts) * limits.timestamp_seconds;
}

}  // namespace

Timestamp::Timestamp(Context& context) : context_(context) {
  if (context.physical.limits.timestamp_bits == 0) return;
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 1;
  check(context.vk.CreateQueryPool(context.device, &info, nullptr, &pool_), "vkCreateQueryPool");
  context.vk.ResetQueryPool(context.device, pool_, 0, 1);
}

Timestamp::~Timestamp() { context_.vk.DestroyQueryPool(context_.device, pool_, nullptr); }

void Timestamp::record(VkCommandBuffer commands) {
  if (pool_ != VK_NULL_HANDLE)
    context_.vk.CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool_, 0);
}

std::uint64_t Timestamp::read() const {
  std::uint64_t value = 0;
  check(context_.vk.GetQueryPoolResults(context_.device, pool_, 0, 1, sizeof value, &value, sizeof value,
                                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "vkGetQueryPoolResults");
  return value;
}

VulkanStream::VulkanStream(VulkanDevice& device, Queue& queue)
    : device_(device),
      queue_(queue),
      timeline_(std::make_shared<Timeline>(device.context())),
      pool_(device.context()) {
  const std::lock_guard lock(device.streams_mutex_);
  device.streams_.push_back(this);
}

VulkanStream::~VulkanStream() {
  {
    const std::lock_guard lock(device_.streams_mutex_);
    std::erase(device_.streams_, this);
  }
  try {
    synchronize();
  } catch (const Error&) {  // a lost device, which the next call meets again
  }
}

VulkanStream::Batch& VulkanStream::open() {
  if (open_ != nullptr) return *open_;
  if (!batches_.empty() && timeline_->reached(batches_.front().value)) {
    open_ = std::make_unique<Batch>(std::move(batches_.front()));
    batches_.pop_front();
    open_->arguments->reuse();
  } else {
    open_ = std::make_unique<Batch>();
    open_->commands = pool_.make();
    open_->arguments = std::make_unique<ArgumentSpace>(device_.arguments());
  }
  begin(device_.context(), open_->commands, true);
  recorded_ = 0;
  return *open_;
}

// Submits the open command buffer, and `more` behind it.
void VulkanStream::give(VkCommandBuffer more) {
  if (open_ == nullptr && waits_.empty() && more == VK_NULL_HANDLE) return;
  Submission submission{.commands = {}, .waits = std::exchange(waits_, {}), .signal = {timeline_, ++given_}};
  if (open_ != nullptr) {
    end(device_.context(), open_->commands);
    open_->value = given_;
    submission.commands.push_back(open_->commands);
    batches_.push_back(std::move(*open_));
    open_ = nullptr;
  }
  if (more != VK_NULL_HANDLE) submission.commands.push_back(more);
  submit(device_.context(), queue_, submission);
}

void VulkanStream::flush() {
  const std::lock_guard lock(mutex_);
  give();
}

void VulkanStream::finish(const char* operation) {
  give();
  timeline_->wait(given_, operation);
}

// Before the next submission uses them.
void VulkanStream::use_buffers(const Launch& launch) {
  for (std::size_t i = 0; i < launch.argument_count; ++i)
    if (const detail::BufferView* view = launch.arguments[i].buffer; view != nullptr)
      static_cast<VulkanMemory&>(*view->memory).uses().add(timeline_, given_ + 1);
}

void VulkanStream::launch(const Launch& launch) {
  const auto& executable = static_cast<const VulkanExecutable&>(*launch.executable);
  if (executable.meanings) return launch_telling(launch);
  const std::lock_guard lock(mutex_);
  Batch& batch = open();
  executable.record(batch.commands, launch, nullptr, *batch.arguments);
  order(device_.context(), batch.commands);
  use_buffers(launch);
  if (++recorded_ >= most_gathered || timeline_->reached(given_)) give();
}

// A buffer for this launch alone, read when the launch has ended.
void VulkanStream::launch_telling(const Launch& launch) {
  constexpr std::uint32_t capacity = 1 << 16;
  constexpr std::size_t head_bytes = offsetof(teeny_gpu_message_buffer, messages);
  const auto& executable = static_cast<const VulkanExecutable&>(*launch.executable);
  const auto buffer = device_.allocate(head_bytes + capacity * sizeof(teeny_gpu_message));
  std::array<std::uint32_t, head_bytes / sizeof(std::uint32_t)> head{0, capacity};
  device_.copy_in(*buffer, buffer->address, head.data(), sizeof head);
  {
    const std::lock_guard lock(mutex_);
    Batch& batch = open();
    executable.record(batch.commands, launch, &buffer->address, *batch.arguments);
    order(device_.context(), batch.commands);
    use_buffers(launch);
    finish("launch");
  }
  device_.copy_out(*buffer, buffer->address, head.data(), sizeof head);
  std::vector<teeny_gpu_message> messages(std::min(head[0], capacity));
  device_.copy_out(*buffer, buffer->address + head_bytes, messages.data(), messages.size() * sizeof(teeny_gpu_message));
  tell((*launch.kernel)->trace(), launch.grid, *executable.meanings, std::move(messages), head[0]);
}

void VulkanStream::copy(const HostCopy& copy) {
  const std::lock_guard lock(mutex_);
  auto* host = dynamic_cast<VulkanHostMemory*>(copy.host.get());
  if (host == nullptr) {  // another device's: the copy is done when the call returns
    finish("copy");
    if (copy.to_device) return device_.copy_in(*copy.memory, copy.address, copy.data, copy.bytes);
    return device_.copy_out(*copy.memory, copy.address, copy.data, copy.bytes);
  }
  static_cast<VulkanMemory&>(*copy.memory).uses().add(timeline_, given_ + 1);
  host->uses().add(timeline_, given_ + 1);
  vulkan::record(device_.context(), open().commands, copy, *host);
  give();
}

void VulkanStream::replay(const std::shared_ptr<DriverGraph>& graph) {
  auto& replayed = static_cast<VulkanGraph&>(*graph);
  const std::lock_guard lock(mutex_);
  replayed.used_by(timeline_, given_ + 1);
  give(replayed.commands());
}

std::shared_ptr<DriverEvent> VulkanStream::record() {
  const std::lock_guard lock(mutex_);
  auto event = std::make_shared<VulkanEvent>(device_.context(), Point{timeline_, given_ + 1});
  event->time.record(open().commands);
  give();
  return event;
}

void VulkanStream::wait(const std::shared_ptr<DriverEvent>& event) {
  const std::lock_guard lock(mutex_);
  give();
  waits_.push_back(static_cast<VulkanEvent&>(*event).point);
}

void VulkanStream::synchronize() {
  const std::lock_guard lock(mutex_);
  finish("synchronize");
}

}  // namespace teeny::runtime::vulkan
