// Whole kernels as tt text.
#pragma once

namespace teeny::compiler::interpreter::kernels {

inline constexpr const char* vector_add = R"(
tt.func @vector_add(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>, %n: i32) {
  %c = arith.constant 64 : i32
  %pid = tt.get_program_id x : i32
  %base = arith.muli %pid, %c : i32
  %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %bases = tt.splat %base : i32 -> tensor<64xi32>
  %offsets = arith.addi %bases, %range : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %mask = arith.cmpi slt, %offsets, %ns : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %a = tt.load %xp, %mask : tensor<64x!tt.ptr<f32>>
  %b = tt.load %yp, %mask : tensor<64x!tt.ptr<f32>>
  %sum = arith.addf %a, %b : tensor<64xf32>
  %zs = tt.splat %z : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %zp = tt.addptr %zs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %zp, %sum, %mask : tensor<64x!tt.ptr<f32>>
  tt.return
})";

// Rows of n columns, one a program.
inline constexpr const char* softmax = R"(
tt.func @softmax(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
  %low = arith.constant 0xFF800000 : f32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %n : i32
  %range = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %ns = tt.splat %n : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %range, %ns : tensor<128xi32>
  %row = tt.addptr %x, %start : !tt.ptr<f32>, i32
  %rows = tt.splat %row : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %p = tt.addptr %rows, %range : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %others = tt.splat %low : f32 -> tensor<128xf32>
  %v = tt.load %p, %mask, %others : tensor<128x!tt.ptr<f32>>
  %max = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tt.reduce.return %m : f32
  }) : (tensor<128xf32>) -> f32
  %maxs = tt.splat %max : f32 -> tensor<128xf32>
  %shifted = arith.subf %v, %maxs : tensor<128xf32>
  %e = math.exp %shifted : tensor<128xf32>
  %sum = "tt.reduce"(%e) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tt.reduce.return %s : f32
  }) : (tensor<128xf32>) -> f32
  %sums = tt.splat %sum : f32 -> tensor<128xf32>
  %r = arith.divf %e, %sums : tensor<128xf32>
  %out = tt.addptr %y, %start : !tt.ptr<f32>, i32
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %q = tt.addptr %outs, %range : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  tt.store %q, %r, %mask : tensor<128x!tt.ptr<f32>>
  tt.return
})";

// C = A B of square matrices of any size n, blocks of 16 by 16 by 16, masks on every side.
inline constexpr const char* matmul = R"(
tt.func @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %px = tt.get_program_id x : i32
  %py = tt.get_program_id y : i32
  %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %ns = tt.splat %n : i32 -> tensor<16x1xi32>
  %nt = tt.splat %n : i32 -> tensor<1x16xi32>
  %m0 = arith.muli %px, %c16 : i32
  %ms = tt.splat %m0 : i32 -> tensor<16xi32>
  %m = arith.addi %ms, %range : tensor<16xi32>
  %mc = tt.expand_dims %m {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %j0 = arith.muli %py, %c16 : i32
  %js = tt.splat %j0 : i32 -> tensor<16xi32>
  %j = arith.addi %js, %range : tensor<16xi32>
  %jr = tt.expand_dims %j {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %mmask = arith.cmpi slt, %mc, %ns : tensor<16x1xi32>
  %jmask = arith.cmpi slt, %jr, %nt : tensor<1x16xi32>
  %mrow = arith.muli %mc, %ns : tensor<16x1xi32>
  %mrows = tt.broadcast %mrow : tensor<16x1xi32> -> tensor<16x16xi32>
  %jcols = tt.broadcast %jr : tensor<1x16xi32> -> tensor<16x16xi32>
  %mmasks = tt.broadcast %mmask : tensor<16x1xi1> -> tensor<16x16xi1>
  %jmasks = tt.broadcast %jmask : tensor<1x16xi1> -> tensor<16x16xi1>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %acc = scf.for %k = %c0 to %n step %c16 iter_args(%sum = %zero) -> (tensor<16x16xf32>) : i32 {
    %ks = tt.splat %k : i32 -> tensor<16xi32>
    %kk = arith.addi %ks, %range : tensor<16xi32>
    %kr = tt.expand_dims %kk {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %kc = tt.expand_dims %kk {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %krm = arith.cmpi slt, %kr, %nt : tensor<1x16xi32>
    %kcm = arith.cmpi slt, %kc, %ns : tensor<16x1xi32>
    %krs = tt.broadcast %kr : tensor<1x16xi32> -> tensor<16x16xi32>
    %krms = tt.broadcast %krm : tensor<1x16xi1> -> tensor<16x16xi1>
    %kcms = tt.broadcast %kcm : tensor<16x1xi1> -> tensor<16x16xi1>
    %ao = arith.addi %mrows, %krs : tensor<16x16xi32>
    %ap = tt.addptr %as, %ao : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %am = arith.andi %mmasks, %krms : tensor<16x16xi1>
    %av = tt.load %ap, %am, %zero : tensor<16x16x!tt.ptr<f32>>
    %krow = arith.muli %kc, %ns : tensor<16x1xi32>
    %krows = tt.broadcast %krow : tensor<16x1xi32> -> tensor<16x16xi32>
    %bo = arith.addi %krows, %jcols : tensor<16x16xi32>
    %bp = tt.addptr %bs, %bo : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %bm = arith.andi %kcms, %jmasks : tensor<16x16xi1>
    %bv = tt.load %bp, %bm, %zero : tensor<16x16x!tt.ptr<f32>>
    %next = tt.dot %av, %bv, %sum, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %co = arith.addi %mrows, %jcols : tensor<16x16xi32>
  %cp = tt.addptr %cs, %co : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %cm = arith.andi %mmasks, %jmasks : tensor<16x16xi1>
  tt.store %cp, %acc, %cm : tensor<16x16x!tt.ptr<f32>>
  tt.return
})";

}  // namespace teeny::compiler::interpreter::kernels
