#include "runtime/driver/host_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <teeny/error.hpp>

#include "runtime/driver/steps.hpp"

namespace teeny::runtime {

namespace {

class HostEvent final : public DriverEvent {
 public:
  bool done() override {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  void synchronize() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
  }
  double seconds_since(DriverEvent& start) override {
    return std::chrono::duration<double>(time() - static_cast<HostEvent&>(start).time()).count();
  }
  std::chrono::steady_clock::time_point time() {
    const std::lock_guard lock(mutex_);
    return time_;
  }
  void reach() {
    const std::lock_guard lock(mutex_);
    time_ = std::chrono::steady_clock::now();
    done_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::chrono::steady_clock::time_point time_;
};

class PlainHostMemory final : public HostMemory {
 public:
  PlainHostMemory(void* allocated, std::uint64_t size) {
    data = allocated;
    bytes = size;
  }
  ~PlainHostMemory() override { std::free(data); }
};

}  // namespace

HostStream::HostStream(HostDevice& device, bool asynchronous) : device_(device) {
  if (asynchronous) worker_ = std::thread([this] { work(); });
}

HostStream::~HostStream() {
  if (!worker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  worker_.join();
}

void HostStream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> item = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      item();
    } catch (...) {
      failure = std::current_exception();
    }
    item = nullptr;  // what it kept alive is freed before anyone hears that it is done
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

void HostStream::throw_pending(std::unique_lock<std::mutex>& lock) {
  if (!failure_) return;
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  lock.unlock();
  std::rethrow_exception(failure);
}

void HostStream::give(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
}

void HostStream::give_launch(std::function<void()> work) {
  {
    std::unique_lock lock(mutex_);
    throw_pending(lock);
  }
  give([this, work = std::move(work)] {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
    }
    work();
  });
}

void HostStream::launch(const Launch& launch) {
  if (!worker_.joinable()) {
    device_.execute(launch);
    return;
  }
  give_launch([this, held = std::make_shared<HeldLaunch>(launch)] { device_.execute(held->launch); });
}

void HostStream::copy(const HostCopy& copy) {
  if (worker_.joinable())
    give_launch([this, step = Step(copy)] { device_.carry_out(step); });
  else
    device_.carry_out(copy);
}

void HostStream::replay(const std::shared_ptr<DriverGraph>& graph) {
  const auto run = [this, graph] {
    for (const Step& step : graph->steps) device_.carry_out(step);
  };
  if (worker_.joinable())
    give_launch(run);
  else
    run();
}

std::shared_ptr<DriverEvent> HostStream::record() {
  auto event = std::make_shared<HostEvent>();
  if (worker_.joinable())
    give([event] { event->reach(); });
  else
    event->reach();
  return event;
}

void HostStream::wait(const std::shared_ptr<DriverEvent>& event) {
  if (worker_.joinable())
    give([event] { event->synchronize(); });
  else
    event->synchronize();
}

void HostStream::synchronize() {
  if (!worker_.joinable()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  throw_pending(lock);
}

std::shared_ptr<HostMemory> HostDevice::allocate_host(std::uint64_t bytes) {
  void* data = runtime::allocate_host(bytes);
  if (data == nullptr) throw_out_of_memory(info(), bytes);
  return std::make_shared<PlainHostMemory>(data, bytes);
}

std::shared_ptr<DriverGraph> HostDevice::make_graph(std::vector<Step> steps) {
  return std::make_shared<DriverGraph>(std::move(steps));
}

void HostDevice::carry_out(const Step& step) {
  if (const auto* held = std::get_if<std::shared_ptr<const HeldLaunch>>(&step)) {
    execute((*held)->launch);
    return;
  }
  const auto& copy = std::get<HostCopy>(step);
  if (copy.to_device)
    copy_in(*copy.memory, copy.address, copy.data, copy.bytes);
  else
    copy_out(*copy.memory, copy.address, copy.data, copy.bytes);
}

void* HostDevice::host_pointer(DeviceMemory&, std::uint64_t address, std::uint64_t) {
  return reinterpret_cast<void*>(address);
}

void HostDevice::copy_in(DeviceMemory&, std::uint64_t address, const void* host, std::uint64_t bytes) {
  if (bytes != 0) std::memcpy(reinterpret_cast<void*>(address), host, bytes);
}

void HostDevice::copy_out(const DeviceMemory&, std::uint64_t address, void* host, std::uint64_t bytes) {
  if (bytes != 0) std::memcpy(host, reinterpret_cast<const void*>(address), bytes);
}

void HostDevice::copy(DeviceMemory&, std::uint64_t to_address, const DeviceMemory&, std::uint64_t from_address,
                      std::uint64_t bytes) {
  std::memmove(reinterpret_cast<void*>(to_address), reinterpret_cast<const void*>(from_address), bytes);
}

void* allocate_host(std::uint64_t bytes) {
  if (bytes > host_memory_bytes())
    return nullptr;  // an overcommitting system would grant it and kill the process later
  constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;
  const std::uint64_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
  const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded);
  // Streams over large buffers would spend their time on page tables. Only a wish: its failure changes nothing.
  if (data != nullptr && alignment == huge_page) ::madvise(data, rounded, MADV_HUGEPAGE);
  return data;
}

void throw_out_of_memory(const DeviceInfo& device, std::uint64_t bytes) {
  const long pages = ::sysconf(_SC_AVPHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t free =
      pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
  throw Error(ErrorCode::out_of_memory,
              "buffer: memory must be available; got a request for " + std::to_string(bytes) + " bytes on " +
                  device.spec + ", expected at most about " + std::to_string(free) + " bytes, which are free of " +
                  std::to_string(device.memory_bytes) + "\nhelp: release buffers, or work on a part at a time");
}

std::uint64_t host_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
}

}  // namespace teeny::runtime
