#include <teeny/graph.hpp>

#include <teeny/device.hpp>
#include <teeny/error.hpp>

#include "runtime/device_state.hpp"
#include "runtime/driver/steps.hpp"

namespace teeny {

namespace runtime {

HeldLaunch::HeldLaunch(const Launch& given)
    : launch(given), slots(given.slots, given.slots + given.argument_count), kernel(*given.kernel) {
  for (std::size_t i = 0; i < given.argument_count; ++i)
    if (given.arguments[i].buffer != nullptr) memories.push_back(given.arguments[i].buffer->memory);
  launch.slots = slots.data();
  launch.arguments = nullptr;
  launch.kernel = &kernel;
}

namespace {

[[noreturn]] void cannot_capture(const std::string& what, const std::string& help) {
  throw Error(ErrorCode::invalid_argument,
              "capture: a graph is made of launches and copies given to the capture's own "
              "stream; got " +
                  what + ", expected none of that\nhelp: " + help);
}

// Writes down what is given to it. Nothing of the device knows of the capture, so that kernels are compiled and buffers
// made within it as anywhere.
class RecordingStream final : public DriverStream {
 public:
  void launch(const Launch& launch) override { add(std::make_shared<const HeldLaunch>(launch)); }
  void copy(const HostCopy& copy) override { add(copy); }
  void replay(const std::shared_ptr<DriverGraph>&) override {
    cannot_capture("another graph", "capture the launches of both together");
  }
  std::shared_ptr<DriverEvent> record() override {
    cannot_capture("an event", "record it behind Graph::launch; the parts of a graph run in the order they are given");
  }
  void wait(const std::shared_ptr<DriverEvent>&) override {
    cannot_capture("a wait for an event", "wait before Graph::launch");
  }
  void synchronize() override { cannot_capture("synchronize()", "wait behind Graph::launch"); }

  std::vector<Step> end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    return std::move(steps_);
  }

 private:
  void add(Step step) {
    const std::lock_guard lock(mutex_);
    if (ended_) cannot_capture("work after the capture's end", "give it to another stream");
    steps_.push_back(std::move(step));
  }

  std::mutex mutex_;
  std::vector<Step> steps_;  // guarded by mutex_, as is ended_
  bool ended_ = false;
};

// What this thread captures, if anything.
thread_local const DeviceState* captured_device = nullptr;
thread_local const DriverStream* captured_stream = nullptr;

// Counts a capture of this thread for its scope.
class CaptureScope {
 public:
  CaptureScope(DeviceState& device, const DriverStream& stream) : device_(device) {
    if (captured_device != nullptr) cannot_capture("a capture within a capture", "capture one after the other");
    captured_device = &device;
    captured_stream = &stream;
    ++device.captures;
  }
  ~CaptureScope() {
    --device_.captures;
    captured_device = nullptr;
    captured_stream = nullptr;
  }
  CaptureScope(const CaptureScope&) = delete;

 private:
  DeviceState& device_;
};

}  // namespace

void check_no_capture(const DeviceState& device, const DriverStream* stream, const char* what) {
  if (captured_device != &device || (stream != nullptr && captured_stream == stream)) return;
  cannot_capture(what,
                 "give launches and copies the stream that the captured function is called with: "
                 "{.stream = stream}; do the rest before or after the capture");
}

}  // namespace runtime

Graph Device::capture(const std::function<void(const Stream&)>& work) const {
  const auto recording = std::make_shared<runtime::RecordingStream>();
  {
    const runtime::CaptureScope scope(*state_, *recording);
    work(Stream(recording, state_));
  }
  return Graph(state_->driver->make_graph(recording->end()), state_);
}

void Graph::launch(const Stream& stream) const {
  if (state_ == nullptr || state_->steps.empty()) return;
  if (stream.state() != nullptr && stream.device() != device_)
    throw Error(ErrorCode::invalid_argument, "Graph::launch: the stream must be of the graph's device; got one of " +
                                                 stream.device()->driver->info().spec + ", expected " +
                                                 device_->driver->info().spec + "\nhelp: make it with device.stream()");
  runtime::DriverStream& order = stream.state() != nullptr ? *stream.state() : device_->driver->default_stream();
  device_->check_capture(&order, "a graph's launch on another stream");
  order.replay(state_);
}

std::size_t Graph::size() const { return state_ != nullptr ? state_->steps.size() : 0; }

}  // namespace teeny
