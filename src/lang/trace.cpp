#include "lang/trace.hpp"

#include <iterator>

namespace teeny::trace {

namespace {
constexpr OperationInfo table[] = {
#define TEENY_OPERATION(name, kind, effect, operands, elements, meaning) \
  {Opcode::name, #name, Kind::kind, Effect::effect, operands, Elements::elements, meaning},
#include <teeny/detail/operations.def>
};
}  // namespace

const OperationInfo& info(Opcode opcode) { return table[static_cast<int>(opcode)]; }
int opcode_count() { return static_cast<int>(std::size(table)); }

}  // namespace teeny::trace
