// Loads that run ahead of products, and those that may not.
#include "gpu_stage/staging.hpp"

namespace teeny::compiler::gpu {
namespace {

class Pipeline : public Staging {
 protected:
  // c = a b over tiles of 64 x 32 and 32 x 64 that lie one after the other; `load` follows the pointers
  // of b's load in the text, `more` stands at the end of the body, `index` is the number of the tile.
  void stage(const GpuOptions& options, const std::string& load = "", const std::string& more = "",
             const std::string& attributes = "", const std::string& index = "%i", const Capability& capability = ampere()) {
    const std::string text = R"(
module { tt.func public @f(%a: !tt.ptr<f16>)" + aligned_ + R"(, %b: !tt.ptr<f16>)" + aligned_ + R"(,
                           %c: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %table: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %size = arith.constant 2048 : i32
  %mask = arith.constant dense<true> : tensor<32x64xi1>
  %zeros = arith.constant dense<0.0> : tensor<32x64xf16>
  %ones = arith.constant dense<1.0> : tensor<32x64xf16>
  %rows = tt.make_range {start = 0 : i32, end = 2048 : i32} : tensor<2048xi32>
  %ra = tt.reshape %rows : tensor<2048xi32> -> tensor<64x32xi32>
  %rb = tt.reshape %rows : tensor<2048xi32> -> tensor<32x64xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %entry = tt.addptr %table, %i : !tt.ptr<i32>, i32
    %other = tt.load %entry : !tt.ptr<i32>
    %offset = arith.muli )" + index + R"(, %size : i32
    %ta = tt.addptr %a, %offset : !tt.ptr<f16>, i32
    %tb = tt.addptr %b, %offset : !tt.ptr<f16>, i32
    %sa = tt.splat %ta : !tt.ptr<f16> -> tensor<64x32x!tt.ptr<f16>>
    %sb = tt.splat %tb : !tt.ptr<f16> -> tensor<32x64x!tt.ptr<f16>>
    %pa = tt.addptr %sa, %ra : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
    %pb = tt.addptr %sb, %rb : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
    %va = tt.load %pa : tensor<64x32x!tt.ptr<f16>>
    %vb = tt.load %pb )" + load + R"(: tensor<32x64x!tt.ptr<f16>>
    %next = tt.dot %va, %vb, %acc, inputPrecision = ieee : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    )" + more + R"(
    scf.yield %next : tensor<64x64xf32>
  } )" + attributes + R"(
  %rc = tt.make_range {start = 0 : i32, end = 4096 : i32} : tensor<4096xi32>
  %qc = tt.reshape %rc : tensor<4096xi32> -> tensor<64x64xi32>
  %sc = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %pc = tt.addptr %sc, %qc : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %pc, %sum : tensor<64x64x!tt.ptr<f32>>
  tt.return
} })";
    stage_text(text, options, capability);
  }

  std::string aligned_ = " {tt.divisibility = 16 : i32}";  // what is known of a and b
};

TEST_F(Pipeline, CopiesRunAheadByTheStages) {
  stage({.stages = 4});
  EXPECT_EQ(buffers(), 4);
  EXPECT_EQ(count<tile::CopyInOp>(), 2 * 4);  // three turns before the loop, one in it
  EXPECT_EQ(count<tile::CopyInOp>(loop()), 2);
  EXPECT_EQ(count<tile::WaitOp>(loop()), 1);
  loop().walk([](tile::WaitOp wait) { EXPECT_EQ(wait.getPending(), 2u); });
  function_.walk([](tile::CopyInOp copy) { EXPECT_EQ(copy.getWidth(), 16u); });
  ASSERT_TRUE(succeeded(allocate_shared(function_, ampere())));
  ASSERT_TRUE(succeeded(insert_barriers(function_, ampere())));
  EXPECT_EQ(count<tile::BarrierOp>(loop()), 1);
}

// The ring is a turn shorter: what is copied into was read by the product before the last one.
TEST_F(Pipeline, ProductsBesideTheLanesAreWaitedForATurnLater) {
  stage({.stages = 4}, "", "", "", "%i", hopper());
  EXPECT_EQ(buffers(), 4);
  EXPECT_EQ(count<tile::CopyInOp>(), 2 * 3);
  EXPECT_EQ(count<tile::CopyInOp>(loop()), 2);
  loop().walk([](tile::WaitOp wait) { EXPECT_EQ(wait.getPending(), 1u); });
  loop().walk([](tile::MmaOp product) { EXPECT_TRUE(product.getAsync()); });
  EXPECT_EQ(count<tile::MmaWaitOp>(), 2);
  loop().walk([](tile::MmaWaitOp wait) { EXPECT_EQ(wait.getPending(), 1u); });
  ASSERT_TRUE(succeeded(allocate_shared(function_, hopper())));
  ASSERT_TRUE(succeeded(insert_barriers(function_, hopper())));
  EXPECT_EQ(count<tile::BarrierOp>(loop()), 1);
}

TEST_F(Pipeline, ALoopMaySayItsStages) {
  stage({.stages = 4}, "", "", "{tt.num_stages = 2 : i32}");
  EXPECT_EQ(buffers(), 2);
}

TEST_F(Pipeline, OneStageIsAsWritten) {
  stage({.stages = 1});
  EXPECT_EQ(count<tile::CopyInOp>(), 0);
}

TEST_F(Pipeline, StagesFitSharedMemory) {
  Capability small = ampere();
  small.shared_bytes = 20000;  // two buffers of both operands, 8192 bytes each pair, but not three
  stage({.stages = 4}, "", "", "", "%i", small);
  EXPECT_EQ(buffers(), 2);
  EXPECT_TRUE(succeeded(allocate_shared(function_, small)));
}

// Into registers ahead of the product, into the other of two buffers behind it; one barrier a turn.
TEST_F(Pipeline, WithoutCopiesLoadsRunAheadThroughRegisters) {
  const Capability turing = cuda::capability_of(cuda::architecture_of("sm_75"));
  stage({.stages = 4}, ", %mask, %ones ", "", "", "%i", turing);
  EXPECT_EQ(count<tile::CopyInOp>() + count<tile::WaitOp>(), 0);
  EXPECT_EQ(buffers(), 2);
  EXPECT_EQ(count<tile::LocalStoreOp>(), 2 * 2);
  loop().walk([&](tile::LocalStoreOp store) {
    EXPECT_TRUE(store.getAhead());
    auto load = store.getSource().getDefiningOp<tt::LoadOp>();
    loop().walk([&](tile::MmaOp product) {
      EXPECT_TRUE(load->isBeforeInBlock(product));
      EXPECT_TRUE(product->isBeforeInBlock(store));
    });
  });
  ASSERT_TRUE(succeeded(allocate_shared(function_, turing)));
  ASSERT_TRUE(succeeded(insert_barriers(function_, turing)));
  EXPECT_EQ(count<tile::BarrierOp>(loop()), 1);
  EXPECT_TRUE(succeeded(verify_form(function_, Form::synchronised, turing)));
  stage({.stages = 1}, "", "", "", "%i", turing);
  EXPECT_EQ(count<tile::LocalStoreOp>(), 0);
}

// Two bytes at once are less than a copy takes.
TEST_F(Pipeline, ElementsTooNarrowForCopiesGoThroughRegisters) {
  aligned_ = "";
  stage({.stages = 4});
  EXPECT_EQ(count<tile::CopyInOp>(), 0);
  EXPECT_EQ(buffers(), 2);
  EXPECT_EQ(count<tile::LocalStoreOp>(loop()), 2);
  EXPECT_EQ(count<tile::LocalStoreOp>(), 4) << "the first turn's stand before the loop";
}

// A write in the loop might change what a later turn loads.
TEST_F(Pipeline, LoadsStayBehindWrites) {
  stage({}, "", "tt.store %table, %i : !tt.ptr<i32>");
  EXPECT_EQ(count<tile::CopyInOp>(), 0);
}

TEST_F(Pipeline, AddressesThatAreLoadedStay) {
  stage({}, "", "", "", "%other");
  EXPECT_EQ(count<tile::CopyInOp>(), 0);
}

// Copies fill with zeros; another value needs a load.
TEST_F(Pipeline, OnlyZerosReplaceWhatAMaskLeavesOff) {
  stage({.stages = 2}, ", %mask, %zeros ");
  EXPECT_EQ(count<tile::CopyInOp>(loop()), 2);
  stage({.stages = 2}, ", %mask, %ones ");
  EXPECT_EQ(count<tile::CopyInOp>(loop()), 1);
}

}  // namespace
}  // namespace teeny::compiler::gpu
