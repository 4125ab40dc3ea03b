// to_thread on laid-out text: accesses as vectors that share one base, and no work that a register does not need.
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {
namespace {

using namespace mlir;

constexpr char text[] = R"(
#blocked = #tile.dist<register = [[1], [2], [256]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>
module {
  tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                      %n: i32 {tt.divisibility = 16 : i32}) attributes {thread.warps = 2 : i32, thread.lanes = 32 : i32} {
    %size = arith.constant 512 : i32
    %pid = tt.get_program_id x : i32
    %start = arith.muli %pid, %size : i32
    %range = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32, #blocked>
    %starts = tt.splat %start : i32 -> tensor<512xi32, #blocked>
    %places = arith.addi %starts, %range : tensor<512xi32, #blocked>
    %ends = tt.splat %n : i32 -> tensor<512xi32, #blocked>
    %mask = arith.cmpi slt, %places, %ends : tensor<512xi32, #blocked>
    %base = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
    %from = tt.addptr %base, %places : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
    %value = tt.load %from, %mask : tensor<512x!tt.ptr<f32>, #blocked>
    %sum = arith.addf %value, %value : tensor<512xf32, #blocked>
    %out = tt.splat %y : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
    %to = tt.addptr %out, %places : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
    tt.store %to, %sum, %mask : tensor<512x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
)";

TEST(Pointwise, LoadsVectorsFromOneBase) {
  MLIRContext context;
  context.loadDialect<tt::TTDialect, tile::TileDialect, thread::ThreadDialect, arith::ArithDialect, math::MathDialect,
                      scf::SCFDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  Capability capability;
  func::FuncOp made = to_thread(*module->getOps<tt::FuncOp>().begin(), capability, {});
  ASSERT_TRUE(made);
  ASSERT_TRUE(succeeded(verify(*module)));
  PassManager passes(&context);
  passes.addPass(createCSEPass());
  passes.addPass(createCanonicalizerPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  std::vector<int64_t> loads, stores;
  Value base;
  made.walk([&](thread::LoadOp load) {
    EXPECT_EQ(load.getValues().size(), 4u);
    if (base) { EXPECT_EQ(load.getAddress(), base); }
    base = load.getAddress();
    loads.push_back(load.getOffset());
  });
  made.walk([&](thread::StoreOp store) {
    EXPECT_EQ(store.getValues().size(), 4u);
    stores.push_back(store.getOffset());
  });
  EXPECT_EQ(loads, (std::vector<int64_t>{0, 1024}));
  EXPECT_EQ(stores, (std::vector<int64_t>{0, 1024}));
  int operations = 0, barriers = 0;
  made.walk([&](Operation *) { ++operations; });
  made.walk([&](thread::BarrierOp) { ++barriers; });
  EXPECT_LE(operations, 64);
  EXPECT_EQ(barriers, 0);
  if (HasFailure()) module->dump();
}

}  // namespace
}  // namespace teeny::compiler::gpu
