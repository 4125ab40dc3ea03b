#include "support/vulkan_target.hpp"

#include <algorithm>
#include <charconv>

namespace teeny::support {

namespace {

constexpr std::string_view version = "1.3";

struct Flag {
  std::string_view name;
  bool VulkanFeatures::*member;
};
constexpr Flag flags[] = {{"f64", &VulkanFeatures::f64},
                          {"f16", &VulkanFeatures::f16},
                          {"storage8", &VulkanFeatures::storage8},
                          {"storage16", &VulkanFeatures::storage16},
                          {"atomic-i64", &VulkanFeatures::atomic_i64},
                          {"atomic-f32-add", &VulkanFeatures::atomic_f32_add},
                          {"keep-nan", &VulkanFeatures::keep_nan},
                          {"keep-denormals", &VulkanFeatures::keep_denormals},
                          {"round-even", &VulkanFeatures::round_even},
                          {"fma-fused", &VulkanFeatures::fma_fused},
                          {"div-rn", &VulkanFeatures::division_rounds},
                          {"sqrt-rn", &VulkanFeatures::sqrt_rounds},
                          {"f16-rne", &VulkanFeatures::f16_rounds}};

struct Number {
  std::string_view name;  // "lanes-"
  int VulkanFeatures::*member;
  int least, most;        // `least` is what a target without the feature has
  bool power_of_two;
};
constexpr Number numbers[] = {{"lanes-", &VulkanFeatures::lanes, 1, 128, true},
                              {"shared-", &VulkanFeatures::shared_kib, 16, 1024, false},
                              {"threads-", &VulkanFeatures::threads, 128, 65536, false}};

bool read(const Number& number, std::string_view word, VulkanFeatures& features) {
  if (!word.starts_with(number.name)) return false;
  const std::string_view digits = word.substr(number.name.size());
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  if (value < number.least || value > number.most || (number.power_of_two && (value & (value - 1)) != 0)) return false;
  features.*number.member = value;
  return true;
}

bool read(std::string_view word, VulkanFeatures& features) {
  for (const Flag& flag : flags)
    if (flag.name == word) return features.*flag.member = true;
  return std::any_of(std::begin(numbers), std::end(numbers),
                     [&](const Number& number) { return read(number, word, features); });
}

}  // namespace

Target to_target(const VulkanFeatures& features) {
  Target target{.kind = "vulkan", .architecture = std::string(version), .features = {}};
  for (const Flag& flag : flags)
    if (features.*flag.member) target.features.emplace_back(flag.name);
  for (const Number& number : numbers)
    if (const int value = features.*number.member; value > number.least)
      target.features.push_back(std::string(number.name) + std::to_string(std::min(value, number.most)));
  std::sort(target.features.begin(), target.features.end());
  return target;
}

std::optional<VulkanFeatures> vulkan_features(const Target& target, std::string* unknown) {
  const auto fail = [&](const std::string& word) {
    if (unknown) *unknown = word;
    return std::nullopt;
  };
  if (target.kind != "vulkan") return fail(target.kind);
  if (target.architecture != version) return fail(target.architecture);
  VulkanFeatures features;
  for (const std::string& word : target.features)
    if (!read(word, features)) return fail(word);
  return features;
}

}  // namespace teeny::support
