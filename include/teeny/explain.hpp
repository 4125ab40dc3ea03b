// What a kernel becomes on a device that need not be here: its explanation, or one of the stages of its compile.
//
//   std::puts(teeny::explain<teeny::half>(Attention{.HEAD = 128}, "cuda:sm_90a").c_str());
//
// docs/explain.md says how to read it. TEENY_DUMP=explain prints the same for every compile of a program.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <teeny/export.hpp>
#include <teeny/kernel.hpp>
#include <teeny/options.hpp>

namespace teeny {

struct ExplainOptions {
  CompileOptions compile = {};
  bool facts = true;                            // assume what widens accesses: multiples of 16, buffers below 2 GiB
  std::vector<std::string> ones = {};           // arguments assumed to be 1, by name or by number from 1 on
  std::string stage = "explain";                // or "tt", "tile", "staged", "synchronised", "thread", "llvm", "asm"
  bool json = false;                            // of "explain"
  std::array<std::int64_t, 3> grid = {0, 0, 0}; // also explain a launch of so many programs; 0: do not
  std::vector<std::int64_t> turns = {};         // of each loop in order, where the kernel does not say
};

namespace detail {
TEENY_EXPORT std::string explain_recorded(const RecordedKernel& kernel, std::string_view target, const ExplainOptions& options);
}

// For element types D…, as device.compile<D…>(kernel). `target`: "cuda:sm_90a", "simulator:cuda:sm_80", "vulkan:1.3",
// "cpu:x86-64-v4". Throws invalid_argument for what is wrong with the options or the target, unsupported for a kernel that
// the target cannot run or a stage that it has not, compile_failed, compiler_missing.
template <class... D, class K>
std::string explain(const K& kernel, std::string_view target, const ExplainOptions& options = {}) {
  return detail::explain_recorded(*record<D...>(kernel), target, options);
}

// Of a kernel from text (text_kernel.hpp); `name` stands in messages.
TEENY_EXPORT std::string explain_text(std::string_view text, const std::string& name, std::string_view target,
                                      const ExplainOptions& options = {});

}  // namespace teeny
