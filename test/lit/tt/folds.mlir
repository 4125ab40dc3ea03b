// RUN: teeny-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @splats
// CHECK-SAME: (%[[S:.*]]: f32)
tt.func @splats(%s: f32) -> (tensor<4x8xf32>, tensor<8x4xf32>, tensor<32xf32>, f32) {
  // CHECK-DAG: %[[A:.*]] = tt.splat %[[S]] : f32 -> tensor<4x8xf32>
  // CHECK-DAG: %[[B:.*]] = tt.splat %[[S]] : f32 -> tensor<8x4xf32>
  // CHECK-DAG: %[[C:.*]] = tt.splat %[[S]] : f32 -> tensor<32xf32>
  // CHECK: tt.return %[[A]], %[[B]], %[[C]], %[[S]]
  %0 = tt.splat %s : f32 -> tensor<4xf32>
  %1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  %2 = tt.broadcast %1 : tensor<4x1xf32> -> tensor<4x8xf32>
  %3 = tt.trans %2 {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  %4 = tt.reshape %3 : tensor<8x4xf32> -> tensor<32xf32>
  %5 = tt.splat %s : f32 -> tensor<1xf32>
  %6 = tt.unsplat %5 : tensor<1xf32>
  tt.return %2, %3, %4, %6 : tensor<4x8xf32>, tensor<8x4xf32>, tensor<32xf32>, f32
}

// CHECK-LABEL: @constants
tt.func @constants() -> (tensor<8x4xi32>, tensor<32xi32>, i32) {
  // CHECK-DAG: arith.constant dense<7> : tensor<8x4xi32>
  // CHECK-DAG: arith.constant dense<7> : tensor<32xi32>
  // CHECK-DAG: arith.constant 3 : i32
  // CHECK-NOT: tt.splat
  %seven = arith.constant 7 : i32
  %0 = tt.splat %seven : i32 -> tensor<4xi32>
  %1 = tt.expand_dims %0 {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
  %2 = tt.broadcast %1 : tensor<1x4xi32> -> tensor<8x4xi32>
  %3 = tt.reshape %2 : tensor<8x4xi32> -> tensor<32xi32>
  %4 = tt.make_range {start = 3 : i32, end = 4 : i32} : tensor<1xi32>
  %5 = tt.unsplat %4 : tensor<1xi32>
  tt.return %2, %3, %5 : tensor<8x4xi32>, tensor<32xi32>, i32
}

// Work on scalars is done once.
// CHECK-LABEL: @element_wise_of_splats
// CHECK-SAME: (%[[P:.*]]: !tt.ptr<f32>, %[[I:.*]]: i32, %[[X:.*]]: f32)
tt.func @element_wise_of_splats(%p: !tt.ptr<f32>, %i: i32, %x: f32) -> (tensor<8x!tt.ptr<f32>>, tensor<8xi1>) {
  // CHECK-DAG: %[[C:.*]] = arith.constant 5 : i32
  // CHECK-DAG: %[[SUM:.*]] = arith.addi %[[I]], %[[C]] overflow<nsw> : i32
  // CHECK-DAG: %[[Q:.*]] = tt.addptr %[[P]], %[[SUM]] : !tt.ptr<f32>, i32
  // CHECK-DAG: %[[A:.*]] = tt.splat %[[Q]] : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  // CHECK-DAG: %[[LESS:.*]] = arith.cmpf olt, %[[X]], %{{.*}} : f32
  // CHECK-DAG: %[[B:.*]] = tt.splat %[[LESS]] : i1 -> tensor<8xi1>
  // CHECK: tt.return %[[A]], %[[B]]
  %five = arith.constant dense<5> : tensor<8xi32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %0 = tt.splat %i : i32 -> tensor<8xi32>
  %1 = arith.addi %0, %five overflow<nsw> : tensor<8xi32>
  %2 = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %3 = tt.addptr %2, %1 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %4 = tt.splat %x : f32 -> tensor<8xf32>
  %5 = arith.cmpf olt, %4, %zero : tensor<8xf32>
  tt.return %3, %5 : tensor<8x!tt.ptr<f32>>, tensor<8xi1>
}

// CHECK-LABEL: @shape_chains
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<1x8xf32>)
tt.func @shape_chains(%x: tensor<4x8xf32>, %y: tensor<1x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x16xf32>, tensor<4x8xf32>, tensor<16x2xf32>) {
  // CHECK-DAG: %[[B:.*]] = tt.broadcast %[[Y]] : tensor<1x8xf32> -> tensor<4x8xf32>
  // CHECK-DAG: %[[R:.*]] = tt.reshape %[[X]] : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK-DAG: %[[E:.*]] = tt.reshape %[[X]] : tensor<4x8xf32> -> tensor<16x2xf32>
  // CHECK: tt.return %[[X]], %[[X]], %[[R]], %[[B]], %[[E]]
  %0 = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = tt.trans %0 {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
  %2 = tt.trans %x {order = array<i32: 0, 1>} : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = tt.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  %4 = tt.reshape %3 : tensor<32xf32> -> tensor<2x16xf32>
  %5 = tt.broadcast %y : tensor<1x8xf32> -> tensor<4x8xf32>
  %6 = tt.broadcast %5 : tensor<4x8xf32> -> tensor<4x8xf32>
  %7 = tt.expand_dims %x {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4x1x8xf32>
  %8 = tt.reshape %7 : tensor<4x1x8xf32> -> tensor<16x2xf32>
  tt.return %1, %2, %4, %6, %8 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x16xf32>, tensor<4x8xf32>, tensor<16x2xf32>
}

// CHECK-LABEL: @addptr
// CHECK-SAME: (%[[P:.*]]: !tt.ptr<f32>, %[[I:.*]]: i32, %[[J:.*]]: i64, %[[K:.*]]: i64)
tt.func @addptr(%p: !tt.ptr<f32>, %i: i32, %j: i64, %k: i64) -> (!tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>) {
  // CHECK-DAG: %[[TWELVE:.*]] = arith.constant 12 : i32
  // CHECK-DAG: %[[A:.*]] = tt.addptr %[[P]], %[[TWELVE]] : !tt.ptr<f32>, i32
  // CHECK-DAG: %[[SUM:.*]] = arith.addi %[[J]], %[[K]] : i64
  // CHECK-DAG: %[[B:.*]] = tt.addptr %[[P]], %[[SUM]] : !tt.ptr<f32>, i64
  // The sum of two i32 could overflow where the two steps do not.
  // CHECK-DAG: %[[C1:.*]] = tt.addptr %[[P]], %[[I]] : !tt.ptr<f32>, i32
  // CHECK-DAG: %[[C:.*]] = tt.addptr %[[C1]], %[[I]] : !tt.ptr<f32>, i32
  // CHECK-DAG: %[[D1:.*]] = tt.addptr %[[P]], %[[MAX:.*]] : !tt.ptr<f32>, i32
  // CHECK-DAG: %[[D:.*]] = tt.addptr %[[D1]], %[[MAX]] : !tt.ptr<f32>, i32
  // CHECK: tt.return %[[A]], %[[B]], %[[C]], %[[D]], %[[P]]
  %five = arith.constant 5 : i32
  %seven = arith.constant 7 : i32
  %max = arith.constant 2147483647 : i32
  %zero = arith.constant 0 : i32
  %0 = tt.addptr %p, %five : !tt.ptr<f32>, i32
  %1 = tt.addptr %0, %seven : !tt.ptr<f32>, i32
  %2 = tt.addptr %p, %j : !tt.ptr<f32>, i64
  %3 = tt.addptr %2, %k : !tt.ptr<f32>, i64
  %4 = tt.addptr %p, %i : !tt.ptr<f32>, i32
  %5 = tt.addptr %4, %i : !tt.ptr<f32>, i32
  %6 = tt.addptr %p, %max : !tt.ptr<f32>, i32
  %7 = tt.addptr %6, %max : !tt.ptr<f32>, i32
  %8 = tt.addptr %p, %zero : !tt.ptr<f32>, i32
  tt.return %1, %3, %5, %7, %8 : !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>
}

// CHECK-LABEL: @masks
// CHECK-SAME: (%[[P:.*]]: tensor<8x!tt.ptr<f32>>, %[[X:.*]]: tensor<8xf32>)
tt.func @masks(%p: tensor<8x!tt.ptr<f32>>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
  // CHECK: %[[A:.*]] = tt.load %[[P]] cacheModifier = cg {isVolatile = true} : tensor<8x!tt.ptr<f32>>
  // CHECK-NEXT: tt.store %[[P]], %[[X]] evictionPolicy = evict_last : tensor<8x!tt.ptr<f32>>
  // CHECK-NEXT: %[[D:.*]] = tt.atomic_rmw fadd, relaxed, gpu, %[[P]], %[[X]] : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>)
  // CHECK-NEXT: tt.return %[[A]], %[[X]], %[[ZERO]], %[[D]]
  %all = arith.constant dense<true> : tensor<8xi1>
  %false = arith.constant false
  %none = tt.splat %false : i1 -> tensor<8xi1>
  %0 = tt.load %p, %all, %x cacheModifier = cg {isVolatile = true} : tensor<8x!tt.ptr<f32>>
  %1 = tt.load %p, %none, %x : tensor<8x!tt.ptr<f32>>
  %2 = tt.load %p, %none : tensor<8x!tt.ptr<f32>>
  tt.store %p, %x, %all evictionPolicy = evict_last : tensor<8x!tt.ptr<f32>>
  tt.store %p, %x, %none : tensor<8x!tt.ptr<f32>>
  %3 = tt.atomic_rmw fadd, relaxed, gpu, %p, %x, %all : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xi1>) -> tensor<8xf32>
  %4 = tt.atomic_rmw fadd, relaxed, gpu, %p, %x, %none : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xi1>) -> tensor<8xf32>
  tt.return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: @pointers
// CHECK-SAME: (%[[P:.*]]: !tt.ptr<f32>, %[[I:.*]]: i64)
tt.func @pointers(%p: !tt.ptr<f32>, %i: i64) -> (!tt.ptr<f32>, i64, !tt.ptr<f32>, i64) {
  // CHECK: %[[LOW:.*]] = tt.ptr_to_int %[[P]] : !tt.ptr<f32> -> i32
  // CHECK: %[[CUT:.*]] = tt.int_to_ptr %[[LOW]] : i32 -> !tt.ptr<f32>
  // CHECK: tt.return %[[P]], %[[I]], %[[P]], %{{.*}}
  %0 = tt.ptr_to_int %p : !tt.ptr<f32> -> i64
  %1 = tt.int_to_ptr %0 : i64 -> !tt.ptr<f32>
  %2 = tt.int_to_ptr %i : i64 -> !tt.ptr<f32>
  %3 = tt.ptr_to_int %2 : !tt.ptr<f32> -> i64
  %4 = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>
  %5 = tt.bitcast %4 : !tt.ptr<i32> -> !tt.ptr<f32>
  %6 = tt.ptr_to_int %p : !tt.ptr<f32> -> i32
  %7 = tt.int_to_ptr %6 : i32 -> !tt.ptr<f32>
  %8 = tt.ptr_to_int %7 : !tt.ptr<f32> -> i64
  tt.return %1, %3, %5, %8 : !tt.ptr<f32>, i64, !tt.ptr<f32>, i64
}

// CHECK-LABEL: @reduce_of_one
// CHECK-SAME: (%[[X:.*]]: tensor<1x4xf32>, %[[Y:.*]]: tensor<1xf32>)
tt.func @reduce_of_one(%x: tensor<1x4xf32>, %y: tensor<1xf32>) -> (tensor<4xf32>, f32) {
  // CHECK: %[[A:.*]] = tt.reshape %[[X]] : tensor<1x4xf32> -> tensor<4xf32>
  // CHECK: %[[B:.*]] = tt.unsplat %[[Y]] : tensor<1xf32>
  // CHECK: tt.return %[[A]], %[[B]]
  %0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tt.reduce.return %sum : f32
  }) : (tensor<1x4xf32>) -> tensor<4xf32>
  %1 = "tt.reduce"(%y) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tt.reduce.return %sum : f32
  }) : (tensor<1xf32>) -> f32
  tt.return %0, %1 : tensor<4xf32>, f32
}

// Effects: a load without a use goes, a volatile one and an atomic stay.
// CHECK-LABEL: @effects
tt.func @effects(%p: !tt.ptr<i32>, %i: i32) {
  // CHECK-NEXT: tt.load %{{.*}} {isVolatile = true}
  // CHECK-NEXT: tt.atomic_rmw
  // CHECK-NEXT: tt.return
  %0 = tt.load %p : !tt.ptr<i32>
  %1 = tt.load %p {isVolatile = true} : !tt.ptr<i32>
  %2 = tt.atomic_rmw add, relaxed, gpu, %p, %i : (!tt.ptr<i32>, i32) -> i32
  tt.return
}

// CHECK-LABEL: @known_conditions
tt.func @known_conditions(%m: tensor<8xi1>) {
  // CHECK-NEXT: arith.constant
  // CHECK-NEXT: tt.assert %{{.*}}, "never" : tensor<8xi1>
  // CHECK-NEXT: tt.assert %{{.*}}, "unknown" : tensor<8xi1>
  // CHECK-NEXT: tt.return
  %true = arith.constant true
  %all = arith.constant dense<true> : tensor<8xi1>
  %none = arith.constant dense<false> : tensor<8xi1>
  tt.assume %true
  tt.assert %all, "always" : tensor<8xi1>
  tt.assert %none, "never" : tensor<8xi1>
  tt.assert %m, "unknown" : tensor<8xi1>
  tt.return
}
