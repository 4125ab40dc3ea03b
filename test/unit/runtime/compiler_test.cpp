#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <vector>

#include <teeny/error.hpp>

#include "environment.hpp"
#include "runtime/compiler/compiler.hpp"

namespace {

using namespace teeny;
using namespace teeny::runtime;
using test::output_of;

CompileRequest sample() {
  return {
      .body = {1, 2, 3, 255},
      .is_text = false,
      .kernel = "fill",
      .target = "cpu:x86-64",
      .options =
          {.warps = 4, .stages = 3, .max_registers = -1, .reproducible = true, .contract = false,
           .approximate = true, .debug_info = true},
      .facts = {{TEENY_FACT_FITS_32, 7}, {TEENY_FACT_EQUALS_ONE, 65535}},
      .dump = "llvm",
      .analyse_only = true};
}

TEST(CompilerWire, RequestsSurviveTheWay) {
  const CompileRequest request = sample();
  const std::vector<std::uint8_t> bytes = encode(request);
  const CompileRequest back = decode_request(bytes.data(), bytes.size());
  EXPECT_EQ(back.body, request.body);
  EXPECT_EQ(back.kernel, "fill");
  EXPECT_EQ(back.target, request.target);
  EXPECT_EQ(back.options, request.options);
  ASSERT_EQ(back.facts.size(), 2u);
  EXPECT_EQ(back.facts[1].argument, 65535);
  EXPECT_EQ(back.dump, "llvm");
  EXPECT_TRUE(back.analyse_only);
}

TEST(CompilerWire, DamagedBytesAreErrors) {
  const std::vector<std::uint8_t> bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_THROW(decode_request(bytes.data(), size), Error);
  std::vector<std::uint8_t> huge = bytes;
  huge[16] = huge[17] = huge[22] = huge[23] = 0xff;  // the body's length
  EXPECT_THROW(decode_request(huge.data(), huge.size()), Error);
  EXPECT_THROW(decode_result(bytes.data(), bytes.size()), Error);
}

class Processes : public testing::Test {
 protected:
  test::Folder folder_;
  test::Variable cache_{"TEENY_CACHE", (folder_.path / "cache").string()};
  test::Variable compiler_{"TEENY_COMPILER_LIBRARY", FAKE_COMPILER};
  test::Variable helper_{"TEENY_COMPILER_HELPER", HELPER};
};

TEST_F(Processes, HelperCompilesAsTheLibraryDoes) {
  CompileRequest request = sample();
  request.analyse_only = false;
  const CompileResult here = in_process_compiler().compile(request), there = out_of_process_compiler().compile(request);
  EXPECT_TRUE(there.ok);
  EXPECT_EQ(here.program, there.program);
  EXPECT_EQ(here.metadata, there.metadata);
  EXPECT_EQ(here.relevant_facts.size(), there.relevant_facts.size());
  EXPECT_EQ(there.dump_text, "dump of fill: llvm\n");
  request.kernel = "broken";
  EXPECT_FALSE(out_of_process_compiler().compile(request).ok);
}

TEST_F(Processes, AHelperThatDiesFailsOneCompile) {
  CompileRequest request = sample();
  request.kernel = "crash";
  try {
    out_of_process_compiler().compile(request);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile_failed);
    EXPECT_NE(std::string(error.what()).find("signal 6"), std::string::npos) << error.what();
  }
  request.kernel = "fill";
  EXPECT_TRUE(out_of_process_compiler().compile(request).ok);
}

TEST_F(Processes, LaunchesUseTheHelper) {
  EXPECT_EQ(output_of("TEENY_COMPILER=process " PROBE), "right=1 compiles=1 hits=0 rebuilds=0 compiler=0\n");
  const std::string crashed = output_of("TEENY_COMPILER=process " PROBE " crash");
  EXPECT_NE(crashed.find("compile_failed: crash: compiler: its process must answer; got signal 6"), std::string::npos)
      << crashed;
  EXPECT_NE(crashed.find("note: reproducer " + (folder_.path / "cache").string()), std::string::npos) << crashed;
  const std::string wrong = output_of("TEENY_COMPILER=elsewhere " PROBE " fill 9");
  EXPECT_NE(wrong.find("invalid_argument: TEENY_COMPILER"), std::string::npos) << wrong;
}

TEST_F(Processes, AMissingCompilerIsAClearError) {
  for (const char* mode : {"", "TEENY_COMPILER=process "}) {
    const std::string text =
        output_of(std::string(mode) + "TEENY_COMPILER_LIBRARY=/nowhere/libteeny_compiler.so " PROBE);
    EXPECT_TRUE(text.starts_with("compiler_missing: compiler: a kernel that is in no cache needs libteeny_compiler"))
        << text;
    EXPECT_NE(text.find("/nowhere/libteeny_compiler.so"), std::string::npos) << text;
  }
  const std::string helper = output_of("TEENY_COMPILER=process TEENY_COMPILER_HELPER=/nowhere/teeny-compiler " PROBE);
  EXPECT_NE(helper.find("/nowhere/teeny-compiler"), std::string::npos) << helper;
}

// Called by a bare name, the helper still looks beside itself.
TEST_F(Processes, HelperKnowsWhereItIs) {
  const std::string path = write_reproducer(sample());
  const std::string text =
      output_of("unset TEENY_COMPILER_LIBRARY; cd /; PATH=$(dirname " HELPER ") && teeny-compiler " + path);
  EXPECT_EQ(text.find("note: ./"), std::string::npos) << text;
}

TEST_F(Processes, ACompilerOfAnotherBuildIsRefused) {
  const std::string text = output_of("FAKE_BUILD_ID=other " PROBE);
  EXPECT_TRUE(text.starts_with("compiler_missing: ")) << text;
  EXPECT_NE(text.find("its build; got 'other', expected '" + std::string(build_id()) + "'"), std::string::npos) << text;
}

TEST_F(Processes, ReproducersCanBeReplayed) {
  CompileRequest request = sample();
  request.kernel = "broken";
  const std::string path = write_reproducer(request);
  ASSERT_FALSE(path.empty());
  const std::string text = output_of(HELPER " " + path);
  EXPECT_TRUE(text.starts_with("failed\n")) << text;
  EXPECT_NE(text.find("shapes must agree"), std::string::npos) << text;
}

// The dynamic section of the library that users link.
TEST(Library, NeedsNoLlvmAndHasASoname) {
  const std::string text = output_of("readelf -d " LIBTEENY);
  EXPECT_NE(text.find("SONAME"), std::string::npos) << text;
  EXPECT_NE(text.find("[libteeny.so.0]"), std::string::npos) << text;
  EXPECT_NE(text.find("NEEDED"), std::string::npos) << text;
  EXPECT_EQ(text.find("LLVM"), std::string::npos) << text;
  EXPECT_EQ(text.find("MLIR"), std::string::npos) << text;
}

TEST(Library, ExportsTeenyAlone) {
  const std::string text = output_of("nm -DC --defined-only " LIBTEENY);
  EXPECT_NE(text.find(" teeny::Device::open"), std::string::npos);
  EXPECT_EQ(text.find(" teeny::support::"), std::string::npos) << text.substr(text.find(" teeny::support::"), 200);
  EXPECT_EQ(text.find(" T teeny::runtime::"), std::string::npos) << text.substr(text.find(" T teeny::runtime::"), 200);
}

}  // namespace
