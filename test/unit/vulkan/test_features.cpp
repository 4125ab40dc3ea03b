// A device's features as the text of a target, and back.
#include <gtest/gtest.h>

#include "support/vulkan_target.hpp"

namespace teeny::support {
namespace {

TEST(VulkanFeatures, PlainTargetHasNone) {
  EXPECT_EQ(to_target({}).text(), "vulkan:1.3");
  EXPECT_EQ(vulkan_features(*parse_target("vulkan:1.3")), VulkanFeatures{});
}

TEST(VulkanFeatures, TextIsSortedAndReadBack) {
  VulkanFeatures features;
  features.lanes = 8;
  features.shared_kib = 48;
  features.threads = 1024;
  features.f64 = features.storage16 = features.fma_fused = features.keep_nan = features.atomic_i64 = true;
  const Target target = to_target(features);
  EXPECT_EQ(target.text(), "vulkan:1.3+atomic-i64+f64+fma-fused+keep-nan+lanes-8+shared-48+storage16+threads-1024");
  EXPECT_EQ(parse_target(target.text()), target);
  EXPECT_EQ(vulkan_features(target), features);
}

TEST(VulkanFeatures, UnknownWordsAreNamed) {
  const auto unknown_of = [](const char* text) {
    std::string unknown;
    EXPECT_FALSE(vulkan_features(*parse_target(text), &unknown)) << text;
    return unknown;
  };
  EXPECT_EQ(unknown_of("vulkan:1.3+f64+warp"), "warp");
  EXPECT_EQ(unknown_of("vulkan:1.3+lanes-12"), "lanes-12");
  EXPECT_EQ(unknown_of("vulkan:1.3+lanes-"), "lanes-");
  EXPECT_EQ(unknown_of("vulkan:1.3+shared-8"), "shared-8");
  EXPECT_EQ(unknown_of("vulkan:1.1"), "1.1");
  EXPECT_EQ(unknown_of("cuda:sm_80"), "cuda");
}

}  // namespace
}  // namespace teeny::support
