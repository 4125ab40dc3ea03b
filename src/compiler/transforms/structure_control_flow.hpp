// Branches between blocks become scf.if and scf.while: the interpreter and every code generator see structured control
// flow only. A kernel that returns early (cf.cond_br to a block with tt.return) is the usual case.
#pragma once

#include <memory>

#include <mlir/Pass/Pass.h>

namespace teeny::compiler {

// The pass "teeny-structure-control-flow", on any operation: handles each tt.func in it.
std::unique_ptr<mlir::Pass> create_structure_control_flow_pass();
void register_structure_control_flow_pass();

}  // namespace teeny::compiler
