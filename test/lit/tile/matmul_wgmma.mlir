// c = a b over tiles of 64 x 64: one warp fetches them by maps into two buffers, four multiply from memory.
// RUN: teeny-opt %s | teeny-opt | FileCheck %s
// RUN: teeny-opt %s --mlir-print-op-generic | teeny-opt | FileCheck %s
// CHECK-LABEL: @matmul
// CHECK: tile.specialize warps [4, 1] registers [240, 24]
// CHECK: tile.mma "wgmma.m64n64k16.f16"
// CHECK-SAME: async
// CHECK: tile.mma_wait
// CHECK: tile.copy_in tile map


#acc = #tile.dist<register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#flat = #tile.dist<register = [[1], [512], [8], [16], [32]], lane = [[2], [4], [64], [128], [256]], warp = [[1024], [2048]]>
#shared = #tile.shared<offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]], swizzle = 128>
module {
tt.func public @matmul(%a: !tile.map<[64, 64], f16, 128>, %b: !tile.map<[64, 64], f16, 128>, %c: !tt.ptr<f32>, %tiles: i32)
    attributes {thread.lanes = 32 : i32, thread.shared_bytes = 32800 : i32, thread.warps = 5 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %ma = tile.alloc {offset = 0 : i64} -> !tile.mem<2 x [64, 64] x f16, #shared>
  %mb = tile.alloc {offset = 16384 : i64} -> !tile.mem<2 x [64, 64] x f16, #shared>
  %full = tile.bar_init {arrivals = 1 : i32, offset = 32768 : i64} -> !tile.bar<2>
  %empty = tile.bar_init {arrivals = 128 : i32, offset = 32784 : i64} -> !tile.bar<2>
  tile.barrier shared
  tile.specialize warps [4, 1] registers [240, 24] {
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%s = %none) -> (tensor<64x64xf32, #acc>) : i32 {
      %number = arith.andi %i, %c1 : i32
      %turn = arith.shrui %i, %c1 : i32
      %phase = arith.andi %turn, %c1 : i32
      tile.bar_wait %full[%number], %phase : !tile.bar<2>
      %xa = tile.view_buffer %ma[%number] : !tile.mem<2 x [64, 64] x f16, #shared> -> !tile.mem<[64, 64] x f16, #shared>
      %xb = tile.view_buffer %mb[%number] : !tile.mem<2 x [64, 64] x f16, #shared> -> !tile.mem<[64, 64] x f16, #shared>
      %d = tile.mma "wgmma.m64n64k16.f16", %xa * %xb + %s, ieee async : !tile.mem<[64, 64] x f16, #shared> * !tile.mem<[64, 64] x f16, #shared> + tensor<64x64xf32, #acc> -> tensor<64x64xf32, #acc>
      %w = tile.mma_wait %d {pending = 0 : i32} : tensor<64x64xf32, #acc> -> tensor<64x64xf32, #acc>
      tile.bar_arrive %empty[%number] : !tile.bar<2>
      scf.yield %w : tensor<64x64xf32, #acc>
    }
    %range = tt.make_range {start = 0 : i32, end = 4096 : i32} : tensor<4096xi32, #flat>
    %at = tt.reshape %range : tensor<4096xi32, #flat> -> tensor<64x64xi32, #acc>
    %all = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #acc>
    %p = tt.addptr %all, %at : tensor<64x64x!tt.ptr<f32>, #acc>, tensor<64x64xi32, #acc>
    tt.store %p, %sum : tensor<64x64x!tt.ptr<f32>, #acc>
    tile.yield
  }, {
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %number = arith.andi %i, %c1 : i32
      %turn = arith.shrui %i, %c1 : i32
      %odd = arith.andi %turn, %c1 : i32
      %phase = arith.xori %odd, %c1 : i32
      tile.bar_wait %empty[%number], %phase : !tile.bar<2>
      tile.bar_expect %full[%number] {bytes = 16384 : i32} : !tile.bar<2>
      %k = arith.muli %i, %c64 : i32
      %xa = tile.view_buffer %ma[%number] : !tile.mem<2 x [64, 64] x f16, #shared> -> !tile.mem<[64, 64] x f16, #shared>
      %xb = tile.view_buffer %mb[%number] : !tile.mem<2 x [64, 64] x f16, #shared> -> !tile.mem<[64, 64] x f16, #shared>
      %ta = tile.copy_in tile map %a[%c0, %k] bar %full[%number] to %xa : (!tile.map<[64, 64], f16, 128>, i32, i32, !tile.bar<2>, i32, !tile.mem<[64, 64] x f16, #shared>) -> !tile.token
      %tb = tile.copy_in tile map %b[%k, %c0] bar %full[%number] to %xb : (!tile.map<[64, 64], f16, 128>, i32, i32, !tile.bar<2>, i32, !tile.mem<[64, 64] x f16, #shared>) -> !tile.token
    }
    tile.yield
  }
  tt.return
}
}
