// What a device's arithmetic does where Vulkan leaves it open: found out by running it.
#pragma once

#include "runtime/driver/vulkan/vulkan_context.hpp"

namespace teeny::runtime::vulkan {

// The features of `device` that a probe has seen beside those that its driver promises. What was seen is kept in the program
// cache, by device and driver; `open` gives the context to run on where it is not there yet. Throws device_failed.
support::VulkanFeatures probed_features(const PhysicalDevice& device, const std::function<Context&()>& open);

}  // namespace teeny::runtime::vulkan
