// The simulator of another target, with warps of any width: its program is the thread function itself.
#include <charconv>

#include <llvm/Support/raw_ostream.h>
#include <mlir/Bytecode/BytecodeWriter.h>

#include <teeny/error.hpp>

#include "compiler/target/simulator_target.hpp"

namespace teeny::compiler::simulator {

namespace {

constexpr int default_threads = 128;

int lanes_of(std::string_view text) {
  int lanes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lanes);
  if (error == std::errc() && end == text.data() + text.size() && lanes >= 1 && lanes <= 64 && (lanes & (lanes - 1)) == 0)
    return lanes;
  throw Error(ErrorCode::invalid_argument, "simulator: a width is a power of two from 1 to 64; got '" +
                                               std::string(text) + "'\nhelp: write lanes=8");
}

// What holds of a warp of 32 lanes alone is left out.
gpu::Capability with_lanes(gpu::Capability capability, int lanes) {
  if (lanes == capability.lanes) return capability;
  capability.lanes = lanes;
  capability.default_warps = std::max(1, default_threads / lanes);
  capability.matrix_load = capability.matrix_store = false;
  std::erase_if(capability.units, [](const gpu::MatrixUnit& unit) {
    return unit.form == gpu::MatrixUnit::Form::fragments || unit.form == gpu::MatrixUnit::Form::memory;
  });
  return capability;
}

class SimulatorTarget final : public GpuTarget {
 public:
  explicit SimulatorTarget(gpu::Capability capability) : capability_(std::move(capability)) {}

  const gpu::Capability& capability() const override { return capability_; }

  GpuProgram finish(mlir::ModuleOp module, mlir::func::FuncOp, const gpu::GpuOptions&, bool, bool) const override {
    module->setAttr(target_attribute, mlir::StringAttr::get(module.getContext(), capability_.target));
    std::string bytes;
    llvm::raw_string_ostream out(bytes);
    if (mlir::failed(mlir::writeBytecodeToFile(module, out)))
      throw Error(ErrorCode::compile_failed, "compile: the program could not be written");
    GpuProgram program;
    program.bytes.assign(bytes.begin(), bytes.end());
    program.target = capability_.target;
    return program;
  }

 private:
  const gpu::Capability capability_;
};

}  // namespace

std::unique_ptr<GpuTarget> make_target(std::string_view text) {
  constexpr std::string_view option = ":lanes=";
  const std::string_view inner = text.substr(0, text.find(option));
  gpu::Capability capability = gpu::capability_of(inner);
  if (inner.size() != text.size())
    capability = with_lanes(std::move(capability), lanes_of(text.substr(inner.size() + option.size())));
  capability.target = std::string(target_prefix) + std::string(text);
  return std::make_unique<SimulatorTarget>(std::move(capability));
}

}  // namespace teeny::compiler::simulator
