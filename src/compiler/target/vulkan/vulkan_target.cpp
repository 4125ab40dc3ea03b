// What a Vulkan device can do, and the target as the pipeline sees it.
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/SPIRV/IR/SPIRVDialect.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Target/SPIRV/Serialization.h>

#include <teeny/error.hpp>

#include "compiler/target/vulkan/vulkan.hpp"

namespace teeny::compiler::vulkan {

namespace {

constexpr int default_threads = 128;       // the most that every device runs
constexpr int threads_without_lanes = 64;  // all exchanges go through shared memory

class VulkanTarget final : public GpuTarget {
 public:
  explicit VulkanTarget(const support::VulkanFeatures& features)
      : features_(features), capability_(capability_of(features)) {}

  const gpu::Capability& capability() const override { return capability_; }

  GpuProgram finish(mlir::ModuleOp, mlir::func::FuncOp kernel, const gpu::GpuOptions& options, bool,
                    bool want_assembly) const override {
    GpuProgram program;
    kernel.getContext()->loadDialect<mlir::spirv::SPIRVDialect>();
    auto module = program.timed("spirv", [&] { return emit_spirv(kernel, features_, options); });
    llvm::SmallVector<std::uint32_t> words;
    const bool written = program.timed("serialise", [&] {
      return mlir::succeeded(mlir::verify(*module)) && mlir::succeeded(mlir::spirv::serialize(*module, words));
    });
    if (!written) throw Error(ErrorCode::compile_failed, "compile: the kernel's SPIR-V could not be written");
    if (want_assembly) llvm::raw_string_ostream(program.assembly) << *module;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words.data());
    program.bytes.assign(bytes, bytes + words.size() * sizeof(std::uint32_t));
    program.target = capability_.target;
    program.argument_block = argument_words(kernel) > most_push_constants;
    return program;
  }

 private:
  const support::VulkanFeatures features_;
  const gpu::Capability capability_;
};

}  // namespace

gpu::Capability capability_of(const support::VulkanFeatures& features) {
  gpu::Capability capability;
  capability.target = support::to_target(features).text();
  capability.lanes = features.lanes;
  capability.default_warps = features.lanes == 1 ? threads_without_lanes : std::max(1, default_threads / features.lanes);
  capability.max_threads = features.threads;
  capability.shared_bytes = std::int64_t(features.shared_kib) * 1024;
  capability.can_alias_types = true;  // shared memory is an array of words, whatever stands in it
  capability.f64 = features.f64;
  capability.math.fma_fused = true;  // as expand_exact makes it, so that all devices compute the same
  capability.math.division_rounds = features.division_rounds;
  capability.exact.fma_fused = features.fma_fused;
  capability.exact.division_rounds = features.division_rounds;
  capability.exact.sqrt_rounds = features.sqrt_rounds;
  capability.exact.signed_remainder = false;
  capability.exact.truncates_to_f16 = true;   // emit_floats.cpp rounds where the device may not
  capability.exact.truncates_to_bf16 = true;
  capability.exact.orders_min_max = false;
  capability.exact.has_f64 = features.f64;
  capability.units = gpu::lanes_units();
  return capability;
}

std::unique_ptr<GpuTarget> make_target(std::string_view text) {
  const auto target = support::parse_target(text);
  std::string unknown(text);
  const auto features = target ? support::vulkan_features(*target, &unknown) : std::nullopt;
  if (!features)
    throw Error(ErrorCode::invalid_argument, "target: has features that Vulkan devices can have; got '" + unknown + "' in '" +
                                                 std::string(text) + "', expected a text like vulkan:1.3+f64+lanes-32\n"
                                                 "help: `teeny devices` prints this machine's");
  return std::make_unique<VulkanTarget>(*features);
}

}  // namespace teeny::compiler::vulkan
