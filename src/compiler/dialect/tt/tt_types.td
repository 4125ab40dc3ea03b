#ifndef TEENY_TT_TYPES_TD
#define TEENY_TT_TYPES_TD

include "compiler/dialect/tt/tt_dialect.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

class TT_TypeDef<string name, string mnemonic_> : TypeDef<TT_Dialect, name> { let mnemonic = mnemonic_; }

def TT_PtrType : TT_TypeDef<"Pointer", "ptr"> {
  let summary = "a pointer to elements of a type in an address space (1: global memory)";
  let parameters = (ins "::mlir::Type":$pointeeType, "int":$addressSpace);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{
    return $_get(pointee.getContext(), pointee, 1);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TT_TensorDescType : TT_TypeDef<"TensorDesc", "tensordesc"> {
  let summary = "a tensor in memory, read and written by blocks of one shape; text: tensordesc<tensor<128x64xf16>>";
  let parameters = (ins "::mlir::RankedTensorType":$blockType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

// Values are signless; the sign lives in the operations.
def TT_Float : AnyTypeOf<[F16, BF16, F32, F64], "floating-point">;
def TT_Int : AnyTypeOf<[I1, I8, I16, I32, I64], "integer">;
def TT_Scalar : AnyTypeOf<[TT_Float, TT_Int], "a scalar element">;
def TT_Tensor : RankedTensorOf<[TT_Float, TT_Int, TT_PtrType]>;
def TT_IntTensor : RankedTensorOf<[TT_Int]>;
def TT_ElementTensor : RankedTensorOf<[TT_Float, TT_Int]>;
def TT_PtrTensor : RankedTensorOf<[TT_PtrType]>;
def TT_PtrLike : AnyTypeOf<[TT_PtrType, TT_PtrTensor], "a pointer or a tensor of pointers">;
def TT_IntLike : AnyTypeOf<[TT_Int, TT_IntTensor], "an integer or a tensor of integers">;
def TT_BoolLike : AnyTypeOf<[I1, RankedTensorOf<[I1]>], "an i1 or a tensor of i1">;
def TT_FloatLike : AnyTypeOf<[TT_Float, RankedTensorOf<[TT_Float]>], "a float or a tensor of floats">;
def TT_Type : AnyTypeOf<[TT_Scalar, TT_PtrType, TT_Tensor], "a scalar, a pointer or a tensor of either">;

#endif
