// Streams and events of a CUDA device.
#include "runtime/driver/cuda/cuda_device.hpp"
#include "runtime/driver/cuda/cuda_graph.hpp"

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
  const CurrentContext current(device_.context());
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    const detail::BufferView* view = launch.arguments[i].buffer;
    if (view != nullptr && static_cast<CudaMemory&>(*view->memory).use(id_, stream_)) awaited_ = true;
  }
  static_cast<const CudaExecutable&>(*launch.executable).launch(launch, stream_);
}

void enqueue(const HostCopy& copy, CudaStream stream) {
  if (copy.to_device)
    check(symbols()->copy_in_async(copy.address, copy.data, copy.bytes, stream), "upload_async");
  else
    check(symbols()->copy_out_async(copy.data, copy.address, copy.bytes, stream), "download_async");
}

void CudaDriverStream::copy(const HostCopy& copy) {
  const CurrentContext current(device_.context());
  if (static_cast<CudaMemory&>(*copy.memory).use(id_, stream_)) awaited_ = true;
  enqueue(copy, stream_);
  // Memory of another kind of device is pageable: the driver has taken what it needs of it when the call returns.
  if (auto* pinned = dynamic_cast<CudaHostMemory*>(copy.host.get())) pinned->used_by(stream_);
}

void CudaDriverStream::replay(const std::shared_ptr<DriverGraph>& graph) {
  const CurrentContext current(device_.context());
  if (static_cast<CudaGraph&>(*graph).replay(id_, stream_)) awaited_ = true;
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
