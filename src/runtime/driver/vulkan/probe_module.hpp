// The program of the probe, in SPIR-V.
#pragma once

#include <cstdint>
#include <vector>

#include "support/vulkan_target.hpp"

namespace teeny::runtime::vulkan {

// One case has three words of input of 64 bits, a, b and c, and a word of output for each result; 16-bit and 32-bit numbers
// stand in the low bytes. Push constants: the addresses of the inputs and of the outputs. One invocation takes one case.
constexpr unsigned probe_threads = 64;
constexpr unsigned probe_inputs = 3;
enum ProbeResult : unsigned { probe_fma, probe_quotient, probe_root, probe_fma64, probe_to_f16, probe_from_f16, probe_results };

// With the results that a device of these features can compute; others stay as they are.
std::vector<std::uint32_t> probe_module(const support::VulkanFeatures& features);

}  // namespace teeny::runtime::vulkan
