// The list of conformance cases: what `teeny check` runs on a device.
//
// A case launches kernels of the public language with teeny::check, which compares every element of every buffer with
// the interpreter's, and, where there is one, compares the device's results with a reference that shares no code with
// either.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <teeny/device.hpp>

namespace teeny::conformance {

// What a case found. Several threads never share one.
class Verdict {
 public:
  void fail(const std::string& text) {
    ++failures_;
    if (failures_ <= 4) text_ += text.empty() || text.back() != '\n' ? text + "\n" : text;
  }
  bool ok() const { return failures_ == 0; }
  const std::string& text() const { return text_; }

 private:
  int failures_ = 0;
  std::string text_;
};

struct Case {
  std::string name;  // "unary.exp.f32"
  std::function<void(const Device&, Verdict&)> run;
};
using Cases = std::vector<Case>;

// Every case, in a fixed order with unique names.
const Cases& cases();

struct Result {
  enum class Status { passed, failed, skipped } status = Status::passed;
  const Case* of = nullptr;
  std::string text;  // of a failure: what is wrong; of a skip: what the device lacks
};

struct Summary {
  int passed = 0, failed = 0, skipped = 0;
};

struct RunOptions {
  std::string filter;  // only cases whose name contains it; several alternatives are separated by |
  int threads = 1;
};

// The cases that a filter selects.
std::vector<const Case*> select(const std::string& filter);

// Runs the selected cases on the device; `report` is called by one thread at a time, as each case ends. A case that the
// device refuses with Error(unsupported) is skipped; whatever else is thrown is a failure.
Summary run(const Device& device, const RunOptions& options, const std::function<void(const Result&)>& report);

// The parts of the list.
void add_unary_cases(Cases& cases);
void add_binary_cases(Cases& cases);
void add_comparison_cases(Cases& cases);
void add_ternary_cases(Cases& cases);
void add_cast_cases(Cases& cases);
void add_shape_cases(Cases& cases);
void add_memory_cases(Cases& cases);
void add_descriptor_cases(Cases& cases);
void add_dot_cases(Cases& cases);
void add_reduce_cases(Cases& cases);
void add_scan_cases(Cases& cases);
void add_atomic_cases(Cases& cases);
void add_control_cases(Cases& cases);
void add_launch_cases(Cases& cases);
void add_kernel_cases(Cases& cases);

}  // namespace teeny::conformance
