// The tile dialect: what tt lacks to say how a tensor is spread over lanes and how it moves. At this level the operations
// of tt, arith, math and scf work on tensors whose types carry a layout (#tile.dist) or an opaque encoding (#tile.opaque).
#ifndef TEENY_TILE_DIALECT_TD
#define TEENY_TILE_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::teeny::tile";
  let summary = "Layouts, shared memory, asynchronous copies and matrix units of tile programs";
  let dependentDialects = ["::teeny::tt::TTDialect", "::teeny::thread::ThreadDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{ void registerTypes(); void registerAttributes(); }];
}

class Tile_Enum<string name, list<I32EnumAttrCase> cases> : I32EnumAttr<name, "", cases> {
  let cppNamespace = "::teeny::tile";
}
def Tile_Role : Tile_Enum<"Role", [I32EnumAttrCase<"A", 0, "a">, I32EnumAttrCase<"B", 1, "b">, I32EnumAttrCase<"ACC", 2, "acc">]>;
def Tile_CopyKind : Tile_Enum<"CopyKind", [
  I32EnumAttrCase<"THREAD", 0, "thread">, I32EnumAttrCase<"TILE", 1, "tile">, I32EnumAttrCase<"STAGED", 2, "staged">]>;
def Tile_MemorySpace : Tile_Enum<"MemorySpace", [I32EnumAttrCase<"SHARED", 0, "shared">, I32EnumAttrCase<"TENSOR", 1, "tensor">]>;

// ---- encodings
def Tile_DistAttr : AttrDef<Tile_Dialect, "Dist"> {
  let mnemonic = "dist";
  let summary = "a linear layout: the images of the bits of register, lane, warp and block, `rank` numbers each";
  let parameters = (ins "unsigned":$rank, ArrayRefParameter<"int32_t">:$registers, ArrayRefParameter<"int32_t">:$lanes,
                        ArrayRefParameter<"int32_t">:$warps, ArrayRefParameter<"int32_t">:$blocks);
  let hasCustomAssemblyFormat = 1;  // #tile.dist<register = [[1, 0], [2, 0]], lane = [[4, 0]], warp = []>
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    // Of `layout`, whose inputs are register, lane, warp (and block) and whose outputs are dim0, dim1, ….
    static DistAttr get(::mlir::MLIRContext *context, const ::teeny::compiler::LinearLayout &layout);
    // Over a tensor of this shape.
    ::teeny::compiler::LinearLayout layout(::llvm::ArrayRef<int64_t> shape) const;
  }];
}
def Tile_OpaqueAttr : AttrDef<Tile_Dialect, "Opaque"> {
  let mnemonic = "opaque";
  let summary = "fragments of a matrix unit that keeps to itself which lane holds which element";
  let parameters = (ins "::mlir::StringAttr":$unit, EnumParameter<Tile_Role>:$role);
  let assemblyFormat = "`<` $unit `,` $role `>`";
}
def Tile_SharedAttr : AttrDef<Tile_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "an arrangement in shared memory: the images of the bits of the offset (in elements), `rank` numbers each";
  let description = [{ `swizzle` names the hardware's swizzle (32, 64 or 128 bytes) that the bases agree with; 0: none. }];
  let parameters = (ins "unsigned":$rank, ArrayRefParameter<"int32_t">:$offsets, DefaultValuedParameter<"unsigned", "0">:$swizzle);
  let hasCustomAssemblyFormat = 1;  // #tile.shared<offset = [[0, 1], [0, 2]], swizzle = 128>
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static SharedAttr get(::mlir::MLIRContext *context, const ::teeny::compiler::LinearLayout &layout, unsigned swizzle = 0);
    ::teeny::compiler::LinearLayout layout(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

// ---- types
def Tile_MemType : TypeDef<Tile_Dialect, "Mem"> {
  let mnemonic = "mem";
  let summary = "`buffers` tensors of one shape in shared memory; buffers = 0: one buffer of such, by itself";
  let parameters = (ins "int64_t":$buffers, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element,
                        "::teeny::tile::SharedAttr":$encoding, DefaultValuedParameter<"MemorySpace", "MemorySpace::SHARED">:$space);
  let hasCustomAssemblyFormat = 1;  // !tile.mem<3 x [128, 64] x f16, #tile.shared<…>>, !tile.mem<[128, 64] x f16, #…, tensor>
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t elements() const;        // of one buffer
    int64_t all_elements() const { return elements() * std::max<int64_t>(getBuffers(), 1); }
    MemType one_buffer() const;      // the type of a view of one buffer
    ::teeny::compiler::LinearLayout layout() const { return getEncoding().layout(getShape()); }
  }];
}
def Tile_TokenType : TypeDef<Tile_Dialect, "Token"> { let mnemonic = "token"; let summary = "copies on their way"; }
def Tile_BarType : TypeDef<Tile_Dialect, "Bar"> {
  let mnemonic = "bar";
  let summary = "`count` barriers in shared memory at which lanes and copies arrive, each with a phase";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
}
def Tile_MapType : TypeDef<Tile_Dialect, "Map"> {
  let mnemonic = "map";
  let summary = "a tensor map: a hidden kernel argument that the driver makes from an argument and its strides";
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$element, "unsigned":$swizzle);
  let assemblyFormat = "`<` `[` $box `]` `,` $element `,` $swizzle `>`";
}

#endif
