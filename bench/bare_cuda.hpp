// The CUDA driver's library without teeny: what launches and graphs cost by themselves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace teeny::bench {

// One program of 32 threads that takes three addresses and a number, and returns. Uses the primary context of a device,
// which stays current on the calling thread. Throws std::runtime_error where the library is missing or refuses.
class BareCuda {
 public:
  explicit BareCuda(int device);
  ~BareCuda();
  BareCuda(const BareCuda&) = delete;
  BareCuda& operator=(const BareCuda&) = delete;

  // cuLaunchKernel on a stream of its own.
  void launch(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::int32_t n) {
    void* parameters[] = {&a, &b, &c, &n};
    check(launch_(function_, 1, 1, 1, 32, 1, 1, 0, stream_, parameters, nullptr), "cuLaunchKernel");
  }
  void synchronize();
  // A graph of so many launches, captured from that stream; one after another.
  void capture(int launches);
  void replay();  // gives it to the stream

 private:
  static void check(int result, const char* call);

  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                 void**) = nullptr;
  int (*synchronize_)(void*) = nullptr;
  int (*graph_launch_)(void*, void*) = nullptr;
  void* library_ = nullptr;
  void *module_ = nullptr, *function_ = nullptr, *stream_ = nullptr, *graph_ = nullptr;
};

}  // namespace teeny::bench
