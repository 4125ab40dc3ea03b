#include <chrono>

#include "kernels.hpp"
#include "parsed_function.hpp"

namespace teeny::compiler::test {
namespace {

TEST(Loops, MatmulWithCarriedPointers) {
  expect_accesses(
      matmul_carried,
      {{"arg0 + 16*arg7*iv0 + arg7*i1 + arg6*remsi[i0]{512*divsi + 64*remsi wraps at arg3}", "i1 < arg5 - 16*iv0"},
       {"arg1 + 16*arg8*iv0 + arg8*i0 + arg9*remsi[i1]{32*divsi wraps at arg4}", "i0 < arg5 - 16*iv0"},
       {"arg2 + 512*arg10*divsi + 64*arg10*remsi + 32*arg11*divsi + arg10*i0 + arg11*i1",
        "i0 < arg3 - 512*divsi - 64*remsi, i1 < arg4 - 32*divsi"}});
}

TEST(Loops, MatmulWithRecomputedOffsets) {
  expect_accesses(matmul_recomputed,
                  {{"arg0 + 64*arg6*pid_x + arg7*iv0 + arg6*i0 + arg7*i1", "i0 < arg3 - 64*pid_x, i1 < arg5 - iv0"},
                   {"arg1 + arg8*iv0 + 64*arg9*pid_y + arg8*i0 + arg9*i1", "i0 < arg5 - iv0"},
                   {"arg2 + 64*arg4*pid_x + 64*pid_y + arg4*i0 + i1", "all"}});
}

TEST(Loops, WhatVariesInWhichLoop) {
  ParsedFunction parsed(matmul_recomputed);
  mlir::Operation *loop = parsed.accesses[0]->getParentOp();
  auto block = *parsed.blocks->recover(parsed.accesses[0]);
  EXPECT_TRUE(block.offset.varies_in(loop));
  EXPECT_FALSE(block.strides[0].varies_in(loop));
  auto parts = block.offset.linear_in(mlir::cast<mlir::scf::ForOp>(loop).getInductionVar());
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, block.strides[1]);
  EXPECT_FALSE(parts->second.varies_in(loop));
}

// Loops over columns as layer norm has them: the row's pointer outside, offsets inside.
TEST(Loops, LayerNorm) {
  expect_accesses(R"(
    tt.func public @norm(%x: !tt.ptr<f32>, %w: !tt.ptr<f32>, %stride: i32, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c128 = arith.constant 128 : i32
      %row = tt.get_program_id x : i32
      %o = arith.muli %row, %stride : i32
      %px = tt.addptr %x, %o : !tt.ptr<f32>, i32
      %cols = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
      scf.for %off = %c0 to %n step %c128 : i32 {
        %offs = tt.splat %off : i32 -> tensor<128xi32>
        %c = arith.addi %offs, %cols : tensor<128xi32>
        %ns = tt.splat %n : i32 -> tensor<128xi32>
        %m = arith.cmpi slt, %c, %ns : tensor<128xi32>
        %ps = tt.splat %px : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
        %p = tt.addptr %ps, %c : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
        %v = tt.load %p, %m : tensor<128x!tt.ptr<f32>>
        %ws = tt.splat %w : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
        %wp = tt.addptr %ws, %c : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
        %wv = tt.load %wp, %m : tensor<128x!tt.ptr<f32>>
        %y = arith.mulf %v, %wv : tensor<128xf32>
        tt.store %p, %y, %m : tensor<128x!tt.ptr<f32>>
      }
      tt.return
    })",
                  {{"arg0 + arg2*pid_x + iv0 + i0", "i0 < arg3 - iv0"},
                   {"arg1 + iv0 + i0", "i0 < arg3 - iv0"},
                   {"arg0 + arg2*pid_x + iv0 + i0", "i0 < arg3 - iv0"}});
}

// Attention: a tile of Q at base + rows * 64 + d, K transposed, V's pointers carried.
TEST(Loops, AttentionTiles) {
  expect_accesses(attention,
                  {{"arg0 + 64*arg4*pid_y + 2048*pid_x + 64*i0 + i1", "i0 < arg4 - 32*pid_x"},
                   {"arg1 + 64*arg4*pid_y + 64*iv0 + i0 + 64*i1", "all"},
                   {"arg2 + 64*arg4*pid_y + 64*iv0 + 64*i0 + i1", "all"},
                   {"arg2 + 64*arg4*pid_y + 64*iv0 + 64*i0 + i1", "all"},
                   {"arg3", "all"}});
}

// A step that is not a multiple of the loop's own, a lower bound, nested loops, and pointers used after their loop.
TEST(Loops, CarriedThroughNestedLoopsAndAfter) {
  expect_accesses(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %lo: i32, %n: i32, %s: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %p0 = tt.addptr %xs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %ss = tt.splat %s : i32 -> tensor<8xi32>
      %three = tt.splat %c3 : i32 -> tensor<8xi32>
      %end = scf.for %i = %lo to %n step %c2 iter_args(%p = %p0) -> (tensor<8x!tt.ptr<f32>>) : i32 {
        %v = tt.load %p : tensor<8x!tt.ptr<f32>>
        tt.store %p, %v : tensor<8x!tt.ptr<f32>>
        %inner = scf.for %j = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<8x!tt.ptr<f32>>) : i32 {
          %w = tt.load %q : tensor<8x!tt.ptr<f32>>
          tt.store %q, %w : tensor<8x!tt.ptr<f32>>
          %nq = tt.addptr %q, %ss : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
          scf.yield %nq : tensor<8x!tt.ptr<f32>>
        }
        %u = tt.load %inner : tensor<8x!tt.ptr<f32>>
        tt.store %inner, %u : tensor<8x!tt.ptr<f32>>
        %np = tt.addptr %p, %three : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
        scf.yield %np : tensor<8x!tt.ptr<f32>>
      }
      %z = tt.load %end : tensor<8x!tt.ptr<f32>>
      tt.store %end, %z : tensor<8x!tt.ptr<f32>>
      tt.return
    })",
                  {{"arg0 + 3*iteration0 + i0", "all"}, {"arg0 + 3*iteration0 + i0", "all"},
                   {"arg0 + arg3*iv1 + 3*iteration0 + i0", "all"}, {"arg0 + arg3*iv1 + 3*iteration0 + i0", "all"},
                   {"arg0 + arg3*trips1 + 3*iteration0 + i0", "all"}, {"arg0 + arg3*trips1 + 3*iteration0 + i0", "all"},
                   {"arg0 + 3*trips0 + i0", "all"}, {"arg0 + 3*trips0 + i0", "all"}});
}

// The outer pointer moves by what the inner loop moved it: the step is known only because the inner loop's is.
TEST(Loops, CarriedThroughAnInnerLoop) {
  expect_accesses(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %n: i32, %s: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c4 = arith.constant 4 : i32
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!tt.ptr<f32>) : i32 {
        %inner = scf.for %j = %c0 to %c4 step %c1 iter_args(%q = %p) -> (!tt.ptr<f32>) : i32 {
          %w = tt.load %q : !tt.ptr<f32>
          tt.store %q, %w : !tt.ptr<f32>
          %nq = tt.addptr %q, %s : !tt.ptr<f32>, i32
          scf.yield %nq : !tt.ptr<f32>
        }
        scf.yield %inner : !tt.ptr<f32>
      }
      tt.return
    })",
                  {{"carried0_0 + arg2*iv1", "all"}, {"carried0_0 + arg2*iv1", "all"}});
}

// Steps that differ by iteration, exchanged values, and values of scf.while are not in closed form; they stay what they
// are, and what is added to them is still known.
TEST(Loops, OtherRecurrencesStayThemselves) {
  ParsedFunction parsed(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %a:3 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y, %s = %x)
          -> (!tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>) : i32 {
        %ps = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
        %pp = tt.addptr %ps, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
        %v = tt.load %pp : tensor<8x!tt.ptr<f32>>
        %ss = tt.splat %s : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
        %sp = tt.addptr %ss, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
        tt.store %sp, %v : tensor<8x!tt.ptr<f32>>
        %sn = tt.addptr %s, %i : !tt.ptr<f32>, i32
        scf.yield %q, %p, %sn : !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>
      }
      tt.return
    })");
  EXPECT_EQ(parsed.block(0), "carried0_0 + i0");
  EXPECT_EQ(parsed.block(1), "carried0_2 + i0");
}

// The loop's step is an argument: dividing by it leaves the stride.
TEST(Loops, SymbolicStep) {
  ParsedFunction parsed(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %n: i32, %block: i32, %s: i32) {
      %c0 = arith.constant 0 : i32
      %step = arith.muli %block, %s : i32
      %end = scf.for %i = %c0 to %n step %block iter_args(%p = %x) -> (!tt.ptr<f32>) : i32 {
        %w = tt.load %p : !tt.ptr<f32>
        tt.store %p, %w : !tt.ptr<f32>
        %np = tt.addptr %p, %step : !tt.ptr<f32>, i32
        scf.yield %np : !tt.ptr<f32>
      }
      tt.return
    })");
  EXPECT_EQ(parsed.block(0), "arg0 + arg3*iv0");
}

// Long chains of raw IR must not exhaust the stack.
TEST(Loops, LongChains) {
  std::string text = "tt.func public @f(%x0: !tt.ptr<f32>) {\n %c1 = arith.constant 1 : i32\n";
  constexpr int length = 50000;
  for (int i = 0; i < length; ++i)
    text += "%x" + std::to_string(i + 1) + " = tt.addptr %x" + std::to_string(i) + ", %c1 : !tt.ptr<f32>, i32\n";
  text += "%v = tt.load %x" + std::to_string(length) + " : !tt.ptr<f32>\ntt.store %x0, %v : !tt.ptr<f32>\ntt.return\n}";
  ParsedFunction parsed(text);
  EXPECT_EQ(parsed.block(0), "arg0 + 50000");
}

TEST(Loops, TimeIsReported) {
  ParsedFunction parsed(matmul_carried, /*clean=*/true);
  auto start = std::chrono::steady_clock::now();
  BlockRecovery blocks(parsed.function);
  MaskBoundsAnalysis masks(blocks);
  unsigned found = 0;
  for (mlir::Operation *access : parsed.accesses) found += blocks.recover(access) && masks.of_access(access);
  auto middle = std::chrono::steady_clock::now();
  AxisInfoAnalysis axis_info(parsed.function);
  auto end = std::chrono::steady_clock::now();
  EXPECT_EQ(found, 3u);
  auto microseconds = [](auto duration) {
    return int(std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
  };
  RecordProperty("blocks_and_masks_microseconds", microseconds(middle - start));
  RecordProperty("axis_info_microseconds", microseconds(end - middle));
}

}  // namespace
}  // namespace teeny::compiler::test
