#include <teeny/stream.hpp>

#include <teeny/error.hpp>

#include "runtime/device_state.hpp"

namespace teeny {

bool Event::done() const { return state_ == nullptr || state_->done(); }

void Event::synchronize() const {
  if (state_ != nullptr) state_->synchronize();
}

double Event::milliseconds_since(const Event& start) const {
  if (state_ == nullptr || start.state_ == nullptr || !state_->done() || !start.state_->done())
    throw Error(ErrorCode::invalid_argument,
                "milliseconds_since: both events must be recorded and done; got one that is not, expected two"
                "\nhelp: call synchronize() on both first");
  return state_->seconds_since(*start.state_) * 1000;
}

namespace {
runtime::DriverStream& need(const std::shared_ptr<runtime::DriverStream>& state, const char* operation) {
  if (state == nullptr)
    throw Error(ErrorCode::invalid_argument,
                std::string(operation) + ": the stream must be a device's; got the default one of " +
                    "no device, expected device.stream()\nhelp: Device::synchronize() waits for all");
  return *state;
}
}  // namespace

void Stream::synchronize() const { need(state_, "synchronize").synchronize(); }

Event Stream::record() const { return Event(need(state_, "record").record()); }

void Stream::wait(const Event& event) const {
  if (event.state_ != nullptr) need(state_, "wait").wait(event.state_);
}

}  // namespace teeny
