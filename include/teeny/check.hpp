// Checking a device against the definition: a launch runs on the interpreter, watched, and on the device, and every element
// of every buffer is compared within the radius that the interpreter computes for it.
//
//   teeny::CheckReport report = teeny::check(device, {n_rows}, Softmax{}, x, y, n_cols);
//   if (!report.ok()) std::cerr << report.text();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <teeny/launch.hpp>

namespace teeny {

// One element that is further off than allowed.
struct Mismatch {
  std::string argument;      // the parameter's name
  std::uint64_t element = 0; // its index in the buffer
  double got = 0, expected = 0;
  double radius = 0;         // the allowed distance; 0: the bits have to be equal (any NaN equals any NaN)
};

struct CheckReport {
  std::string findings;                // what the checker said of the kernel; empty: nothing
  std::uint64_t compared = 0;          // elements
  std::uint64_t mismatched = 0;        // of them wrong
  std::vector<Mismatch> mismatches;    // the first few
  double worst = 0;                    // the largest distance as a share of its radius, where that is not 0

  bool ok() const { return findings.empty() && mismatched == 0; }
  std::string text() const;
};

namespace detail {
// The interpreter runs `definition`, the device `kernel`; they have the same parameters.
TEENY_EXPORT CheckReport check_program(runtime::DeviceState* device, const RecordedKernelPtr& definition,
                                       const RecordedKernelPtr& kernel, const Grid& grid, const CompileOptions& options,
                                       const LaunchArgument* arguments, std::size_t count);
TEENY_EXPORT std::string to_text(const CheckReport& report);
}  // namespace detail

inline std::string CheckReport::text() const { return detail::to_text(*this); }

// Launches the kernel on the device as launch() does, after running it on the interpreter over copies of the buffers.
// Throws what a launch and a compile throw.
template <class K, class... A>
CheckReport check(const Device& device, Grid grid, const CompileOptions& options, const K& kernel, A&&... values) {
  const detail::RecordedKernelPtr recorded = detail::recorded<A...>(kernel);
  return detail::with_arguments(
      *recorded,
      [&](const detail::LaunchArgument* arguments, std::size_t count) {
        return detail::check_program(device.state(), recorded, recorded, grid, options, arguments, count);
      },
      values...);
}

template <class K, class... A>
  requires(!std::same_as<K, CompileOptions>)
CheckReport check(const Device& device, Grid grid, const K& kernel, A&&... values) {
  return check(device, grid, CompileOptions{}, kernel, std::forward<A>(values)...);
}

// The same for a kernel that has to compute what another one, its definition, does: the definition runs on the interpreter,
// the kernel on the device. Both take these arguments and have the same parameters; throws invalid_argument otherwise.
template <class Definition, class K, class... A>
CheckReport check_against(const Device& device, Grid grid, const Definition& definition, const K& kernel, A&&... values) {
  const detail::RecordedKernelPtr expected = detail::recorded<A...>(definition), recorded = detail::recorded<A...>(kernel);
  return detail::with_arguments(
      *recorded,
      [&](const detail::LaunchArgument* arguments, std::size_t count) {
        return detail::check_program(device.state(), expected, recorded, grid, CompileOptions{}, arguments, count);
      },
      values...);
}

}  // namespace teeny
