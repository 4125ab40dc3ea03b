// teeny-opt: runs passes on .mlir and .ttir text; the driver of the tests in test/lit.
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include "compiler/transforms/passes.hpp"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  teeny::compiler::register_dialects(registry);
  teeny::compiler::register_passes();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "teeny-opt: runs passes on tile programs\n", registry));
}
