#include <gtest/gtest.h>

#include <vector>

#include <teeny/device.hpp>
#include <teeny/dispatch.hpp>
#include <teeny/error.hpp>

#include "environment.hpp"

namespace {

using namespace teeny;

TEST(Device, ListsCpuFirstAndInterpreterLast) {
  const std::vector<DeviceInfo> list = devices();
  ASSERT_GE(list.size(), 2u);
  EXPECT_EQ(list.front().spec, "cpu");
  EXPECT_EQ(list.back().spec, "interpreter");
  EXPECT_TRUE(list.front().target.starts_with("cpu:"));
}

TEST(Device, OpensByNameAndByVariable) {
  const test::Variable chosen("TEENY_DEVICE", "interpreter");
  EXPECT_EQ(Device::open().info().spec, "interpreter");
  EXPECT_EQ(Device::open("cpu"), Device::open("cpu:0"));
  for (const char* wrong : {"", "CPU", "cpu:", "cpu:x", "cpu:-1", ":0", "cpu:0x"}) {
    try {
      Device::open(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    }
  }
  try {
    Device::open("abacus:3");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    for (const char* here : {"'cpu'", "'interpreter'"})
      EXPECT_NE(std::string(error.what()).find(here), std::string::npos) << error.what();
  }
}

class Buffers : public testing::TestWithParam<const char*> {
 protected:
  Device device_ = Device::open(GetParam());
};

TEST_P(Buffers, RoundTripSlicesAndCopies) {
  const std::vector<std::int32_t> host = {1, 2, 3, 4, 5};
  auto buffer = device_.upload(host);
  EXPECT_EQ(buffer.size(), 5u);
  EXPECT_EQ(buffer.download(), host);
  auto part = buffer.slice(1, 3);
  EXPECT_EQ(part.download(), (std::vector<std::int32_t>{2, 3, 4}));
  part.upload(std::vector<std::int32_t>{7, 8, 9});
  EXPECT_EQ(buffer.download(), (std::vector<std::int32_t>{1, 7, 8, 9, 5}));
  auto copy = device_.buffer<std::int32_t>(3);
  copy.copy_from(part);
  EXPECT_EQ(copy.download(), (std::vector<std::int32_t>{7, 8, 9}));
  EXPECT_EQ(buffer.device(), device_);
  auto other = Device::open("interpreter").buffer<std::int32_t>(3);
  other.copy_from(part);
  EXPECT_EQ(other.download(), (std::vector<std::int32_t>{7, 8, 9}));
}

TEST_P(Buffers, BooleansAndEmptyOnes) {
  const std::vector<bool> host = {true, false, true};
  EXPECT_EQ(device_.upload(host).download(), host);
  auto empty = device_.buffer<float>(0);
  EXPECT_FALSE(empty.is_null());
  EXPECT_TRUE(empty.download().empty());
  EXPECT_TRUE(device_.upload(std::vector<float>{1}).slice(1, 0).download().empty());
}

TEST_P(Buffers, WrapSharesHostMemory) {
  std::vector<float> host = {1, 2, 3};
  auto buffer = Buffer<float>::wrap(device_, std::span<float>(host));
  EXPECT_EQ(buffer.host_data(), host.data());
  host[1] = 20;
  EXPECT_EQ(buffer.download()[1], 20.0f);
  buffer.upload(std::vector<float>{4, 5, 6});
  EXPECT_EQ(host[2], 6.0f);
  EXPECT_THROW(Buffer<float>::wrap(device_, nullptr, 3), Error);
  EXPECT_THROW(Buffer<float>::wrap(device_, reinterpret_cast<float*>(reinterpret_cast<char*>(host.data()) + 1), 1),
               Error);
}

TEST_P(Buffers, WrongUsesAreErrors) {
  auto buffer = device_.buffer<float>(4);
  EXPECT_THROW(buffer.slice(2, 3), Error);
  EXPECT_THROW(buffer.slice(5, 0), Error);
  EXPECT_THROW(buffer.slice(std::size_t(-1), 2), Error);
  EXPECT_THROW(buffer.upload(std::vector<float>(3)), Error);
  std::vector<float> wrong(5);
  EXPECT_THROW(buffer.download(std::span<float>(wrong)), Error);
  EXPECT_THROW(Buffer<float>().download(), Error);
  EXPECT_THROW(device_.buffer<double>(std::size_t(-1)), Error);
  try {
    device_.buffer<float>(std::size_t{1} << 58);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find(std::to_string(std::uint64_t{1} << 60)), std::string::npos)
        << error.what();
  }
}

TEST_P(Buffers, AnyBufferKnowsItsType) {
  AnyBuffer any = device_.buffer(DType::f16, 6);
  EXPECT_EQ(any.size(), 6u);
  EXPECT_EQ(any.bytes(), 12u);
  EXPECT_EQ(any.as<half>().size(), 6u);
  EXPECT_THROW(any.as<float>(), Error);
  EXPECT_EQ(AnyBuffer(device_.buffer<double>(2)).dtype(), DType::f64);
}

INSTANTIATE_TEST_SUITE_P(All, Buffers, testing::Values("cpu", "interpreter"));

TEST(Device, ThreadsAreSettable) {
  const Device device = Device::open("cpu");
  const int before = device.parallel();
  device.set_parallel(3);
  EXPECT_EQ(device.parallel(), 3);
  device.set_parallel(before);
  EXPECT_THROW(device.set_parallel(0), Error);
  EXPECT_THROW(Device::open("interpreter").set_parallel(2), Error);
}

TEST(Dispatch, CallsTheTypeOfTheList) {
  EXPECT_EQ(dispatch(DType::bf16, []<class D> { return sizeof(D); }), 2u);
  EXPECT_EQ(dispatch(DType::f64, []<class D> { return sizeof(D); }), 8u);
  EXPECT_EQ(dispatch(DType::u16, integer_types, []<class D> { return std::is_unsigned_v<D> && sizeof(D) == 2; }), true);
  for (int i = 0; i < dtype_count; ++i)
    EXPECT_EQ(dispatch(static_cast<DType>(i), all_types, []<class D> { return static_cast<int>(dtype_of<D>); }), i);
  try {
    dispatch(DType::i8, []<class D> {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("got i8, expected one of f16, bf16, f32, f64"), std::string::npos)
        << error.what();
  }
}

TEST(Stream, EventsMeasureTime) {
  const Device device = Device::open("cpu");
  const Stream stream = device.stream();
  const Event first = stream.record(), second = stream.record();
  second.synchronize();
  EXPECT_TRUE(first.done());
  EXPECT_GE(second.milliseconds_since(first), 0.0);
  EXPECT_TRUE(Event().done());
  EXPECT_THROW(second.milliseconds_since(Event()), Error);
  EXPECT_THROW(Stream().synchronize(), Error);
}

}  // namespace
