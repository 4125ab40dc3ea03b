// Memory of a CUDA device. With memory pools an allocation is a place in the default stream's order, where memory freed
// before can be had again without a wait of the host; other streams wait for that place before they first use it.
#include <algorithm>

#include <teeny/error.hpp>

#include "runtime/driver/cuda/cuda_device.hpp"

namespace teeny::runtime::cuda {

namespace {
constexpr unsigned portable = 1;  // CU_MEMHOSTALLOC_PORTABLE: page-locked for all contexts
}

CudaMemory::CudaMemory(CudaDevice& device, DevicePointer pointer, std::uint64_t size, bool owned)
    : device_(device), owned_(owned) {
  address = pointer;
  bytes = size;
  if (owned_) device_.held_ += bytes;
}

CudaMemory::~CudaMemory() {
  if (!owned_) return;
  device_.held_ -= bytes;
  device_.free(address, uses_.others());
}

void CudaMemory::first_use(StreamId id, CudaStream stream) {
  uses_.add(id, [&] { device_.await_allocation(*this, stream); });
}

CudaHostMemory::CudaHostMemory(CudaDevice& device, void* allocated, std::uint64_t size) : device_(device) {
  data = allocated;
  bytes = size;
}

CudaHostMemory::~CudaHostMemory() {
  copies_.synchronize();
  const CurrentContext current(device_.context(), std::nothrow);
  symbols()->host_free(data);
}

void CudaHostMemory::used_by(CudaStream stream) { copies_.record(stream); }

std::shared_ptr<HostMemory> CudaDevice::allocate_host(std::uint64_t bytes) {
  const CurrentContext current(context_);
  void* data = nullptr;
  const Result result = symbols()->host_allocate(&data, std::max<std::uint64_t>(bytes, 1), portable);
  if (result == out_of_memory)
    throw Error(ErrorCode::out_of_memory,
                "host_buffer: page-locked memory must be available; got a request for " + std::to_string(bytes) +
                    " bytes for " + info_.spec +
                    ", expected less\nhelp: use fewer and smaller host buffers again and again, or raise the system's "
                    "limit of locked memory");
  check(result, "cuMemHostAlloc");
  return std::make_shared<CudaHostMemory>(*this, data, bytes);
}

std::shared_ptr<DeviceMemory> CudaDevice::allocate(std::uint64_t bytes) {
  const CurrentContext current(context_);
  free_postponed();
  const std::uint64_t at_least_one = std::max<std::uint64_t>(bytes, 1);
  const DevicePointer pointer = pool_ != nullptr ? allocate_from_pool(at_least_one) : allocate_at_once(at_least_one);
  auto memory = std::make_shared<CudaMemory>(*this, pointer, bytes, true);
  if (pool_ == nullptr) return memory;
  memory->serial_ = ++allocations_;
  if (!streams_.several()) return memory;
  memory->ready_ = std::make_unique<Point>();
  if (!memory->ready_->record(default_stream_->handle())) memory->ready_ = nullptr;
  return memory;
}

DevicePointer CudaDevice::allocate_from_pool(std::uint64_t bytes) {
  const Symbols& cuda = *symbols();
  DevicePointer pointer = 0;
  Result result = cuda.pool_allocate(&pointer, bytes, pool_, default_stream_->handle());
  if (result == out_of_memory) {
    release_memory();
    result = cuda.pool_allocate(&pointer, bytes, pool_, default_stream_->handle());
  }
  if (result == out_of_memory) out_of_memory_error(bytes);
  check(result, "cuMemAllocFromPoolAsync");
  return pointer;
}

DevicePointer CudaDevice::allocate_at_once(std::uint64_t bytes) {
  DevicePointer pointer = 0;
  const Result result = symbols()->memory_allocate(&pointer, bytes);
  if (result == out_of_memory) out_of_memory_error(bytes);
  check(result, "cuMemAlloc");
  return pointer;
}

void CudaDevice::out_of_memory_error(std::uint64_t bytes) const {
  std::size_t free = 0, total = 0;
  symbols()->memory_info(&free, &total);
  throw Error(ErrorCode::out_of_memory,
              "buffer: memory must be available; got a request for " + std::to_string(bytes) + " bytes on " +
                  info_.spec + ", expected at most about " + std::to_string(free) + " bytes, which are free of " +
                  std::to_string(total) + "; this process holds " + std::to_string(held_.load()) +
                  " in teeny's buffers\nhelp: release buffers, or work on a part at a time");
}

// Before a stream other than the default one first uses the memory.
void CudaDevice::await_allocation(const CudaMemory& memory, CudaStream stream) {
  if (pool_ == nullptr || memory.serial_ <= reached_.load()) return;
  Point now;
  const Point* point = memory.ready_.get();
  if (point == nullptr && now.record(default_stream_->handle())) point = &now;
  bool ordered = false;
  if (point != nullptr && is_capturing(stream)) {  // it would wait in each replay for what happens once
    int mode = 2;                                  // relaxed: the host may wait
    symbols()->exchange_capture_mode(&mode);
    ordered = point->synchronize();
    symbols()->exchange_capture_mode(&mode);
  } else if (point != nullptr) {
    ordered = point->make_wait(stream);
  }
  if (!ordered) default_stream_->synchronize();
}

void CudaDevice::free(DevicePointer pointer, std::vector<StreamId> uses) {
  const CurrentContext current(context_, std::nothrow);
  free_postponed();
  if (free_in_order(pointer, uses)) return;
  const std::lock_guard lock(postponed_mutex_);
  postponed_.emplace_back(pointer, std::move(uses));
}

// False: a stream that used it is being captured by its owner, and the free has to come later.
bool CudaDevice::free_in_order(DevicePointer pointer, const std::vector<StreamId>& uses) {
  const Symbols& cuda = *symbols();
  if (pool_ != nullptr && uses.empty()) {
    cuda.pool_free(pointer, default_stream_->handle());
    return true;
  }
  std::vector<StreamId> all = uses;
  all.push_back(default_stream_id);
  if (!streams_.make_wait(free_stream_, all)) return false;
  if (pool_ != nullptr) {
    cuda.pool_free(pointer, free_stream_);
  } else {
    cuda.stream_synchronize(free_stream_);
    cuda.memory_free(pointer);
  }
  return true;
}

void CudaDevice::free_postponed() {
  const std::lock_guard lock(postponed_mutex_);
  std::erase_if(postponed_, [&](const auto& entry) { return free_in_order(entry.first, entry.second); });
}

void CudaDevice::release_memory() {
  const CurrentContext current(context_);
  free_postponed();
  if (pool_ == nullptr) return;
  default_stream_->synchronize();
  check(symbols()->stream_synchronize(free_stream_), "release_memory");
  check(symbols()->pool_trim(pool_, 0), "cuMemPoolTrimTo");
}

}  // namespace teeny::runtime::cuda
