// Operations of the tile dialect. Forms: T1 "laid out" (every tensor has an encoding, loads are synchronous), T2 "staged"
// (operands of matrix units through memory, copies asynchronous), T3 "synchronised" (barriers, waits and offsets stand).
#ifndef TEENY_TILE_OPS_TD
#define TEENY_TILE_OPS_TD

include "compiler/dialect/tile/tile_dialect.td"
include "compiler/dialect/thread/thread_dialect.td"
include "compiler/dialect/tt/tt_dialect.td"
include "compiler/dialect/tt/tt_types.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def tile_global : Resource<"::teeny::tt::GlobalMemory">;
def tile_shared : Resource<"::teeny::thread::SharedMemory">;
class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;
def Tile_TensorOrMem : AnyTypeOf<[AnyRankedTensor, Tile_MemType]>;

// ---- layouts
def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same tensor in another encoding";
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

// ---- shared memory
def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "shared memory for the type's buffers, holding `initial` if there is one; `offset` (bytes) once it has a place";
  let arguments = (ins Optional<AnyRankedTensor>:$initial, OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_MemType:$result);
  let assemblyFormat = "($initial^ `:` type($initial))? attr-dict `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_ViewBufferOp : Tile_Op<"view_buffer", [Pure]> {
  let summary = "buffer number `index` (0 … buffers - 1)";
  let arguments = (ins Tile_MemType:$memory, I32:$index);
  let results = (outs Tile_MemType:$result);
  let assemblyFormat = "$memory `[` $index `]` attr-dict `:` qualified(type($memory)) `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_ViewTransOp : Tile_Op<"view_trans", [Pure]> {
  let summary = "the same memory with its dimensions in another order: result dimension d is source dimension order[d]";
  let arguments = (ins Tile_MemType:$memory, DenseI32ArrayAttr:$order);
  let results = (outs Tile_MemType:$result);
  let assemblyFormat = "$memory attr-dict `:` qualified(type($memory)) `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_LocalLoadOp : Tile_Op<"local_load", [MemoryEffects<[MemRead<tile_shared>]>]> {
  let arguments = (ins Tile_MemType:$memory);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$memory attr-dict `:` qualified(type($memory)) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_LocalStoreOp : Tile_Op<"local_store", [MemoryEffects<[MemWrite<tile_shared>]>]> {
  let summary = "the block into the memory; `ahead`: it is a buffer of a ring, and what is read since the last barrier is another one";
  let arguments = (ins AnyRankedTensor:$source, Tile_MemType:$memory, UnitAttr:$ahead);
  let assemblyFormat = "$source `,` $memory (`ahead` $ahead^)? attr-dict `:` type($source) `,` qualified(type($memory))";
  let hasVerifier = 1;
}

// ---- copies from global memory
def Tile_CopyInOp : Tile_Op<"copy_in", [AttrSizedOperandSegments, MemoryEffects<[MemRead<tile_global>, MemWrite<tile_shared>]>]> {
  let summary = "what tt.load of these operands gives, on its way into `memory`";
  let description = [{
    kind = thread: each lane copies its own elements, `width` bytes at once (4, 8 or 16), on its way until the returned
    token, committed, has been waited for. Where the mask does not hold the memory is 0.
    kind = tile: through `map` at `coordinates`; the copy arrives at `bar`.
  }];
  let arguments = (ins Optional<TT_PtrTensor>:$pointers, Optional<AnyRankedTensor>:$mask, Optional<Tile_MapType>:$map, Variadic<I32>:$coordinates,
                       Optional<Tile_BarType>:$bar, Optional<I32>:$bar_index, Tile_MemType:$memory, Tile_CopyKind:$kind, DefaultValuedAttr<I32Attr, "0">:$width);
  let results = (outs Tile_TokenType:$token);
  let assemblyFormat = [{
    $kind (`pointers` $pointers^)? (`mask` $mask^)? (`map` $map^ `[` $coordinates `]`)? (`bar` $bar^ `[` $bar_index `]`)? `to` $memory attr-dict
    `:` functional-type(operands, $token)
  }];
  let hasVerifier = 1;
}
def Tile_CommitOp : Tile_Op<"commit", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "the copies of these tokens (and all begun before and not committed) become one group";
  let arguments = (ins Variadic<Tile_TokenType>:$tokens);
  let results = (outs Tile_TokenType:$group);
  let assemblyFormat = "$tokens attr-dict";
}
def Tile_WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "until at most `pending` of the newest groups are on their way; says nothing of other lanes' copies: a barrier does";
  let arguments = (ins Variadic<Tile_TokenType>:$groups, I32Attr:$pending);
  let results = (outs Tile_TokenType:$done);
  let assemblyFormat = "$groups attr-dict";
}
def Tile_CopyOutOp : Tile_Op<"copy_out", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_global>]>]> {
  let summary = "from shared to global memory through a map";
  let arguments = (ins Tile_MemType:$memory, Tile_MapType:$map, Variadic<I32>:$coordinates);
  let results = (outs Tile_TokenType:$token);
  let assemblyFormat = "$memory `,` $map `[` $coordinates `]` attr-dict `:` qualified(type($memory)) `,` qualified(type($map))";
}

// ---- arrival barriers, for copies by tile and for partitions that feed each other
def Tile_BarInitOp : Tile_Op<"bar_init", [MemoryEffects<[MemAlloc<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "barriers that `arrivals` arrivals (and the expected bytes) complete";
  let arguments = (ins I32Attr:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_BarType:$result);
  let assemblyFormat = "attr-dict `->` qualified(type($result))";
}
def Tile_BarExpectOp : Tile_Op<"bar_expect", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "one lane arrives and says that so many bytes will";
  let arguments = (ins Tile_BarType:$bar, I32:$index, I32Attr:$bytes);
  let assemblyFormat = "$bar `[` $index `]` attr-dict `:` qualified(type($bar))";
}
def Tile_BarArriveOp : Tile_Op<"bar_arrive", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let arguments = (ins Tile_BarType:$bar, I32:$index);
  let assemblyFormat = "$bar `[` $index `]` attr-dict `:` qualified(type($bar))";
}
def Tile_BarWaitOp : Tile_Op<"bar_wait", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "until the phase of parity `phase` is complete";
  let arguments = (ins Tile_BarType:$bar, I32:$index, I32:$phase);
  let assemblyFormat = "$bar `[` $index `]` `,` $phase attr-dict `:` qualified(type($bar))";
}
def Tile_FenceOp : Tile_Op<"fence", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "lanes' accesses to shared memory before it are seen by matrix units and copies after it";
  let assemblyFormat = "attr-dict";
}

// ---- matrix products
def Tile_MmaOp : Tile_Op<"mma", [MemoryEffects<[MemRead<tile_shared>]>]> {
  let summary = "accumulators + a * b by the matrix table's row `unit`";
  let description = [{
    a: M x K, b: K x N, each a tensor in the row's operand layout or memory; the accumulators M x N in a tiling of the
    row's accumulator layout. `swapped`: the unit computes transposed(b) * transposed(a). `async`: done after an mma_wait.
    `precision` is the tt.dot's, where it matters.
  }];
  let arguments = (ins StrAttr:$unit, Tile_TensorOrMem:$a, Tile_TensorOrMem:$b, AnyRankedTensor:$accumulators,
                       TT_InputPrecision:$precision, UnitAttr:$swapped, UnitAttr:$async);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$unit `,` $a `*` $b `+` $accumulators `,` $precision (`swapped` $swapped^)? (`async` $async^)? attr-dict `:` qualified(type($a)) `*` qualified(type($b)) `+` type($accumulators) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_MmaWaitOp : Tile_Op<"mma_wait", [MemoryEffects<[MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "the accumulators once at most `pending` groups of asynchronous products are unfinished";
  let arguments = (ins I32Attr:$pending, Variadic<AnyRankedTensor>:$accumulators);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$accumulators attr-dict `:` type($accumulators) `->` type($results)";
}

// ---- order
def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead<tile_global>, MemWrite<tile_global>, MemRead<tile_shared>, MemWrite<tile_shared>]>]> {
  let summary = "all lanes (of the partition it stands in) meet; their accesses to `memory` are ordered";
  let arguments = (ins Thread_BarrierMemory:$memory);
  let assemblyFormat = "$memory attr-dict";
}

// ---- partitions: different code for different warps
def Tile_SpecializeOp : Tile_Op<"specialize", [RecursiveMemoryEffects]> {
  let summary = "each region runs on its own warps; all meet at the end. The regions see values from above";
  let arguments = (ins DenseI32ArrayAttr:$warps, DenseI32ArrayAttr:$registers);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$partitions);
  let assemblyFormat = "`warps` $warps `registers` $registers attr-dict-with-keyword (`:` type($results)^)? $partitions";
  let hasVerifier = 1;
}
def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["SpecializeOp"]>]> {
  let summary = "the end of a partition; the first one's operands are the operation's results";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif
