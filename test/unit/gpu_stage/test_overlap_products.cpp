// Products that take what others of their turn give, run beside the next turn's.
#include "gpu_stage/staging.hpp"

namespace teeny::compiler::gpu {
namespace {

class Overlap : public Staging {
 protected:
  // acc = acc * 0.5 + exp2(a b_i) c_i over tiles b_i and c_i of 64 x 64 that lie one after the other. `shrunk`: what stands
  // for acc * 0.5, `more` at the end of the body, `taken` for c_i.
  void stage(const GpuOptions& options, const std::string& shrunk = "arith.mulf %acc, %half : tensor<64x64xf32>",
             const std::string& more = "", const std::string& taken = "%vc") {
    stage_text(R"(
module { tt.func public @f(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32},
                           %c: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                           %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %half = arith.constant dense<0.5> : tensor<64x64xf32>
  %size = arith.constant 4096 : i32
  %numbers = tt.make_range {start = 0 : i32, end = 4096 : i32} : tensor<4096xi32>
  %places = tt.reshape %numbers : tensor<4096xi32> -> tensor<64x64xi32>
  %sa = tt.splat %a : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %pa = tt.addptr %sa, %places : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %va = tt.load %pa : tensor<64x64x!tt.ptr<f16>>
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %offset = arith.muli %i, %size : i32
    %tb = tt.addptr %b, %offset : !tt.ptr<f16>, i32
    %tc = tt.addptr %c, %offset : !tt.ptr<f16>, i32
    %sb = tt.splat %tb : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %sc = tt.splat %tc : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %pb = tt.addptr %sb, %places : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %pc = tt.addptr %sc, %places : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %vb = tt.load %pb : tensor<64x64x!tt.ptr<f16>>
    %vc = tt.load %pc : tensor<64x64x!tt.ptr<f16>>
    %score = tt.dot %va, %vb, %none, inputPrecision = ieee : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %wide = math.exp2 %score : tensor<64x64xf32>
    %p = arith.truncf %wide : tensor<64x64xf32> to tensor<64x64xf16>
    %shrunk = )" + shrunk + R"(
    %twice = arith.addf %vc, %vc : tensor<64x64xf16>
    %next = tt.dot %p, )" + taken + R"(, %shrunk, inputPrecision = ieee : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    )" + more + R"(
    scf.yield %next : tensor<64x64xf32>
  }
  %so = tt.splat %out : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %po = tt.addptr %so, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %po, %sum : tensor<64x64x!tt.ptr<f32>>
  tt.return
} })", options, hopper());
  }

  std::vector<unsigned> waits_of(Operation* within) {
    std::vector<unsigned> pending;
    within->walk([&](tile::MmaWaitOp wait) { pending.push_back(wait.getPending()); });
    return pending;
  }
};

TEST_F(Overlap, TheLateProductRunsBesideTheNextTurn) {
  stage({.stages = 3});
  EXPECT_EQ(buffers(), 3);
  EXPECT_EQ(count<scf::IfOp>(), 1);
  SmallVector<tile::MmaOp> products;
  loop().walk([&](tile::MmaOp product) { products.push_back(product); });
  ASSERT_EQ(products.size(), 2u);
  EXPECT_TRUE(products[0].getAsync() && products[1].getAsync());
  EXPECT_TRUE(isa<BlockArgument>(products[1].getA())) << "of the turn before";
  EXPECT_EQ(waits_of(loop()), (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(count<tile::MmaOp>(), 4) << "the first early one and the last late one stand outside";
  ASSERT_TRUE(succeeded(allocate_shared(function_, hopper())));
  ASSERT_TRUE(succeeded(insert_barriers(function_, hopper())));
  EXPECT_EQ(count<tile::BarrierOp>(loop()), 1);
}

// Two buffers are one too few: a late product reads what the next turn's copies would write.
TEST_F(Overlap, NeedsThreeStages) {
  stage({.stages = 2});
  EXPECT_EQ(count<scf::IfOp>(), 0);
  EXPECT_EQ(count<tile::MmaOp>(), 2);
}

// One ring holds what both products read.
TEST_F(Overlap, ProductsOfOneLoadShareItsMemory) {
  stage({.stages = 3}, "arith.mulf %acc, %half : tensor<64x64xf32>", "", "%vb");
  EXPECT_EQ(buffers(), 3);
  EXPECT_EQ(count<scf::IfOp>(), 1);
  EXPECT_EQ(count<tile::AllocOp>(), 2) << "a's and the ring";
}

// What the lanes compute and store is there in its own turn alone.
TEST_F(Overlap, MemoryThatLanesWriteIsReadInItsTurn) {
  stage({.stages = 3}, "arith.mulf %acc, %half : tensor<64x64xf32>", "", "%twice");
  EXPECT_EQ(buffers(), 3) << "b's";
  EXPECT_EQ(count<scf::IfOp>(), 0);
  EXPECT_EQ(count<tile::MmaOp>(), 2);
}

// The sums of the turn before are needed in this one.
TEST_F(Overlap, SumsThatOthersReadStay) {
  stage({.stages = 3}, "arith.mulf %acc, %wide : tensor<64x64xf32>", "tt.print \"acc\" {hex = false, isSigned = array<i32: 0>} : %acc : tensor<64x64xf32>");
  EXPECT_EQ(count<scf::IfOp>(), 0);
  EXPECT_EQ(count<tile::MmaOp>(), 2);
}

}  // namespace
}  // namespace teeny::compiler::gpu
