// Every operation of tt prints as it is read. The second run reads what the first printed.
// RUN: teeny-opt %s | teeny-opt | FileCheck %s
// RUN: teeny-opt %s --mlir-print-op-generic | teeny-opt | FileCheck %s

// CHECK-LABEL: tt.func public @leaves(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg1: i32) attributes {noinline = false} {
tt.func public @leaves(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) attributes {noinline = false} {
  // CHECK: tt.get_program_id x : i32
  %0 = tt.get_program_id x : i32
  // CHECK: tt.get_num_programs z : i32
  %1 = tt.get_num_programs z : i32
  // CHECK: tt.make_range {end = 24 : i32, start = 8 : i32} : tensor<16xi32>
  %2 = tt.make_range {end = 24 : i32, start = 8 : i32} : tensor<16xi32>
  tt.return
}

// CHECK-LABEL: tt.func @shapes
tt.func @shapes(%s: f32, %p: !tt.ptr<i1, 3>) {
  // CHECK: tt.splat %arg0 : f32 -> tensor<4x1xf32>
  %0 = tt.splat %s : f32 -> tensor<4x1xf32>
  // CHECK: tt.splat %arg1 : !tt.ptr<i1, 3> -> tensor<4x!tt.ptr<i1, 3>>
  %1 = tt.splat %p : !tt.ptr<i1, 3> -> tensor<4x!tt.ptr<i1, 3>>
  // CHECK: tt.broadcast %{{.*}} : tensor<4x1xf32> -> tensor<4x8xf32>
  %2 = tt.broadcast %0 : tensor<4x1xf32> -> tensor<4x8xf32>
  // CHECK: tt.expand_dims %{{.*}} {axis = 2 : i32} : tensor<4x8xf32> -> tensor<4x8x1xf32>
  %3 = tt.expand_dims %2 {axis = 2 : i32} : tensor<4x8xf32> -> tensor<4x8x1xf32>
  // CHECK: tt.reshape %{{.*}} : tensor<4x8x1xf32> -> tensor<2x16xf32>
  %4 = tt.reshape %3 : tensor<4x8x1xf32> -> tensor<2x16xf32>
  // CHECK: tt.reshape %{{.*}} allow_reorder : tensor<2x16xf32> -> tensor<32xf32>
  %5 = tt.reshape %4 allow_reorder : tensor<2x16xf32> -> tensor<32xf32>
  // CHECK: tt.trans %{{.*}} {order = array<i32: 1, 0>} : tensor<2x16xf32> -> tensor<16x2xf32>
  %6 = tt.trans %4 {order = array<i32: 1, 0>} : tensor<2x16xf32> -> tensor<16x2xf32>
  %7 = tt.splat %s : f32 -> tensor<1x1xf32>
  // CHECK: tt.unsplat %{{.*}} : tensor<1x1xf32>
  %8 = tt.unsplat %7 : tensor<1x1xf32>
  tt.return
}

// CHECK-LABEL: tt.func @element_wise
tt.func @element_wise(%p: tensor<8x!tt.ptr<f32>>, %o: tensor<8xi32>, %x: tensor<8xf32>, %b: !tt.ptr<i1>, %i: i64) {
  // CHECK: tt.addptr %arg0, %arg1 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %0 = tt.addptr %p, %o : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  // CHECK: tt.bitcast %arg3 : !tt.ptr<i1> -> !tt.ptr<i8>
  %1 = tt.bitcast %b : !tt.ptr<i1> -> !tt.ptr<i8>
  // CHECK: tt.ptr_to_int %arg3 : !tt.ptr<i1> -> i64
  %2 = tt.ptr_to_int %b : !tt.ptr<i1> -> i64
  // CHECK: tt.int_to_ptr %arg4 : i64 -> !tt.ptr<f32>
  %3 = tt.int_to_ptr %i : i64 -> !tt.ptr<f32>
  // CHECK: tt.fp_to_fp %arg2, rounding = rtne : tensor<8xf32> -> tensor<8xf16>
  %4 = tt.fp_to_fp %x, rounding = rtne : tensor<8xf32> -> tensor<8xf16>
  // CHECK: tt.fp_to_fp %{{.*}} : tensor<8xf16> -> tensor<8xf32>
  %5 = tt.fp_to_fp %4 : tensor<8xf16> -> tensor<8xf32>
  // CHECK: tt.clampf %arg2, %arg2, %arg2, propagateNan = none : tensor<8xf32>
  %6 = tt.clampf %x, %x, %x, propagateNan = none : tensor<8xf32>
  // CHECK: tt.precise_sqrt %arg2 : tensor<8xf32>
  %7 = tt.precise_sqrt %x : tensor<8xf32>
  // CHECK: tt.precise_divf %arg2, %arg2 : tensor<8xf32>
  %8 = tt.precise_divf %x, %x : tensor<8xf32>
  // CHECK: tt.mulhiui %arg1, %arg1 : tensor<8xi32>
  %9 = tt.mulhiui %o, %o : tensor<8xi32>
  // CHECK: tt.extern_elementwise %arg2 {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<8xf32>) -> tensor<8xf32>
  %10 = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<8xf32>) -> tensor<8xf32>
  tt.return
}

// CHECK-LABEL: tt.func @memory
tt.func @memory(%p: tensor<8x!tt.ptr<f32>>, %m: tensor<8xi1>, %x: tensor<8xf32>, %q: !tt.ptr<i32>, %i: i32) {
  // CHECK: tt.load %arg0 : tensor<8x!tt.ptr<f32>>
  %0 = tt.load %p : tensor<8x!tt.ptr<f32>>
  // CHECK: tt.load %arg0, %arg1 evictionPolicy = evict_first : tensor<8x!tt.ptr<f32>>
  %1 = tt.load %p, %m evictionPolicy = evict_first : tensor<8x!tt.ptr<f32>>
  // CHECK: tt.load %arg0, %arg1, %arg2 cacheModifier = cg evictionPolicy = evict_last {isVolatile = true} : tensor<8x!tt.ptr<f32>>
  %2 = tt.load %p, %m, %x cacheModifier = cg evictionPolicy = evict_last {isVolatile = true} : tensor<8x!tt.ptr<f32>>
  // CHECK: tt.store %arg0, %arg2, %arg1 cacheModifier = wt : tensor<8x!tt.ptr<f32>>
  tt.store %p, %x, %m cacheModifier = wt : tensor<8x!tt.ptr<f32>>
  // CHECK: tt.atomic_rmw fadd, acq_rel, gpu, %arg0, %arg2, %arg1 : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xi1>) -> tensor<8xf32>
  %3 = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x, %m : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xi1>) -> tensor<8xf32>
  // CHECK: tt.atomic_rmw umax, relaxed, sys, %arg3, %arg4 : (!tt.ptr<i32>, i32) -> i32
  %4 = tt.atomic_rmw umax, relaxed, sys, %q, %i : (!tt.ptr<i32>, i32) -> i32
  // CHECK: tt.atomic_cas acquire, cta, %arg3, %arg4, %arg4 : (!tt.ptr<i32>, i32, i32) -> i32
  %5 = tt.atomic_cas acquire, cta, %q, %i, %i : (!tt.ptr<i32>, i32, i32) -> i32
  // CHECK: tt.barrier
  tt.barrier
  tt.return
}

// CHECK-LABEL: tt.func @descriptors
tt.func @descriptors(%p: !tt.ptr<f16>, %m: i32, %n: i64, %s: i64, %i: i32) {
  // CHECK: tt.make_tensor_descriptor %arg0, [%arg1, %arg1], [%arg3, %arg3] : <f16>, <tensor<8x16xf16>>
  %0 = tt.make_tensor_descriptor %p, [%m, %m], [%s, %s] : !tt.ptr<f16>, !tt.tensordesc<8x16xf16>
  // CHECK: tt.make_tensor_descriptor %arg0, [%arg2], [%arg3] {padding = 2 : i32} : <f16>, <tensor<16xf16>>, i64
  %1 = tt.make_tensor_descriptor %p, [%n], [%s] {padding = 2 : i32} : <f16>, <tensor<16xf16>>, i64
  // CHECK: tt.descriptor_load %{{.*}}[%arg4, %arg4] evictionPolicy = evict_last : !tt.tensordesc<tensor<8x16xf16>> -> tensor<8x16xf16>
  %2 = tt.descriptor_load %0[%i, %i] evictionPolicy = evict_last : !tt.tensordesc<tensor<8x16xf16>> -> tensor<8x16xf16>
  // CHECK: tt.descriptor_store %{{.*}}[%arg4, %arg4], %{{.*}} : !tt.tensordesc<tensor<8x16xf16>>, tensor<8x16xf16>
  tt.descriptor_store %0[%i, %i], %2 : !tt.tensordesc<tensor<8x16xf16>>, tensor<8x16xf16>
  tt.return
}

// CHECK-LABEL: tt.func @regions
tt.func @regions(%a: tensor<4x8xf16>, %b: tensor<8x2xf16>, %c: tensor<4x2xf32>, %x: tensor<4x8xf32>, %y: tensor<4x8xi32>) {
  // CHECK: tt.dot %arg0, %arg1, %arg2 : tensor<4x8xf16> * tensor<8x2xf16> -> tensor<4x2xf32>
  %0 = tt.dot %a, %b, %c : tensor<4x8xf16> * tensor<8x2xf16> -> tensor<4x2xf32>
  // CHECK: tt.dot %arg0, %arg1, %{{.*}}, inputPrecision = tf32 : tensor<4x8xf16> * tensor<8x2xf16> -> tensor<4x2xf32>
  %1 = tt.dot %a, %b, %0, inputPrecision = tf32 : tensor<4x8xf16> * tensor<8x2xf16> -> tensor<4x2xf32>
  // CHECK: "tt.reduce"(%arg3, %arg4) <{axis = 1 : i32}> ({
  // CHECK: tt.reduce.return %{{.*}}, %{{.*}} : f32, i32
  // CHECK: (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %2:2 = "tt.reduce"(%x, %y) <{axis = 1 : i32}> ({
  ^bb0(%v: f32, %i: i32, %w: f32, %j: i32):
    %larger = arith.cmpf ogt, %v, %w : f32
    %value = arith.select %larger, %v, %w : f32
    %index = arith.select %larger, %i, %j : i32
    tt.reduce.return %value, %index : f32, i32
  }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK: "tt.scan"(%arg3) <{axis = 0 : i32, reverse = true}> ({
  %3 = "tt.scan"(%x) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%v: f32, %w: f32):
    %sum = arith.addf %v, %w : f32
    tt.scan.return %sum : f32
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  tt.return
}

// CHECK-LABEL: tt.func @hints
tt.func @hints(%i: tensor<4x8xi32>, %c: i1, %m: tensor<8xi1>) {
  // CHECK: tt.hint %arg0 {contiguity = array<i64: 1, 8>, divisibility = array<i64: 16, 16>} : tensor<4x8xi32>
  %0 = tt.hint %i {divisibility = array<i64: 16, 16>, contiguity = array<i64: 1, 8>} : tensor<4x8xi32>
  // CHECK: tt.assume %arg1
  tt.assume %c
  // CHECK: tt.assert %arg2, "all of it" : tensor<8xi1>
  tt.assert %m, "all of it" : tensor<8xi1>
  // CHECK: tt.print " i: " {hex = true, isSigned = array<i32: 1>} : %arg0 : tensor<4x8xi32>
  tt.print " i: " {hex = true, isSigned = array<i32: 1>} : %i : tensor<4x8xi32>
  // CHECK: tt.print "here" {hex = false}
  tt.print "here" {hex = false}
  tt.return
}

// CHECK-LABEL: tt.func private @device_function(%arg0: f32) -> f32
tt.func private @device_function(%x: f32) -> f32 {
  tt.return %x : f32
}
// CHECK-LABEL: tt.func @caller
tt.func @caller(%x: f32) {
  // CHECK: tt.call @device_function(%arg0) : (f32) -> f32
  %0 = tt.call @device_function(%x) : (f32) -> f32
  tt.return
}
