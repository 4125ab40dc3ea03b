// Kernels that several tests ask about.
#pragma once

namespace teeny::compiler::test {

// C[M, N] += A[M, K] * B[K, N] with pointers carried round the loop, programs in groups of 8 rows, row and column
// indices wrapped, as Triton's tutorial writes it. BLOCK_M 64, BLOCK_N 32, BLOCK_K 16.
// Arguments: 0 a, 1 b, 2 c, 3 M, 4 N, 5 K, 6 stride_am, 7 stride_ak, 8 stride_bk, 9 stride_bn, 10 stride_cm, 11
// stride_cn.
inline constexpr const char *matmul_carried = R"(
  tt.func public @matmul(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f16>, %M: i32, %N: i32, %K: i32,
                         %am: i32, %ak: i32, %bk: i32, %bn: i32, %cm: i32, %cn: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c15 = arith.constant 15 : i32
    %c16 = arith.constant 16 : i32
    %c31 = arith.constant 31 : i32
    %c32 = arith.constant 32 : i32
    %c63 = arith.constant 63 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %pid = tt.get_program_id x : i32
    %M63 = arith.addi %M, %c63 : i32
    %gm = arith.divsi %M63, %c64 : i32
    %N31 = arith.addi %N, %c31 : i32
    %gn = arith.divsi %N31, %c32 : i32
    %group = arith.muli %gn, %c8 : i32
    %group_id = arith.divsi %pid, %group : i32
    %first = arith.muli %group_id, %c8 : i32
    %left = arith.subi %gm, %first : i32
    %size = arith.minsi %left, %c8 : i32
    %in_group = arith.remsi %pid, %group : i32
    %m_in = arith.remsi %in_group, %size : i32
    %pid_m = arith.addi %first, %m_in : i32
    %pid_n = arith.divsi %in_group, %size : i32
    %m0 = arith.muli %pid_m, %c64 : i32
    %n0 = arith.muli %pid_n, %c32 : i32
    %r64 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %r32 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %r16 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %m0s = tt.splat %m0 : i32 -> tensor<64xi32>
    %rm = arith.addi %m0s, %r64 : tensor<64xi32>
    %Ms = tt.splat %M : i32 -> tensor<64xi32>
    %rmw = arith.remsi %rm, %Ms : tensor<64xi32>
    %n0s = tt.splat %n0 : i32 -> tensor<32xi32>
    %rn = arith.addi %n0s, %r32 : tensor<32xi32>
    %Ns = tt.splat %N : i32 -> tensor<32xi32>
    %rnw = arith.remsi %rn, %Ns : tensor<32xi32>
    %rmw2 = tt.expand_dims %rmw {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %ams = tt.splat %am : i32 -> tensor<64x1xi32>
    %ao = arith.muli %rmw2, %ams : tensor<64x1xi32>
    %rk = tt.expand_dims %r16 {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %aks = tt.splat %ak : i32 -> tensor<1x16xi32>
    %ako = arith.muli %rk, %aks : tensor<1x16xi32>
    %aob = tt.broadcast %ao : tensor<64x1xi32> -> tensor<64x16xi32>
    %akb = tt.broadcast %ako : tensor<1x16xi32> -> tensor<64x16xi32>
    %aoff = arith.addi %aob, %akb : tensor<64x16xi32>
    %as = tt.splat %a : !tt.ptr<f16> -> tensor<64x16x!tt.ptr<f16>>
    %ap = tt.addptr %as, %aoff : tensor<64x16x!tt.ptr<f16>>, tensor<64x16xi32>
    %rkc = tt.expand_dims %r16 {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %bks = tt.splat %bk : i32 -> tensor<16x1xi32>
    %bko = arith.muli %rkc, %bks : tensor<16x1xi32>
    %rnw2 = tt.expand_dims %rnw {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %bns = tt.splat %bn : i32 -> tensor<1x32xi32>
    %bno = arith.muli %rnw2, %bns : tensor<1x32xi32>
    %bkb = tt.broadcast %bko : tensor<16x1xi32> -> tensor<16x32xi32>
    %bnb = tt.broadcast %bno : tensor<1x32xi32> -> tensor<16x32xi32>
    %boff = arith.addi %bkb, %bnb : tensor<16x32xi32>
    %bs = tt.splat %b : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
    %bp = tt.addptr %bs, %boff : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
    %K15 = arith.addi %K, %c15 : i32
    %steps = arith.divsi %K15, %c16 : i32
    %res:3 = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero, %pa = %ap, %pb = %bp)
        -> (tensor<64x32xf32>, tensor<64x16x!tt.ptr<f16>>, tensor<16x32x!tt.ptr<f16>>)  : i32 {
      %done = arith.muli %k, %c16 : i32
      %rest = arith.subi %K, %done : i32
      %rests = tt.splat %rest : i32 -> tensor<1x16xi32>
      %am1 = arith.cmpi slt, %rk, %rests : tensor<1x16xi32>
      %am2 = tt.broadcast %am1 : tensor<1x16xi1> -> tensor<64x16xi1>
      %za = arith.constant dense<0.0> : tensor<64x16xf16>
      %va = tt.load %pa, %am2, %za : tensor<64x16x!tt.ptr<f16>>
      %restc = tt.splat %rest : i32 -> tensor<16x1xi32>
      %bm1 = arith.cmpi slt, %rkc, %restc : tensor<16x1xi32>
      %bm2 = tt.broadcast %bm1 : tensor<16x1xi1> -> tensor<16x32xi1>
      %zb = arith.constant dense<0.0> : tensor<16x32xf16>
      %vb = tt.load %pb, %bm2, %zb : tensor<16x32x!tt.ptr<f16>>
      %sum = tt.dot %va, %vb, %acc : tensor<64x16xf16> * tensor<16x32xf16> -> tensor<64x32xf32>
      %stepa = arith.muli %ak, %c16 : i32
      %stepas = tt.splat %stepa : i32 -> tensor<64x16xi32>
      %na = tt.addptr %pa, %stepas : tensor<64x16x!tt.ptr<f16>>, tensor<64x16xi32>
      %stepb = arith.muli %bk, %c16 : i32
      %stepbs = tt.splat %stepb : i32 -> tensor<16x32xi32>
      %nb = tt.addptr %pb, %stepbs : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
      scf.yield %sum, %na, %nb : tensor<64x32xf32>, tensor<64x16x!tt.ptr<f16>>, tensor<16x32x!tt.ptr<f16>>
    }
    %out = arith.truncf %res#0 : tensor<64x32xf32> to tensor<64x32xf16>
    %rm2 = tt.expand_dims %rm {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %rn2 = tt.expand_dims %rn {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %cms = tt.splat %cm : i32 -> tensor<64x1xi32>
    %cmo = arith.muli %cms, %rm2 : tensor<64x1xi32>
    %cs = tt.splat %c : !tt.ptr<f16> -> tensor<64x1x!tt.ptr<f16>>
    %cp1 = tt.addptr %cs, %cmo : tensor<64x1x!tt.ptr<f16>>, tensor<64x1xi32>
    %cns = tt.splat %cn : i32 -> tensor<1x32xi32>
    %cno = arith.muli %cns, %rn2 : tensor<1x32xi32>
    %cp1b = tt.broadcast %cp1 : tensor<64x1x!tt.ptr<f16>> -> tensor<64x32x!tt.ptr<f16>>
    %cnb = tt.broadcast %cno : tensor<1x32xi32> -> tensor<64x32xi32>
    %cp = tt.addptr %cp1b, %cnb : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
    %Ms1 = tt.splat %M : i32 -> tensor<64x1xi32>
    %mm = arith.cmpi slt, %rm2, %Ms1 : tensor<64x1xi32>
    %Ns1 = tt.splat %N : i32 -> tensor<1x32xi32>
    %mn = arith.cmpi slt, %rn2, %Ns1 : tensor<1x32xi32>
    %mmb = tt.broadcast %mm : tensor<64x1xi1> -> tensor<64x32xi1>
    %mnb = tt.broadcast %mn : tensor<1x32xi1> -> tensor<64x32xi1>
    %mask = arith.andi %mmb, %mnb : tensor<64x32xi1>
    tt.store %cp, %out, %mask : tensor<64x32x!tt.ptr<f16>>
    tt.return
  })";

// The same product of f32 with offsets computed anew in every iteration: a + rm * am + (k0 + rk) * ak, k0 by steps of
// 16; programs in a plain grid. Arguments: 0 a, 1 b, 2 c, 3 M, 4 N, 5 K, 6 am, 7 ak, 8 bk, 9 bn.
inline constexpr const char *matmul_recomputed = R"(
  tt.func public @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %M: i32, %N: i32, %K: i32,
                         %am: i32, %ak: i32, %bk: i32, %bn: i32) {
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r64 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %r16 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %px = tt.get_program_id x : i32
    %py = tt.get_program_id y : i32
    %m0 = arith.muli %px, %c64 : i32
    %n0 = arith.muli %py, %c64 : i32
    %m0s = tt.splat %m0 : i32 -> tensor<64xi32>
    %rm1 = arith.addi %m0s, %r64 : tensor<64xi32>
    %rm = tt.expand_dims %rm1 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %n0s = tt.splat %n0 : i32 -> tensor<64xi32>
    %rn1 = arith.addi %n0s, %r64 : tensor<64xi32>
    %rn = tt.expand_dims %rn1 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %acc = scf.for %k0 = %c0 to %K step %c16 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %k0s = tt.splat %k0 : i32 -> tensor<16xi32>
      %rk1 = arith.addi %k0s, %r16 : tensor<16xi32>
      %rkr = tt.expand_dims %rk1 {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
      %rkc = tt.expand_dims %rk1 {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
      %ams = tt.splat %am : i32 -> tensor<64x1xi32>
      %o1 = arith.muli %rm, %ams : tensor<64x1xi32>
      %as = tt.splat %a : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
      %p1 = tt.addptr %as, %o1 : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
      %aks = tt.splat %ak : i32 -> tensor<1x16xi32>
      %o2 = arith.muli %rkr, %aks : tensor<1x16xi32>
      %p1b = tt.broadcast %p1 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x16x!tt.ptr<f32>>
      %o2b = tt.broadcast %o2 : tensor<1x16xi32> -> tensor<64x16xi32>
      %pa = tt.addptr %p1b, %o2b : tensor<64x16x!tt.ptr<f32>>, tensor<64x16xi32>
      %Ms = tt.splat %M : i32 -> tensor<64x1xi32>
      %mm = arith.cmpi slt, %rm, %Ms : tensor<64x1xi32>
      %Ks = tt.splat %K : i32 -> tensor<1x16xi32>
      %mk = arith.cmpi slt, %rkr, %Ks : tensor<1x16xi32>
      %mmb = tt.broadcast %mm : tensor<64x1xi1> -> tensor<64x16xi1>
      %mkb = tt.broadcast %mk : tensor<1x16xi1> -> tensor<64x16xi1>
      %ma = arith.andi %mmb, %mkb : tensor<64x16xi1>
      %va = tt.load %pa, %ma : tensor<64x16x!tt.ptr<f32>>
      %bks = tt.splat %bk : i32 -> tensor<16x1xi32>
      %o3 = arith.muli %rkc, %bks : tensor<16x1xi32>
      %bns = tt.splat %bn : i32 -> tensor<1x64xi32>
      %o4 = arith.muli %rn, %bns : tensor<1x64xi32>
      %o3b = tt.broadcast %o3 : tensor<16x1xi32> -> tensor<16x64xi32>
      %o4b = tt.broadcast %o4 : tensor<1x64xi32> -> tensor<16x64xi32>
      %ob = arith.addi %o3b, %o4b : tensor<16x64xi32>
      %bs = tt.splat %b : !tt.ptr<f32> -> tensor<16x64x!tt.ptr<f32>>
      %pb = tt.addptr %bs, %ob : tensor<16x64x!tt.ptr<f32>>, tensor<16x64xi32>
      %Kc = tt.splat %K : i32 -> tensor<16x1xi32>
      %mkc = arith.cmpi slt, %rkc, %Kc : tensor<16x1xi32>
      %mkcb = tt.broadcast %mkc : tensor<16x1xi1> -> tensor<16x64xi1>
      %vb = tt.load %pb, %mkcb : tensor<16x64x!tt.ptr<f32>>
      %next = tt.dot %va, %vb, %sum : tensor<64x16xf32> * tensor<16x64xf32> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    %Ns = tt.splat %N : i32 -> tensor<64x1xi32>
    %ro = arith.muli %rm, %Ns : tensor<64x1xi32>
    %rob = tt.broadcast %ro : tensor<64x1xi32> -> tensor<64x64xi32>
    %rnb = tt.broadcast %rn : tensor<1x64xi32> -> tensor<64x64xi32>
    %co = arith.addi %rob, %rnb : tensor<64x64xi32>
    %cs = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %cp = tt.addptr %cs, %co : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    tt.store %cp, %acc : tensor<64x64x!tt.ptr<f32>>
    tt.return
  })";

// A tile of attention: Q at base + rows * 64 + d, K transposed and recomputed, V's pointers carried.
inline constexpr const char *attention = R"(
  tt.func public @attention(%q: !tt.ptr<f16>, %k: !tt.ptr<f16>, %v: !tt.ptr<f16>, %o: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %d64 = arith.constant dense<64> : tensor<32x1xi32>
    %k64 = arith.constant dense<64> : tensor<1x32xi32>
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %head = tt.get_program_id y : i32
    %tile = tt.get_program_id x : i32
    %hn = arith.muli %head, %n : i32
    %ho = arith.muli %hn, %c64 : i32
    %qb = tt.addptr %q, %ho : !tt.ptr<f16>, i32
    %kb = tt.addptr %k, %ho : !tt.ptr<f16>, i32
    %vb = tt.addptr %v, %ho : !tt.ptr<f16>, i32
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %d = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %dr = tt.expand_dims %d {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %dc = tt.expand_dims %d {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %rr = tt.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %rl = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %t0 = arith.muli %tile, %c32 : i32
    %t0s = tt.splat %t0 : i32 -> tensor<32x1xi32>
    %rows = arith.addi %t0s, %rr : tensor<32x1xi32>
    %ro = arith.muli %rows, %d64 : tensor<32x1xi32>
    %rob = tt.broadcast %ro : tensor<32x1xi32> -> tensor<32x64xi32>
    %drb = tt.broadcast %dr : tensor<1x64xi32> -> tensor<32x64xi32>
    %off = arith.addi %rob, %drb : tensor<32x64xi32>
    %qs = tt.splat %qb : !tt.ptr<f16> -> tensor<32x64x!tt.ptr<f16>>
    %qp = tt.addptr %qs, %off : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
    %ns = tt.splat %n : i32 -> tensor<32x1xi32>
    %qm1 = arith.cmpi slt, %rows, %ns : tensor<32x1xi32>
    %qm = tt.broadcast %qm1 : tensor<32x1xi1> -> tensor<32x64xi1>
    %qv = tt.load %qp, %qm : tensor<32x64x!tt.ptr<f16>>
    %vro = arith.muli %rr, %d64 : tensor<32x1xi32>
    %vrob = tt.broadcast %vro : tensor<32x1xi32> -> tensor<32x64xi32>
    %voff = arith.addi %vrob, %drb : tensor<32x64xi32>
    %vs = tt.splat %vb : !tt.ptr<f16> -> tensor<32x64x!tt.ptr<f16>>
    %vp0 = tt.addptr %vs, %voff : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
    %step = arith.constant dense<2048> : tensor<32x64xi32>
    %res:2 = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero, %vp = %vp0)
        -> (tensor<32x32xf32>, tensor<32x64x!tt.ptr<f16>>) : i32 {
      %js = tt.splat %j : i32 -> tensor<1x32xi32>
      %kc = arith.addi %js, %rl : tensor<1x32xi32>
      %ko = arith.muli %kc, %k64 : tensor<1x32xi32>
      %kob = tt.broadcast %ko : tensor<1x32xi32> -> tensor<64x32xi32>
      %dcb = tt.broadcast %dc : tensor<64x1xi32> -> tensor<64x32xi32>
      %koff = arith.addi %kob, %dcb : tensor<64x32xi32>
      %ks = tt.splat %kb : !tt.ptr<f16> -> tensor<64x32x!tt.ptr<f16>>
      %kp = tt.addptr %ks, %koff : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
      %kv = tt.load %kp : tensor<64x32x!tt.ptr<f16>>
      %vv = tt.load %vp : tensor<32x64x!tt.ptr<f16>>
      %s = tt.dot %qv, %kv, %acc : tensor<32x64xf16> * tensor<64x32xf16> -> tensor<32x32xf32>
      %nv = tt.addptr %vp, %step : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
      tt.store %vp, %vv : tensor<32x64x!tt.ptr<f16>>
      scf.yield %s, %nv : tensor<32x32xf32>, tensor<32x64x!tt.ptr<f16>>
    }
    %op = tt.splat %o : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    tt.store %op, %res#0 : tensor<32x32x!tt.ptr<f32>>
    tt.return
  })";

}  // namespace teeny::compiler::test
