// RUN: teeny-opt %s --teeny-print-relevant-facts -verify-diagnostics -o /dev/null

// expected-remark @below {{arg3 equals one, arg2 equals one, arg0 is divisible by 16, arg1 is divisible by 16, arg2 is divisible by 16, arg1 exceeds the cache}}
tt.func public @strided_copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %row: i32, %column: i32) {
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %r1 = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %rs = tt.splat %row : i32 -> tensor<8x1xi32>
  %ro = arith.muli %r1, %rs : tensor<8x1xi32>
  %rb = tt.broadcast %ro : tensor<8x1xi32> -> tensor<8x8xi32>
  %c1 = tt.expand_dims %r {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %cs = tt.splat %column : i32 -> tensor<1x8xi32>
  %co = arith.muli %c1, %cs : tensor<1x8xi32>
  %cb = tt.broadcast %co : tensor<1x8xi32> -> tensor<8x8xi32>
  %o = arith.addi %rb, %cb : tensor<8x8xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %o : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
  %v = tt.load %xp : tensor<8x8x!tt.ptr<f32>>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %o : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
  tt.store %yp, %v : tensor<8x8x!tt.ptr<f32>>
  tt.return
}
