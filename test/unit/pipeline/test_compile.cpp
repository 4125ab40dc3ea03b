// From text to programs: what the boundary returns for right and for wrong kernels.
#include "compiler/pipeline/compile.hpp"

#include <csignal>
#include <fstream>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/cpu_program_abi.h"

namespace teeny::compiler {
namespace {

constexpr const char* add_kernel = R"(
tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %c64 = arith.constant 64 : i32
  %p = tt.get_program_id x : i32
  %first = arith.muli %p, %c64 : i32
  %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %splat = tt.splat %first : i32 -> tensor<64xi32>
  %at = arith.addi %splat, %range : tensor<64xi32>
  %limit = tt.splat %n : i32 -> tensor<64xi32>
  %mask = arith.cmpi slt, %at, %limit : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %op = tt.addptr %os, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %xv = tt.load %xp, %mask : tensor<64x!tt.ptr<f32>>
  %yv = tt.load %yp, %mask : tensor<64x!tt.ptr<f32>>
  %sum = arith.addf %xv, %yv : tensor<64xf32>
  tt.store %op, %sum, %mask : tensor<64x!tt.ptr<f32>>
  tt.return
}
)";

CompileInput text_input(const std::string& text, const std::string& target) {
  CompileInput input;
  input.body.assign(text.begin(), text.end());
  input.is_text = true;
  input.kernel = "test";
  input.target = target;
  return input;
}

std::string first_error(const CompileOutput& output) {
  for (const CompileMessage& message : output.messages)
    if (message.severity == "error") return message.message;
  return {};
}

TEST(Compile, MakesASharedObjectThatRuns) {
  CompileOutput output = compile(text_input(add_kernel, "cpu:x86-64-v3"));
  ASSERT_TRUE(output.ok) << first_error(output);
  std::string path = testing::TempDir() + "teeny_test_compile.so";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(output.program.data()), output.program.size());
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto entry = reinterpret_cast<teeny_cpu_entry>(dlsym(library, "add"));
  if (!entry) entry = reinterpret_cast<teeny_cpu_entry>(dlsym(library, "teeny_kernel"));
  ASSERT_TRUE(entry) << output.metadata;
  std::vector<float> x(100, 1.5f), y(100, 2.0f), out(128, -1.0f);
  std::uint64_t arguments[] = {reinterpret_cast<std::uint64_t>(x.data()), reinterpret_cast<std::uint64_t>(y.data()),
                               reinterpret_cast<std::uint64_t>(out.data()), 100};
  std::uint32_t grid[] = {2, 1, 1};
  alignas(64) static char arena[1 << 16];
  teeny_cpu_context context = {arena, nullptr, nullptr, nullptr, 0};
  entry(arguments, grid, 0, 2, &context);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], i < 100 ? 3.5f : -1.0f) << i;
  dlclose(library);
  unlink(path.c_str());
}

TEST(Compile, NamesAnUnknownTarget) {
  CompileOutput output = compile(text_input(add_kernel, "abacus:7"));
  EXPECT_FALSE(output.ok);
  EXPECT_NE(first_error(output).find("abacus:7"), std::string::npos) << first_error(output);
}

TEST(Compile, PlacesAMistakeInTheText) {
  CompileOutput output = compile(text_input("tt.func public @k() {\n  %0 = tt.get_program_id w : i32\n  tt.return\n}", "interpreter"));
  EXPECT_FALSE(output.ok);
  ASSERT_FALSE(output.messages.empty());
  EXPECT_NE(output.messages[0].location.find(":2:"), std::string::npos) << output.messages[0].location;
}

TEST(Compile, RefusesBytesThatAreNoTrace) {
  CompileInput input;
  input.body = {1, 2, 3, 4, 5, 6, 7, 8};
  input.target = "interpreter";
  CompileOutput output = compile(std::move(input));
  EXPECT_FALSE(output.ok);
  EXPECT_FALSE(first_error(output).empty());
}

TEST(Compile, LeavesTheHostsSignalHandlersAlone) {
  std::vector<struct sigaction> before;
  auto read_all = [](std::vector<struct sigaction>& list) {
    for (int signal = 1; signal < 32; ++signal) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      list.push_back(action);
    }
  };
  read_all(before);
  ASSERT_TRUE(compile(text_input(add_kernel, "cpu:x86-64-v3")).ok);
  std::vector<struct sigaction> after;
  read_all(after);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].sa_handler, after[i].sa_handler) << "signal " << i + 1;
}

}  // namespace
}  // namespace teeny::compiler
