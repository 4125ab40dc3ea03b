// Layouts of whole functions: where conversions stand, and that none stands where none is needed.
#include <gtest/gtest.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>

#include "compiler/gpu/dot_plan.hpp"
#include "compiler/layout/layouts.hpp"
#include "compiler/transforms/passes.hpp"

namespace teeny::compiler::gpu {

// A unit of this test's own: both operands in memory, a row-major arrangement, sums in f32 by 2 x 2 blocks of a lane.
DotPlan plan_dot(tt::DotOp dot, const Capability &capability, int warps, const AxisInfoAnalysis &) {
  static const MatrixUnit unit{.name = "test"};
  auto type = llvm::cast<mlir::RankedTensorType>(dot.getType());
  unsigned lanes = unsigned(capability.lanes), order[] = {1, 0};
  unsigned columns = std::min(lanes, 4u), block[] = {2, 2}, lane_block[] = {lanes / columns, columns};
  unsigned warp_block[] = {unsigned(warps), 1};
  DotPlan plan;
  plan.unit = &unit;
  plan.accumulators = blocked_layout(type.getShape(), block, lane_block, warp_block, order);
  mlir::Type element = type.getElementType();
  plan.accumulator = element.isInteger() ? element : mlir::Float32Type::get(dot.getContext());
  auto rows = [](mlir::Value value) {
    auto shape = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
    LinearLayout::Input offset{Axis::offset, {}};
    for (int32_t n = 1; n < shape[1]; n *= 2) offset.bases.push_back({0, n});
    for (int32_t n = 1; n < shape[0]; n *= 2) offset.bases.push_back({n, 0});
    return LinearLayout({offset}, {{index_axis(0), int32_t(shape[0])}, {index_axis(1), int32_t(shape[1])}});
  };
  plan.a.memory = rows(dot.getA());
  plan.b.memory = rows(dot.getB());
  return plan;
}

namespace {

class Assign : public testing::Test {
 protected:
  Assign() : context_(registry()) {}

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    register_dialects(registry);
    registry.insert<tile::TileDialect, thread::ThreadDialect>();
    return registry;
  }

  // The function after the stage; the module stays alive with the fixture.
  tt::FuncOp assign(const std::string &text, Capability capability = {}) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    EXPECT_TRUE(module_);
    if (!module_) return {};
    auto function = *module_->getOps<tt::FuncOp>().begin();
    EXPECT_TRUE(mlir::succeeded(assign_layouts(function, capability, {})));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module_)));
    EXPECT_TRUE(mlir::succeeded(verify_form(function, Form::laid_out, capability)));
    if (testing::Test::HasFailure()) module_->dump();
    return function;
  }
  template <class Op>
  static int count(mlir::Operation *root) {
    int number = 0;
    root->walk([&](Op) { ++number; });
    return number;
  }
  static int conversions(mlir::Operation *root) { return count<tile::ConvertLayoutOp>(root); }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

// Rows of 1024 f32 at %x and %out, the offsets of which are %at; %mask holds below %n.
const std::string row_start = R"(
tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                       %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
  %c1024 = arith.constant 1024 : i32
  %p = tt.get_program_id x : i32
  %first = arith.muli %p, %c1024 : i32
  %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %splat = tt.splat %first : i32 -> tensor<1024xi32>
  %at = arith.addi %splat, %range : tensor<1024xi32>
  %limit = tt.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %at, %limit : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
)";
const std::string row_end = "\n tt.return\n}\n";

TEST_F(Assign, AddsVectorsWithoutConversionAndByFour) {
  auto function = assign(row_start + R"(
  %xv = tt.load %xp, %mask : tensor<1024x!tt.ptr<f32>>
  %yv = tt.load %yp, %mask : tensor<1024x!tt.ptr<f32>>
  %sum = arith.addf %xv, %yv : tensor<1024xf32>
  tt.store %op, %sum, %mask : tensor<1024x!tt.ptr<f32>>)" + row_end);
  ASSERT_TRUE(function);
  EXPECT_EQ(conversions(function), 0);
  auto load = *function.getOps<tt::LoadOp>().begin();
  EXPECT_EQ(tile::layout_of(load.getType()).consecutive_registers(Axis::index0), 4);
  EXPECT_EQ(function->getAttrOfType<mlir::IntegerAttr>(thread::warps_attribute).getInt(), 4);
  EXPECT_EQ(function->getAttrOfType<mlir::IntegerAttr>(thread::lanes_attribute).getInt(), 32);
}

const std::string row_softmax = R"(
  %low = arith.constant dense<0xFF800000> : tensor<1024xf32>
  %xv = tt.load %xp, %mask, %low : tensor<1024x!tt.ptr<f32>>
  %max = "tt.reduce"(%xv) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tt.reduce.return %m : f32
  }) : (tensor<1024xf32>) -> f32
  %maxs = tt.splat %max : f32 -> tensor<1024xf32>
  %d = arith.subf %xv, %maxs : tensor<1024xf32>
  %e = math.exp %d : tensor<1024xf32>
  %sum = "tt.reduce"(%e) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tt.reduce.return %s : f32
  }) : (tensor<1024xf32>) -> f32
  %sums = tt.splat %sum : f32 -> tensor<1024xf32>
  %r = arith.divf %e, %sums : tensor<1024xf32>
  tt.store %op, %r, %mask : tensor<1024x!tt.ptr<f32>>)";

TEST_F(Assign, TakesTheSoftmaxOfARowWithoutConversion) {
  for (int lanes : {1, 8, 32, 64}) {
    Capability capability;
    capability.lanes = lanes;
    auto function = assign(row_start + row_softmax + row_end, capability);
    ASSERT_TRUE(function);
    EXPECT_EQ(conversions(function), 0) << lanes;
  }
}

TEST_F(Assign, CarriesPointersInOneLayout) {
  auto function = assign(row_start + R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant dense<1024> : tensor<1024xi32>
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %q = %xp)
      -> (tensor<1024xf32>, tensor<1024x!tt.ptr<f32>>) : i32 {
    %v = tt.load %q : tensor<1024x!tt.ptr<f32>>
    %s = arith.addf %acc, %v : tensor<1024xf32>
    %next = tt.addptr %q, %step : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    scf.yield %s, %next : tensor<1024xf32>, tensor<1024x!tt.ptr<f32>>
  }
  tt.store %op, %r#0, %mask : tensor<1024x!tt.ptr<f32>>)" + row_end);
  ASSERT_TRUE(function);
  EXPECT_EQ(conversions(function), 0);
}

// Offsets of a 64 x 128 tile, rows 128 apart: %at2; %rows and %columns its indices.
const std::string tile_start = R"(
tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                       %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  %rows = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %columns = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %c128 = arith.constant dense<128> : tensor<64x1xi32>
  %r1 = tt.expand_dims %rows {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %r2 = arith.muli %r1, %c128 : tensor<64x1xi32>
  %r3 = tt.broadcast %r2 : tensor<64x1xi32> -> tensor<64x128xi32>
  %c1 = tt.expand_dims %columns {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %c2 = tt.broadcast %c1 : tensor<1x128xi32> -> tensor<64x128xi32>
  %at = arith.addi %r3, %c2 : tensor<64x128xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %at : tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
  %op = tt.addptr %os, %at : tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>
  %bs = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %bp = tt.addptr %bs, %columns : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
)";

TEST_F(Assign, TakesTheSoftmaxOfRowsWithoutConversion) {
  auto function = assign(tile_start + R"(
  %xv = tt.load %xp : tensor<64x128x!tt.ptr<f32>>
  %max = "tt.reduce"(%xv) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tt.reduce.return %m : f32
  }) : (tensor<64x128xf32>) -> tensor<64xf32>
  %max1 = tt.expand_dims %max {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
  %max2 = tt.broadcast %max1 : tensor<64x1xf32> -> tensor<64x128xf32>
  %d = arith.subf %xv, %max2 : tensor<64x128xf32>
  %e = math.exp %d : tensor<64x128xf32>
  tt.store %op, %e : tensor<64x128x!tt.ptr<f32>>)" + row_end);
  ASSERT_TRUE(function);
  EXPECT_EQ(conversions(function), 0);
}

TEST_F(Assign, AddsABiasToRowsWithoutConversion) {
  auto function = assign(tile_start + R"(
  %xv = tt.load %xp : tensor<64x128x!tt.ptr<f32>>
  %b = tt.load %bp : tensor<128x!tt.ptr<f32>>
  %b1 = tt.expand_dims %b {axis = 0 : i32} : tensor<128xf32> -> tensor<1x128xf32>
  %b2 = tt.broadcast %b1 : tensor<1x128xf32> -> tensor<64x128xf32>
  %d = arith.addf %xv, %b2 : tensor<64x128xf32>
  tt.store %op, %d : tensor<64x128x!tt.ptr<f32>>)" + row_end);
  ASSERT_TRUE(function);
  EXPECT_EQ(conversions(function), 0);
}

TEST_F(Assign, KeepsAProductsSumsInPlaceThroughTheLoopAndConvertsOnceBeforeTheStore) {
  auto function = assign(R"(
tt.func public @kernel(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32},
                       %out: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %stride = arith.constant dense<64> : tensor<64x1xi32>
  %r1 = tt.expand_dims %rows {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %r2 = arith.muli %r1, %stride : tensor<64x1xi32>
  %r3 = tt.broadcast %r2 : tensor<64x1xi32> -> tensor<64x64xi32>
  %k1 = tt.expand_dims %rows {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %k2 = tt.broadcast %k1 : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %r3, %k2 : tensor<64x64xi32>
  %xs = tt.splat %x : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %xp = tt.addptr %xs, %at : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %os = tt.splat %out : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %op = tt.addptr %os, %at : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %step = arith.constant dense<64> : tensor<64x64xi32>
  %r:2 = scf.for %i = %c0 to %n step %one iter_args(%acc = %zero, %q = %xp)
      -> (tensor<64x64xf32>, tensor<64x64x!tt.ptr<f16>>) : i32 {
    %a = tt.load %q : tensor<64x64x!tt.ptr<f16>>
    %b = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %next = tt.addptr %q, %step : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    scf.yield %d, %next : tensor<64x64xf32>, tensor<64x64x!tt.ptr<f16>>
  }
  %e = math.exp %r#0 : tensor<64x64xf32>
  %h = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
  tt.store %op, %h : tensor<64x64x!tt.ptr<f16>>
  tt.return
})");
  ASSERT_TRUE(function);
  EXPECT_EQ(count<tile::MmaOp>(function), 1);
  EXPECT_EQ(count<tile::AllocOp>(function), 2);
  EXPECT_EQ(count<tile::ViewTransOp>(function), 1);
  EXPECT_EQ(count<tt::TransOp>(function), 0);
  ASSERT_EQ(conversions(function), 1);
  function.walk([](tile::ConvertLayoutOp conversion) {
    EXPECT_TRUE(conversion.getType().getElementType().isF16());  // after the cast that narrows
    EXPECT_TRUE(mlir::isa<tt::FuncOp>(conversion->getParentOp()));
  });
}

}  // namespace
}  // namespace teeny::compiler::gpu
