// What the cases share: host arrays of any element type, checked launches, shapes of element-wise kernels.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include <teeny/check.hpp>
#include <teeny/dispatch.hpp>
#include <teeny/teeny.hpp>

#include "conformance.hpp"

namespace teeny::conformance {

// Elements on the host; bool as its byte, 0 or 1.
template <class D>
using Stored = std::conditional_t<std::is_same_v<D, bool>, std::uint8_t, D>;
template <class D>
using Host = std::vector<Stored<D>>;

template <class D>
Buffer<D> upload(const Device& device, const Host<D>& host) {
  Buffer<D> result = device.buffer<D>(host.size());
  detail::copy_in(result.view(), host.data(), host.size() * sizeof(D));
  return result;
}

template <class D>
Host<D> download(const Buffer<D>& buffer) {
  Host<D> host(buffer.size());
  detail::copy_out(buffer.view(), host.data(), buffer.bytes());
  return host;
}

// A new buffer filled with a pattern that no case computes, so that elements a kernel must not touch are compared too.
template <class D>
Buffer<D> blank(const Device& device, std::size_t count) {
  const std::vector<std::uint8_t> bytes(count * sizeof(D), std::is_same_v<D, bool> ? 0 : 0x5A);
  Buffer<D> result = device.buffer<D>(count);
  detail::copy_in(result.view(), bytes.data(), bytes.size());
  return result;
}

// Runs the kernel on the interpreter and on the device and notes every difference.
template <class K, class... A>
void expect_same(Verdict& verdict, const Device& device, Grid grid, const K& kernel, A&&... arguments) {
  const CheckReport report = check(device, grid, kernel, std::forward<A>(arguments)...);
  if (!report.ok())
    verdict.fail(report.text());
  else if (report.compared == 0)
    verdict.fail("nothing was compared");
}

// Whether the device takes blocks of these extents.
template <class... Extent>
bool takes_blocks(const Device& device, Extent... extents) {
  return device.info().any_extent || (((extents & (extents - 1)) == 0) && ...);
}

template <class D>
std::string dtype_name() {
  return name_of(dtype_of<D>);
}

// Calls function.operator()<D>() for each type of the list.
template <class Function, class... D>
void for_each_type(Types<D...>, Function&& function) {
  (function.template operator()<D>(), ...);
}

// How an element-wise kernel covers its elements.
struct Layout {
  const char* name;
  int rows = 0;       // 0: rank 1
  int columns = 256;  // 0: one element a program, rank 0
  bool masked = true;
  int count = 1000;  // elements, of rank 0 and 1
  int programs() const { return rows > 0 ? 1 : columns == 0 ? count : (count + columns - 1) / columns; }
};
inline constexpr Layout masked_layout{"masked"};
inline constexpr Layout scalar_layout{"scalar", 0, 0, false, 48};
// Size 1, odd, large without a mask, two dimensions odd and of powers of two.
inline constexpr Layout further_layouts[] = {{"one", 0, 1, false, 5},
                                             {"odd", 0, 7, false, 49},
                                             {"thousand", 0, 1000, false, 1000},
                                             {"rows", 5, 24, false, 120},
                                             {"square", 16, 16, false, 256}};
// The layouts of the case with this number: every case has the first two and one of the others, so that over all types
// and operations each of these is seen many times; `all` asks for all. Without those that the device cannot have.
inline std::vector<Layout> layouts(const Device& device, int number, bool all) {
  std::vector<Layout> list = {masked_layout, scalar_layout};
  for (int i = 0; i < 5; ++i)
    if (all || number % 5 == i) list.push_back(further_layouts[i]);
  std::erase_if(list, [&](const Layout& layout) { return !takes_blocks(device, layout.rows, layout.columns); });
  return list;
}

}  // namespace teeny::conformance
