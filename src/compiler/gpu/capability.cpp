#include "compiler/gpu/capability.hpp"

namespace teeny::compiler::gpu {

const MatrixUnit *Capability::unit(std::string_view name) const {
  for (const MatrixUnit &unit : units)
    if (unit.name == name) return &unit;
  return nullptr;
}

std::vector<MatrixUnit> lanes_units() {
  MatrixUnit unit;
  unit.name = "lanes";
  unit.form = MatrixUnit::Form::lanes;
  return {unit};
}

}  // namespace teeny::compiler::gpu
