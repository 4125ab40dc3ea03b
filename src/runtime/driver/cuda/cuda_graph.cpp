// A sequence of launches and copies as a CUDA graph.
#include "runtime/driver/cuda/cuda_graph.hpp"

#include <teeny/error.hpp>

namespace teeny::runtime::cuda {

namespace {

constexpr int relaxed = 2;  // CUstreamCaptureMode: nothing that this thread does meanwhile is forbidden
constexpr unsigned non_blocking = 1;

// A stream in capture: gives the graph once, or drops it.
class Capture {
 public:
  Capture() {
    check(symbols()->stream_create(&stream, non_blocking), "cuStreamCreate");
    if (const Result result = symbols()->capture_begin(stream, relaxed); result != 0) {
      symbols()->stream_destroy(stream);
      check(result, "cuStreamBeginCapture");
    }
  }
  ~Capture() {
    if (!ended_) symbols()->capture_end(stream, &graph_);
    if (graph_ != nullptr) symbols()->graph_destroy(graph_);
    symbols()->stream_destroy(stream);
  }
  Capture(const Capture&) = delete;
  GraphTemplate end() {
    ended_ = true;
    check(symbols()->capture_end(stream, &graph_), "cuStreamEndCapture");
    return graph_;
  }

  CudaStream stream = nullptr;

 private:
  GraphTemplate graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace

CudaGraph::CudaGraph(CudaDevice& device, std::vector<Step> given) : DriverGraph(std::move(given)), device_(device) {
  if (symbols()->graph_instantiate == nullptr)
    throw Error(ErrorCode::unsupported,
                "capture: the CUDA driver must have graphs; got one without cuGraphInstantiateWithFlags, expected "
                "version 11.4 or later\nhelp: install a newer driver, or launch one after another");
  const CurrentContext current(device_.context());
  Capture capture;
  for (const Step& step : steps) {
    if (const auto* launch = std::get_if<std::shared_ptr<const HeldLaunch>>(&step))
      add(**launch, capture.stream);
    else
      add(std::get<HostCopy>(step), capture.stream);
  }
  check(symbols()->graph_instantiate(&graph_, capture.end(), 0), "cuGraphInstantiate");
}

CudaGraph::~CudaGraph() {
  replays_.synchronize();
  const CurrentContext current(device_.context(), std::nothrow);
  if (graph_ != nullptr) symbols()->graph_exec_destroy(graph_);
}

void CudaGraph::add(const HeldLaunch& held, CudaStream stream) {
  const auto& executable = static_cast<const CudaExecutable&>(*held.launch.executable);
  if (executable.meanings)
    throw Error(ErrorCode::unsupported,
                "capture: a graph's programs tell the host nothing; got " + (*held.launch.kernel)->name() +
                    ", which prints or asserts\nhelp: launch it by itself, or leave device_print and device_assert out");
  executable.launch(held.launch, stream);
  for (const auto& memory : held.memories) memories_.insert(static_cast<CudaMemory*>(memory.get()));
}

void CudaGraph::add(const HostCopy& copy, CudaStream stream) {
  auto* pinned = dynamic_cast<CudaHostMemory*>(copy.host.get());
  if (pinned == nullptr)
    throw Error(ErrorCode::invalid_argument,
                "capture: the host buffers of a graph's copies must be of a CUDA device; got plain memory, expected "
                "pinned memory\nhelp: make it with device.host_buffer<T>(n) of the graph's device");
  memories_.insert(static_cast<CudaMemory*>(copy.memory.get()));
  host_memories_.insert(pinned);
  enqueue(copy, stream);
}

bool CudaGraph::replay(StreamId id, CudaStream stream) {
  bool awaited = false;
  for (CudaMemory* memory : memories_) awaited = memory->use(id, stream) || awaited;
  {
    const std::lock_guard lock(mutex_);
    check(symbols()->graph_launch(graph_, stream), "Graph::launch");
  }
  replays_.record(stream);
  for (CudaHostMemory* memory : host_memories_) memory->used_by(stream);
  return awaited;
}

}  // namespace teeny::runtime::cuda
