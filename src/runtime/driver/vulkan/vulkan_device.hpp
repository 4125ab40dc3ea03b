// A Vulkan device: memory, streams, events, programs.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/driver/steps.hpp"
#include "runtime/driver/vulkan/commands.hpp"

namespace teeny::runtime::vulkan {

class VulkanDevice;

class VulkanExecutable final : public Executable {
 public:
  VulkanExecutable(VulkanDevice& device, const std::vector<std::uint8_t>& program, const ProgramMetadata& metadata);
  ~VulkanExecutable() override;

  // Records it. `messages`: the address of the message buffer, which only a program that tells anything takes.
  // Throws where the device cannot take this program, naming the kernel, the grid and the limit that was passed.
  void record(VkCommandBuffer commands, const Launch& launch, const std::uint64_t* messages,
              ArgumentSpace& arguments) const;

  const std::shared_ptr<const MessageMeanings> meanings;  // null: it tells the host nothing

 private:
  [[noreturn]] void refuse(const Launch& launch) const;

  VulkanDevice& device_;
  const bool argument_block_;
  const std::string excess_;  // the limit that it passes: as refuse() says it; empty: none
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

// What the driver keeps of a program: its SPIR-V and what the device's own compiler made of it.
std::vector<std::uint8_t> assemble(Context& context, const std::vector<std::uint8_t>& portable,
                                   const ProgramMetadata& metadata);

// A number that the device's clock writes in a stream's order.
class Timestamp {
 public:
  explicit Timestamp(Context& context);
  ~Timestamp();
  Timestamp(const Timestamp&) = delete;
  Timestamp& operator=(const Timestamp&) = delete;
  void record(VkCommandBuffer commands);
  std::uint64_t read() const;

 private:
  Context& context_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
};

// Launches are gathered in an open command buffer while the device is busy with earlier ones.
class VulkanStream final : public DriverStream {
 public:
  VulkanStream(VulkanDevice& device, Queue& queue);
  ~VulkanStream() override;  // waits for its work

  void launch(const Launch& launch) override;
  void copy(const HostCopy& copy) override;
  void replay(const std::shared_ptr<DriverGraph>& graph) override;
  std::shared_ptr<DriverEvent> record() override;
  void wait(const std::shared_ptr<DriverEvent>& event) override;
  void synchronize() override;
  // Gives the device what is gathered.
  void flush();

 private:
  struct Batch {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::uint64_t value = 0;  // of its submission
    std::unique_ptr<ArgumentSpace> arguments;
  };
  Batch& open();  // the command buffer that is being recorded
  void launch_telling(const Launch& launch);
  void use_buffers(const Launch& launch);
  void give(VkCommandBuffer more = VK_NULL_HANDLE);
  void finish(const char* operation);

  VulkanDevice& device_;
  Queue& queue_;
  const std::shared_ptr<Timeline> timeline_;
  std::mutex mutex_;  // guards what follows
  CommandPool pool_;
  std::deque<Batch> batches_;  // the submitted ones, oldest first
  std::unique_ptr<Batch> open_;
  int recorded_ = 0;           // commands in the open one
  std::uint64_t given_ = 0;    // the value of the last submission
  std::vector<Point> waits_;   // of the next one
};

class VulkanDevice final : public DriverDevice {
 public:
  explicit VulkanDevice(Context& context);

  const DeviceInfo& info() const override { return context_.physical.info; }
  std::shared_ptr<DeviceMemory> allocate(std::uint64_t bytes) override;
  std::shared_ptr<HostMemory> allocate_host(std::uint64_t bytes) override;
  std::shared_ptr<DeviceMemory> wrap(void* host, std::uint64_t bytes) override;
  void* host_pointer(DeviceMemory& memory, std::uint64_t address, std::uint64_t bytes) override;
  void copy_in(DeviceMemory& memory, std::uint64_t address, const void* host, std::uint64_t bytes) override;
  void copy_out(const DeviceMemory& memory, std::uint64_t address, void* host, std::uint64_t bytes) override;
  void copy(DeviceMemory& to, std::uint64_t to_address, const DeviceMemory& from, std::uint64_t from_address,
            std::uint64_t bytes) override;

  std::string assembler_identity() const override { return context_.physical.cache_identity; }
  std::vector<std::uint8_t> assemble(const std::vector<std::uint8_t>& portable,
                                     const ProgramMetadata& metadata) override {
    return vulkan::assemble(context_, portable, metadata);
  }
  std::unique_ptr<Executable> load(const std::vector<std::uint8_t>& program, const ProgramMetadata& metadata) override;

  std::shared_ptr<DriverGraph> make_graph(std::vector<Step> steps) override;
  DriverStream& default_stream() override { return *default_stream_; }
  std::shared_ptr<DriverStream> make_stream() override;
  int parallel() const override { return info().parallel; }
  void set_parallel(int count) override;

  Context& context() { return context_; }
  Allocator& arguments() { return arguments_; }

 private:
  friend class VulkanStream;
  Place allocate_place(Allocator& allocator, std::uint64_t bytes, const char* operation);
  void give_all_streams();
  // Records by `work` and blocks until the device has done it; staging_mutex_ is held.
  void run(const std::function<void(VkCommandBuffer)>& work);
  std::byte* staging();

  Context& context_;
  Allocator memory_, host_, arguments_;
  std::mutex streams_mutex_;
  std::vector<VulkanStream*> streams_;  // guarded by streams_mutex_
  std::size_t next_queue_ = 0;          // the same
  std::mutex staging_mutex_;            // guards what follows
  Place staging_;
  std::shared_ptr<Timeline> staging_timeline_;
  std::uint64_t staging_value_ = 0;
  CommandPool staging_pool_;
  VkCommandBuffer staging_commands_ = VK_NULL_HANDLE;
  std::unique_ptr<VulkanStream> default_stream_;
};

// A sequence of launches and copies as one command buffer.
class VulkanGraph final : public DriverGraph {
 public:
  VulkanGraph(VulkanDevice& device, std::vector<Step> steps);
  ~VulkanGraph() override { replays_.wait(); }

  VkCommandBuffer commands() const { return commands_; }
  void used_by(const std::shared_ptr<Timeline>& timeline, std::uint64_t value);

 private:
  void add(const HeldLaunch& held);
  void add(const HostCopy& copy);

  VulkanDevice& device_;
  CommandPool pool_;
  ArgumentSpace arguments_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::vector<Uses*> memories_;
  Uses replays_;
};

}  // namespace teeny::runtime::vulkan
