// RUN: teeny-opt %s --teeny-print-blocks -verify-diagnostics -o /dev/null
// The same after the clean-up.
// RUN: teeny-opt %s --teeny-clean-up --teeny-print-blocks -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: block: arg0 + arg2*iv0 + 64*pid_x + arg2*i0 + i1; bounds: i1 < arg3 - 64*pid_x
// CHECK: remark: block: arg1 + 64*pid_x + i0; bounds: i0 < arg3 - 64*pid_x
tt.func public @sum_of_rows(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %stride: i32, %n: i32, %rows: i32) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %c64 : i32
  %starts = tt.splat %start : i32 -> tensor<64xi32>
  %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %cols = arith.addi %starts, %range : tensor<64xi32>
  %limit = tt.splat %n : i32 -> tensor<64xi32>
  %mask = arith.cmpi slt, %cols, %limit : tensor<64xi32>
  %mask1 = tt.expand_dims %mask {axis = 0 : i32} : tensor<64xi1> -> tensor<1x64xi1>
  %mask2 = tt.broadcast %mask1 : tensor<1x64xi1> -> tensor<8x64xi1>
  %c = tt.expand_dims %cols {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %cb = tt.broadcast %c : tensor<1x64xi32> -> tensor<8x64xi32>
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %sum = scf.for %i = %c0 to %rows step %c8 iter_args(%acc = %zero) -> (tensor<64xf32>) : i32 {
    %is = tt.splat %i : i32 -> tensor<8xi32>
    %ri = arith.addi %is, %r : tensor<8xi32>
    %rc = tt.expand_dims %ri {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
    %s = tt.splat %stride : i32 -> tensor<8x1xi32>
    %ro = arith.muli %rc, %s : tensor<8x1xi32>
    %rob = tt.broadcast %ro : tensor<8x1xi32> -> tensor<8x64xi32>
    %o = arith.addi %rob, %cb : tensor<8x64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x64x!tt.ptr<f32>>
    %p = tt.addptr %xs, %o : tensor<8x64x!tt.ptr<f32>>, tensor<8x64xi32>
    // expected-remark @below {{block: arg0 + arg2*iv0 + 64*pid_x + arg2*i0 + i1; bounds: i1 < arg3 - 64*pid_x}}
    %v = tt.load %p, %mask2 : tensor<8x64x!tt.ptr<f32>>
    %part = "tt.reduce"(%v) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %ab = arith.addf %a, %b : f32
      tt.reduce.return %ab : f32
    }) : (tensor<8x64xf32>) -> tensor<64xf32>
    %next = arith.addf %acc, %part : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %cols : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  // expected-remark @below {{block: arg1 + 64*pid_x + i0; bounds: i0 < arg3 - 64*pid_x}}
  tt.store %yp, %sum, %mask : tensor<64x!tt.ptr<f32>>
  tt.return
}
