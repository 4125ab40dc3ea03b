// Vulkan's devices: the thread dialect to SPIR-V through MLIR's spirv dialect.
#pragma once

#include <memory>
#include <string_view>

#include <mlir/Dialect/SPIRV/IR/SPIRVOps.h>

#include "compiler/target/gpu_target.hpp"
#include "support/vulkan_target.hpp"

namespace teeny::compiler::vulkan {

// From a text like "vulkan:1.3+f64+lanes-8". Throws teeny::Error (invalid_argument) that names the feature that is none.
std::unique_ptr<GpuTarget> make_target(std::string_view text);
gpu::Capability capability_of(const support::VulkanFeatures& features);

// Kernel arguments are words of 64 bits: in a push constant block up to so many, else in a buffer whose address is the
// block's one word (metadata "argument_block").
inline constexpr unsigned most_push_constants = 16;
// How many words a kernel takes: one for each argument, one for the message buffer where it tells anything, and one of the
// dispatch.
unsigned argument_words(mlir::func::FuncOp kernel);

// A spirv.module with the kernel as its one entry point. Throws teeny::Error (unsupported) for an operation that the device
// has no way to run.
mlir::OwningOpRef<mlir::spirv::ModuleOp> emit_spirv(mlir::func::FuncOp kernel, const support::VulkanFeatures& features,
                                                    const gpu::GpuOptions& options);

}  // namespace teeny::compiler::vulkan
