// Streams and events of a CUDA device.
#include "runtime/driver/cuda/cuda_device.hpp"

namespace teeny::runtime::cuda {

namespace {

class CudaDriverEvent final : public DriverEvent {
 public:
  CudaDriverEvent(CudaDevice& device, CudaStream stream) : device_(device) {
    const CurrentContext current(device.context());
    check(symbols()->event_create(&event, 0), "cuEventCreate");
    check(symbols()->event_record(event, stream), "cuEventRecord");
  }
  ~CudaDriverEvent() override {
    if (event != nullptr) symbols()->event_destroy(event);
  }
  bool done() override {
    const Result result = symbols()->event_query(event);
    if (result == not_ready) return false;
    check(result, "cuEventQuery");
    return true;
  }
  void synchronize() override { check(symbols()->event_synchronize(event), "cuEventSynchronize"); }
  double seconds_since(DriverEvent& start) override {
    float milliseconds = 0;
    const CurrentContext current(device_.context());
    check(symbols()->event_elapsed(&milliseconds, static_cast<CudaDriverEvent&>(start).event, event),
          "cuEventElapsedTime");
    return milliseconds * 1e-3;
  }
  CudaEvent event = nullptr;

 private:
  CudaDevice& device_;
};

}  // namespace

CudaDriverStream::CudaDriverStream(CudaDevice& device, CudaStream stream, bool owned)
    : device_(device), stream_(stream), owned_(owned), id_(device.streams_.add(stream)) {}

CudaDriverStream::~CudaDriverStream() {
  const CurrentContext current(device_.context(), std::nothrow);
  if (owned_) symbols()->stream_synchronize(stream_);
  // An engine's stream goes on; what it was given to do with buffers of ours is what their frees wait for.
  if (!owned_ && awaited_) device_.streams_.make_wait(device_.free_stream_, {id_});
  device_.streams_.remove(id_);
  if (owned_) symbols()->stream_destroy(stream_);
}

void CudaDriverStream::launch(const Launch& launch) {
  const auto& executable = static_cast<const CudaExecutable&>(*launch.executable);
  if (!executable.fits) executable.refuse(launch, 0);
  const CurrentContext current(device_.context());
  // Every value stands in the low bytes of its slot, which is where a little-endian host reads a shorter one.
  void* parameters[detail::max_arguments];
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    parameters[i] = const_cast<std::uint64_t*>(launch.slots + i);
    const detail::BufferView* view = launch.arguments[i].buffer;
    if (view != nullptr && static_cast<CudaMemory&>(*view->memory).use(id_, stream_)) awaited_ = true;
  }
  const Result result =
      symbols()->launch(executable.function, launch.grid[0], launch.grid[1], launch.grid[2], executable.threads, 1, 1,
                        executable.shared_bytes, stream_, parameters, nullptr);
  if (result != 0) executable.refuse(launch, result);
}

void CudaDriverStream::copy(const HostCopy& copy) {
  const CurrentContext current(device_.context());
  if (static_cast<CudaMemory&>(*copy.memory).use(id_, stream_)) awaited_ = true;
  if (copy.to_device)
    check(symbols()->copy_in_async(copy.address, copy.data, copy.bytes, stream_), "upload_async");
  else
    check(symbols()->copy_out_async(copy.data, copy.address, copy.bytes, stream_), "download_async");
  // Memory of another kind of device is pageable: the driver has taken what it needs of it when the call returns.
  if (auto* pinned = dynamic_cast<CudaHostMemory*>(copy.host.get())) pinned->used_by(stream_);
}

std::shared_ptr<DriverEvent> CudaDriverStream::record() { return std::make_shared<CudaDriverEvent>(device_, stream_); }

void CudaDriverStream::wait(const std::shared_ptr<DriverEvent>& event) {
  const CurrentContext current(device_.context());
  check(symbols()->stream_wait(stream_, static_cast<CudaDriverEvent&>(*event).event, 0), "cuStreamWaitEvent");
}

void CudaDriverStream::synchronize() {
  const CurrentContext current(device_.context());
  const std::uint64_t allocations = device_.allocations_.load();
  check(symbols()->stream_synchronize(stream_), "synchronize");
  if (id_ == default_stream_id) device_.reached_.store(allocations);
}

}  // namespace teeny::runtime::cuda
