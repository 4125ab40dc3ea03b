// What GPU programs tell the host: any order of messages gives the lines of a run in order.
#include <cstring>

#include <gtest/gtest.h>

#include <teeny/teeny.hpp>

#include "runtime/gpu_messages.hpp"

namespace {

using namespace teeny;
using namespace teeny::runtime;

class GpuMessages : public testing::Test {
 protected:
  GpuMessages() {
    trace_.kernel = "k";
    set_print_sink([this](std::string_view text) { printed_ += text; });
  }
  ~GpuMessages() override { set_print_sink({}); }

  static teeny_gpu_message message(std::uint32_t operation, std::uint64_t program, std::uint64_t element, float value,
                                   teeny_gpu_message_kind kind = TEENY_GPU_PRINT) {
    teeny_gpu_message result{};
    result.operation = operation, result.program = program, result.element = element;
    result.kind = static_cast<std::uint16_t>(kind);
    std::memcpy(&result.value, &value, sizeof value);
    return result;
  }

  trace::Trace trace_;
  MessageMeanings meanings_{.prints = {{.operation = 3, .operand = 0, .prefix = " x: ", .dtype = DType::f32},
                                       {.operation = 5, .operand = 0, .prefix = "s=", .dtype = DType::f32}},
                            .asserts = {{.operation = 7, .message = "positive"}}};
  std::string printed_;
};

TEST_F(GpuMessages, AreToldInTheOrderOfRuns) {
  tell(trace_, {2, 1, 1}, meanings_,
       {message(3, 1, 1, 4), message(3, 0, 1, 2), message(3, 0, 0, 1), message(5, 0, 0, 9), message(3, 0, 0, 5),
        message(3, 0, 1, 6), message(3, 1, 0, 3)},
       7);
  EXPECT_EQ(printed_,
            "k: program (0, 0, 0), lane 0: x: 1\nk: program (0, 0, 0), lane 1: x: 2\nk: program (0, 0, 0): s=9\n"
            "k: program (0, 0, 0), lane 0: x: 5\nk: program (0, 0, 0), lane 1: x: 6\n"
            "k: program (1, 0, 0), lane 0: x: 3\nk: program (1, 0, 0), lane 1: x: 4\n");
}

TEST_F(GpuMessages, LostOnesAreCounted) {
  tell(trace_, {1, 1, 1}, meanings_, {message(5, 0, 0, 1)}, 12);
  EXPECT_EQ(printed_, "k: program (0, 0, 0): s=1\nk: 11 further messages had no place\n");
}

TEST_F(GpuMessages, TheFirstFailedAssertionIsThrownBehindTheLines) {
  try {
    tell(trace_, {4, 1, 1}, meanings_,
         {message(7, 3, 0, 0, TEENY_GPU_ASSERT), message(7, 2, 17, 0, TEENY_GPU_ASSERT), message(5, 3, 0, 1)}, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion_failed);
    EXPECT_NE(std::string(error.what()).find("positive [program (2, 0, 0), lane 17]"), std::string::npos) << error.what();
  }
  EXPECT_EQ(printed_, "k: program (3, 0, 0): s=1\n");
}

}  // namespace
