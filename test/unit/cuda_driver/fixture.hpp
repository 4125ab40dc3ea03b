// The process's CUDA driver is the fake one: devices 0 and 1 are fit, 1 without memory pools, and 2 is too old.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <teeny/cuda.hpp>
#include <teeny/error.hpp>
#include <teeny/launch.hpp>

#include "runtime/environment.hpp"
#include "runtime/kernels.hpp"

namespace teeny::test {

// Chosen before anything asks for devices.
inline const bool chosen = [] {
  ::setenv("TEENY_CUDA_LIBRARY", FAKE_LIBCUDA, 1);
  ::setenv("FAKE_CUDA_DEVICES", "9.0,8.6,7.0", 1);
  ::setenv("FAKE_CUDA_WITHOUT_POOLS", "1", 1);
  return true;
}();

// The numbers of the fake library: fake_libcuda.cpp says which.
class Fake {
 public:
  static void set(const char* key, long long value) {
    function<void(const char*, long long)>("fake_cuda_set")(key, value);
  }
  static long long get(const char* key) { return function<long long(const char*)>("fake_cuda_get")(key); }
  static void reset() { function<void()>("fake_cuda_reset")(); }

 private:
  template <class F>
  static F* function(const char* name) {
    static void* library = ::dlopen(FAKE_LIBCUDA, RTLD_NOW);
    return reinterpret_cast<F*>(::dlsym(library, name));
  }
};

// A device whose numbers are fresh, a cache of its own, and the compiler that knows a handful of programs.
class CudaTest : public testing::Test {
 protected:
  CudaTest() { Fake::reset(); }
  ~CudaTest() override {
    EXPECT_EQ(Fake::get("faults"), expected_faults_);
    Fake::reset();
  }
  static std::uint64_t fresh() {
    static std::uint64_t next = 0;
    return ++next;
  }

  Folder folder_;
  Variable compiler_{"TEENY_COMPILER_LIBRARY", FAKE_COMPILER};
  Variable cache_{"TEENY_CACHE", folder_.path.string()};
  Device device_ = Device::open("cuda:0");
  long long expected_faults_ = 0;
};

// The message of the Error that `action` throws, with its code checked.
template <class Action>
std::string message_of(ErrorCode code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace teeny::test
