// Programs: a kernel body compiled for one device, as a few variants.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "lang/trace.hpp"
#include "runtime/compiler/compiler.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/program_request.hpp"

namespace teeny::runtime {

// The variants of one body, options and device. A variant's guard is a set of facts about the launch; a launch takes
// the variant whose guard is exactly the relevant facts that hold, and until max_variants are made such a variant is
// made where it is missing. Beyond that it takes the most special one that fits; the general one, which always fits,
// has no guard and counts as one of the max_variants. All members may be called from several threads; one compile is in
// flight at a time.
class Program {
 public:
  static constexpr std::size_t max_variants = 4;

  Program(DriverDevice& device, const CompileOptions& options);

  // The executable for this launch. The common case takes no lock. Throws what the compile throws.
  Executable& choose(const Argument* arguments, const detail::RecordedKernel& kernel);
  // Makes sure of the general variant.
  void prepare_general(const detail::RecordedKernel& kernel);

  std::size_t variant_count() const;

 private:
  struct Variant {
    std::uint64_t guard = 0;  // bits of relevant facts
    Executable* executable = nullptr;
  };
  // Never changed once it is published; a new one replaces it.
  struct Table {
    std::vector<teeny_fact> relevant;  // bit i of a guard is relevant[i]; at most 64
    std::vector<Variant> variants;     // the most facts first
    std::uint64_t mask(const Argument* arguments, std::uint64_t cache_bytes) const;
    const Variant* exact(std::uint64_t mask) const;
    const Variant* fitting(std::uint64_t mask) const;
    std::size_t places() const;  // for variants as they come
  };

  Executable& choose_slow(const Argument* arguments, const detail::RecordedKernel& kernel);
  void analyse(const detail::RecordedKernel& kernel);
  const Variant& add(std::uint64_t guard, const detail::RecordedKernel& kernel, const std::string& reason);
  void publish(Table table);
  // Puts a variant into a new table.
  const Variant& publish(std::uint64_t guard, Executable* executable);
  const Variant& stand_in(std::uint64_t guard, const detail::RecordedKernel& kernel);
  struct Found {
    support::Digest name;
    CacheEntry entry;
  };
  // For the best target of the device's for which there is or can be made one.
  Found obtain(const detail::RecordedKernel& kernel, const std::vector<teeny_fact>& facts, bool analyse_only,
               const std::string& reason) const;
  std::vector<std::uint8_t> assembled(const Found& found);

  DriverDevice& device_;
  const CompileOptions options_;
  const std::uint64_t cache_bytes_;
  std::atomic<const Table*> table_{nullptr};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const Table>> tables_;      // guarded by mutex_; the last one is current
  std::vector<std::unique_ptr<Executable>> executables_;  // guarded by mutex_
};

}  // namespace teeny::runtime
