// Matrix products.
#include <llvm/IR/Constants.h>

#include "compiler/cpu/emitter.hpp"

namespace teeny::compiler::cpu {

void Emitter::emit_dot(tt::DotOp dot) { refuse(dot, "is not wired yet", "-"); }

}  // namespace teeny::compiler::cpu
