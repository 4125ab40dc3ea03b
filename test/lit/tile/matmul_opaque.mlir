// The same product by a unit that keeps its fragments to itself: the next tile is loaded now and stored behind the product.
// RUN: teeny-opt %s | teeny-opt | FileCheck %s
// RUN: teeny-opt %s --mlir-print-op-generic | teeny-opt | FileCheck %s
// CHECK-LABEL: @matmul
// CHECK: tile.local_load
// CHECK-SAME: #tile.opaque<"cooperative.m16n16k16.f16", a>
// CHECK: tile.mma "cooperative.m16n16k16.f16"


#io = #tile.dist<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]]>
#flat_io = #tile.dist<register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#shared = #tile.shared<offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0], [16, 0]]>
#a = #tile.opaque<"cooperative.m16n16k16.f16", a>
#b = #tile.opaque<"cooperative.m16n16k16.f16", b>
#acc = #tile.opaque<"cooperative.m16n16k16.f16", acc>
module {
tt.func public @matmul(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>, %tiles: i32)
    attributes {thread.lanes = 32 : i32, thread.shared_bytes = 12288 : i32, thread.warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant dense<1024> : tensor<32x32xi32, #io>
  %none = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
  %pa_range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #flat_io>
  %pa_at = tt.reshape %pa_range : tensor<1024xi32, #flat_io> -> tensor<32x32xi32, #io>
  %pa_all = tt.splat %a : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #io>
  %pa = tt.addptr %pa_all, %pa_at : tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi32, #io>
  %pb_range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #flat_io>
  %pb_at = tt.reshape %pb_range : tensor<1024xi32, #flat_io> -> tensor<32x32xi32, #io>
  %pb_all = tt.splat %b : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #io>
  %pb = tt.addptr %pb_all, %pb_at : tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi32, #io>
  %pc_range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #flat_io>
  %pc_at = tt.reshape %pc_range : tensor<1024xi32, #flat_io> -> tensor<32x32xi32, #io>
  %pc_all = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #io>
  %pc = tt.addptr %pc_all, %pc_at : tensor<32x32x!tt.ptr<f32>, #io>, tensor<32x32xi32, #io>
  %ma = tile.alloc {offset = 0 : i64} -> !tile.mem<2 x [32, 32] x f16, #shared>
  %mb = tile.alloc {offset = 4096 : i64} -> !tile.mem<2 x [32, 32] x f16, #shared>
  %mc = tile.alloc {offset = 8192 : i64} -> !tile.mem<[32, 32] x f32, #shared>
  %la0 = tt.load %pa : tensor<32x32x!tt.ptr<f16>, #io>
  %lb0 = tt.load %pb : tensor<32x32x!tt.ptr<f16>, #io>
  %a0 = tile.view_buffer %ma[%c0] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
  %b0 = tile.view_buffer %mb[%c0] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
  tile.local_store %la0, %a0 : tensor<32x32xf16, #io>, !tile.mem<[32, 32] x f16, #shared>
  tile.local_store %lb0, %b0 : tensor<32x32xf16, #io>, !tile.mem<[32, 32] x f16, #shared>
  %sum, %ea, %eb = scf.for %i = %c0 to %tiles step %c1 iter_args(%s = %none, %qa = %pa, %qb = %pb) -> (tensor<32x32xf32, #acc>, tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32x!tt.ptr<f16>, #io>) : i32 {
    %next = arith.addi %i, %c1 : i32
    %more = arith.cmpi slt, %next, %tiles : i32
    %mask = tt.splat %more : i1 -> tensor<32x32xi1, #io>
    %now_number = arith.andi %i, %c1 : i32
    %next_number = arith.andi %next, %c1 : i32
    %na = tt.addptr %qa, %step : tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi32, #io>
    %nb = tt.addptr %qb, %step : tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi32, #io>
    %la = tt.load %na, %mask : tensor<32x32x!tt.ptr<f16>, #io>
    %lb = tt.load %nb, %mask : tensor<32x32x!tt.ptr<f16>, #io>
    tile.barrier shared
    %xa = tile.view_buffer %ma[%now_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    %xb = tile.view_buffer %mb[%now_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    %fa = tile.local_load %xa : !tile.mem<[32, 32] x f16, #shared> -> tensor<32x32xf16, #a>
    %fb = tile.local_load %xb : !tile.mem<[32, 32] x f16, #shared> -> tensor<32x32xf16, #b>
    %d = tile.mma "cooperative.m16n16k16.f16", %fa * %fb + %s, ieee : tensor<32x32xf16, #a> * tensor<32x32xf16, #b> + tensor<32x32xf32, #acc> -> tensor<32x32xf32, #acc>
    tile.barrier shared
    %va = tile.view_buffer %ma[%next_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    %vb = tile.view_buffer %mb[%next_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    tile.local_store %la, %va : tensor<32x32xf16, #io>, !tile.mem<[32, 32] x f16, #shared>
    tile.local_store %lb, %vb : tensor<32x32xf16, #io>, !tile.mem<[32, 32] x f16, #shared>
    scf.yield %d, %na, %nb : tensor<32x32xf32, #acc>, tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32x!tt.ptr<f16>, #io>
  }
  tile.local_store %sum, %mc : tensor<32x32xf32, #acc>, !tile.mem<[32, 32] x f32, #shared>
  tile.barrier shared
  %result = tile.local_load %mc : !tile.mem<[32, 32] x f32, #shared> -> tensor<32x32xf32, #io>
  tt.store %pc, %result : tensor<32x32x!tt.ptr<f32>, #io>
  tt.return
}
}
