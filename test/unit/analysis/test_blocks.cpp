#include "parsed_function.hpp"

namespace teeny::compiler::test {
namespace {

TEST(Blocks, VectorAdd) {
  expect_accesses(
      R"(
    tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
      %c1024 = arith.constant 1024 : i32
      %pid = tt.get_program_id x : i32
      %start = arith.muli %pid, %c1024 : i32
      %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
      %starts = tt.splat %start : i32 -> tensor<1024xi32>
      %offsets = arith.addi %starts, %range : tensor<1024xi32>
      %limit = tt.splat %n : i32 -> tensor<1024xi32>
      %mask = arith.cmpi slt, %offsets, %limit : tensor<1024xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %offsets : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
      %v = tt.load %xp, %mask : tensor<1024x!tt.ptr<f32>>
      %ys = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
      %yp = tt.addptr %ys, %offsets : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
      tt.store %yp, %v, %mask : tensor<1024x!tt.ptr<f32>>
      tt.return
    })",
      {{"arg0 + 1024*pid_x + i0", "i0 < arg2 - 1024*pid_x"}, {"arg1 + 1024*pid_x + i0", "i0 < arg2 - 1024*pid_x"}});
}

TEST(Blocks, SoftmaxRowsWithStride) {
  expect_accesses(R"(
    tt.func public @softmax(%y: !tt.ptr<f32>, %x: !tt.ptr<f32>, %stride: i32, %n: i32) {
      %pid = tt.get_program_id x : i32
      %row = arith.muli %pid, %stride : i32
      %p = tt.addptr %x, %row : !tt.ptr<f32>, i32
      %cols = tt.make_range {end = 100 : i32, start = 0 : i32} : tensor<100xi32>
      %ps = tt.splat %p : !tt.ptr<f32> -> tensor<100x!tt.ptr<f32>>
      %pp = tt.addptr %ps, %cols : tensor<100x!tt.ptr<f32>>, tensor<100xi32>
      %limit = tt.splat %n : i32 -> tensor<100xi32>
      %mask = arith.cmpi sgt, %limit, %cols : tensor<100xi32>
      %v = tt.load %pp, %mask : tensor<100x!tt.ptr<f32>>
      %whole = tt.load %pp : tensor<100x!tt.ptr<f32>>
      %one = tt.load %p : !tt.ptr<f32>
      tt.store %y, %one : !tt.ptr<f32>
      %w = arith.addf %v, %whole : tensor<100xf32>
      tt.store %pp, %w, %mask : tensor<100x!tt.ptr<f32>>
      tt.return
    })",
                  {{"arg1 + arg2*pid_x + i0", "i0 < arg3"},
                   {"arg1 + arg2*pid_x + i0", "all"},
                   {"arg1 + arg2*pid_x", "all"},
                   {"arg0", "all"},
                   {"arg1 + arg2*pid_x + i0", "i0 < arg3"}});
}

// Rows gathered by loaded indices, contiguous columns; a range of rows that wraps at M.
TEST(Blocks, GatheredAndWrappedRows) {
  ParsedFunction parsed(R"(
    tt.func public @gather(%table: !tt.ptr<f16>, %index: !tt.ptr<i32>, %m: i32, %stride: i32) {
      %c16 = arith.constant 16 : i32
      %pid = tt.get_program_id x : i32
      %start = arith.muli %pid, %c16 : i32
      %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
      %ip = tt.splat %index : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
      %ipp = tt.addptr %ip, %r : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
      %rows = tt.load %ipp : tensor<16x!tt.ptr<i32>>
      %starts = tt.splat %start : i32 -> tensor<16xi32>
      %linear = arith.addi %starts, %r : tensor<16xi32>
      %ms = tt.splat %m : i32 -> tensor<16xi32>
      %wrapped = arith.remsi %linear, %ms : tensor<16xi32>
      %cols = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
      %cols2 = tt.expand_dims %cols {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
      %colsb = tt.broadcast %cols2 : tensor<1x64xi32> -> tensor<16x64xi32>
      %strides = tt.splat %stride : i32 -> tensor<16x1xi32>
      %base = tt.splat %table : !tt.ptr<f16> -> tensor<16x64x!tt.ptr<f16>>
      %rows2 = tt.expand_dims %rows {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
      %ro = arith.muli %rows2, %strides : tensor<16x1xi32>
      %rob = tt.broadcast %ro : tensor<16x1xi32> -> tensor<16x64xi32>
      %off = arith.addi %rob, %colsb : tensor<16x64xi32>
      %p = tt.addptr %base, %off : tensor<16x64x!tt.ptr<f16>>, tensor<16x64xi32>
      %v = tt.load %p : tensor<16x64x!tt.ptr<f16>>
      %wrapped2 = tt.expand_dims %wrapped {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
      %wo = arith.muli %wrapped2, %strides : tensor<16x1xi32>
      %wob = tt.broadcast %wo : tensor<16x1xi32> -> tensor<16x64xi32>
      %woff = arith.addi %wob, %colsb : tensor<16x64xi32>
      %wp = tt.addptr %base, %woff : tensor<16x64x!tt.ptr<f16>>, tensor<16x64xi32>
      tt.store %wp, %v : tensor<16x64x!tt.ptr<f16>>
      tt.return
    })");
  EXPECT_EQ(parsed.block(0), "arg1 + i0");
  EXPECT_EQ(parsed.block(1), "arg0 + i1 + arg3*load[i0]");
  EXPECT_EQ(parsed.block(2), "arg0 + i1 + arg3*remsi[i0]{16*pid_x wraps at arg2}");
  auto gathered = *parsed.blocks->recover(parsed.accesses[1]);
  EXPECT_FALSE(gathered.is_affine());
  EXPECT_FALSE(gathered.is_affine(0));
  EXPECT_TRUE(gathered.is_contiguous(1));
  EXPECT_EQ(gathered.terms[0].tensor, parsed.accesses[0]->getResult(0));
}

// A remainder taken after the range was spread over a second dimension is still one number per row.
TEST(Blocks, TermsDependOnlyOnDimensionsThatVary) {
  ParsedFunction parsed(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %m: i32) {
      %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
      %rb = tt.broadcast %r2 : tensor<8x1xi32> -> tensor<8x4xi32>
      %ms = tt.splat %m : i32 -> tensor<8x4xi32>
      %q = arith.divsi %rb, %ms : tensor<8x4xi32>
      %c = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
      %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
      %cb = tt.broadcast %c2 : tensor<1x4xi32> -> tensor<8x4xi32>
      %o = arith.addi %q, %cb : tensor<8x4xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x4x!tt.ptr<f32>>
      %p = tt.addptr %xs, %o : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xi32>
      %v = tt.load %p : tensor<8x4x!tt.ptr<f32>>
      tt.store %p, %v : tensor<8x4x!tt.ptr<f32>>
      tt.return
    })");
  EXPECT_EQ(parsed.block(0), "arg0 + i1 + divsi[i0, 0]");
  EXPECT_TRUE(parsed.blocks->recover(parsed.accesses[0])->is_contiguous(1));
}

TEST(Blocks, TransposeAndReshape) {
  expect_accesses(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %s: i32) {
      %r = tt.make_range {end = 8 : i32, start = 4 : i32} : tensor<4xi32>
      %c = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
      %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
      %ss = tt.splat %s : i32 -> tensor<4x1xi32>
      %rs = arith.muli %ss, %r2 : tensor<4x1xi32>
      %rb = tt.broadcast %rs : tensor<4x1xi32> -> tensor<4x16xi32>
      %c2 = tt.reshape %c : tensor<16xi32> -> tensor<1x16xi32>
      %cb = tt.broadcast %c2 : tensor<1x16xi32> -> tensor<4x16xi32>
      %o = arith.addi %rb, %cb : tensor<4x16xi32>
      %t = tt.trans %o {order = array<i32: 1, 0>} : tensor<4x16xi32> -> tensor<16x4xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x4x!tt.ptr<f32>>
      %p = tt.addptr %xs, %t : tensor<16x4x!tt.ptr<f32>>, tensor<16x4xi32>
      %v = tt.load %p : tensor<16x4x!tt.ptr<f32>>
      tt.store %p, %v : tensor<16x4x!tt.ptr<f32>>
      %flat = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
      %split = tt.reshape %flat : tensor<64xi32> -> tensor<4x2x8xi32>
      %ys = tt.splat %x : !tt.ptr<f32> -> tensor<4x2x8x!tt.ptr<f32>>
      %yp = tt.addptr %ys, %split : tensor<4x2x8x!tt.ptr<f32>>, tensor<4x2x8xi32>
      %w = tt.load %yp : tensor<4x2x8x!tt.ptr<f32>>
      tt.store %yp, %w : tensor<4x2x8x!tt.ptr<f32>>
      %joined = tt.reshape %yp : tensor<4x2x8x!tt.ptr<f32>> -> tensor<8x8x!tt.ptr<f32>>
      %u = tt.load %joined : tensor<8x8x!tt.ptr<f32>>
      tt.store %joined, %u : tensor<8x8x!tt.ptr<f32>>
      tt.return
    })",
                  {{"arg0 + 4*arg1 + i0 + arg1*i1", "all"},
                   {"arg0 + 4*arg1 + i0 + arg1*i1", "all"},
                   {"arg0 + 16*i0 + 8*i1 + i2", "all"},
                   {"arg0 + 16*i0 + 8*i1 + i2", "all"},
                   {"arg0 + 8*i0 + i1", "all"},
                   {"arg0 + 8*i0 + i1", "all"}});
}

// Pointers that were loaded or chosen lane by lane stay tensors; what is added to them is still taken apart.
TEST(Blocks, TensorsOfLoadedPointers) {
  ParsedFunction parsed(R"(
    tt.func public @f(%table: !tt.ptr<i64>, %n: i32) {
      %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
      %ts = tt.splat %table : !tt.ptr<i64> -> tensor<4x!tt.ptr<i64>>
      %tp = tt.addptr %ts, %r : tensor<4x!tt.ptr<i64>>, tensor<4xi32>
      %bits = tt.load %tp : tensor<4x!tt.ptr<i64>>
      %rows = tt.int_to_ptr %bits : tensor<4xi64> -> tensor<4x!tt.ptr<f32>>
      %rows2 = tt.expand_dims %rows {axis = 1 : i32} : tensor<4x!tt.ptr<f32>> -> tensor<4x1x!tt.ptr<f32>>
      %rowsb = tt.broadcast %rows2 : tensor<4x1x!tt.ptr<f32>> -> tensor<4x8x!tt.ptr<f32>>
      %c = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
      %cb = tt.broadcast %c2 : tensor<1x8xi32> -> tensor<4x8xi32>
      %p = tt.addptr %rowsb, %cb : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
      %v = tt.load %p : tensor<4x8x!tt.ptr<f32>>
      tt.store %p, %v : tensor<4x8x!tt.ptr<f32>>
      %old = tt.atomic_rmw fadd, relaxed, gpu, %p, %v : (tensor<4x8x!tt.ptr<f32>>, tensor<4x8xf32>) -> tensor<4x8xf32>
      tt.return
    })");
  EXPECT_EQ(parsed.block(1), "int_to_ptr[i0] + i1");
  EXPECT_EQ(parsed.block(3), "int_to_ptr[i0] + i1");
  auto block = *parsed.blocks->recover(parsed.accesses[1]);
  EXPECT_FALSE(block.base);
  EXPECT_TRUE(block.is_contiguous(1));
  EXPECT_FALSE(block.is_affine(0));
}

TEST(Blocks, Descriptors) {
  expect_accesses(
      R"(
    tt.func public @f(%x: !tt.ptr<f16>, %m: i32, %n: i32, %s: i64, %i: i32, %b: i32) {
      %c1 = arith.constant 1 : i64
      %c5 = arith.constant 5 : i32
      %pid = tt.get_program_id x : i32
      %d = tt.make_tensor_descriptor %x, [%m, %n], [%s, %c1] : !tt.ptr<f16>, !tt.tensordesc<tensor<16x64xf16>>
      %v = tt.descriptor_load %d[%pid, %i] : !tt.tensordesc<tensor<16x64xf16>> -> tensor<16x64xf16>
      tt.descriptor_store %d[%c5, %pid], %v : !tt.tensordesc<tensor<16x64xf16>>, tensor<16x64xf16>
      %d3 = tt.make_tensor_descriptor %x, [%b, %m, %n], [%s, %c1, %c1] :
          !tt.ptr<f16>, !tt.tensordesc<tensor<1x16x64xf16>>
      %w = tt.descriptor_load %d3[%i, %c5, %c5] : !tt.tensordesc<tensor<1x16x64xf16>> -> tensor<16x64xf16>
      tt.descriptor_store %d[%c5, %c5], %w : !tt.tensordesc<tensor<16x64xf16>>, tensor<16x64xf16>
      tt.return
    })",
      {{"arg0 + arg3*pid_x + arg4 + arg3*i0 + i1", "i0 < arg1 - pid_x, i1 >= -arg4, i1 < arg2 - arg4"},
       {"arg0 + 5*arg3 + pid_x + arg3*i0 + i1", "i0 < arg1 - 5, i1 < arg2 - pid_x"},
       {"arg0 + arg3*arg4 + 10 + i0 + i1", "i0 < arg1 - 5, i1 < arg2 - 5, if arg4 sge 0, if arg4 - arg5 slt 0"},
       {"arg0 + 5*arg3 + 5 + arg3*i0 + i1", "i0 < arg1 - 5, i1 < arg2 - 5"}});
}

TEST(Blocks, UnknownDescriptorIsNotRecovered) {
  ParsedFunction parsed(R"(
    tt.func public @f(%d: !tt.tensordesc<tensor<16x64xf16>>, %i: i32) {
      %v = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<16x64xf16>> -> tensor<16x64xf16>
      tt.descriptor_store %d[%i, %i], %v : !tt.tensordesc<tensor<16x64xf16>>, tensor<16x64xf16>
      tt.return
    })");
  EXPECT_EQ(parsed.block(0), "unknown");
  EXPECT_EQ(parsed.bounds(1), "unknown");
}

// Extensions of signed offsets are exact; a zero-extension is only looked through where no lane is negative.
TEST(Blocks, Extensions) {
  expect_accesses(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %n: i32) {
      %pid = tt.get_program_id x : i32
      %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %ps = tt.splat %pid : i32 -> tensor<8xi32>
      %ns = tt.splat %n : i32 -> tensor<8xi32>
      %pr = arith.addi %ps, %r : tensor<8xi32>
      %nr = arith.addi %ns, %r : tensor<8xi32>
      %signed = arith.extsi %nr : tensor<8xi32> to tensor<8xi64>
      %positive = arith.extui %pr : tensor<8xi32> to tensor<8xi64>
      %unsigned = arith.extui %nr : tensor<8xi32> to tensor<8xi64>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %p0 = tt.addptr %xs, %signed : tensor<8x!tt.ptr<f32>>, tensor<8xi64>
      %p1 = tt.addptr %xs, %positive : tensor<8x!tt.ptr<f32>>, tensor<8xi64>
      %p2 = tt.addptr %xs, %unsigned : tensor<8x!tt.ptr<f32>>, tensor<8xi64>
      %v = tt.load %p0 : tensor<8x!tt.ptr<f32>>
      tt.store %p1, %v : tensor<8x!tt.ptr<f32>>
      tt.store %p2, %v : tensor<8x!tt.ptr<f32>>
      tt.return
    })",
                  {{"arg0 + arg1 + i0", "all"}, {"arg0 + pid_x + i0", "all"}, {"arg0 + extui[i0]", "all"}});
}

// 8-bit arithmetic wraps in earnest, and a shift is a product.
TEST(Blocks, NarrowArithmeticIsNotLookedThrough) {
  expect_accesses(R"(
    tt.func public @f(%x: !tt.ptr<f32>, %n: i8) {
      %c3 = arith.constant dense<3> : tensor<8xi32>
      %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %r8 = arith.trunci %r : tensor<8xi32> to tensor<8xi8>
      %sum = arith.addi %r8, %r8 : tensor<8xi8>
      %back = arith.extsi %sum : tensor<8xi8> to tensor<8xi32>
      %shifted = arith.shli %r, %c3 : tensor<8xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %p0 = tt.addptr %xs, %back : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %p1 = tt.addptr %xs, %shifted : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %v = tt.load %p0 : tensor<8x!tt.ptr<f32>>
      tt.store %p1, %v : tensor<8x!tt.ptr<f32>>
      tt.return
    })",
                  {{"arg0 + addi[i0]", "all"}, {"arg0 + 8*i0", "all"}});
}

TEST(Blocks, PointerCastsKeepSteps) {
  expect_accesses(R"(
    tt.func public @f(%x: !tt.ptr<i1>, %y: !tt.ptr<f32>) {
      %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %q = tt.bitcast %x : !tt.ptr<i1> -> !tt.ptr<i8>
      %qs = tt.splat %q : !tt.ptr<i8> -> tensor<8x!tt.ptr<i8>>
      %qp = tt.addptr %qs, %r : tensor<8x!tt.ptr<i8>>, tensor<8xi32>
      %v = tt.load %qp : tensor<8x!tt.ptr<i8>>
      %c2 = arith.constant 2 : i32
      %z = tt.addptr %y, %c2 : !tt.ptr<f32>, i32
      %h = tt.bitcast %z : !tt.ptr<f32> -> !tt.ptr<i8>
      %hs = tt.splat %h : !tt.ptr<i8> -> tensor<8x!tt.ptr<i8>>
      %hp = tt.addptr %hs, %r : tensor<8x!tt.ptr<i8>>, tensor<8xi32>
      tt.store %hp, %v : tensor<8x!tt.ptr<i8>>
      tt.return
    })",
                  {{"arg0 + i0", "all"}, {"bitcast + i0", "all"}});
}

}  // namespace
}  // namespace teeny::compiler::test
