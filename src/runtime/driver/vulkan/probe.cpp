#include "runtime/driver/vulkan/probe.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include <teeny/half.hpp>

#include "runtime/driver/vulkan/commands.hpp"
#include "runtime/driver/vulkan/pipeline.hpp"
#include "runtime/driver/vulkan/probe_module.hpp"
#include "runtime/program.hpp"
#include "runtime/program_cache.hpp"

namespace teeny::runtime::vulkan {

namespace {

constexpr std::size_t cases = std::size_t{1} << 15;

struct Case {
  std::uint64_t word[probe_inputs];
  float single(int i) const { return std::bit_cast<float>(static_cast<std::uint32_t>(word[i])); }
  double whole(int i) const { return std::bit_cast<double>(word[i]); }
};

// Numbers of every kind. As f64 they lie near 1, whatever their low halves, which are those of f32, hold.
std::vector<Case> make_cases() {
  std::vector<Case> list(cases);
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  const auto random = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  };
  const auto near_one = [&] {
    return std::bit_cast<float>(static_cast<std::uint32_t>((random() & 0x807fffff) | (117 + random() % 20) << 23));
  };
  for (std::size_t i = 0; i < cases; ++i) {
    float x[probe_inputs];
    for (float& number : x)
      number = i % 3 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(random() >> 16)) : near_one();
    if (i % 3 == 1) x[2] = -(x[0] * x[1]);  // what is left is the product's rounding
    if (i % 9 == 2) x[0] = std::ldexp(x[0], -120), x[1] = std::ldexp(x[1], 16);  // subnormal quotients
    if (i % 9 == 5) x[0] = std::ldexp(x[0], -16);                                // subnormal as f16
    for (unsigned j = 0; j < probe_inputs; ++j) {
      const std::uint64_t high = (random() & 0x800fffff) | (1018 + random() % 10) << 20;
      list[i].word[j] = high << 32 | std::bit_cast<std::uint32_t>(x[j]);
    }
    list[i].word[1] = (list[i].word[1] & ~std::uint64_t{0xffff}) | (i & 0xffff);  // every f16 that is not negative
  }
  return list;
}

// What the device computed, and whether all of one kind is right.
class Seen {
 public:
  explicit Seen(const std::vector<std::uint64_t>& results) : results_(results) {}
  template <class Expected>
  bool singles(ProbeResult kind, Expected&& expected) const {
    return all([&](std::size_t i) { return same(std::bit_cast<float>(static_cast<std::uint32_t>(at(i, kind))), expected(i)); });
  }
  template <class Expected>
  bool wholes(ProbeResult kind, Expected&& expected) const {
    return all([&](std::size_t i) { return same(std::bit_cast<double>(at(i, kind)), expected(i)); });
  }
  template <class Expected>
  bool halves(ProbeResult kind, Expected&& expected) const {
    return all([&](std::size_t i) {
      const auto got = std::bit_cast<half>(static_cast<std::uint16_t>(at(i, kind)));
      return same(static_cast<float>(got), static_cast<float>(expected(i)));
    });
  }

 private:
  std::uint64_t at(std::size_t i, ProbeResult kind) const { return results_[i * probe_results + kind]; }
  template <class Right>
  static bool all(Right&& right) {
    for (std::size_t i = 0; i < cases; ++i)
      if (!right(i)) return false;
    return true;
  }
  template <class T>
  static bool same(T a, T b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  }
  const std::vector<std::uint64_t>& results_;
};

std::vector<std::uint64_t> run_probe(Context& context, const std::vector<Case>& list) {
  const DeviceSymbols& vk = context.vk;
  Allocator memory(context, MemoryKind::host);
  Place in, out;
  const std::size_t in_bytes = cases * sizeof(Case), out_bytes = cases * probe_results * sizeof(std::uint64_t);
  if (!memory.allocate(in_bytes, in) || !memory.allocate(out_bytes, out))
    check(VK_ERROR_OUT_OF_DEVICE_MEMORY, "the probe of the device's arithmetic");
  std::memcpy(in.mapped(), list.data(), in_bytes);
  std::memset(out.mapped(), 0, out_bytes);
  const VkPipeline pipeline =
      make_pipeline(context, probe_module(context.physical.features), "main", 1, VK_NULL_HANDLE);
  {
    CommandPool pool(context);
    const VkCommandBuffer commands = pool.make();
    begin(context, commands, true);
    const std::uint64_t addresses[] = {in.address(), out.address()};
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vk.CmdPushConstants(commands, context.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof addresses, addresses);
    vk.CmdDispatch(commands, static_cast<std::uint32_t>(cases / probe_threads), 1, 1);
    end(context, commands);
    const auto timeline = std::make_shared<Timeline>(context);
    submit(context, context.queues.front(), {.commands = {commands}, .waits = {}, .signal = {timeline, 1}});
    timeline->wait(1, "the probe of the device's arithmetic");
  }
  vk.DestroyPipeline(context.device, pipeline, nullptr);
  std::vector<std::uint64_t> results(cases * probe_results);
  std::memcpy(results.data(), out.mapped(), out_bytes);
  return results;
}

constexpr std::uint8_t fma_bit = 1, division_bit = 2, root_bit = 4, half_bit = 8;

std::uint8_t judge(const support::VulkanFeatures& features, const std::vector<Case>& list, const Seen& seen) {
  std::uint8_t facts = 0;
  const auto single = [&](std::size_t i, int j) { return list[i].single(j); };
  const bool fused = seen.singles(probe_fma, [&](std::size_t i) { return std::fma(single(i, 0), single(i, 1), single(i, 2)); }) &&
                     (!features.f64 || seen.wholes(probe_fma64, [&](std::size_t i) {
                       return std::fma(list[i].whole(0), list[i].whole(1), list[i].whole(2));
                     }));
  if (fused) facts |= fma_bit;
  if (seen.singles(probe_quotient, [&](std::size_t i) { return single(i, 0) / single(i, 1); })) facts |= division_bit;
  if (seen.singles(probe_root, [&](std::size_t i) { return std::sqrt(single(i, 0)); })) facts |= root_bit;
  if (features.f16 && seen.halves(probe_to_f16, [&](std::size_t i) { return half(single(i, 0)); }) &&
      seen.singles(probe_from_f16, [&](std::size_t i) {
        return static_cast<float>(std::bit_cast<half>(static_cast<std::uint16_t>(list[i].word[1])));
      }))
    facts |= half_bit;
  return facts;
}

}  // namespace

support::VulkanFeatures probed_features(const PhysicalDevice& device, const std::function<Context&()>& open) {
  const support::Digest key =
      support::Sha256().field("vulkan probe").field(build_id()).field(device.cache_identity).field(device.info.target).finish();
  ProgramCache::Miss miss = ProgramCache::Miss::none;
  std::uint8_t facts = 0;
  if (const std::optional<CacheEntry> known = ProgramCache::instance().find(key, miss); known && known->program.size() == 1) {
    facts = known->program[0];
  } else {
    const std::vector<Case> list = make_cases();
    facts = judge(device.features, list, Seen(run_probe(open(), list)));
    ProgramCache::instance().store(key, {.program = {facts}, .metadata = "{}", .relevant_facts = {}});
  }
  support::VulkanFeatures features = device.features;
  features.fma_fused = (facts & fma_bit) != 0;
  features.division_rounds = (facts & division_bit) != 0;
  features.sqrt_rounds = (facts & root_bit) != 0;
  features.f16_rounds = (facts & half_bit) != 0;
  return features;
}

}  // namespace teeny::runtime::vulkan
