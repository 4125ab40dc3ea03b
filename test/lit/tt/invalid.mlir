// RUN: teeny-opt %s -split-input-file -verify-diagnostics

tt.func @range() {
  // expected-error @+1 {{needs end > start}}
  %0 = tt.make_range {start = 4 : i32, end = 4 : i32} : tensor<1xi32>
  tt.return
}
// -----
tt.func @range_length() {
  // expected-error @+1 {{has length 8, but its type has 4}}
  %0 = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<4xi32>
  tt.return
}
// -----
tt.func @range_type() {
  // expected-error @+1 {{gives a rank-1 tensor of i32}}
  %0 = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi64>
  tt.return
}
// -----
tt.func @splat(%x: f32) {
  // expected-error @+1 {{requires the same element type for all operands and results}}
  %0 = tt.splat %x : f32 -> tensor<4xf16>
  tt.return
}
// -----
tt.func @expand(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 2 is beyond rank 1}}
  %0 = tt.expand_dims %x {axis = 2 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  tt.return
}
// -----
tt.func @expand_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{result must be the operand's shape with a 1 at the axis}}
  %0 = tt.expand_dims %x {axis = 0 : i32} : tensor<4xf32> -> tensor<4x1xf32>
  tt.return
}
// -----
tt.func @broadcast(%x: tensor<4xf32>) {
  // expected-error @+1 {{only repeats dimensions of size 1; got 4 to 8}}
  %0 = tt.broadcast %x : tensor<4xf32> -> tensor<8xf32>
  tt.return
}
// -----
tt.func @broadcast_rank(%x: tensor<1xf32>) {
  // expected-error @+1 {{keeps the rank}}
  %0 = tt.broadcast %x : tensor<1xf32> -> tensor<1x8xf32>
  tt.return
}
// -----
tt.func @reshape(%x: tensor<4xf32>) {
  // expected-error @+1 {{keeps the number of elements}}
  %0 = tt.reshape %x : tensor<4xf32> -> tensor<2x4xf32>
  tt.return
}
// -----
tt.func @trans(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{order must name each dimension once}}
  %0 = tt.trans %x {order = array<i32: 1, 1>} : tensor<4x8xf32> -> tensor<8x8xf32>
  tt.return
}
// -----
tt.func @trans_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result dimension 0 must be 8}}
  %0 = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<4x8xf32>
  tt.return
}
// -----
tt.func @unsplat(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs a tensor of one element; got 'tensor<4xf32>'}}
  %0 = tt.unsplat %x : tensor<4xf32>
  tt.return
}
// -----
tt.func @addptr(%p: tensor<4x!tt.ptr<f32>>, %o: tensor<8xi32>) {
  // expected-error @+1 {{needs pointer and offset of one shape}}
  %0 = tt.addptr %p, %o : tensor<4x!tt.ptr<f32>>, tensor<8xi32>
  tt.return
}
// -----
tt.func @bitcast(%x: f32) {
  // expected-error @+1 {{keeps the width; got 'f32' to 'i16'}}
  %0 = tt.bitcast %x : f32 -> i16
  tt.return
}
// -----
tt.func @load_of_number(%x: tensor<4xf32>) {
  // expected-error @+1 {{load needs a pointer; got 'tensor<4xf32>'}}
  %0 = tt.load %x : tensor<4xf32>
  tt.return
}
// -----
tt.func @load_generic(%p: !tt.ptr<f32>) {
  // expected-error @+1 {{moves values of 'f32'; got 'i32'}}
  %0 = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> i32
  tt.return
}
// -----
tt.func @other_without_mask(%p: !tt.ptr<f32>, %x: f32) {
  // expected-error @+1 {{`other` needs a mask}}
  %0 = "tt.load"(%p, %x) <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (!tt.ptr<f32>, f32) -> f32
  tt.return
}
// -----
tt.func @mask_shape(%p: tensor<4x!tt.ptr<f32>>, %m: tensor<8xi1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{needs a mask of the pointer's shape}}
  "tt.store"(%p, %x, %m) : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<8xi1>) -> ()
  tt.return
}
// -----
tt.func @cache(%p: !tt.ptr<f32>) {
  // expected-error @+1 {{unknown cache modifier 'l1'}}
  %0 = tt.load %p cacheModifier = l1 : !tt.ptr<f32>
  tt.return
}
// -----
tt.func @cas(%p: !tt.ptr<i32>, %x: i32, %y: i64) {
  // expected-error @+1 {{needs expected, desired and old value of one type}}
  %0 = tt.atomic_cas relaxed, gpu, %p, %y, %x : (!tt.ptr<i32>, i64, i32) -> i32
  tt.return
}
// -----
tt.func @dot_k(%a: tensor<4x8xf32>, %b: tensor<4x2xf32>, %c: tensor<4x2xf32>) {
  // expected-error @+1 {{K of a is 8, K of b is 4}}
  %0 = tt.dot %a, %b, %c : tensor<4x8xf32> * tensor<4x2xf32> -> tensor<4x2xf32>
  tt.return
}
// -----
tt.func @dot_types(%a: tensor<4x8xf16>, %b: tensor<8x2xf32>, %c: tensor<4x2xf32>) {
  // expected-error @+1 {{needs operands of one element type}}
  %0 = tt.dot %a, %b, %c : tensor<4x8xf16> * tensor<8x2xf32> -> tensor<4x2xf32>
  tt.return
}
// -----
tt.func @reduce_axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 1 is beyond rank 1}}
  %0 = "tt.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  }) : (tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @reduce_region(%x: tensor<4xf32>) {
  // expected-error @+1 {{combine region takes the elements of both sides}}
  %0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32):
    tt.reduce.return %a : f32
  }) : (tensor<4xf32>) -> f32
  tt.return
}
// -----
tt.func @reduce_result(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{results have the operands' element types, and their shape without the axis}}
  %0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  }) : (tensor<4x8xf32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @descriptor_rank(%p: !tt.ptr<f32>, %m: i32, %s: i64) {
  // expected-error @+1 {{needs one extent and one stride a dimension of the block}}
  %0 = tt.make_tensor_descriptor %p, [%m], [%s] : <f32>, <tensor<4x8xf32>>
  tt.return
}
// -----
tt.func @descriptor_block(%d: !tt.tensordesc<tensor<4x8xf32>>, %i: i32) {
  // expected-error @+1 {{moves blocks of 'tensor<4x8xf32>'; got 'tensor<8x4xf32>'}}
  %0 = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<4x8xf32>> -> tensor<8x4xf32>
  tt.return
}
// -----
// expected-error @+1 {{tensordesc: needs a block type tensor<…>; got 'f32'}}
tt.func @descriptor_type(%d: !tt.tensordesc<f32>) {
  tt.return
}
// -----
tt.func @hint(%i: tensor<4x8xi32>) {
  // expected-error @+1 {{needs one number a dimension}}
  %0 = tt.hint %i {divisibility = array<i64: 16>} : tensor<4x8xi32>
  tt.return
}
// -----
tt.func @return() -> f32 {
  // expected-error @+1 {{returns other types than its function declares}}
  tt.return
}
// -----
tt.func @call(%x: f32) {
  // expected-error @+1 {{calls 'nobody', which is no function of this module}}
  %0 = tt.call @nobody(%x) : (f32) -> f32
  tt.return
}
// -----
// expected-error @+1 {{a pointer points to integers or floats; got 'index'}}
tt.func @pointee(%p: !tt.ptr<index>) {
  tt.return
}
// -----
// expected-error @+1 {{block pointers (here a pointer to 'tensor<4x8xf16>') of Triton 3.7 and older are not read}}
tt.func @block_pointer(%p: !tt.ptr<tensor<4x8xf16>>) {
  tt.return
}
// -----
tt.func @make_block_pointer(%p: !tt.ptr<f16>, %m: i64, %i: i32) {
  // expected-error @+1 {{block pointers of Triton 3.7 and older are not read; help: use tensor descriptors}}
  %0 = tt.make_tensor_ptr %p, [%m], [%m], [%i] {order = array<i32: 0>} : <tensor<16xf16>>
  tt.return
}
// -----
tt.func @gather(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'tt.gather' is not built in teeny}}
  %0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  tt.return
}
// -----
tt.func @int_to_ptr(%i: tensor<4xi64>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = tt.int_to_ptr %i : tensor<4xi64> -> tensor<8x!tt.ptr<f32>>
  tt.return
}
// -----
tt.func @fp_to_fp(%x: tensor<4xf32>) {
  // expected-error @+1 {{narrowing needs a rounding}}
  %0 = tt.fp_to_fp %x : tensor<4xf32> -> tensor<4xf16>
  tt.return
}
// -----
tt.func @atomic_kind(%p: !tt.ptr<f32>, %x: f32) {
  // expected-error @+1 {{'umax' works on integers; got 'f32'}}
  %0 = tt.atomic_rmw umax, relaxed, gpu, %p, %x : (!tt.ptr<f32>, f32) -> f32
  tt.return
}
// -----
tt.func @atomic_float(%p: !tt.ptr<i32>, %x: i32) {
  // expected-error @+1 {{'fadd' works on floats; got 'i32'}}
  %0 = tt.atomic_rmw fadd, relaxed, gpu, %p, %x : (!tt.ptr<i32>, i32) -> i32
  tt.return
}
// -----
tt.func @dot_accumulator(%a: tensor<4x8xi8>, %b: tensor<8x2xi8>, %c: tensor<4x2xf32>) {
  // expected-error @+1 {{accumulates i8 in i32 and floats in floats of their width or more; got 'i8' and 'f32'}}
  %0 = tt.dot %a, %b, %c : tensor<4x8xi8> * tensor<8x2xi8> -> tensor<4x2xf32>
  tt.return
}
// -----
tt.func @reduce_empty(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects a non-empty block}}
  %0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
  }) : (tensor<4xf32>) -> f32
  tt.return
}
// -----
// expected-error @+1 {{needs a block of rank 1 to 5, fixed shape and integer or float elements; got 'tensor<?xf32>'}}
tt.func @descriptor_open(%d: !tt.tensordesc<tensor<?xf32>>) {
  tt.return
}
