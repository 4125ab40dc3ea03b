// Operations of the thread dialect. Every lane of a program runs the function; `collective` operations are reached by
// all lanes of a warp together (barriers: of the program).
#ifndef TEENY_THREAD_OPS_TD
#define TEENY_THREAD_OPS_TD

include "compiler/dialect/thread/thread_dialect.td"
include "compiler/dialect/tt/tt_dialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Resources: the memory of the device, and the memory that the lanes of a program share.
def tt_global : Resource<"::teeny::tt::GlobalMemory">;
def thread_shared : Resource<"::teeny::thread::SharedMemory">;
// Reached by all lanes of a warp together: must not be moved into or out of a branch, nor merged across barriers.
def thread_lanes : Resource<"::teeny::thread::Lanes">;
def thread_collective : MemoryEffects<[MemRead<thread_lanes>]>;
def Thread_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat]>;
class Thread_Op<string mnemonic, list<Trait> traits = []> : Op<Thread_Dialect, mnemonic, traits>;

// ---- who am I: i32
class Thread_Id<string mnemonic> : Thread_Op<mnemonic, [Pure]> {
  let results = (outs I32:$result);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, $_builder.getI32Type()); }]>];
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Thread_LaneIdOp : Thread_Id<"lane_id"> { let summary = "0 … lanes - 1: the lane within its warp"; }
def Thread_WarpIdOp : Thread_Id<"warp_id"> { let summary = "0 … warps - 1: the warp within its program"; }
def Thread_ProgramIdOp : Thread_Op<"program_id", [Pure]> {
  let arguments = (ins TT_ProgramIDDim:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}
def Thread_NumProgramsOp : Thread_Op<"num_programs", [Pure]> {
  let arguments = (ins TT_ProgramIDDim:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

// ---- global memory: `address` is in bytes; `offset` bytes are added to it. i1 never occurs: its elements are i8 here.
def Thread_LoadOp : Thread_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead<tt_global>]>]> {
  let summary = "as many consecutive elements as there are results";
  let description = [{
    All results have one type. The address is a multiple of `alignment` bytes; an access of several elements is a
    multiple of all its bytes. Where the mask does not hold, nothing is read and the results are `other`, or 0.
  }];
  let arguments = (ins I64:$address, Optional<I1>:$mask, Variadic<Thread_Scalar>:$other,
                       DefaultValuedAttr<I64Attr, "0">:$offset, I32Attr:$alignment,
                       DefaultValuedAttr<TT_CacheModifier, "::teeny::tt::CacheModifier::NONE">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::teeny::tt::EvictionPolicy::NORMAL">:$evict,
                       DefaultValuedAttr<BoolAttr, "false">:$isVolatile);
  let results = (outs Variadic<Thread_Scalar>:$values);
  let assemblyFormat = "$address (`,` `mask` $mask^)? (`,` `other` $other^ `:` type($other))? attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def Thread_StoreOp : Thread_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite<tt_global>]>]> {
  let summary = "consecutive elements, where the mask holds";
  let arguments = (ins I64:$address, Variadic<Thread_Scalar>:$values, Optional<I1>:$mask,
                       DefaultValuedAttr<I64Attr, "0">:$offset, I32Attr:$alignment,
                       DefaultValuedAttr<TT_CacheModifier, "::teeny::tt::CacheModifier::NONE">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::teeny::tt::EvictionPolicy::NORMAL">:$evict);
  let assemblyFormat = "$address `,` $values (`mask` $mask^)? attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def Thread_AtomicRMWOp : Thread_Op<"atomic_rmw", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead<tt_global>, MemWrite<tt_global>]>]> {
  let summary = "the old value; undefined where the mask does not hold";
  let arguments = (ins TT_RMWOp:$kind, I64:$address, Thread_Scalar:$value, Optional<I1>:$mask,
                       DefaultValuedAttr<I64Attr, "0">:$offset, TT_MemSemantic:$sem, TT_MemSyncScope:$scope);
  let results = (outs Thread_Scalar:$result);
  let assemblyFormat = "$kind `,` $sem `,` $scope `,` $address `,` $value (`,` `mask` $mask^)? attr-dict `:` type($value)";
}
def Thread_AtomicCASOp : Thread_Op<"atomic_cas", [AllTypesMatch<["compare", "value", "result"]>, MemoryEffects<[MemRead<tt_global>, MemWrite<tt_global>]>]> {
  let summary = "the old value";
  let arguments = (ins I64:$address, Thread_Scalar:$compare, Thread_Scalar:$value, Optional<I1>:$mask,
                       DefaultValuedAttr<I64Attr, "0">:$offset, TT_MemSemantic:$sem, TT_MemSyncScope:$scope);
  let results = (outs Thread_Scalar:$result);
  let assemblyFormat = "$sem `,` $scope `,` $address `,` $compare `,` $value (`,` `mask` $mask^)? attr-dict `:` type($value)";
}

// ---- shared memory: typed arrays; indices and offsets count elements
def Thread_SharedRefOp : Thread_Op<"shared_ref", [Pure]> {
  let summary = "the array of `elements` elements at byte `offset` of the program's shared memory";
  let arguments = (ins I64Attr:$offset, I64Attr:$elements);
  let results = (outs Thread_SharedType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Thread_SharedLoadOp : Thread_Op<"shared_load", [MemoryEffects<[MemRead<thread_shared>]>]> {
  let summary = "consecutive elements from index + offset on, a multiple of their number; 0 where the mask does not hold";
  let arguments = (ins Thread_SharedType:$array, I32:$index, Optional<I1>:$mask, DefaultValuedAttr<I32Attr, "0">:$offset);
  let results = (outs Variadic<Thread_Scalar>:$values);
  let assemblyFormat = "$array `[` $index `]` (`,` `mask` $mask^)? attr-dict `:` qualified(type($array)) `->` type($values)";
  let hasVerifier = 1;
}
def Thread_SharedStoreOp : Thread_Op<"shared_store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite<thread_shared>]>]> {
  let arguments = (ins Thread_SharedType:$array, I32:$index, Variadic<Thread_Scalar>:$values, Optional<I1>:$mask,
                       DefaultValuedAttr<I32Attr, "0">:$offset);
  let assemblyFormat = "$array `[` $index `]` `,` $values (`mask` $mask^)? attr-dict `:` qualified(type($array)) `,` type($values)";
  let hasVerifier = 1;
}
def Thread_SharedAtomicRMWOp : Thread_Op<"shared_atomic_rmw", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_shared>]>]> {
  let arguments = (ins TT_RMWOp:$kind, Thread_SharedType:$array, I32:$index, Thread_Scalar:$value, Optional<I1>:$mask,
                       DefaultValuedAttr<I32Attr, "0">:$offset);
  let results = (outs Thread_Scalar:$result);
  let assemblyFormat = "$kind `,` $array `[` $index `]` `,` $value (`,` `mask` $mask^)? attr-dict `:` qualified(type($array)) `,` type($value)";
}

// ---- between the lanes of a warp (collective)
def Thread_ShuffleOp : Thread_Op<"shuffle", [AllTypesMatch<["value", "result"]>, thread_collective]> {
  let summary = "another lane's value: of lane id xor, =, - or + `lane`; a lane outside the warp: the own value";
  let arguments = (ins Thread_ShuffleKind:$kind, Thread_Scalar:$value, I32:$lane);
  let results = (outs Thread_Scalar:$result);
  let assemblyFormat = "$kind $value `,` $lane attr-dict `:` type($value)";
}
def Thread_BallotOp : Thread_Op<"ballot", [thread_collective]> {
  let summary = "bit i: lane i's condition";
  let arguments = (ins I1:$condition);
  let results = (outs I64:$result);
  let assemblyFormat = "$condition attr-dict `:` type($result)";
}

// ---- order between lanes
def Thread_BarrierOp : Thread_Op<"barrier", [MemoryEffects<[MemRead<tt_global>, MemWrite<tt_global>, MemRead<thread_shared>, MemWrite<thread_shared>]>]> {
  let summary = "no lane goes on before all have come here; accesses to `memory` before it are seen after it";
  let description = [{ `first_warp` and `warps` name a part of the program's warps; 0 warps: all of them. }];
  let arguments = (ins Thread_BarrierMemory:$memory, DefaultValuedAttr<I32Attr, "0">:$first_warp, DefaultValuedAttr<I32Attr, "0">:$warps);
  let assemblyFormat = "$memory attr-dict";
}

// ---- copies from global to shared memory that run beside the lane
def Thread_CopyAsyncOp : Thread_Op<"copy_async", [MemoryEffects<[MemRead<tt_global>, MemWrite<thread_shared>]>]> {
  let summary = "`bytes` (4, 8 or 16) bytes to array[index + offset]; zeros where the mask does not hold";
  let arguments = (ins Thread_SharedType:$array, I32:$index, I64:$address, Optional<I1>:$mask,
                       DefaultValuedAttr<I32Attr, "0">:$offset, DefaultValuedAttr<I64Attr, "0">:$address_offset, I32Attr:$bytes);
  let assemblyFormat = "$array `[` $index `]` `,` $address (`,` `mask` $mask^)? attr-dict `:` qualified(type($array))";
  let hasVerifier = 1;
}
def Thread_CopyCommitOp : Thread_Op<"copy_commit", [MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_shared>]>]> {
  let summary = "the copies of this lane since the last commit are one group";
  let assemblyFormat = "attr-dict";
}
def Thread_CopyWaitOp : Thread_Op<"copy_wait", [MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_shared>]>]> {
  let summary = "waits until at most `pending` of this lane's newest groups are on their way";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

// ---- matrix units (collective)
def Thread_MatrixLoadOp : Thread_Op<"matrix_load", [MemoryEffects<[MemRead<thread_shared>]>]> {
  let summary = "`count` matrices of 8 rows of 16 bytes";
  let description = [{
    Lane i gives the index of row i % 8 of matrix i / 8 (lanes past 8 * count: ignored). Of matrix m, lane i receives the
    elements in bytes [4 (i % 4), 4 (i % 4) + 4) of row i / 4; transposed (16-bit types): elements (2 (i % 4) + {0, 1},
    i / 4). Results: matrix by matrix, 4 / bytes of an element each.
  }];
  let arguments = (ins Thread_SharedType:$array, I32:$index, DefaultValuedAttr<I32Attr, "0">:$offset, I32Attr:$count, UnitAttr:$transpose);
  let results = (outs Variadic<Thread_Scalar>:$values);
  let assemblyFormat = "$array `[` $index `]` (`transpose` $transpose^)? attr-dict `:` qualified(type($array)) `->` type($values)";
  let hasVerifier = 1;
}
def Thread_MatrixStoreOp : Thread_Op<"matrix_store", [MemoryEffects<[MemWrite<thread_shared>]>]> {
  let summary = "the inverse of matrix_load";
  let arguments = (ins Thread_SharedType:$array, I32:$index, Variadic<Thread_Scalar>:$values, DefaultValuedAttr<I32Attr, "0">:$offset,
                       I32Attr:$count, UnitAttr:$transpose);
  let assemblyFormat = "$array `[` $index `]` `,` $values (`transpose` $transpose^)? attr-dict `:` qualified(type($array)) `,` type($values)";
  let hasVerifier = 1;
}
def Thread_MmaOp : Thread_Op<"mma", [AttrSizedOperandSegments, thread_collective]> {
  let summary = "accumulators + a * b, on fragments in the layouts of the matrix table's row `unit`";
  let arguments = (ins StrAttr:$unit, Variadic<Thread_Scalar>:$a, Variadic<Thread_Scalar>:$b, Variadic<Thread_Scalar>:$accumulators);
  let results = (outs Variadic<Thread_Scalar>:$results);
  let assemblyFormat = "$unit `,` $a `*` $b `+` $accumulators attr-dict `:` type($a) `*` type($b) `+` type($accumulators) `->` type($results)";
  let hasVerifier = 1;
}

// Products of several warps that run beside them. Accumulators belong to the unit from the product to the wait that covers it: only
// further products, waits and loops may take them on their way.
def Thread_MmaAsyncOp : Thread_Op<"mma_async", [AttrSizedOperandSegments, MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_lanes>]>]> {
  let summary = "begins accumulators + a * b by the row `unit`, whose warps stand together, from operands in shared memory";
  let description = [{
    a: `a` in registers as the row says, or at aArray[aIndex + aOffset]; b at bArray[bIndex + bOffset]. In memory, rows of
    `swizzle` bytes along the operand's fast dimension (the depth, or, transposed, M or N) follow each other along the
    other one; `panel` elements further stand the rows' continuation. Within 1024 bytes, bits 4 … of an address are xored
    with bits 7 … (as many as the swizzle has groups of 16 bytes); what an index names is a multiple of the unit's step.
  }];
  let arguments = (ins StrAttr:$unit, Variadic<Thread_Scalar>:$a, Optional<Thread_SharedType>:$aArray, Optional<I32>:$aIndex,
                       Thread_SharedType:$bArray, I32:$bIndex, Variadic<Thread_Scalar>:$accumulators,
                       DefaultValuedAttr<I32Attr, "0">:$aOffset, DefaultValuedAttr<I32Attr, "0">:$bOffset,
                       DefaultValuedAttr<I32Attr, "0">:$aSwizzle, I32Attr:$bSwizzle,
                       DefaultValuedAttr<I32Attr, "0">:$aPanel, I32Attr:$bPanel, UnitAttr:$aTransposed, UnitAttr:$bTransposed);
  let results = (outs Variadic<Thread_Scalar>:$results);
  let assemblyFormat = [{
    $unit `,` ($a^ `:` type($a) `,`)? ($aArray^ `[` $aIndex `]` `:` qualified(type($aArray)) `,`)? $bArray `[` $bIndex `]` `:`
    qualified(type($bArray)) `+` $accumulators attr-dict `:` type($accumulators) `->` type($results)
  }];
  let hasVerifier = 1;
}
def Thread_MmaBeginOp : Thread_Op<"mma_begin", [MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_shared>, MemWrite<thread_lanes>]>]> {
  let summary = "accumulators and operands in registers are ready for the products behind it";
  let assemblyFormat = "attr-dict";
}
def Thread_MmaCommitOp : Thread_Op<"mma_commit", [MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_shared>, MemWrite<thread_lanes>]>]> {
  let summary = "this warp's products since the last commit are one group";
  let assemblyFormat = "attr-dict";
}
def Thread_MmaWaitOp : Thread_Op<"mma_wait", [MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_shared>, MemWrite<thread_lanes>]>]> {
  let summary = "the accumulators once at most `pending` of this warp's newest groups are unfinished";
  let arguments = (ins I32Attr:$pending, Variadic<Thread_Scalar>:$accumulators);
  let results = (outs Variadic<Thread_Scalar>:$results);
  let assemblyFormat = "$pending (`,` $accumulators^ `:` type($accumulators) `->` type($results))? attr-dict";
  let hasVerifier = 1;
}
def Thread_FenceAsyncOp : Thread_Op<"fence_async", [MemoryEffects<[MemRead<thread_shared>, MemWrite<thread_shared>]>]> {
  let summary = "this lane's accesses to shared memory before it come before those that units and copies make after it";
  let assemblyFormat = "attr-dict";
}

// ---- conversions that arith lacks
def Thread_RoundTf32Op : Thread_Op<"round_tf32", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "to 10 bits of mantissa, nearest, ties away from zero; the other bits are 0";
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

// ---- to the host
def Thread_MessageOp : Thread_Op<"message", [MemoryEffects<[MemWrite<tt_global>]>]> {
  let summary = "one element of a device_print, or of a device_assert that failed, where the mask holds (gpu_program_abi.h)";
  let description = [{ `site` is the operation's pre-order number, `argument` which operand of a device_print. }];
  let arguments = (ins Thread_MessageKind:$kind, I32Attr:$site, I32Attr:$argument, I32:$element, I64:$value, I1:$mask);
  let assemblyFormat = "$kind `,` $element `,` $value `,` `mask` $mask attr-dict";
}

#endif
