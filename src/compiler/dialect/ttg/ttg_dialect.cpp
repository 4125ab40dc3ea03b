#include "compiler/dialect/ttg/ttg.hpp"

#include <mlir/IR/OpImplementation.h>

#include "compiler/dialect/tt/tt.hpp"

MLIR_DEFINE_EXPLICIT_TYPE_ID(teeny::ttg::TTGDialect)

namespace teeny::ttg {

using namespace mlir;

TTGDialect::TTGDialect(MLIRContext* context) : Dialect(getDialectNamespace(), context, TypeID::get<TTGDialect>()) {
  context->loadDialect<tt::TTDialect>();
}

// ttg.barrier, ttg.barrier all, ttg.barrier local|global_read: each orders at least what tt.barrier does not leave
// open.
static ParseResult parse_barrier(OpAsmParser& parser, OperationState& state) {
  StringRef space;
  if (succeeded(parser.parseOptionalKeyword(&space)))
    while (succeeded(parser.parseOptionalVerticalBar()))
      if (parser.parseKeyword(&space)) return failure();
  state.name = OperationName(tt::BarrierOp::getOperationName(), parser.getContext());
  return parser.parseOptionalAttrDict(state.attributes);
}

std::optional<Dialect::ParseOpHook> TTGDialect::getParseOperationHook(StringRef name) const {
  if (name == "ttg.barrier") return ParseOpHook(parse_barrier);
  return std::nullopt;
}

}  // namespace teeny::ttg
