// Parses tt text, runs it on host arrays and gives the findings.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/interpreter/interpreter.hpp"

namespace teeny::compiler::interpreter {

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string& text);

// One launch: arguments in order, buffers watched, check and radius on unless said otherwise.
class Launch {
 public:
  explicit Launch(std::string text) : text_(std::move(text)) {}

  template <class T>
  Launch& buffer(std::vector<T>& data, bool initialised = true) {
    const std::size_t bytes = data.size() * sizeof(T);
    maps_.emplace_back(bytes, initialised ? 1 : 0);
    ranges_.push_back({reinterpret_cast<std::uint64_t>(data.data()), bytes, maps_.back().data()});
    return raw(reinterpret_cast<std::uint64_t>(data.data()));
  }
  Launch& raw(std::uint64_t bits) {
    arguments_.push_back(bits);
    return *this;
  }
  Launch& integer(std::int64_t value) { return raw(static_cast<std::uint64_t>(value)); }
  Launch& real(float value) { return raw(std::bit_cast<std::uint32_t>(value)); }
  Launch& grid(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
    grid_ = {x, y, z};
    return *this;
  }
  Launch& without_check() { return check_ = false, *this; }
  Launch& limit(std::int32_t findings) { return limit_ = findings, *this; }
  Launch& without_radius() { return radius_ = false, *this; }

  // Changes the module before it runs.
  Launch& before(std::function<void(mlir::ModuleOp)> change) { return change_ = std::move(change), *this; }

  Result run();
  // Runs and expects no finding.
  Result clean() {
    Result result = run();
    EXPECT_EQ(to_json(result.findings), "[]");
    EXPECT_TRUE(result.ok);
    return result;
  }
  const std::string& printed() const { return printed_; }
  const std::vector<std::uint8_t>& initialised(std::size_t buffer) const { return maps_[buffer]; }

 private:
  std::string text_;
  std::vector<std::uint64_t> arguments_;
  std::deque<std::vector<std::uint8_t>> maps_;
  std::vector<teeny_memory_range> ranges_;
  std::array<std::uint32_t, 3> grid_ = {1, 1, 1};
  bool check_ = true, radius_ = true;
  std::int32_t limit_ = 0;
  std::string printed_;
  std::function<void(mlir::ModuleOp)> change_;
};

// The radius stored for an element; -1 where it was not stored.
template <class T>
double radius_of(const Result& result, const T& element) {
  const auto address = reinterpret_cast<std::uint64_t>(&element);
  for (std::size_t i = 0; i < result.radii.size(); ++i)
    if (result.radius_addresses[i] == address) return result.radii[i];
  return -1;
}

// The one finding of a kind; fails the test where there is none.
inline Finding finding(const Result& result, const std::string& kind) {
  for (const Finding& found : result.findings)
    if (found.kind == kind) return found;
  ADD_FAILURE() << "no finding of kind " << kind << " in " << to_json(result.findings);
  return {};
}

// A kernel that loads n elements through each input pointer (%x0, %x1, …), runs `body`, and stores %r through the last.
std::string map_kernel(int n, const std::vector<std::string>& inputs, const std::string& output,
                       const std::string& body);
// The same for scalars of the launch: parameters %x0 …; %r, of type `output`, is stored through the last pointer.
std::string scalar_kernel(const std::vector<std::string>& inputs, const std::string& output, const std::string& body);

// 1-based line of the first occurrence of `word` in the kernel's text: where a finding has to point.
std::string line_of(const std::string& text, const std::string& word);
// "12" of "kernel.mlir:12:5".
std::string line_of(const Finding& finding);

}  // namespace teeny::compiler::interpreter
