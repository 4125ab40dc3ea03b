// The thread dialect: what one lane of a program does. Scalars of arith, math and scf, and the operations below; no
// tensor, no `index`, no `vector`. A function is a func.func whose arguments are the kernel's: pointers as i64 addresses.
#ifndef TEENY_THREAD_DIALECT_TD
#define TEENY_THREAD_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Thread_Dialect : Dialect {
  let name = "thread";
  let cppNamespace = "::teeny::thread";
  let summary = "Scalar code of one lane of a program, for any GPU";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::func::FuncDialect", "::teeny::tt::TTDialect"];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{ void registerTypes(); }];
}

class Thread_Enum<string name, list<I32EnumAttrCase> cases> : I32EnumAttr<name, "", cases> {
  let cppNamespace = "::teeny::thread";
}
def Thread_ShuffleKind : Thread_Enum<"ShuffleKind", [
  I32EnumAttrCase<"XOR", 0, "xor">, I32EnumAttrCase<"INDEX", 1, "index">, I32EnumAttrCase<"UP", 2, "up">,
  I32EnumAttrCase<"DOWN", 3, "down">]>;
def Thread_BarrierMemory : Thread_Enum<"BarrierMemory", [
  I32EnumAttrCase<"SHARED", 1, "shared">, I32EnumAttrCase<"GLOBAL", 2, "global">, I32EnumAttrCase<"BOTH", 3, "both">]>;
def Thread_MessageKind : Thread_Enum<"MessageKind", [
  I32EnumAttrCase<"PRINT", 0, "print">, I32EnumAttrCase<"ASSERT", 1, "assert">]>;

def Thread_SharedType : TypeDef<Thread_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "an array in the memory that the lanes of a program share";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}

#endif
