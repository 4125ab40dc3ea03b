// What a Vulkan device can do, as the features of its target text: "vulkan:1.3+atomic-i64+f64+lanes-32+storage16". A device
// fills the struct from what its driver promises and from what a probe run has seen; the compiler reads it back from the
// text. A feature that is absent costs instructions, or an operation by name; plain "vulkan:1.3" has none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/target.hpp"

namespace teeny::support {

struct VulkanFeatures {
  // "lanes-8": the required subgroup size of full subgroups, 8, 16, 32 or 64. 1: programs use no subgroup operation, and
  // lanes exchange through workgroup memory.
  int lanes = 1;
  int shared_kib = 16;   // "shared-48": KiB of workgroup memory, where more than Vulkan's least
  int threads = 128;     // "threads-1024": invocations of one workgroup (along x too), where more than Vulkan's least
  bool f64 = false;      // "f64": shaderFloat64
  bool f16 = false;      // "f16": shaderFloat16
  bool storage8 = false, storage16 = false;  // "storage8", "storage16": storageBuffer8BitAccess, storageBuffer16BitAccess
  bool atomic_i64 = false;                   // "atomic-i64": shaderBufferInt64Atomics
  bool atomic_f32_add = false;               // "atomic-f32-add": shaderBufferFloat32AtomicAdd
  // What execution modes the device has for f32: "keep-nan" (shaderSignedZeroInfNanPreserveFloat32), "keep-denormals"
  // (shaderDenormPreserveFloat32), "round-even" (shaderRoundingModeRTEFloat32). A program asks for those that it can have.
  bool keep_nan = false, keep_denormals = false, round_even = false;
  // What a probe has seen: "fma-fused" (Fma of f32, and of f64 where there is f64, rounds once), "div-rn" and "sqrt-rn" (OpFDiv and Sqrt of f32 are correctly
  // rounded), "f16-rne" (OpFConvert of f32 to f16 rounds to nearest even, and subnormals of f16 survive both ways).
  bool fma_fused = false, division_rounds = false, sqrt_rounds = false, f16_rounds = false;

  bool operator==(const VulkanFeatures&) const = default;
};

// "vulkan:1.3" and the features in order.
Target to_target(const VulkanFeatures& features);

// The inverse. Nothing, and in `unknown` the first word that means nothing here, for a target of another kind or version
// or with a feature that is not in the list.
std::optional<VulkanFeatures> vulkan_features(const Target& target, std::string* unknown = nullptr);

}  // namespace teeny::support
