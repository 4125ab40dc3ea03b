// CompileOptions: how a kernel is compiled, where the kernel itself does not say.
#pragma once

#include <concepts>
#include <type_traits>

namespace teeny {

struct CompileOptions {
  int warps = 0;              // groups of lanes that run one program; 0: the target's choice
  int stages = 0;             // depth of the pipelining of loops that do not say theirs; 0: the target's choice
  int max_registers = 0;      // a lane's; 0: no limit
  bool reproducible = false;  // reductions follow their defined tree bit for bit
  bool contract = false;      // a * b + c may be rounded once
  bool approximate = false;   // f32 and narrower: exp, exp2, sqrt, rsqrt and / may be the device's own (docs/math.md)
  bool debug_info = false;    // line tables in the program
  bool operator==(const CompileOptions&) const = default;
};

namespace detail {
template <class... A>
concept NoOptions = (!std::same_as<std::remove_cvref_t<A>, CompileOptions> && ...);
}  // namespace detail

}  // namespace teeny
