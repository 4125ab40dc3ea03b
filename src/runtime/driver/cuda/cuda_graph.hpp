// A sequence of launches and copies as a CUDA graph.
#pragma once

#include <set>

#include "runtime/driver/cuda/cuda_device.hpp"
#include "runtime/driver/steps.hpp"

namespace teeny::runtime::cuda {

class CudaGraph final : public DriverGraph {
 public:
  CudaGraph(CudaDevice& device, std::vector<Step> steps);
  ~CudaGraph() override;  // waits for the replays under way

  // Gives the graph to the stream. True where memory counts on the stream from now on.
  bool replay(StreamId id, CudaStream stream);

 private:
  void add(const HeldLaunch& held, CudaStream stream);
  void add(const HostCopy& copy, CudaStream stream);

  CudaDevice& device_;
  GraphExecutable graph_ = nullptr;
  std::mutex mutex_;  // the driver takes one launch of a graph at a time
  std::set<CudaMemory*> memories_;
  std::set<CudaHostMemory*> host_memories_;
  PointsByStream replays_;
};

}  // namespace teeny::runtime::cuda
