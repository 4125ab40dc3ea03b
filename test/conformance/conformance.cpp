#include "conformance.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <teeny/error.hpp>

namespace teeny::conformance {

const Cases& cases() {
  static const Cases all = [] {
    Cases list;
    for (auto add : {add_unary_cases, add_binary_cases, add_comparison_cases, add_ternary_cases, add_cast_cases,
                     add_shape_cases, add_memory_cases, add_descriptor_cases, add_dot_cases, add_reduce_cases,
                     add_scan_cases, add_atomic_cases, add_control_cases, add_launch_cases, add_kernel_cases})
      add(list);
    std::set<std::string> names;
    for (const Case& one : list)
      if (!names.insert(one.name).second) throw std::logic_error("two conformance cases are named " + one.name);
    return list;
  }();
  return all;
}

std::vector<const Case*> select(const std::string& filter) {
  std::vector<const Case*> chosen;
  for (const Case& one : cases()) {
    bool wanted = filter.empty();
    for (std::size_t at = 0; !wanted && at < filter.size();) {
      const std::size_t end = std::min(filter.find('|', at), filter.size());
      wanted = one.name.find(filter.substr(at, end - at)) != std::string::npos;
      at = end + 1;
    }
    if (wanted) chosen.push_back(&one);
  }
  return chosen;
}

namespace {

Result run_one(const Device& device, const Case& one) {
  Verdict verdict;
  try {
    one.run(device, verdict);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported && verdict.ok()) return {Result::Status::skipped, &one, error.what()};
    verdict.fail(error.what());
  } catch (const std::exception& error) {
    verdict.fail(error.what());
  }
  return {verdict.ok() ? Result::Status::passed : Result::Status::failed, &one, verdict.text()};
}

}  // namespace

Summary run(const Device& device, const RunOptions& options, const std::function<void(const Result&)>& report) {
  const std::vector<const Case*> chosen = select(options.filter);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Summary summary;
  auto work = [&] {
    for (std::size_t i = next++; i < chosen.size(); i = next++) {
      const Result result = run_one(device, *chosen[i]);
      const std::lock_guard<std::mutex> lock(mutex);
      ++(result.status == Result::Status::passed   ? summary.passed
         : result.status == Result::Status::failed ? summary.failed
                                                   : summary.skipped);
      report(result);
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < options.threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  return summary;
}

}  // namespace teeny::conformance
