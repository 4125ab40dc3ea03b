// Streams and events: the order of work on a device.
//
// Work given to one stream runs in the order it was given. The default stream of a CPU or of the interpreter runs its
// work inside the call; further streams run it on a thread of their own. Work of two streams is unordered unless an
// event or a synchronize() stands between. Streams and events may be used from several threads at once.
#pragma once

#include <memory>

#include <teeny/export.hpp>

namespace teeny::runtime {
class DriverStream;
class DriverEvent;
struct DeviceState;
}  // namespace teeny::runtime

namespace teeny {

class Stream;

// A point in a stream's work. A handle: copies name the same point.
class TEENY_EXPORT Event {
 public:
  Event() = default;
  // True where everything before it is done. A default-made event is done.
  bool done() const;
  // Waits for it. Errors of the work surface at the stream, not here.
  void synchronize() const;
  // Milliseconds from `start` to this event, both done; throws invalid_argument where one is not.
  double milliseconds_since(const Event& start) const;

 private:
  friend class Stream;
  explicit Event(std::shared_ptr<runtime::DriverEvent> state) : state_(std::move(state)) {}
  std::shared_ptr<runtime::DriverEvent> state_;
};

// A handle: copies name the same stream. Made by Device::stream().
class TEENY_EXPORT Stream {
 public:
  Stream() = default;  // the default stream of whatever device it is used with
  // Waits until all work given so far is done; throws the first error of earlier work, once.
  void synchronize() const;
  // Marks the point after the work given so far.
  Event record() const;
  // Later work of this stream starts only after the event.
  void wait(const Event& event) const;

  explicit Stream(std::shared_ptr<runtime::DriverStream> state, runtime::DeviceState* device)
      : state_(std::move(state)), device_(device) {}
  runtime::DriverStream* state() const { return state_.get(); }
  runtime::DeviceState* device() const { return device_; }

 private:
  std::shared_ptr<runtime::DriverStream> state_;
  runtime::DeviceState* device_ = nullptr;
};

}  // namespace teeny
