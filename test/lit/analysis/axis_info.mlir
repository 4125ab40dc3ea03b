// RUN: teeny-opt %s --teeny-print-axis-info -verify-diagnostics -o /dev/null

tt.func public @row_of_a_matrix(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %n: i32) {
  // expected-remark @below {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %pid = tt.get_program_id x : i32
  // expected-remark @below {{contiguity = [1], divisibility = [16], constancy = [1]}}
  %row = arith.muli %pid, %stride : i32
  // expected-remark @below {{contiguity = [128], divisibility = [4611686018427387904], constancy = [1]}}
  %cols = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  // expected-remark @below {{contiguity = [1], divisibility = [16], constancy = [128]}}
  %rows = tt.splat %row : i32 -> tensor<128xi32>
  // expected-remark @below {{contiguity = [128], divisibility = [16], constancy = [1]}}
  %offsets = arith.addi %rows, %cols : tensor<128xi32>
  // expected-remark @below {{contiguity = [1], divisibility = [1], constancy = [128]}}
  %limit = tt.splat %n : i32 -> tensor<128xi32>
  // expected-remark @below {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %mask = arith.cmpi slt, %cols, %limit : tensor<128xi32>
  // expected-remark @below {{contiguity = [1], divisibility = [16], constancy = [128]}}
  %bases = tt.splat %x : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>>
  // expected-remark @below {{contiguity = [128], divisibility = [16], constancy = [1]}}
  %pointers = tt.addptr %bases, %offsets : tensor<128x!tt.ptr<f16>>, tensor<128xi32>
  %v = tt.load %pointers, %mask : tensor<128x!tt.ptr<f16>>
  tt.store %pointers, %v, %mask : tensor<128x!tt.ptr<f16>>
  tt.return
}

tt.func public @mask_of_whole_vectors(%n: i32 {tt.divisibility = 16 : i32}) {
  // expected-remark @below {{constant = 32}}
  %c32 = arith.constant 32 : i32
  // expected-remark @below {{divisibility = [1]}}
  %pid = tt.get_program_id x : i32
  // expected-remark @below {{divisibility = [32]}}
  %start = arith.muli %pid, %c32 : i32
  // expected-remark @below {{contiguity = [32]}}
  %range = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  // expected-remark @below {{divisibility = [32], constancy = [32]}}
  %starts = tt.splat %start : i32 -> tensor<32xi32>
  // expected-remark @below {{contiguity = [32], divisibility = [32]}}
  %offsets = arith.addi %starts, %range : tensor<32xi32>
  // expected-remark @below {{divisibility = [16], constancy = [32]}}
  %limit = tt.splat %n : i32 -> tensor<32xi32>
  // expected-remark @below {{constancy = [16]}}
  %mask = arith.cmpi slt, %offsets, %limit : tensor<32xi32>
  tt.return
}

tt.func public @columns_carried_round_a_loop(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
  // expected-remark @below {{constant = 0}}
  %c0 = arith.constant 0 : i32
  // expected-remark @below {{constant = 64}}
  %c64 = arith.constant 64 : i32
  // expected-remark @below {{constant = 64}}
  %step = arith.constant dense<64> : tensor<64xi32>
  // expected-remark @below {{contiguity = [64]}}
  %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  // expected-remark @below {{divisibility = [16], constancy = [64]}}
  %bases = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  // expected-remark @below {{contiguity = [64], divisibility = [16]}}
  %first = tt.addptr %bases, %range : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  // expected-remark @below {{contiguity = [64], divisibility = [16], constancy = [1]}}
  %last = scf.for %i = %c0 to %n step %c64 iter_args(%p = %first) -> (tensor<64x!tt.ptr<f32>>) : i32 {
    %v = tt.load %p : tensor<64x!tt.ptr<f32>>
    tt.store %p, %v : tensor<64x!tt.ptr<f32>>
    // expected-remark @below {{contiguity = [64], divisibility = [16], constancy = [1]}}
    %next = tt.addptr %p, %step : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    scf.yield %next : tensor<64x!tt.ptr<f32>>
  }
  tt.return
}
