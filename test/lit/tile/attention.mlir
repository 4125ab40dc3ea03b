// o = softmax(q k^T) v in base 2 over blocks of 16 keys; the probabilities stay in the registers of the first product.
// RUN: teeny-opt %s | teeny-opt | FileCheck %s
// RUN: teeny-opt %s --mlir-print-op-generic | teeny-opt | FileCheck %s
// CHECK-LABEL: @attention
// CHECK: tile.view_trans
// CHECK: tile.mma
// CHECK-SAME: !tile.mem<[64, 16] x f16
// CHECK: arith.truncf
// CHECK: tile.mma
// CHECK-SAME: tensor<64x16xf16


#q = #tile.dist<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#flat_q = #tile.dist<register = [[1], [128], [8]], lane = [[2], [4], [16], [32], [64]], warp = [[256], [512]]>
#row = #tile.dist<register = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
#column = #tile.dist<register = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#kv = #tile.dist<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#flat_kv = #tile.dist<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]]>
#shared_q = #tile.shared<offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
#shared = #tile.shared<offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]>
#turned = #tile.shared<offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [0, 4], [0, 8]]>
module {
tt.func public @attention(%q: !tt.ptr<f16>, %k: !tt.ptr<f16>, %v: !tt.ptr<f16>, %o: !tt.ptr<f32>, %blocks: i32)
    attributes {thread.lanes = 32 : i32, thread.shared_bytes = 3072 : i32, thread.warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant dense<256> : tensor<16x16xi32, #kv>
  %none = arith.constant dense<0.0> : tensor<64x16xf32, #q>
  %lowest = arith.constant dense<-1.0e30> : tensor<64xf32, #row>
  %nothing = arith.constant dense<0.0> : tensor<64xf32, #row>
  %pq_range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #flat_q>
  %pq_at = tt.reshape %pq_range : tensor<1024xi32, #flat_q> -> tensor<64x16xi32, #q>
  %pq_all = tt.splat %q : !tt.ptr<f16> -> tensor<64x16x!tt.ptr<f16>, #q>
  %pq = tt.addptr %pq_all, %pq_at : tensor<64x16x!tt.ptr<f16>, #q>, tensor<64x16xi32, #q>
  %pk_range = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #flat_kv>
  %pk_at = tt.reshape %pk_range : tensor<256xi32, #flat_kv> -> tensor<16x16xi32, #kv>
  %pk_all = tt.splat %k : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>, #kv>
  %pk = tt.addptr %pk_all, %pk_at : tensor<16x16x!tt.ptr<f16>, #kv>, tensor<16x16xi32, #kv>
  %pv_range = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #flat_kv>
  %pv_at = tt.reshape %pv_range : tensor<256xi32, #flat_kv> -> tensor<16x16xi32, #kv>
  %pv_all = tt.splat %v : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>, #kv>
  %pv = tt.addptr %pv_all, %pv_at : tensor<16x16x!tt.ptr<f16>, #kv>, tensor<16x16xi32, #kv>
  %po_range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #flat_q>
  %po_at = tt.reshape %po_range : tensor<1024xi32, #flat_q> -> tensor<64x16xi32, #q>
  %po_all = tt.splat %o : !tt.ptr<f32> -> tensor<64x16x!tt.ptr<f32>, #q>
  %po = tt.addptr %po_all, %po_at : tensor<64x16x!tt.ptr<f32>, #q>, tensor<64x16xi32, #q>
  %lq = tt.load %pq : tensor<64x16x!tt.ptr<f16>, #q>
  %mq = tile.alloc %lq : tensor<64x16xf16, #q> {offset = 0 : i64} -> !tile.mem<[64, 16] x f16, #shared_q>
  %mk = tile.alloc {offset = 2048 : i64} -> !tile.mem<[16, 16] x f16, #shared>
  %mv = tile.alloc {offset = 2560 : i64} -> !tile.mem<[16, 16] x f16, #shared>
  %sum, %highest, %total, %ek, %ev = scf.for %i = %c0 to %blocks step %c1 iter_args(%acc = %none, %m = %lowest, %t = %nothing, %qk = %pk, %qv = %pv) -> (tensor<64x16xf32, #q>, tensor<64xf32, #row>, tensor<64xf32, #row>, tensor<16x16x!tt.ptr<f16>, #kv>, tensor<16x16x!tt.ptr<f16>, #kv>) : i32 {
    %lk = tt.load %qk : tensor<16x16x!tt.ptr<f16>, #kv>
    %lv = tt.load %qv : tensor<16x16x!tt.ptr<f16>, #kv>
    tile.barrier shared
    tile.local_store %lk, %mk : tensor<16x16xf16, #kv>, !tile.mem<[16, 16] x f16, #shared>
    tile.local_store %lv, %mv : tensor<16x16xf16, #kv>, !tile.mem<[16, 16] x f16, #shared>
    tile.barrier shared
    %kt = tile.view_trans %mk {order = array<i32: 1, 0>} : !tile.mem<[16, 16] x f16, #shared> -> !tile.mem<[16, 16] x f16, #turned>
    %s = tile.mma "mma.sync.m16n8k16.f16", %mq * %kt + %none, ieee : !tile.mem<[64, 16] x f16, #shared_q> * !tile.mem<[16, 16] x f16, #turned> + tensor<64x16xf32, #q> -> tensor<64x16xf32, #q>
    %here = "tt.reduce"(%s) <{axis = 1 : i32}> ({
    ^bb0(%l: f32, %r: f32):
      %here_both = arith.maximumf %l, %r : f32
      tt.reduce.return %here_both : f32
    }) : (tensor<64x16xf32, #q>) -> tensor<64xf32, #row>
    %m1 = arith.maximumf %m, %here : tensor<64xf32, #row>
    %mb_c = tt.expand_dims %m1 {axis = 1 : i32} : tensor<64xf32, #row> -> tensor<64x1xf32, #column>
    %mb = tt.broadcast %mb_c : tensor<64x1xf32, #column> -> tensor<64x16xf32, #q>
    %x = arith.subf %s, %mb : tensor<64x16xf32, #q>
    %p = math.exp2 %x : tensor<64x16xf32, #q>
    %change = arith.subf %m, %m1 : tensor<64xf32, #row>
    %scale = math.exp2 %change : tensor<64xf32, #row>
    %part = "tt.reduce"(%p) <{axis = 1 : i32}> ({
    ^bb0(%l: f32, %r: f32):
      %part_both = arith.addf %l, %r : f32
      tt.reduce.return %part_both : f32
    }) : (tensor<64x16xf32, #q>) -> tensor<64xf32, #row>
    %kept = arith.mulf %t, %scale : tensor<64xf32, #row>
    %t1 = arith.addf %kept, %part : tensor<64xf32, #row>
    %sb_c = tt.expand_dims %scale {axis = 1 : i32} : tensor<64xf32, #row> -> tensor<64x1xf32, #column>
    %sb = tt.broadcast %sb_c : tensor<64x1xf32, #column> -> tensor<64x16xf32, #q>
    %old = arith.mulf %acc, %sb : tensor<64x16xf32, #q>
    %ph = arith.truncf %p : tensor<64x16xf32, #q> to tensor<64x16xf16, #q>
    %d = tile.mma "mma.sync.m16n8k16.f16", %ph * %mv + %old, ieee : tensor<64x16xf16, #q> * !tile.mem<[16, 16] x f16, #shared> + tensor<64x16xf32, #q> -> tensor<64x16xf32, #q>
    %nk = tt.addptr %qk, %step : tensor<16x16x!tt.ptr<f16>, #kv>, tensor<16x16xi32, #kv>
    %nv = tt.addptr %qv, %step : tensor<16x16x!tt.ptr<f16>, #kv>, tensor<16x16xi32, #kv>
    scf.yield %d, %m1, %t1, %nk, %nv : tensor<64x16xf32, #q>, tensor<64xf32, #row>, tensor<64xf32, #row>, tensor<16x16x!tt.ptr<f16>, #kv>, tensor<16x16x!tt.ptr<f16>, #kv>
  }
  %tb_c = tt.expand_dims %total {axis = 1 : i32} : tensor<64xf32, #row> -> tensor<64x1xf32, #column>
  %tb = tt.broadcast %tb_c : tensor<64x1xf32, #column> -> tensor<64x16xf32, #q>
  %result = arith.divf %sum, %tb : tensor<64x16xf32, #q>
  tile.barrier global
  tt.store %po, %result : tensor<64x16x!tt.ptr<f32>, #q>
  tt.return
}
}
