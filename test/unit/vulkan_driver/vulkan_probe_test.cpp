// The program of the probe, and what the validation layer's findings become.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include <teeny/error.hpp>

#include "runtime/driver/vulkan/probe_module.hpp"
#include "runtime/driver/vulkan/vulkan_context.hpp"

namespace teeny::runtime::vulkan {
namespace {

TEST(VulkanProbe, IsValidForEveryDevice) {
  if (std::system("spirv-val --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "spirv-val is not installed";
  const std::string path = testing::TempDir() + "teeny_probe.spv";
  for (bool f64 : {false, true})
    for (bool f16 : {false, true})
      for (bool modes : {false, true}) {
        support::VulkanFeatures features;
        features.f64 = f64;
        features.f16 = f16;
        features.keep_denormals = features.round_even = modes;
        const std::vector<std::uint32_t> words = probe_module(features);
        std::FILE* file = std::fopen(path.c_str(), "wb");
        ASSERT_NE(file, nullptr);
        ASSERT_EQ(std::fwrite(words.data(), sizeof words[0], words.size(), file), words.size());
        std::fclose(file);
        EXPECT_EQ(std::system(("spirv-val --target-env vulkan1.3 " + path).c_str()), 0) << f64 << f16 << modes;
      }
  std::remove(path.c_str());
}

TEST(VulkanValidation, FindingsAreThrown) {
  const char* asked = std::getenv("TEENY_VULKAN_VALIDATION");
  if (asked == nullptr || std::string(asked) != "1") GTEST_SKIP() << "TEENY_VULKAN_VALIDATION is not 1";
  if (instance() == nullptr) GTEST_SKIP() << unavailable();
  std::uint32_t count = 1;
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  ASSERT_GE(instance()->vk.EnumeratePhysicalDevices(instance()->handle, &count, &handle), 0);
  if (count == 0) GTEST_SKIP() << "there is no Vulkan device here";
  const auto context = make_context(describe(*instance(), handle, 0));
  VkBufferCreateInfo nothing{};
  nothing.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  nothing.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  try {
    check(context->vk.CreateBuffer(context->device, &nothing, nullptr, &buffer), "vkCreateBuffer");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("validation layer"), std::string::npos) << error.what();
  }
  context->vk.DestroyBuffer(context->device, buffer, nullptr);
}

}  // namespace
}  // namespace teeny::runtime::vulkan
