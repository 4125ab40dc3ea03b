// Graphs: launches and copies recorded once and given to a device again and again as one piece of work.
//
//   teeny::Graph graph = device.capture([&](const teeny::Stream& stream) {
//     for (int i = 0; i < 1000; ++i) teeny::launch(device, {blocks}, {.stream = stream}, step, x, y, n);
//   });
//   graph.launch(stream);
//
// A GPU starts the parts of a graph by itself, so that a part costs a fraction of a launch; devices on the host run
// them one after another, which gives the same results.
#pragma once

#include <cstddef>
#include <memory>

#include <teeny/export.hpp>
#include <teeny/stream.hpp>

namespace teeny::runtime {
class DriverGraph;
struct DeviceState;
}  // namespace teeny::runtime

namespace teeny {

// A handle: copies name the same graph. Made by Device::capture(). It keeps the buffers, host buffers and kernels of
// its parts alive; numbers and addresses are those of the capture, and what buffers hold is read anew by each replay.
// Wrapped memory stays the caller's and must outlive the graph. The last handle's end waits for replays under way. May
// be used from several threads at once.
class TEENY_EXPORT Graph {
 public:
  Graph() = default;  // null: launches nothing

  // Gives all parts to a stream of the graph's device, or to its default one, in the order they were recorded: as
  // though they were given one after another, with the errors of that. Throws invalid_argument for another device's
  // stream.
  void launch(const Stream& stream = {}) const;

  std::size_t size() const;  // launches and copies
  bool is_null() const { return state_ == nullptr; }

  explicit Graph(std::shared_ptr<runtime::DriverGraph> state, runtime::DeviceState* device)
      : state_(std::move(state)), device_(device) {}

 private:
  std::shared_ptr<runtime::DriverGraph> state_;
  runtime::DeviceState* device_ = nullptr;
};

}  // namespace teeny
