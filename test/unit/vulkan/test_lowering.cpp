// What single operations of the thread dialect become, with and without the features that they would use.
#include <gtest/gtest.h>

#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/SPIRV/IR/SPIRVDialect.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Target/SPIRV/Serialization.h>

#include <teeny/error.hpp>

#include "compiler/pipeline/stages.hpp"
#include "compiler/target/vulkan/vulkan.hpp"

namespace teeny::compiler {
namespace {

struct Lowered {
  std::string text;   // of the spirv dialect
  std::string error;  // where the operation is refused
  bool has(llvm::StringRef piece) const { return llvm::StringRef(text).contains(piece); }
};

// `body`: of a kernel of one warp with the arguments %p, an address, and %n, an i32.
Lowered lower(const std::string& body, const support::VulkanFeatures& features = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  load_dialects(context);
  context.loadDialect<mlir::spirv::SPIRVDialect>();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic&) { return mlir::success(); });
  const std::string text = "func.func @kernel(%p: i64, %n: i32) attributes {thread.warps = 1 : i32, thread.lanes = " +
                           std::to_string(features.lanes) + " : i32, thread.shared_bytes = 64 : i32} {\n" + body + "\nreturn\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  Lowered lowered;
  if (!module) {
    ADD_FAILURE() << "not parsed: " << text;
    return lowered;
  }
  try {
    auto kernel = *module->getOps<mlir::func::FuncOp>().begin();
    auto made = vulkan::emit_spirv(kernel, features, {});
    llvm::SmallVector<std::uint32_t> words;
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*made)) && mlir::succeeded(mlir::spirv::serialize(*made, words))) << body;
    llvm::raw_string_ostream(lowered.text) << *made;
  } catch (const Error& error) {
    lowered.error = error.what();
  }
  return lowered;
}

TEST(VulkanLowering, ArgumentsArePushConstantsOfWords) {
  const Lowered lowered = lower("thread.store %p, %n {alignment = 4 : i32} : i32");
  EXPECT_TRUE(lowered.has("(i64 [0], i64 [8], i64 [16])")) << lowered.text;
  EXPECT_TRUE(lowered.has("PushConstant"));
  EXPECT_TRUE(lowered.has("spirv.ConvertUToPtr"));
  EXPECT_TRUE(lowered.has("\"LocalSize\", 1, 1, 1"));
}

TEST(VulkanLowering, LanesAreTheDevicesOwn) {
  const std::string body = "%l = thread.lane_id : i32\n%w = thread.warp_id : i32\n%s = arith.addi %l, %w : i32\n"
                           "thread.store %p, %s {alignment = 4 : i32} : i32";
  const Lowered wide = lower(body, {.lanes = 8});
  EXPECT_TRUE(wide.has("SubgroupLocalInvocationId") && wide.has("\"SubgroupId\"")) << wide.text;
  const Lowered single = lower(body);
  EXPECT_FALSE(single.has("Subgroup")) << single.text;
  EXPECT_TRUE(single.has("LocalInvocationId"));
}

TEST(VulkanLowering, ShufflesOutsideOfTheWarpKeepTheOwnValue) {
  const std::string body = "%f = arith.sitofp %n : i32 to f32\n%m = thread.shuffle down %f, %n : f32\n"
                           "thread.store %p, %m {alignment = 4 : i32} : f32";
  const Lowered lowered = lower(body, {.lanes = 16});
  EXPECT_TRUE(lowered.has("spirv.GroupNonUniformShuffleDown")) << lowered.text;
  EXPECT_TRUE(lowered.has("spirv.Select"));
  EXPECT_FALSE(lower(body).has("spirv.GroupNonUniform"));
}

TEST(VulkanLowering, BytesNeedStorageOrTwoAtomics) {
  const std::string body = "%b = arith.trunci %n : i32 to i8\nthread.store %p, %b {alignment = 1 : i32} : i8";
  const Lowered stored = lower(body, {.storage8 = true});
  EXPECT_TRUE(stored.has("StorageBuffer8BitAccess") && stored.has("[\"Aligned\", 1] : i8")) << stored.text;
  const Lowered replaced = lower(body);
  EXPECT_TRUE(replaced.has("spirv.AtomicAnd") && replaced.has("spirv.AtomicOr")) << replaced.text;
  EXPECT_FALSE(replaced.has("StorageBuffer8BitAccess"));
}

TEST(VulkanLowering, PairsOfBytesAreWholeWords) {
  const Lowered lowered = lower("%a, %b, %c, %d = thread.load %p {alignment = 4 : i32} : i8, i8, i8, i8\n"
                                "thread.store %p, %a, %b, %c, %d {alignment = 4 : i32, offset = 4 : i64} : i8, i8, i8, i8");
  EXPECT_TRUE(lowered.has("[\"Aligned\", 4] : i32")) << lowered.text;
  EXPECT_FALSE(lowered.has("Atomic"));
  EXPECT_FALSE(lowered.has("spirv.BitwiseOr")) << "a word that was loaded is stored as it is\n" << lowered.text;
}

TEST(VulkanLowering, FloatsAreAddedByInstructionOrLoop) {
  const std::string body = "%f = arith.sitofp %n : i32 to f32\n"
                           "%o = thread.atomic_rmw fadd, acq_rel, gpu, %p, %f : f32\n"
                           "thread.store %p, %o {alignment = 4 : i32, offset = 4 : i64} : f32";
  const Lowered one = lower(body, {.atomic_f32_add = true});
  EXPECT_TRUE(one.has("spirv.EXT.AtomicFAdd") && one.has("SPV_EXT_shader_atomic_float_add")) << one.text;
  const Lowered loop = lower(body);
  EXPECT_TRUE(loop.has("spirv.AtomicCompareExchange <Device> <None> <None>")) << loop.text;
  EXPECT_TRUE(loop.has("spirv.mlir.loop") && loop.has("spirv.MemoryBarrier"));
}

TEST(VulkanLowering, WhatADeviceLacksIsRefusedByName) {
  EXPECT_NE(lower("%o = thread.atomic_rmw add, relaxed, gpu, %p, %p : i64").error.find("atomics of 64 bits"), std::string::npos);
  EXPECT_EQ(lower("%o = thread.atomic_rmw add, relaxed, gpu, %p, %p : i64", {.atomic_i64 = true}).error, "");
  EXPECT_NE(lower("%f = arith.sitofp %n : i32 to f64").error.find("the device must have f64"), std::string::npos);
  EXPECT_NE(lower("thread.barrier shared {first_warp = 0 : i32, warps = 1 : i32}").error.find("of all warps"), std::string::npos);
}

TEST(VulkanLowering, RemaindersComeFromQuotients) {
  const Lowered lowered = lower("%two = arith.constant 2 : i32\n%r = arith.remsi %n, %two : i32\n"
                                "thread.store %p, %r {alignment = 4 : i32} : i32");
  EXPECT_TRUE(lowered.has("spirv.SDiv")) << lowered.text;
  EXPECT_FALSE(lowered.has("spirv.SRem") || lowered.has("spirv.SMod"));
}

TEST(VulkanLowering, NarrowIntegersAreCut) {
  const Lowered lowered = lower("%b = arith.trunci %n : i32 to i16\n%s = arith.addi %b, %b : i16\n%w = arith.extsi %s : i16 to i32\n"
                                "thread.store %p, %w {alignment = 4 : i32} : i32");
  EXPECT_TRUE(lowered.has("65535 : i32") && lowered.has("spirv.ShiftRightArithmetic")) << lowered.text;
  EXPECT_FALSE(lowered.has("i16"));
}

TEST(VulkanLowering, ExtendedNumbersAreComparedInThirtyTwoBits) {
  const auto compared = [](const std::string& extension, const std::string& comparison) {
    return lower("%z = arith.constant 0 : i64\n%big = arith.constant 4294967296 : i64\n%w = arith." + extension +
                 " %n : i32 to i64\n%c = arith.cmpi " + comparison +
                 " : i64\n%b = arith.extui %c : i1 to i32\nthread.store %p, %b {alignment = 4 : i32} : i32");
  };
  EXPECT_TRUE(compared("extsi", "sge, %w, %z").has("spirv.SLessThan %6, %cst0_i32 : i32"))
      << compared("extsi", "sge, %w, %z").text;
  EXPECT_TRUE(compared("extui", "slt, %z, %w").has("spirv.ULessThan %cst0_i32"));
  EXPECT_TRUE(compared("extsi", "slt, %w, %w").has(": i32\n"));
  EXPECT_TRUE(compared("extsi", "slt, %w, %big").has("spirv.Constant true"));
  EXPECT_TRUE(compared("extsi", "ult, %w, %big").has("vector<2xi32>"));
  EXPECT_FALSE(compared("extui", "ult, %w, %big").has("spirv.ULessThan"));
}

TEST(VulkanLowering, SharedMemoryIsWords) {
  const std::string body = "%a = thread.shared_ref {offset = 16 : i64, elements = 8 : i64} : !thread.shared<f16>\n"
                           "%h = arith.constant 1.0 : f16\n"
                           "thread.shared_store %a[%n], %h, %h : !thread.shared<f16>, f16, f16\n"
                           "thread.barrier shared\n"
                           "%l = thread.shared_load %a[%n] : !thread.shared<f16> -> f16\n"
                           "thread.store %p, %l {alignment = 2 : i32} : f16";
  const Lowered lowered = lower(body, {.storage16 = true});
  EXPECT_TRUE(lowered.has("!spirv.ptr<!spirv.array<16 x i32>, Workgroup>")) << lowered.text;
  EXPECT_TRUE(lowered.has("spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory|MakeAvailable|MakeVisible>"));
  EXPECT_FALSE(lowered.has("Atomic"));
}

TEST(VulkanLowering, ManyArgumentsStandInABuffer) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  load_dialects(context);
  context.loadDialect<mlir::spirv::SPIRVDialect>();
  std::string list = "%a0: i64";
  for (int i = 1; i < 16; ++i) list += ", %a" + std::to_string(i) + ": i64";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @kernel(" + list + ") {\nthread.store %a0, %a15 {alignment = 8 : i32} : i64\nreturn\n}", &context);
  ASSERT_TRUE(module);
  auto kernel = *module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(vulkan::argument_words(kernel), 17u);
  std::string text;
  llvm::raw_string_ostream(text) << *vulkan::emit_spirv(kernel, {}, {});
  EXPECT_NE(text.find("(i64 [0])"), std::string::npos) << text;
  EXPECT_NE(text.find("[\"Aligned\", 8] : i64"), std::string::npos) << text;
}

}  // namespace
}  // namespace teeny::compiler
