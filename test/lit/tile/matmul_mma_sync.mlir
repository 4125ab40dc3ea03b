// c = the sum of a[k] b[k] over tiles of 32 x 32 that lie one after the other: cp.async into two buffers, mma.sync.
// RUN: teeny-opt %s | teeny-opt | FileCheck %s
// RUN: teeny-opt %s --mlir-print-op-generic | teeny-opt | FileCheck %s
// CHECK-LABEL: @matmul
// CHECK: tile.copy_in thread
// CHECK: scf.for
// CHECK: tile.wait
// CHECK: tile.barrier shared
// CHECK: tile.mma "mma.sync.m16n8k16.f16"


#io = #tile.dist<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]]>
#acc = #tile.dist<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 16], [16, 0]]>
#flat_io = #tile.dist<register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512]]>
#flat_acc = #tile.dist<register = [[1], [256], [8]], lane = [[2], [4], [32], [64], [128]], warp = [[16], [512]]>
#shared = #tile.shared<offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0], [16, 0]]>
module {
tt.func public @matmul(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>, %tiles: i32)
    attributes {thread.lanes = 32 : i32, thread.shared_bytes = 8192 : i32, thread.warps = 4 : i32} {
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
  %pc_range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #flat_acc>
  %pc_at = tt.reshape %pc_range : tensor<1024xi32, #flat_acc> -> tensor<32x32xi32, #acc>
  %pc_all = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #acc>
  %pc = tt.addptr %pc_all, %pc_at : tensor<32x32x!tt.ptr<f32>, #acc>, tensor<32x32xi32, #acc>
  %ma = tile.alloc {offset = 0 : i64} -> !tile.mem<2 x [32, 32] x f16, #shared>
  %mb = tile.alloc {offset = 4096 : i64} -> !tile.mem<2 x [32, 32] x f16, #shared>
  %any = arith.cmpi sgt, %tiles, %c0 : i32
  %any_mask = tt.splat %any : i1 -> tensor<32x32xi1, #io>
  %a0 = tile.view_buffer %ma[%c0] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
  %b0 = tile.view_buffer %mb[%c0] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
  %ta0 = tile.copy_in thread pointers %pa mask %any_mask to %a0 {width = 16 : i32} : (tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi1, #io>, !tile.mem<[32, 32] x f16, #shared>) -> !tile.token
  %tb0 = tile.copy_in thread pointers %pb mask %any_mask to %b0 {width = 16 : i32} : (tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi1, #io>, !tile.mem<[32, 32] x f16, #shared>) -> !tile.token
  %g0 = tile.commit %ta0, %tb0
  %sum, %ea, %eb = scf.for %i = %c0 to %tiles step %c1 iter_args(%s = %none, %qa = %pa, %qb = %pb) -> (tensor<32x32xf32, #acc>, tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32x!tt.ptr<f16>, #io>) : i32 {
    %done = tile.wait {pending = 0 : i32}
    tile.barrier shared
    %next = arith.addi %i, %c1 : i32
    %more = arith.cmpi slt, %next, %tiles : i32
    %mask = tt.splat %more : i1 -> tensor<32x32xi1, #io>
    %now_number = arith.andi %i, %c1 : i32
    %next_number = arith.andi %next, %c1 : i32
    %na = tt.addptr %qa, %step : tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi32, #io>
    %nb = tt.addptr %qb, %step : tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi32, #io>
    %va = tile.view_buffer %ma[%next_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    %vb = tile.view_buffer %mb[%next_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    %ta = tile.copy_in thread pointers %na mask %mask to %va {width = 16 : i32} : (tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi1, #io>, !tile.mem<[32, 32] x f16, #shared>) -> !tile.token
    %tb = tile.copy_in thread pointers %nb mask %mask to %vb {width = 16 : i32} : (tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32xi1, #io>, !tile.mem<[32, 32] x f16, #shared>) -> !tile.token
    %g = tile.commit %ta, %tb
    %xa = tile.view_buffer %ma[%now_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    %xb = tile.view_buffer %mb[%now_number] : !tile.mem<2 x [32, 32] x f16, #shared> -> !tile.mem<[32, 32] x f16, #shared>
    %d = tile.mma "mma.sync.m16n8k16.f16", %xa * %xb + %s, ieee : !tile.mem<[32, 32] x f16, #shared> * !tile.mem<[32, 32] x f16, #shared> + tensor<32x32xf32, #acc> -> tensor<32x32xf32, #acc>
    scf.yield %d, %na, %nb : tensor<32x32xf32, #acc>, tensor<32x32x!tt.ptr<f16>, #io>, tensor<32x32x!tt.ptr<f16>, #io>
  }
  %end = tile.wait {pending = 0 : i32}
  tile.barrier global
  tt.store %pc, %sum : tensor<32x32x!tt.ptr<f32>, #acc>
  tt.return
}
}
