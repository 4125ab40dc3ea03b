// Accesses to global memory as PTX states them: order and scope of atomics, and how long caches keep what is read.
#include <string>
#include <string_view>

#include "cuda/programs.hpp"
#include "kernels/matmul.hpp"

namespace teeny::compiler {
namespace {

struct Atomics {
  int ORDER = 0, SCOPE = 0;

  template <class D>
  void operator()(tl::Ptr<D> cells) const {
    const auto order = static_cast<tl::Order>(ORDER);
    const auto scope = static_cast<tl::Scope>(SCOPE);
    tl::atomic_add(cells, 3, {.order = order, .scope = scope});
    if constexpr (sizeof(D) >= 4) {
      tl::atomic_max(cells + 1, 3, {.order = order, .scope = scope});
      tl::atomic_min(cells + 2, 3, {.order = order, .scope = scope});
      tl::atomic_xchg(cells + 3, 3, {.order = order, .scope = scope});
      tl::atomic_cas(cells + 4, 3, 4, {.order = order, .scope = scope});
    }
    if constexpr (std::is_integral_v<D>) {
      tl::atomic_and(cells + 5, 3, {.order = order, .scope = scope});
      tl::atomic_or(cells + 6, 3, {.order = order, .scope = scope});
      tl::atomic_xor(cells + 7, 3, {.order = order, .scope = scope});
    }
  }
};

// Every atomic instruction of a program, each without its operands.
std::vector<std::string> atomics_of(const std::string& ptx) {
  std::vector<std::string> found;
  for (std::size_t at = ptx.find("atom."); at != std::string::npos; at = ptx.find("atom.", at + 1)) {
    const std::size_t end = ptx.find_first_of(" \t", at);
    found.push_back(ptx.substr(at, end - at));
  }
  return found;
}

// One instruction for each of the kernel's atomics (a loop of compare-and-swap: its one), with the order and scope asked for.
template <class D>
void check_atomics(const std::string& target, const std::vector<std::string>& operations) {
  const std::string ptxas = find_ptxas();
  const std::pair<tl::Order, std::string> orders[] = {{tl::Order::relaxed, "relaxed"},
                                                      {tl::Order::acquire, "acquire"},
                                                      {tl::Order::release, "release"},
                                                      {tl::Order::acquire_release, "acq_rel"}};
  const std::pair<tl::Scope, std::string> scopes[] = {
      {tl::Scope::group, "cta"}, {tl::Scope::device, "gpu"}, {tl::Scope::system, "sys"}};
  for (const auto& [order, order_text] : orders)
    for (const auto& [scope, scope_text] : scopes) {
      const Atomics kernel{.ORDER = static_cast<int>(order), .SCOPE = static_cast<int>(scope)};
      CompileOutput output = compile_for(*teeny::record<D>(kernel), target);
      ASSERT_TRUE(output.ok) << errors_of(output);
      std::vector<std::string> expected;
      for (const std::string& operation : operations)
        expected.push_back("atom." + order_text + "." + scope_text + ".global." + operation);
      EXPECT_EQ(atomics_of(ptx_of(output)), expected) << ptx_of(output);
      if (ptxas.empty()) continue;
      bool spills = false;
      EXPECT_EQ(assemble(ptxas, output, spills), "") << target;
    }
}

class AtomicsOf : public testing::TestWithParam<const char*> {};

TEST_P(AtomicsOf, IntegersAreOneInstruction) {
  check_atomics<std::int32_t>(GetParam(), {"add.u32", "max.s32", "min.s32", "exch.b32", "cas.b32", "and.b32", "or.b32", "xor.b32"});
  check_atomics<std::uint32_t>(GetParam(), {"add.u32", "max.u32", "min.u32", "exch.b32", "cas.b32", "and.b32", "or.b32", "xor.b32"});
  check_atomics<std::int64_t>(GetParam(), {"add.u64", "max.s64", "min.s64", "exch.b64", "cas.b64", "and.b64", "or.b64", "xor.b64"});
  check_atomics<std::uint64_t>(GetParam(), {"add.u64", "max.u64", "min.u64", "exch.b64", "cas.b64", "and.b64", "or.b64", "xor.b64"});
}

// PTX has no maximum or minimum of floats; sums of bf16 are from sm_90 on.
TEST_P(AtomicsOf, FloatsAreOneInstructionOrALoop) {
  check_atomics<float>(GetParam(), {"add.f32", "cas.b32", "cas.b32", "exch.b32", "cas.b32"});
  check_atomics<double>(GetParam(), {"add.f64", "cas.b64", "cas.b64", "exch.b64", "cas.b64"});
  check_atomics<teeny::half>(GetParam(), {"add.noftz.f16"});
  const bool sums = std::string_view(GetParam()) == "cuda:sm_90a";
  check_atomics<teeny::bfloat16>(GetParam(), {sums ? "add.noftz.bf16" : "cas.b32"});
}

// With facts, both operands go to swizzled memory in copies of 16 bytes, and products are waited for a turn later.
TEST(Products, OfHopperReadSharedMemory) {
  const teeny::kernels::MatMul<> kernel{.BM = 128, .BN = 128, .BK = 64};
  const auto recorded = teeny::record<teeny::half, teeny::half>(kernel);
  CompileOutput output = compile_for(*recorded, "cuda:sm_90a");
  ASSERT_TRUE(output.ok) << errors_of(output);
  output = compile_for(*recorded, "cuda:sm_90a", output.relevant_facts);
  ASSERT_TRUE(output.ok) << errors_of(output);
  const std::string ptx = ptx_of(output);
  EXPECT_NE(ptx.find("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("wgmma.wait_group.sync.aligned 1;"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("cp.async.cg.shared.global"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find("mma.sync"), std::string::npos) << ptx;
  const std::string ptxas = find_ptxas();
  if (ptxas.empty()) GTEST_SKIP() << "ptxas is not installed";
  bool spills = false;
  EXPECT_EQ(assemble(ptxas, output, spills), "");
  EXPECT_FALSE(spills);
}

struct CachedCopy {
  int CACHE = 0, EVICT = 0, STORE_CACHE = 0;
  bool MASKED = false;

  void operator()(tl::Ptr<const float> x, tl::Ptr<float> y, tl::i32 n) const {
    const auto evict = static_cast<tl::Evict>(EVICT);
    auto i = tl::program_id(0) * 512 + tl::arange(0, 512);
    if (MASKED) {
      auto mask = i < n;
      tl::store(y + i, tl::load(x + i, {.mask = mask, .cache = static_cast<tl::Cache>(CACHE), .evict = evict}),
                {.mask = mask, .cache = static_cast<tl::Cache>(STORE_CACHE), .evict = evict});
    } else {
      tl::store(y + i, tl::load(x + i, {.cache = static_cast<tl::Cache>(CACHE), .evict = evict}),
                {.cache = static_cast<tl::Cache>(STORE_CACHE), .evict = evict});
    }
  }
};

struct CacheCase {
  tl::Cache load = tl::Cache::none, store = tl::Cache::none;
  tl::Evict evict = tl::Evict::normal;
  std::string loads, stores;  // what follows ld.global and st.global
};

// With facts accesses are 16 bytes wide.
void check_caches(const std::string& target, const std::vector<CacheCase>& cases) {
  const std::string ptxas = find_ptxas();
  for (const CacheCase& c : cases)
    for (bool masked : {false, true})
      for (bool facts : {false, true}) {
        const CachedCopy kernel{.CACHE = static_cast<int>(c.load), .EVICT = static_cast<int>(c.evict),
                                .STORE_CACHE = static_cast<int>(c.store), .MASKED = masked};
        CompileOutput output = compile_for(*teeny::record(kernel), target);
        if (output.ok && facts) output = compile_for(*teeny::record(kernel), target, output.relevant_facts);
        ASSERT_TRUE(output.ok) << errors_of(output);
        const std::string ptx = ptx_of(output), width = facts ? ".v4.b32" : ".b32";
        EXPECT_NE(ptx.find("ld.global" + c.loads + width), std::string::npos) << "ld.global" << c.loads << width << ptx;
        EXPECT_NE(ptx.find("st.global" + c.stores + width), std::string::npos) << "st.global" << c.stores << width << ptx;
        if (ptxas.empty()) continue;
        bool spills = false;
        EXPECT_EQ(assemble(ptxas, output, spills), "") << ptx;
      }
}

TEST(Accesses, CacheOperationsAreWritten) {
  using tl::Cache, tl::Evict;
  for (const char* target : {"cuda:sm_75", "cuda:sm_80", "cuda:sm_90a"})
    check_caches(target, {{Cache::none, Cache::none, Evict::normal, "", ""},
                          {Cache::ca, Cache::wb, Evict::normal, ".ca", ".wb"},
                          {Cache::cg, Cache::cg, Evict::normal, ".cg", ".cg"},
                          {Cache::cs, Cache::cs, Evict::normal, ".cs", ".cs"},
                          {Cache::cv, Cache::wt, Evict::normal, ".cv", ".wt"}});
}

TEST(Accesses, EvictionPoliciesAreOfL1AndFromSm80OnOfL2) {
  using tl::Cache, tl::Evict;
  check_caches("cuda:sm_75", {{Cache::none, Cache::none, Evict::first, ".L1::evict_first", ".L1::evict_first"},
                              {Cache::none, Cache::none, Evict::last, ".L1::evict_last", ".L1::evict_last"},
                              {Cache::cg, Cache::cg, Evict::last, ".cg", ".cg"}});
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"})
    check_caches(target, {{Cache::none, Cache::none, Evict::first, ".L1::evict_first.L2::cache_hint", ".L1::evict_first.L2::cache_hint"},
                          {Cache::none, Cache::none, Evict::last, ".L1::evict_last.L2::cache_hint", ".L1::evict_last.L2::cache_hint"},
                          {Cache::cg, Cache::cs, Evict::last, ".cg.L2::cache_hint", ".cs.L2::cache_hint"}});
}

INSTANTIATE_TEST_SUITE_P(Cuda, AtomicsOf, testing::Values("cuda:sm_75", "cuda:sm_80", "cuda:sm_90a"));

}  // namespace
}  // namespace teeny::compiler
