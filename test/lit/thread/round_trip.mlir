// Every operation of thread prints as it is read. The second run reads what the first printed.
// RUN: teeny-opt %s | teeny-opt | FileCheck %s
// RUN: teeny-opt %s --mlir-print-op-generic | teeny-opt | FileCheck %s

// CHECK-LABEL: func.func @lanes
func.func @lanes(%number: f32, %lane: i32, %condition: i1) {
  // CHECK: thread.lane_id : i32
  %0 = thread.lane_id : i32
  // CHECK: thread.warp_id : i32
  %1 = thread.warp_id : i32
  // CHECK: thread.program_id y : i32
  %2 = thread.program_id y : i32
  // CHECK: thread.num_programs z : i32
  %3 = thread.num_programs z : i32
  // CHECK: thread.shuffle xor %arg0, %arg1 : f32
  %4 = thread.shuffle xor %number, %lane : f32
  // CHECK: thread.shuffle index %arg0, %arg1 : f32
  %5 = thread.shuffle index %number, %lane : f32
  // CHECK: thread.shuffle up %arg1, %arg1 : i32
  %6 = thread.shuffle up %lane, %lane : i32
  // CHECK: thread.shuffle down %arg1, %arg1 : i32
  %7 = thread.shuffle down %lane, %lane : i32
  // CHECK: thread.ballot %arg2 : i64
  %8 = thread.ballot %condition : i64
  // CHECK: thread.barrier shared
  thread.barrier shared
  // CHECK: thread.barrier global {first_warp = 4 : i32, warps = 2 : i32}
  thread.barrier global {first_warp = 4 : i32, warps = 2 : i32}
  // CHECK: thread.barrier both
  thread.barrier both
  // CHECK: thread.round_tf32 %arg0 : f32
  %9 = thread.round_tf32 %number : f32
  return
}

// CHECK-LABEL: func.func @global
func.func @global(%address: i64, %mask: i1, %a: f32, %b: f32, %n: i32) {
  // CHECK: thread.load %arg0 {alignment = 4 : i32} : f32
  %0 = thread.load %address {alignment = 4 : i32} : f32
  // CHECK: thread.load %arg0, mask %arg1 {alignment = 8 : i32, offset = 16 : i64} : f32, f32
  %1:2 = thread.load %address, mask %mask {alignment = 8 : i32, offset = 16 : i64} : f32, f32
  // CHECK: thread.load %arg0, mask %arg1, other %arg2, %arg3 : f32, f32 {alignment = 8 : i32} : f32, f32
  %2:2 = thread.load %address, mask %mask, other %a, %b : f32, f32 {alignment = 8 : i32} : f32, f32
  // CHECK: thread.load %arg0 {alignment = 4 : i32, cache = 3 : i32, evict = 2 : i32, isVolatile = true} : i32
  %3 = thread.load %address {alignment = 4 : i32, cache = 3 : i32, evict = 2 : i32, isVolatile = true} : i32
  // CHECK: thread.store %arg0, %arg2 {alignment = 4 : i32} : f32
  thread.store %address, %a {alignment = 4 : i32} : f32
  // CHECK: thread.store %arg0, %arg2 mask %arg1 {alignment = 4 : i32} : f32
  thread.store %address, %a mask %mask {alignment = 4 : i32} : f32
  // CHECK: thread.store %arg0, %arg2, %arg3 mask %arg1 {alignment = 8 : i32, offset = -8 : i64} : f32, f32
  thread.store %address, %a, %b mask %mask {alignment = 8 : i32, offset = -8 : i64} : f32, f32
  // CHECK: thread.store %arg0, %arg2, %arg3 {alignment = 8 : i32, cache = 5 : i32, evict = 3 : i32} : f32, f32
  thread.store %address, %a, %b {alignment = 8 : i32, cache = 5 : i32, evict = 3 : i32} : f32, f32
  // CHECK: thread.atomic_rmw fadd, acq_rel, gpu, %arg0, %arg2 : f32
  %4 = thread.atomic_rmw fadd, acq_rel, gpu, %address, %a : f32
  // CHECK: thread.atomic_rmw umax, relaxed, cta, %arg0, %arg4, mask %arg1 {offset = 4 : i64} : i32
  %5 = thread.atomic_rmw umax, relaxed, cta, %address, %n, mask %mask {offset = 4 : i64} : i32
  // CHECK: thread.atomic_cas acquire, sys, %arg0, %arg4, %arg4 : i32
  %6 = thread.atomic_cas acquire, sys, %address, %n, %n : i32
  // CHECK: thread.atomic_cas release, gpu, %arg0, %arg4, %arg4, mask %arg1 : i32
  %7 = thread.atomic_cas release, gpu, %address, %n, %n, mask %mask : i32
  // CHECK: thread.message print, %arg4, %arg0, mask %arg1 {argument = 0 : i32, site = 3 : i32}
  thread.message print, %n, %address, mask %mask {argument = 0 : i32, site = 3 : i32}
  // CHECK: thread.message assert, %arg4, %arg0, mask %arg1 {argument = 0 : i32, site = 4 : i32}
  thread.message assert, %n, %address, mask %mask {argument = 0 : i32, site = 4 : i32}
  return
}

// CHECK-LABEL: func.func @shared
func.func @shared(%index: i32, %mask: i1, %a: f16, %b: f16, %n: i32, %address: i64) {
  // CHECK: %[[ARRAY:.*]] = thread.shared_ref {elements = 512 : i64, offset = 128 : i64} : <f16>
  %array = thread.shared_ref {elements = 512 : i64, offset = 128 : i64} : <f16>
  // CHECK: %[[WORDS:.*]] = thread.shared_ref {elements = 64 : i64, offset = 2048 : i64} : <i32>
  %words = thread.shared_ref {elements = 64 : i64, offset = 2048 : i64} : <i32>
  // CHECK: thread.shared_load %[[ARRAY]][%arg0] : !thread.shared<f16> -> f16
  %0 = thread.shared_load %array[%index] : !thread.shared<f16> -> f16
  // CHECK: thread.shared_load %[[ARRAY]][%arg0], mask %arg1 {offset = 8 : i32} : !thread.shared<f16> -> f16, f16
  %1:2 = thread.shared_load %array[%index], mask %mask {offset = 8 : i32} : !thread.shared<f16> -> f16, f16
  // CHECK: thread.shared_store %[[ARRAY]][%arg0], %arg2 : !thread.shared<f16>, f16
  thread.shared_store %array[%index], %a : !thread.shared<f16>, f16
  // CHECK: thread.shared_store %[[ARRAY]][%arg0], %arg2 mask %arg1 : !thread.shared<f16>, f16
  thread.shared_store %array[%index], %a mask %mask : !thread.shared<f16>, f16
  // CHECK: thread.shared_store %[[ARRAY]][%arg0], %arg2, %arg3 mask %arg1 {offset = 2 : i32} : !thread.shared<f16>, f16, f16
  thread.shared_store %array[%index], %a, %b mask %mask {offset = 2 : i32} : !thread.shared<f16>, f16, f16
  // CHECK: thread.shared_atomic_rmw add, %[[WORDS]][%arg0], %arg4 : !thread.shared<i32>, i32
  %2 = thread.shared_atomic_rmw add, %words[%index], %n : !thread.shared<i32>, i32
  // CHECK: thread.shared_atomic_rmw add, %[[WORDS]][%arg0], %arg4, mask %arg1 {offset = 1 : i32} : !thread.shared<i32>, i32
  %3 = thread.shared_atomic_rmw add, %words[%index], %n, mask %mask {offset = 1 : i32} : !thread.shared<i32>, i32
  // CHECK: thread.copy_async %[[ARRAY]][%arg0], %arg5 {bytes = 16 : i32} : !thread.shared<f16>
  thread.copy_async %array[%index], %address {bytes = 16 : i32} : !thread.shared<f16>
  // CHECK: thread.copy_async %[[ARRAY]][%arg0], %arg5, mask %arg1 {address_offset = 64 : i64, bytes = 8 : i32, offset = 4 : i32} : !thread.shared<f16>
  thread.copy_async %array[%index], %address, mask %mask {address_offset = 64 : i64, bytes = 8 : i32, offset = 4 : i32} : !thread.shared<f16>
  // CHECK: thread.copy_commit
  thread.copy_commit
  // CHECK: thread.copy_wait 2
  thread.copy_wait 2
  return
}

// CHECK-LABEL: func.func @matrices
func.func @matrices(%index: i32, %c: f32) {
  // CHECK: %[[ARRAY:.*]] = thread.shared_ref {elements = 512 : i64, offset = 0 : i64} : <f16>
  %array = thread.shared_ref {elements = 512 : i64, offset = 0 : i64} : <f16>
  // CHECK: %[[A:.*]]:4 = thread.matrix_load %[[ARRAY]][%arg0] {count = 2 : i32} : !thread.shared<f16> -> f16, f16, f16, f16
  %a:4 = thread.matrix_load %array[%index] {count = 2 : i32} : !thread.shared<f16> -> f16, f16, f16, f16
  // CHECK: %[[B:.*]]:2 = thread.matrix_load %[[ARRAY]][%arg0] transpose {count = 1 : i32, offset = 64 : i32} : !thread.shared<f16> -> f16, f16
  %b:2 = thread.matrix_load %array[%index] transpose {count = 1 : i32, offset = 64 : i32} : !thread.shared<f16> -> f16, f16
  // CHECK: thread.matrix_store %[[ARRAY]][%arg0], %[[B]]#0, %[[B]]#1 {count = 1 : i32} : !thread.shared<f16>, f16, f16
  thread.matrix_store %array[%index], %b#0, %b#1 {count = 1 : i32} : !thread.shared<f16>, f16, f16
  // CHECK: thread.matrix_store %[[ARRAY]][%arg0], %[[B]]#0, %[[B]]#1 transpose {count = 1 : i32} : !thread.shared<f16>, f16, f16
  thread.matrix_store %array[%index], %b#0, %b#1 transpose {count = 1 : i32} : !thread.shared<f16>, f16, f16
  // CHECK: thread.mma "m16n8k8", %[[A]]#0, %[[A]]#1, %[[A]]#2, %[[A]]#3 * %[[B]]#0, %[[B]]#1 + %arg1, %arg1, %arg1, %arg1 : f16, f16, f16, f16 * f16, f16 + f32, f32, f32, f32 -> f32, f32, f32, f32
  %d:4 = thread.mma "m16n8k8", %a#0, %a#1, %a#2, %a#3 * %b#0, %b#1 + %c, %c, %c, %c : f16, f16, f16, f16 * f16, f16 + f32, f32, f32, f32 -> f32, f32, f32, f32
  return
}
